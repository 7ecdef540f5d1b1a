"""DPALS: alternating least squares at user level (dpals-paper, Algorithms 1 to 3).

Lives here: the solver, its configuration and its plan. Does not live here: the preparation of the data (``preprocessing``), the start
by power iteration (``power_iteration``), the kernel, or noise (``privacy.budget``).

Sensitivities, one user added or removed. The user's vector u, clipped to ‖u‖₂ ≤ Γ_u, enters the statistics of at most k items (or of
all with weights ω, Σω² ≤ k):

* the Gram matrices ω u uᵀ leave as their upper triangles with the diagonal: one item's has ℓ2 norm √(Σ_a u_a⁴ + Σ_{a<b} u_a²u_b²) ≤ ‖u‖²
  and ℓ1 norm (‖u‖₂² + ‖u‖₁²)/2 ≤ Γ_u²(1 + r)/2; over the items √k·Γ_u² and k·Γ_u²(1 + r)/2
  (with weights of bounded Σω² alone, Σω ≤ √(k·items) takes k's place in ℓ1).
* the right-hand sides ω x u, |x| ≤ Γ_M: √k·Γ_u·Γ_M in ℓ2 and k·Γ_u·Γ_M·√r in ℓ1.
* with λ₀ also Σ u uᵀ over all users, once a step: Γ_u² and Γ_u²(1 + r)/2.

Both statistics leave in every step, so both are counted (findings 9). A user's own vector depends on other users through released numbers only.
That takes care: the paper divides a user's regularisation weight c_i^ν by its mean over all users, which is released nowhere; we
divide by k^ν.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpmc_core import limits
from dpmc_core.completion.kernel import BlockSolver, Side, Workers, group_rows, half_sweep
from dpmc_core.completion.lapack import solve_spd
from dpmc_core.completion.power_iteration import noisy_power_iteration, power_part
from dpmc_core.completion.preprocessing import SAMPLING, Prepared, preparation_parts, preparation_shifts, prepare
from dpmc_core.completion.profiles import centre, clipped_values, own_means, squared_residuals
from dpmc_core.completion.projection import PROJECTIONS, solve_noisy
from dpmc_core.completion.step import FactorModel, Step, check_rank
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.privacy.budget import Budget, Curator, Part, norm_of, plan
from dpmc_core.privacy.ledger import Release

FloatArray = NDArray[np.float64]

__all__ = ["DPALSConfig", "dpals", "dpals_plan"]

Stream = Callable[[int, int], FloatArray] | None
PREPARATION_SHARE, START_SHARE, GLOBAL_SHARE = 0.25, 0.2, 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class DPALSConfig:
    """Settings of DPALS, in the paper's letters where it has one. Validated on construction (``ParameterError``).

    ``rank`` r, ``reg`` λ, ``iterations`` T, ``items_per_user`` k, ``item_share`` β, ``clip_norm`` Γ_u, ``value_clip`` Γ_M (None: half
    the width of the scale, of which values are the distance from the middle), ``gram_ratio`` σ_G/σ_g, ``item_exponent`` μ,
    ``user_exponent`` ν, ``global_penalty`` λ₀. ``sampling``: which k ratings of a user take part; ``projection``: of the noisy
    matrices onto the positive semi-definite cone, "printed" (with λ, Alg. 1), "inner" (before λ is added) or "off"; ``start``
    random or by power iteration of ``start_rounds``; ``centring`` by the private mean or each user's own; ``orthonormal`` as in line 12.

    Noise: ``budget`` spread by fixed shares; or ``sigma_right`` σ_g (and ``sigma_gram``, ``sigma_preparation``), in units of the
    clipping norms as in Table 4, with ``budget`` None: the family is ``family``. σ_p given together with a budget stays as given.
    ``private`` False for the same algorithm without noise.
    """

    rank: int = 32
    reg: float = 70.0
    iterations: int = 2
    items_per_user: int = 50
    item_share: float = 1.0
    clip_norm: float = 1.0
    value_clip: float | None = None
    gram_ratio: float = 2.0
    item_exponent: float = 0.5
    user_exponent: float = 1.0
    global_penalty: float = 0.0
    sampling: str = "adaptive"
    projection: str = "printed"
    start: str = "random"
    start_rounds: int = 2
    centring: str = "mean"
    orthonormal: bool = False
    private: bool = True
    budget: Budget | None = None
    family: str = "gaussian"
    sigma_gram: float | None = None
    sigma_right: float | None = None
    sigma_preparation: float | None = None

    def __post_init__(self) -> None:
        for name in ("rank", "iterations", "items_per_user", "start_rounds"):
            limits.check_int(name, getattr(self, name))
        for name in (
            "reg",
            "item_share",
            "clip_norm",
            "gram_ratio",
            "item_exponent",
            "user_exponent",
            "global_penalty",
        ):
            limits.check(name, getattr(self, name))
        if self.value_clip is not None:
            limits.check("value_clip", self.value_clip)
        for name, choices in {
            "sampling": SAMPLING,
            "projection": PROJECTIONS,
            "start": ("random", "power"),
            "centring": ("mean", "user", "none"),
        }.items():
            if getattr(self, name) not in choices:
                raise ParameterError(name, getattr(self, name), "one of " + ", ".join(choices))
        sigmas = {n: getattr(self, n) for n in ("sigma_gram", "sigma_right", "sigma_preparation")}
        for name, value in sigmas.items():
            if value is not None:
                try:
                    limits.check("sigma", value)
                except ParameterError as error:
                    raise ParameterError(
                        name, value, f"{error.allowed}; private=False is how to run without noise"
                    ) from None
        if not self.private and (self.budget is not None or any(v is not None for v in sigmas.values())):
            raise ParameterError("private", False, "True when a budget or noise is given")
        if self.private and self.budget is None and None in (self.sigma_right, self.sigma_preparation):
            raise ParameterError(
                "budget",
                None,
                "given for a private run, or sigma_right and sigma_preparation; private=False adds no noise",
            )
        if self.budget is not None and (self.sigma_right is not None or self.sigma_gram is not None):
            raise ParameterError(
                "sigma_right", self.sigma_right, "left out when a budget is given (one of the two sets it)"
            )

    @property
    def norm(self) -> int:
        """The norm that contributions are bounded in."""
        return norm_of(self.family if self.budget is None else self.budget.family)


def dpals_plan(ratings: Ratings, config: DPALSConfig) -> dict[str, Release] | None:
    """The releases of a run by name; None without noise. Reads no rating: only the sizes of the matrix and its scale."""
    if not config.private:
        return None
    n, r, k, clip = ratings.n_items, config.rank, min(config.items_per_user, ratings.n_items), config.clip_norm
    value_clip = _value_clip(ratings, config)
    frequent = _n_frequent(n, config)
    centred = config.centring == "mean"
    triangle = r * (r + 1) // 2
    gram = clip**2 * (1 + r) / 2  # ℓ1 norm of one upper triangle of u uᵀ
    source = "dpmc_core.completion.dpals: a vector of norm Γ_u in the statistics of k items"
    left = 1 - PREPARATION_SHARE
    parts: dict[str, Part] = {}
    if config.start == "power":
        parts["start"] = power_part(n, r, k, value_clip, config.start_rounds, left * START_SHARE)
    if config.global_penalty:
        parts["all users"] = Part(
            what="Gram matrix over all users",
            l1=gram,
            l2=clip**2,
            coordinates=triangle,
            share=left * GLOBAL_SHARE,
            count=config.iterations,
            source="dpmc_core.completion.dpals: one vector of norm Γ_u",
        )
    left -= sum(part.share for part in parts.values())
    for_gram = 1 / (1 + config.gram_ratio**2)
    k_squared = k if config.sampling == "weights" else min(k, frequent)
    # ℓ1 over the items: Σω is k at most, except for weights of which only Σω² ≤ k is kept
    k_item = math.sqrt(frequent * k) if config.sampling == "weights" and config.norm == 2 else min(k, frequent)
    parts["gram"] = Part(
        what="Gram matrices of all items",
        l1=k_item * gram,
        l2=math.sqrt(k_squared) * clip**2,
        coordinates=frequent * triangle,
        share=left * for_gram,
        count=config.iterations,
        source=source,
    )
    parts["right"] = Part(
        what="right-hand sides of all items",
        l1=k_item * clip * value_clip * math.sqrt(r),
        l2=math.sqrt(k_squared) * clip * value_clip,
        coordinates=frequent * r,
        share=left * (1 - for_gram),
        count=config.iterations,
        source=source,
    )
    before = preparation_parts(n, k, value_clip, PREPARATION_SHARE, centred=centred)
    if config.sigma_preparation is None:
        return plan({**before, **parts}, config.budget)
    shifts = preparation_shifts(n, k, value_clip, centred=centred)
    family = Budget(epsilon=1.0, family=config.family) if config.budget is None else config.budget
    fixed = {
        # σ_p is per number that a user moves: the counts' own unit, and Γ_M for the sum of ratings times √k, as printed
        name: _with_std(before[name].release(family), family, config.sigma_preparation * _unit(name, k, value_clip))
        for name in shifts
    }
    if config.budget is not None:
        return plan(parts, config.budget, fixed)
    assert config.sigma_right is not None
    sigma_gram = config.sigma_gram if config.sigma_gram is not None else config.gram_ratio * config.sigma_right
    given = {"gram": sigma_gram * clip**2, "right": config.sigma_right * clip * value_clip}
    for name, part in parts.items():
        std = given.get(name, config.sigma_right * part.l2)
        fixed[name] = _with_std(part.release(family), family, std)
    return fixed


def _unit(name: str, k: int, value_clip: float) -> float:
    """What Algorithm 3 multiplies σ_p by."""
    return {"sum of ratings": math.sqrt(k) * value_clip, "number of ratings": math.sqrt(k)}.get(name, 1.0)


def _with_std(release: Release, family: Budget, std: float) -> Release:
    return replace(release, mechanism=family.noise(std))


def dpals(
    ratings: Ratings, config: DPALSConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """Yield a ``Step`` after each of T rounds; its users are solved once more on the items just released, unclipped (dpals-paper D.1).

    Users are solved on all their ratings of frequent items, which they may (their vectors are their own); only k of them enter the
    item pass. Predictions: mean + u·v for frequent items, the user's own mean for the others (section 5.1); users without ratings
    get the mean of the scale. Values are measured from the middle of the scale, and clipped to ±Γ_M, again after centring. The objective is
    Σ (x − prediction)² over the training ratings.
    Raises ``ParameterError`` for a rank above the smaller side of the matrix or above β·n_items, and for a budget that the
    preparation alone exceeds.
    """
    check_rank(ratings, config.rank)
    frequent = _n_frequent(ratings.n_items, config)
    if frequent < config.rank:
        raise ParameterError(
            "item_share",
            config.item_share,
            f"at least {config.rank / ratings.n_items:.3g} here: the {frequent} items it keeps are fewer than the rank, {config.rank}",
        )
    curator = Curator(dpals_plan(ratings, config), rng)
    salt = int(rng.integers(2**63))
    k, value_clip = min(config.items_per_user, ratings.n_items), _value_clip(ratings, config)
    values = clipped_values(ratings, value_clip)
    prepared = prepare(
        values,
        curator,
        k=k,
        item_share=config.item_share,
        sampling=config.sampling,
        centred=config.centring == "mean",
        norm=config.norm,
        salt=salt,
    )
    own_mean = own_means(ratings) - centre(ratings)
    base = own_mean if config.centring == "user" else np.full(ratings.n_users, prepared.mean)
    centred = replace(values, values=np.clip(values.values - base[values.users], -value_clip, value_clip))
    if config.start == "power":
        items = noisy_power_iteration(
            centred, prepared.limited, config.rank, k, value_clip, config.start_rounds, curator, rng
        )
        items *= math.sqrt(ratings.n_items / config.rank)
    else:
        items = rng.standard_normal((ratings.n_items, config.rank)) / math.sqrt(config.rank)
    with Workers(workers) as pool:
        solver = _Rounds(centred, prepared, config, value_clip, curator, pool)
        users = solver.users(items)
        for iteration in range(1, config.iterations + 1):
            items = solver.items(users)
            users = solver.users(items)
            model = _assembled(ratings, users, items, base, own_mean, prepared.frequent)
            squares = squared_residuals(ratings, model)
            yield Step(iteration, model, squares, squares, curator.made())


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
    ) -> None:
        self._config, self._curator, self._pool, self._value_clip = config, curator, pool, value_clip
        self._frequent = prepared.frequent
        n_users, n_items, rank = ratings.n_users, ratings.n_items, config.rank
        inside = prepared.frequent[ratings.items]
        seen = ratings.take(inside)
        self._by_user = group_rows(seen.users, seen.items, seen.values, n_users, n_items, rank)
        counts = np.bincount(seen.users, minlength=n_users)
        self._user_reg = config.reg * np.maximum(counts / config.items_per_user, 1e-3) ** config.user_exponent
        part = prepared.part
        # ω_ij = f_i·g_j: √f goes with the user's vector and with the value, g with the sums
        self._root, self._item_weight = np.sqrt(prepared.user_weight), prepared.item_weight
        weighted = ratings.values[part] * self._root[ratings.users[part]]
        self._by_item: Side = group_rows(ratings.items[part], ratings.users[part], weighted, n_items, n_users, rank)
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
        shared = penalty * items[self._frequent].T @ items[self._frequent]

        def update(a: FloatArray, y: FloatArray, rows: NDArray[np.intp], solver: BlockSolver) -> FloatArray:
            gram = np.matmul(a.transpose(0, 2, 1), a) + shared
            gram.reshape(len(rows), -1)[:, :: a.shape[2] + 1] += self._user_reg[rows, None]
            return solve_spd(gram, np.matmul(y[:, None, :], a)[:, 0])

        users, _ = half_sweep(self._by_user, items, self._user_reg, self._pool, update=update)
        return users

    def items(self, users: FloatArray) -> FloatArray:
        """Every frequent item's factors from noisy statistics of the users' clipped vectors; zeros for the others."""
        config, curator = self._config, self._curator
        size = np.linalg.norm(users, axis=1, keepdims=True)
        users = users * np.minimum(1.0, config.clip_norm / np.maximum(size, 1e-300))
        rank = config.rank
        upper = np.triu_indices(rank)
        shared: FloatArray | float = 0.0
        if config.global_penalty:
            noisy = curator.release("all users", (users.T @ users)[upper])
            shared = config.global_penalty * _symmetric(noisy[None], rank)[0]
        streams = curator.stream("gram"), curator.stream("right")

        def solve(gram: FloatArray, right: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
            gram, right = self.released(gram, right, rows, streams)
            return solve_noisy(gram + shared, right, self._item_reg[rows], config.projection)

        def update(a: FloatArray, y: FloatArray, rows: NDArray[np.intp], solver: BlockSolver) -> FloatArray:
            weight = self._item_weight[rows]
            gram = np.matmul(a.transpose(0, 2, 1), a) * weight[:, None, None]
            return solve(gram, np.matmul(y[:, None, :], a)[:, 0] * weight[:, None], rows)

        out, _ = half_sweep(self._by_item, users * self._root[:, None], 1.0, self._pool, update=update)
        # items that nobody's ratings took part for still have noisy statistics: without theirs, their silence would tell
        empty = self._by_item.empty_rows[self._frequent[self._by_item.empty_rows]]
        for start in range(0, empty.size, 256):
            rows = empty[start : start + 256]
            out[rows] = solve(np.zeros((rows.size, rank, rank)), np.zeros((rows.size, rank)), rows)
        if config.orthonormal:
            out = _orthonormal(out)
        return out

    def released(
        self, gram: FloatArray, right: FloatArray, rows: NDArray[np.intp], streams: tuple[Stream, Stream]
    ) -> tuple[FloatArray, FloatArray]:
        """What leaves of these items' statistics: with the noise of their own stretch of the released vectors, whichever thread asks."""
        of_gram, of_right = streams
        if of_gram is None or of_right is None:
            return gram, right
        rank = right.shape[1]
        triangle = rank * (rank + 1) // 2
        place = self._place[rows]
        upper = np.stack([of_gram(int(p) * triangle, triangle) for p in place])
        return gram + _symmetric(upper, rank), right + np.stack([of_right(int(p) * rank, rank) for p in place])


def _value_clip(ratings: Ratings, config: DPALSConfig) -> float:
    half = (ratings.high - ratings.low) / 2
    return config.value_clip if config.value_clip is not None else max(half, 1e-12)


def _n_frequent(n_items: int, config: DPALSConfig) -> int:
    return min(math.ceil(config.item_share * n_items), n_items)


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
