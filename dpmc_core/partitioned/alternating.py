"""ALS and IRLS on users in partitions: a partition gives sums for items, the curator solves.

Provides ``als`` and ``irls``, the same iterations as ``completion.als`` and ``completion.irls``. A
user is solved where their ratings are; what travels from a partition is Σ u uᵀ, Σ x u and Σ x² of
each item, n_items·(r(r + 1)/2 + r + 1) numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpmc_core.completion.als import ALSConfig
from dpmc_core.completion.common.population import Group, Population, adds_up
from dpmc_core.completion.common.step import (
    FactorModel,
    Sides,
    check_rank,
    item_release,
    start_item_factors,
)
from dpmc_core.completion.irls import IRLS2Config, IRLSConfig
from dpmc_core.completion.kernel.lapack import solve_spd
from dpmc_core.completion.kernel.solve import BlockSolver, half_sweep, upper_gram
from dpmc_core.completion.kernel.threads import Workers, single_blas_thread
from dpmc_core.mechanisms.huber_distribution import rho
from dpmc_core.partitioned.population import PartitionStep
from dpmc_core.privacy.budget import Journal
from dpmc_core.privacy.ledger import Release, sample

FloatArray = NDArray[np.float64]

__all__ = ["Alternating", "als", "irls"]

_AT_ONCE = 1024  # items that are solved together


@dataclass(frozen=True, eq=False)
class Alternating:
    """What every user solves alone: on ``before``, the items' factors that their own follow from;
    they are predicted with ``items``.
    """

    before: FloatArray
    items: FloatArray
    reg: float
    iteration: int

    def model(self, group: Group) -> FactorModel:
        """The group's users with all items."""
        return FactorModel(_users(group, self), self.items)


def als(
    people: Population, config: ALSConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[PartitionStep]:
    """As ``completion.als.als``, with a pass over the partitions for each iteration.

    Raises ``ParameterError`` for a rank above the smaller side of the matrix.
    """
    check_rank(people, config.rank)
    shape = people.n_items, config.rank
    release = _release(config, shape, 1)
    items = journal.once("start", lambda: start_item_factors(*shape, rng), rng)
    for iteration in range(1, config.iterations + 1):
        state = Alternating(items, items, config.reg, iteration)

        exact: list[float] = []

        def sweep(state: Alternating = state, exact: list[float] = exact) -> FloatArray:
            noise = None if release is None else sample(release, rng).reshape(shape)
            sums = people.total(_sums, state)
            solved, squares = _solved(sums, config.rank, config.reg, noise)
            exact.extend((squares, float(sums[-1, 0])))  # for whoever holds the data: kept nowhere
            return solved

        items = journal.once(f"items {iteration}", sweep, rng, release)
        made = () if release is None else (release,)
        state = replace(state, items=items)
        if not exact:  # from what was kept
            yield PartitionStep(iteration, state, made)
            continue
        squares, of_users = exact
        penalty = config.reg * (of_users + float(np.vdot(items, items)))
        yield PartitionStep(iteration, state, made, (), squares, squares + penalty)


def irls(
    people: Population, config: IRLSConfig | IRLS2Config, rng: np.random.Generator, journal: Journal
) -> Iterator[PartitionStep]:
    """As ``completion.irls.irls``: a pass over the partitions for each of K reweightings, and one
    for the objective.

    Raises ``ParameterError`` for a rank above the smaller side of the matrix.
    """
    check_rank(people, config.rank)
    shape, inner = (people.n_items, config.rank), config.inner
    release = _release(config, shape, inner)
    items = journal.once("start", lambda: start_item_factors(*shape, rng), rng)
    for iteration in range(1, config.iterations + 1):
        state = Alternating(items, items, config.reg, iteration)

        def sweep(state: Alternating = state) -> FloatArray:
            noise = None if release is None else sample(release, rng).reshape(inner, *shape)
            theta = rng.standard_normal(shape)
            for k in range(inner):
                sums = people.total(_sums, state, theta, config.loss_alpha)
                given = None if noise is None else noise[k]
                theta, _ = _solved(sums, config.rank, config.reg, given)
            return theta

        items = journal.once(f"items {iteration}", sweep, rng, release)
        state = replace(state, items=items)
        squares, loss, of_users = people.total(_losses, state, config.loss_alpha)
        penalty = config.reg * float(of_users + np.vdot(items, items))
        made = () if release is None else (release,)
        yield PartitionStep(iteration, state, made, (), float(squares), 2 * loss + penalty)


def _release(
    config: ALSConfig | IRLSConfig | IRLS2Config, shape: tuple[int, int], inner: int
) -> Release | None:
    if config.mechanism is None:
        return None
    return item_release(config.mechanism, *shape, inner, config.sensitivity)


def _users(group: Group, state: Alternating, *, again: bool = False) -> FloatArray:
    """The vectors of a group's users, on the items' factors before this iteration; kept where they
    will be asked for ``again``.
    """
    sides = _sides(group, state)

    def solved() -> FloatArray:
        with Workers(group.threads) as pool:
            return half_sweep(sides.by_user, state.before, state.reg, pool)[0]

    if not again:
        return solved()
    return group.kept("users", (state.iteration, state.reg, _mark(state.before)), solved)


def _sides(group: Group, state: Alternating) -> Sides:
    rank = state.before.shape[1]
    return group.kept("sides", rank, lambda: Sides.of(group.ratings, rank).short())


def _mark(factors: FloatArray) -> tuple[float, ...]:
    """Tells factors from those of another run."""
    return float(factors.sum()), float(np.vdot(factors, factors))


@adds_up
def _sums(
    group: Group,
    state: Alternating,
    theta: FloatArray | None = None,
    loss_alpha: float = 0.0,
    *,
    into: FloatArray | None = None,
) -> FloatArray:
    """By item the upper triangle of Σ w u uᵀ, Σ w x u and Σ x² (n_items + 1 × r(r+1)/2 + r + 1);
    w = 1, or with ``theta`` (n_items×r) the Huber loss's min(1, α/|x − u·θ|). The last row begins
    with Σ ‖u‖².
    """
    sides, users = _sides(group, state), _users(group, state, again=theta is not None)
    rank = users.shape[1]
    upper = np.ravel_multi_index(np.triu_indices(rank), (rank, rank))
    triangle = len(upper)
    out = np.zeros((len(state.before) + 1, triangle + rank + 1)) if into is None else into

    def collect(
        a: FloatArray, y: FloatArray, items: NDArray[np.intp], solver: BlockSolver
    ) -> FloatArray:
        target, left = y, a
        if theta is not None:
            away = np.abs(y - np.matmul(a, theta[items][..., None])[..., 0])
            root = np.sqrt(loss_alpha / np.maximum(away, loss_alpha))
            target, left = root * y, a * root[..., None]
        gram = pool.scratch("gram", (len(items), rank, rank))
        upper_gram(left, gram)
        out[items, :triangle] += gram.reshape(len(items), -1).take(upper, axis=1)
        out[items, triangle:-1] += np.matmul(target[:, None, :], left)[:, 0]
        out[items, -1] += np.einsum("bn,bn->b", y, y)
        return np.zeros((len(items), rank))

    with Workers(group.threads) as pool:
        half_sweep(sides.by_item, users, 1.0, pool, update=collect)
    out[-1, 0] += float(np.vdot(users, users))
    return out


def _losses(group: Group, state: Alternating, loss_alpha: float) -> FloatArray:
    """Σ residual², Σ ρ_α(residual) and Σ ‖u‖² (3,)."""
    ratings, model = group.ratings, state.model(group)
    left = ratings.values - model.predict(ratings.users, ratings.items)
    loss, users = float(np.sum(rho(left, loss_alpha))), model.user_factors
    return np.array([float(np.vdot(left, left)), loss, float(np.vdot(users, users))])


def _solved(
    sums: FloatArray, rank: int, reg: float, noise: FloatArray | None
) -> tuple[FloatArray, float]:
    """Every item's θ = (G + λI)⁻¹(b + t), and Σ residual² = Σ x² − 2θ·b + θ·Gθ."""
    rows, columns = np.triu_indices(rank)
    triangle = len(rows)
    out = np.zeros((len(sums) - 1, rank))

    def solve(start: int) -> float:
        piece = slice(start, min(start + _AT_ONCE, len(out)))
        packed, b, of_values = np.split(sums[piece], [triangle, triangle + rank], axis=1)
        gram = np.zeros((len(packed), rank, rank))
        gram[:, rows, columns] = packed
        gram.reshape(len(packed), -1)[:, :: rank + 1] += reg
        right = b if noise is None else b + noise[piece]
        theta = solve_spd(gram, right)
        # with (G + λI)θ = b + t, as in ``kernel.solve``
        moved = b if noise is None else b - noise[piece]
        out[piece] = theta
        return float(of_values.sum() - np.vdot(theta, moved) - reg * np.vdot(theta, theta))

    with Workers() as pool, single_blas_thread():
        squares = pool.map(solve, range(0, len(out), _AT_ONCE))
    return out, squares
