"""DPALS: alternating least squares at user level (dpals-paper, Algorithms 1 to 3).

Lives here: the solver. Does not live here: its settings, what leaves and the sensitivities
(``dpals_plan``), the preparation of the data (``preprocessing``), the start by power iteration
(``power_iteration``), the kernel, or noise (``privacy.budget``).

A user's own vector depends on other users through released numbers only. That takes care: the paper
divides a user's regularisation weight c_i^ν by its mean over all users, which is released nowhere;
we divide by k^ν.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.completion.common.parameters import public_features
from dpmc_core.completion.common.profiles import (
    centre,
    clipped_values,
    fit_likes,
    on_scale,
    own_means,
    own_tastes,
    squared_residuals,
    together,
)
from dpmc_core.completion.common.step import FactorModel, Step, check_rank
from dpmc_core.completion.dpals.plan import DPALSConfig, dpals_plan, n_frequent, value_clip_of
from dpmc_core.completion.dpals.power_iteration import noisy_power_iteration
from dpmc_core.completion.dpals.preprocessing import Prepared, prepare
from dpmc_core.completion.dpals.projection import solve_noisy
from dpmc_core.completion.kernel.grouping import Side, group_rows
from dpmc_core.completion.kernel.solve import BlockSolver, half_sweep
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.budget import Curator
from dpmc_core.privacy.noise import Noise, TotalEpsilon

FloatArray = NDArray[np.float64]

__all__ = ["ALGORITHMS", "dpals"]

Stream = Callable[[int], FloatArray] | None


def dpals(
    ratings: Ratings,
    config: DPALSConfig,
    rng: np.random.Generator,
    workers: int | None = None,
    visitors: Ratings | None = None,
) -> Iterator[Step]:
    """Yield a ``Step`` after each of T rounds.

    Its users are solved once more on the items just released, unclipped (dpals-paper D.1).

    Users are solved on all their ratings of frequent items, which they may (their vectors are their
    own); only k of them enter the item pass. Predictions: mean + u·v for frequent items, the user's
    own mean for the others (section 5.1); users without ratings get the mean of the scale. Values
    are measured from the middle of the scale, and clipped to ±Γ_M, again after centring. The
    objective is Σ (x − prediction)² over the training ratings. ``visitors`` are the ratings of
    users of the same matrix who have none in ``ratings``: they get vectors, and take part in
    nothing that is released (held-out users, dpals-paper D.1). With public item features every
    user first fits alone what these are worth to them, and rounds learn what that leaves. Raises
    ``ParameterError`` for a rank above the smaller side of the matrix or above β·n_items, and for a
    budget that the preparation alone exceeds.
    """
    check_rank(ratings, config.rank)
    ratings = on_scale(ratings)
    frequent = n_frequent(ratings.n_items, config)
    if frequent < config.rank:
        raise ParameterError(
            "item_share",
            config.item_share,
            f"at least {config.rank / ratings.n_items:.3g} here: the {frequent} items it keeps "
            f"are fewer than the rank, {config.rank}",
        )
    curator = Curator(dpals_plan(ratings, config), rng)
    salt = int(rng.integers(2**63))
    k, value_clip = min(config.items_per_user, ratings.n_items), value_clip_of(ratings, config)
    values = clipped_values(ratings, value_clip)
    prepared = prepare(
        values,
        curator,
        k=k,
        n_frequent=frequent,
        sampling=config.sampling,
        **config.preparation,
        norm=config.norm,
        salt=salt,
    )
    own_mean = own_means(ratings) - centre(ratings)
    base = own_mean if config.centring == "user" else np.full(ratings.n_users, prepared.mean)
    public = public_features(ratings, config.item_features)
    if public is not None and config.implicit:
        raise ParameterError("item_features", config.item_features, "none for likes with DPALS")
    left = values.values - base[values.users]
    tastes = None
    if public is not None:
        with Workers(workers) as pool:
            tastes = own_tastes(values, left, public, pool)
        left -= FactorModel(tastes, public).predict(values.users, values.items)
    centred = replace(values, values=np.clip(left, -value_clip, value_clip))
    guests = None if visitors is None else clipped_values(visitors, value_clip)
    if config.start == "power":
        items = noisy_power_iteration(
            centred, prepared.limited, config.rank, k, value_clip, config.start_rounds, curator, rng
        )
        items *= math.sqrt(ratings.n_items / config.rank)
    else:
        items = rng.standard_normal((ratings.n_items, config.rank)) / math.sqrt(config.rank)
    with Workers(workers) as pool:
        solver = _Rounds(centred, prepared, config, value_clip, curator, pool, guests)
        users = solver.users(items)
        for iteration in range(1, config.iterations + 1):
            items = solver.items(users)
            users = solver.users(items)
            elsewhere = np.full(ratings.n_users, -centre(ratings)) if config.implicit else own_mean
            model = _assembled(ratings, users, items, base, elsewhere, prepared.frequent)
            if public is not None and tastes is not None:
                model = FactorModel(
                    np.hstack([model.user_factors, tastes]), np.hstack([model.item_factors, public])
                )
            squares = squared_residuals(ratings, model)
            yield Step(iteration, model, squares, squares, curator.made(), curator.rest())


class _Rounds:
    """The two half-rounds over prepared data, grouped once."""

    def __init__(
        self,
        ratings: Ratings,
        prepared: Prepared,
        config: DPALSConfig,
        value_clip: float,
        curator: Curator,
        pool: Workers,
        visitors: Ratings | None,
    ) -> None:
        self._config, self._curator, self._pool, self._value_clip = (
            config,
            curator,
            pool,
            value_clip,
        )
        self._frequent = prepared.frequent
        n_users, n_items, rank = ratings.n_users, ratings.n_items, config.rank
        served = together(ratings, visitors)
        seen = served.take(prepared.frequent[served.items])
        self._by_user = group_rows(seen.users, seen.items, seen.values, n_users, n_items, rank)
        counts = np.bincount(seen.users, minlength=n_users)
        self._user_reg = (
            config.reg * np.maximum(counts / config.items_per_user, 1e-3) ** config.user_exponent
        )
        self._guests = np.zeros(0, dtype=np.intp) if visitors is None else np.unique(visitors.users)
        part = prepared.part
        # ω_ij = f_i·g_j: √f goes with the user's vector and with the value, g with the sums
        self._root, self._item_weight = np.sqrt(prepared.user_weight), prepared.item_weight
        weighted = ratings.values[part] * self._root[ratings.users[part]]
        self._by_item: Side = group_rows(
            ratings.items[part], ratings.users[part], weighted, n_items, n_users, rank
        )
        scaled = prepared.counts**config.item_exponent
        self._item_reg = config.reg * scaled / scaled[prepared.frequent].mean()
        # items' places in the released vectors
        self._place = np.full(n_items, -1)
        self._place[prepared.frequent] = np.arange(np.count_nonzero(prepared.frequent))

    def users(self, items: FloatArray) -> FloatArray:
        """Every user's vector on the items' factors, unclipped."""
        penalty = self._config.global_penalty
        if not penalty:
            users, _ = half_sweep(self._by_user, items, self._user_reg, self._pool)
            return users
        return fit_likes(
            self._by_user, items, self._user_reg, penalty, items[self._frequent], self._pool
        )

    def items(self, users: FloatArray) -> FloatArray:
        """Every frequent item's factors from noisy statistics of the users' clipped vectors.

        Zeros for the others.
        """
        config, curator = self._config, self._curator
        size = np.linalg.norm(users, axis=1, keepdims=True)
        users = users * np.minimum(1.0, config.clip_norm / np.maximum(size, 1e-300))
        rank = config.rank
        upper = np.triu_indices(rank)
        shared: FloatArray | float = 0.0
        if config.global_penalty:
            counted = users.copy()
            counted[self._guests] = 0.0  # they are served, and take part in nothing
            noisy = curator.release("all users", (counted.T @ counted)[upper])
            shared = config.global_penalty * _symmetric(noisy[None], rank)[0]
        kept = int(np.count_nonzero(self._frequent))
        streams = curator.stream("gram", kept), curator.stream("right", kept)

        def solve(gram: FloatArray, right: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
            gram, right = self.released(gram, right, rows, streams)
            return solve_noisy(gram + shared, right, self._item_reg[rows], config.projection)

        def update(
            a: FloatArray, y: FloatArray, rows: NDArray[np.intp], solver: BlockSolver
        ) -> FloatArray:
            weight = self._item_weight[rows]
            gram = np.matmul(a.transpose(0, 2, 1), a) * weight[:, None, None]
            return solve(gram, np.matmul(y[:, None, :], a)[:, 0] * weight[:, None], rows)

        out, _ = half_sweep(
            self._by_item, users * self._root[:, None], 1.0, self._pool, update=update
        )
        # items that nobody's ratings took part for still have noisy statistics: without theirs,
        # their silence would tell
        empty = self._by_item.empty_rows[self._frequent[self._by_item.empty_rows]]
        for start in range(0, empty.size, 256):
            rows = empty[start : start + 256]
            out[rows] = solve(np.zeros((rows.size, rank, rank)), np.zeros((rows.size, rank)), rows)
        if config.orthonormal:
            out = _orthonormal(out)
        return out

    def released(
        self,
        gram: FloatArray,
        right: FloatArray,
        rows: NDArray[np.intp],
        streams: tuple[Stream, Stream],
    ) -> tuple[FloatArray, FloatArray]:
        """What leaves of these items' statistics.

        With the noise of their own stretch of the released vectors, whichever thread asks.
        """
        of_gram, of_right = streams
        if of_gram is None or of_right is None:
            return gram, right
        place = [int(p) for p in self._place[rows]]
        upper = np.stack([of_gram(p) for p in place])
        return gram + _symmetric(upper, right.shape[1]), right + np.stack(
            [of_right(p) for p in place]
        )


def _symmetric(triangles: FloatArray, rank: int) -> FloatArray:
    """Symmetric matrices (B×r×r) from their upper triangles (B×r(r+1)/2)."""
    out = np.zeros((len(triangles), rank, rank))
    rows, columns = np.triu_indices(rank)
    out[:, rows, columns] = triangles
    out[:, columns, rows] = triangles
    return out


def _orthonormal(factors: FloatArray) -> FloatArray:
    """Ṽ(ṼᵀṼ)^(−½), line 12 of Algorithm 1."""
    u, _, v = np.linalg.svd(factors, full_matrices=False)
    return np.asarray(u @ v)


def _assembled(
    ratings: Ratings,
    users: FloatArray,
    items: FloatArray,
    base: FloatArray,
    own_mean: FloatArray,
    frequent: NDArray[np.bool_],
) -> FactorModel:
    """Factors whose products are the predictions, offsets and infrequent items included."""
    middle = centre(ratings)
    left = np.column_stack([users, middle + base, middle + own_mean])
    right = np.column_stack([items, frequent.astype(np.float64), (~frequent).astype(np.float64)])
    return FactorModel(left, right)


def _prepared(config: DPALSConfig, noise: Noise, data: Any) -> DPALSConfig:
    del data
    return replace(config, private=noise.budget is not None, budget=noise.budget)


def _of_likes(
    likes: Ratings,
    config: DPALSConfig,
    rng: np.random.Generator,
    workers: int | None,
    visitors: Ratings,
) -> Iterator[Step]:
    """DPALS on likes: ratings of 1, not centred."""
    return dpals(likes, replace(config, centring="none", implicit=True), rng, workers, visitors)


ALGORITHMS = (
    Algorithm(
        name="dpals",
        title="DPALS",
        summary="Alternating least squares with noisy item statistics; every user is "
        "clipped and takes part with k items.",
        source="dpals-paper, Algorithms 1 to 3",
        tuned="MovieLens 100K, on other splits than the tables'",
        config=DPALSConfig,
        order=6,
        noise=(TotalEpsilon,),
        unit="user",
        guarantee=True,
        prepare=_prepared,
        rate=dpals,
        recommend=_of_likes,
    ),
)
