"""DPALS: alternating least squares at user level (dpals-paper, Algorithms 1 to 3).

Provides the solver, for users in memory or in groups (``next_items``).

A user's own vector depends on other users through released numbers only. That takes care: the paper
divides a user's regularisation weight c_i^ν by its mean over all users, which is released nowhere;
we divide by k^ν.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from dpmc_core.arrays import BoolArray, FloatArray, IntArray, pieces
from dpmc_core.completion.common.parameters import public_features
from dpmc_core.completion.common.population import Group, Learning, Population, in_memory
from dpmc_core.completion.common.profiles import (
    centre,
    clipped_values,
    fit_likes,
    own_means,
    own_tastes,
    residuals,
    together,
)
from dpmc_core.completion.common.step import (
    FactorModel,
    Step,
    check_rank,
    grouped_by_item,
    grouped_by_user,
)
from dpmc_core.completion.dpals.plan import DPALSConfig, dpals_plan, n_frequent
from dpmc_core.completion.dpals.power_iteration import projection_clip, solve_noisy
from dpmc_core.completion.dpals.preprocessing import Basis, lottery, prepare
from dpmc_core.completion.kernel.solve import BlockSolver, Side, half_sweep
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.config import values_of
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Curator, Journal
from dpmc_core.privacy.moments import symmetric
from dpmc_core.privacy.noise import Noise, ReleaseSigma, TotalEpsilon

_LEAST_RIDGE = 1e-10  # of what a user's system is at most without it
FARTHEST = 1e50
"""Where a diverging chain of steps is held: whether a product overflows must depend on nobody."""


class Rounds:
    """The half-rounds of ``group``, whose ratings are centred and grouped once."""

    def __init__(self, group: Group, basis: Basis) -> None:
        self.basis, ratings = basis, group.ratings
        config = basis.config
        self._middle = centre(ratings)
        self._own_mean = own_means(ratings) - self._middle
        centred, self._base, self._tastes = _centred(group, basis)
        guests = group.visitors
        if guests is not None:
            guests = clipped_values(guests, basis.value_clip)
        served, rank = together(centred, guests), config.rank
        seen = served.take(basis.frequent[served.items])
        self._by_user = grouped_by_user(seen, rank)
        self._parts: list[Side] = []
        if config.user_sample == "part":
            # disjoint, so that no user pass sees another's ratings; item passes have the same
            number = (lottery(seen, basis.salt + 1) * config.iterations).astype(np.intp)
            self._parts = [
                grouped_by_user(seen.take(number == step), rank)
                for step in range(config.iterations)
            ]
        self._counts = seen.per_user
        shares = np.maximum(self._counts / config.items_per_user, 1e-3)
        self._user_reg = config.reg * shares**config.user_exponent
        self._guests = np.zeros(0, dtype=np.intp) if guests is None else np.unique(guests.users)
        inside, of_user, self._item_weight = basis.taking_part(centred)
        taken = centred.take(inside)
        # ω_ij = f_i·g_j: √f goes with the user's vector and with the value, g with the sums
        self._root = np.sqrt(of_user)
        weighted = taken.values * self._root[taken.users]
        self.by_item = grouped_by_item(replace(taken, values=weighted), rank)

    def users(self, items: FloatArray, pool: Workers, part: int | None = None) -> FloatArray:
        """Every user's vector on the items' factors, unclipped: from all of their ratings, or from
        one ``part`` of as many as there are steps (Algorithm 1, line 13).

        λ is at least what makes any user's system solvable to rounding, however long noise made
        the factors: one user must not decide whether there is a result.
        """
        penalty, everywhere = self.basis.config.global_penalty, items[self.basis.frequent]
        longest = np.sum(everywhere**2, axis=1).max()
        most = longest * (self._counts + penalty * len(everywhere))
        reg = np.maximum(self._user_reg, _LEAST_RIDGE * most)
        rows = self._by_user if part is None else self._parts[part]
        if penalty:
            return fit_likes(rows, items, reg, penalty, everywhere, pool)
        return half_sweep(rows, items, reg, pool)[0]

    def clipped(self, users: FloatArray) -> FloatArray:
        """The users' vectors, cut to length Γ_u."""
        size = np.linalg.norm(users, axis=1, keepdims=True)
        most = self.basis.config.clip_norm
        return users * np.minimum(1.0, most / np.maximum(size, 1e-300))

    def statistics(self, clipped: FloatArray, pool: Workers) -> FloatArray:
        """Each frequent item's Gram triangle and right-hand side, and in the last row the triangle
        of Σ u uᵀ over all users but visitors (frequent + 1 × r(r+1)/2 + r).
        """
        basis, rank = self.basis, clipped.shape[1]
        upper = np.triu_indices(rank)
        triangle = len(upper[0])
        out = np.zeros((basis.learned.size + 1, triangle + rank))

        def update(a: FloatArray, y: FloatArray, rows: IntArray, solver: BlockSolver) -> FloatArray:
            weight = self._item_weight[rows, None]
            gram, right = np.matmul(a.transpose(0, 2, 1), a)[:, *upper], np.vecmat(y, a)
            out[basis.place[rows]] = np.hstack([gram, right]) * weight
            return right

        half_sweep(self.by_item, clipped * self._root[:, None], 1.0, pool, update=update)
        counted = clipped.copy()
        counted[self._guests] = 0.0
        out[-1, :triangle] = (counted.T @ counted)[upper]
        return out

    def gradients(self, clipped: FloatArray, items: FloatArray, pool: Workers) -> FloatArray:
        """Σ ω e u of every item (n_items×r), e = x − u·v clipped to ±Γ_M."""
        most = self.basis.value_clip

        def update(a: FloatArray, y: FloatArray, rows: IntArray, solver: BlockSolver) -> FloatArray:
            root = a[:, :, -1]  # √f: what the user's vector and the value are multiplied by
            left = y - np.matvec(a[:, :, :-1], items[rows])
            left = np.clip(left, -most * root, most * root) * self._item_weight[rows, None]
            return np.vecmat(left, a)

        with_root = np.column_stack([clipped, np.ones(len(clipped))]) * self._root[:, None]
        out, _ = half_sweep(self.by_item, with_root, 1.0, pool, update=update)
        return out[:, :-1]

    def model(self, users: FloatArray, items: FloatArray) -> FactorModel:
        """Factors whose products are the predictions, offsets and infrequent items included."""
        frequent, implicit = self.basis.frequent, self.basis.config.implicit
        elsewhere = np.full(len(users), -self._middle) if implicit else self._own_mean
        left = [users, self._middle + self._base, self._middle + elsewhere]
        right = [items, frequent.astype(np.float64), (~frequent).astype(np.float64)]
        if self._tastes is not None and self.basis.public is not None:
            left.append(self._tastes)
            right.append(self.basis.public)
        return FactorModel(np.column_stack(left), np.column_stack(right))


def rounds_of(group: Group, basis: Basis) -> Rounds:
    """The ``Rounds`` of a group, made once."""
    released = basis.frequent.tobytes(), basis.first_counts.tobytes(), basis.mean
    version = basis.config, basis.value_clip, basis.salt, *released
    return group.cached("rounds", version, lambda: Rounds(group, basis))


def projected(group: Group, basis: Basis, directions: FloatArray, most: float) -> FloatArray:
    """Σ x (xᵀW) of a start by power iteration (n_items×r), x a user's centred values, at most k of
    them, and xᵀW clipped to norm ``most``.
    """
    centred, *_ = _centred(group, basis)
    limited = centred.take(basis.limited(centred))
    rows = limited.table(limited.values)
    along = rows @ directions
    size = np.linalg.norm(along, axis=1, keepdims=True)
    along *= most / np.maximum(size, most)
    return rows.T @ along


def _centred(group: Group, basis: Basis) -> tuple[Ratings, FloatArray, FloatArray | None]:
    """Clipped values without what they are centred by (n_users,) and users' tastes, clipped again,
    and both.
    """
    values = clipped_values(group.ratings, basis.value_clip)
    base = np.full(values.n_users, basis.mean)
    if basis.config.centring == "user":
        base = own_means(group.ratings) - centre(values)
    left, tastes = replace(values, values=values.values - base[values.users]), None
    if basis.public is not None:
        tastes = own_tastes(left, basis.public, group.pool)
        left = replace(left, values=residuals(left, basis.public, tastes))
    inside = np.clip(left.values, -basis.value_clip, basis.value_clip)
    return replace(left, values=inside), base, tastes


@dataclass(frozen=True, eq=False)
class LearnedItems:
    """What was released, on which each user's own vector follows from their own ratings."""

    basis: Basis
    items: FloatArray

    def model(self, group: Group) -> FactorModel:
        rounds = rounds_of(group, self.basis)
        return rounds.model(_users(group, self.basis, self.items), self.items)

    def penalty(self, model: FactorModel) -> float:
        return 0.0

    def released(self) -> dict[str, Any]:
        """See ``population.Learned``; without the salt, which no user's own fit reads."""
        basis = self.basis
        numbers = {
            "settings": json.dumps(values_of(basis.config)),
            "items": self.items,
            "frequent": basis.frequent,
            "mean": basis.mean,
            "value_clip": basis.value_clip,
        }
        return numbers if basis.public is None else {**numbers, "public": basis.public}

    @classmethod
    def of_released(
        cls, settings: str, items: FloatArray, frequent: BoolArray, **basis: Any
    ) -> "LearnedItems":
        """Return what a new user's fit reads, of ``released`` numbers."""
        config = replace(DPALSConfig(**json.loads(settings)), user_sample="all")
        counts = dict.fromkeys(("first_counts", "counts"), np.ones(len(items)))
        basis = {"public": None, "norm": 2, "salt": 0, "frequent": frequent, **counts, **basis}
        return cls(Basis(config, **basis), items)


def learn_dpals(
    people: Population, config: DPALSConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[Learning]:
    """Yield what was learned after each of T rounds.

    Its users are solved once more on the items just released, unclipped (dpals-paper D.1).

    Users are solved on all their ratings of frequent items, which they may (their vectors are their
    own), or in each step on another 1/T of them; only k of them enter the item pass. Predictions:
    mean + u·v for frequent items, the user's own mean for the others (section 5.1); users without
    ratings get the mean of the scale. Values are measured from the middle of the scale, and clipped
    to ±Γ_M, again after centring. The objective is Σ (x − prediction)² over the training ratings.
    Visitors are users of the same matrix who have no ratings in it: they get vectors, and take part
    in nothing that is released (held-out users, dpals-paper D.1). With public item features every
    user first fits alone what these are worth to them, and rounds learn what that leaves. Raises
    ``ParameterError`` for a rank above the smaller side of the matrix or above β·n_items, and for a
    budget that the preparation alone exceeds.
    """
    check_rank(people, config.rank)
    curator = Curator(dpals_plan(people, config), rng, journal)
    basis, items = begin(people, config, curator, rng)
    for iteration in range(1, config.iterations + 1):
        items = next_items(people, basis, items, curator, iteration - 1)
        if config.orthonormal == "on":
            items = _orthonormal(items)
        yield Learning(iteration, LearnedItems(basis, items), curator.made(), curator.rest())


dpals = in_memory(learn_dpals)


def begin(
    people: Population, config: DPALSConfig, curator: Curator, rng: np.random.Generator
) -> tuple[Basis, FloatArray]:
    """Prepare and centre, and start the items' factors (n_items×r)."""
    frequent = n_frequent(people.n_items, config)
    if frequent < config.rank:
        raise ParameterError(
            "item_share",
            config.item_share,
            f"at least {config.rank / people.n_items:.3g} here: the {frequent} items it keeps "
            f"are fewer than the rank, {config.rank}",
        )
    public = public_features(people, config.item_features)
    if public is not None and config.implicit:
        raise ParameterError("item_features", config.item_features, "none for likes with DPALS")
    if config.user_sample == "given":
        given_vectors(None if people.whole is None else people.whole.ratings, config)
    salt = int(curator.once("salt", lambda: np.array([rng.integers(2**63)]))[0])
    basis = prepare(people, config, public, curator, salt)
    shape = people.n_items, config.rank
    power = config.start == "power"
    start = curator.once("directions" if power else "start", lambda: rng.standard_normal(shape))
    if not power:
        return basis, start / math.sqrt(config.rank)
    most = projection_clip(
        people.n_items, min(config.items_per_user, people.n_items), basis.value_clip
    )
    directions, _ = np.linalg.qr(start)
    for _ in range(config.start_rounds):  # W ← orth(Σ x (xᵀW) + noise)
        noisy = curator.total("start", people, projected, basis, directions, most)
        directions, _ = np.linalg.qr(noisy)
    return basis, directions * math.sqrt(people.n_items / config.rank)


def next_items(
    people: Population, basis: Basis, items: FloatArray, curator: Curator, step: int
) -> FloatArray:
    """The items' factors after round ``step`` (from 0), from statistics of all frequent items:
    also of those that nobody's ratings took part for, whose silence would tell.
    """
    config = basis.config
    if config.solve == "gradient":
        return _descended(people, basis, items, curator, step)
    rank, triangle = config.rank, config.rank * (config.rank + 1) // 2
    sums = cache(lambda: people.total(_statistics, basis, items, step))
    shared: FloatArray | float = 0.0
    if config.global_penalty:
        of_all = curator.release("all users", lambda: sums()[-1, :triangle])
        shared = config.global_penalty * symmetric(of_all, rank)
    gram = curator.release("gram", lambda: sums()[:-1, :triangle], by_row=True)
    right = curator.release("right", lambda: sums()[:-1, triangle:], by_row=True)
    out = np.zeros_like(items)
    for piece in pieces(len(gram), 256):
        whole, rows = symmetric(gram[piece], rank) + shared, basis.learned[piece]
        out[rows] = solve_noisy(whole, right[piece], basis.item_reg[rows], config.projection)
    return out


def _descended(
    people: Population, basis: Basis, items: FloatArray, curator: Curator, step: int
) -> FloatArray:
    """The items' factors S noisy gradient steps on, users' vectors held fixed: dpals-paper Remark 6
    (zeros for infrequent items). A step's size follows from released counts.
    """
    config, learned = basis.config, basis.frequent
    reg = basis.item_reg[learned, None]
    curvature = reg + config.clip_norm**2 * basis.counts[learned, None]
    out = np.where(learned[:, None], items, 0.0)
    for _ in range(config.gradient_steps):
        noisy = curator.total("gradients", people, gradients, basis, items, out, step)
        uphill = noisy - reg * out[learned]
        out[learned] += config.learning_rate * uphill / curvature
        out = np.clip(out, -FARTHEST, FARTHEST)
    return out


def gradients(
    group: Group, basis: Basis, items: FloatArray, moved: FloatArray, step: int | None = None
) -> FloatArray:
    """Σ ω e u of each frequent item at its factors ``moved``, users' vectors on ``items``."""
    rounds = rounds_of(group, basis)
    clipped = rounds.clipped(_users(group, basis, items, step))
    return rounds.gradients(clipped, moved, group.pool)[basis.frequent]


def given_vectors(ratings: Ratings | None, config: DPALSConfig) -> FloatArray:
    """The users' vectors that made these ``ratings``: they are known only of synthetic data, in
    memory. Raises ``ParameterError``.
    """
    truth = None if ratings is None else ratings.truth
    if truth is None or truth.left.shape[1] != config.rank:
        allowed = "all or part: vectors of this rank are not known for these data"
        raise ParameterError("user_sample", "given", allowed)
    return truth.left


def _users(group: Group, basis: Basis, items: FloatArray, step: int | None = None) -> FloatArray:
    """Every user's vector on the items' factors, unclipped, for round ``step`` or the model; kept
    in memory for the next round where both are on the same ratings. Given vectors are those that
    made the data. Raises ``ParameterError`` where these are not known, or not of this rank.
    """
    if basis.config.user_sample == "given":
        return given_vectors(group.ratings, basis.config)
    if basis.config.user_sample == "part" and step is not None:
        return rounds_of(group, basis).users(items, group.pool, step)

    def solved() -> FloatArray:
        return rounds_of(group, basis).users(items, group.pool)

    return group.cached("users", items.tobytes(), solved) if group.in_memory else solved()


def _statistics(group: Group, basis: Basis, items: FloatArray, step: int) -> FloatArray:
    """See ``Rounds.statistics``, of the users' clipped vectors."""
    rounds = rounds_of(group, basis)
    return rounds.statistics(rounds.clipped(_users(group, basis, items, step)), group.pool)


def _orthonormal(factors: FloatArray) -> FloatArray:
    """Ṽ(ṼᵀṼ)^(−½), line 12 of Algorithm 1."""
    u, _, v = np.linalg.svd(factors, full_matrices=False)
    return u @ v


def with_budget(config: DPALSConfig, noise: Noise, data: Any) -> DPALSConfig:
    """Return ``config`` with the total budget or σ of ``noise``, or without noise."""
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
    guaranteed(
        name="dpals",
        title="DPALS",
        summary="Alternating least squares with noisy item statistics; every user is "
        "clipped and takes part with k items.",
        source="DPALS paper, Algorithms 1 to 3",
        tuned="MovieLens 100K, on other splits than the tables'",
        config=DPALSConfig,
        order=6,
        noise=(TotalEpsilon, ReleaseSigma),
        prepare=with_budget,
        rate=dpals,
        learn=learn_dpals,
        recommend=_of_likes,
    ),
)
