"""The algorithms that can run on users in partitions, by name.

Provides ``SOLVERS``. Each is a generator of steps on a population: what is released is released
by the same functions, on the same plan and with the same noise as in memory.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.als import ALSConfig
from dpmc_core.completion.common.population import Group, Population, adds_up
from dpmc_core.completion.common.step import (
    FactorModel,
    Sides,
    check_rank,
    item_release,
    start_item_factors,
)
from dpmc_core.completion.dpals.plan import DPALSConfig, dpals_plan
from dpmc_core.completion.dpals.rounds import Basis
from dpmc_core.completion.dpals.solver import begin, fit_dpals, next_items
from dpmc_core.completion.irls import IRLS2Config, IRLSConfig
from dpmc_core.completion.item_factors import Profile
from dpmc_core.completion.kernel.lapack import solve_spd
from dpmc_core.completion.kernel.solve import BlockSolver, half_sweep, upper_gram
from dpmc_core.completion.kernel.threads import Workers, single_blas_thread
from dpmc_core.completion.moments import (
    MomentsConfig,
    fit_moments,
    moments_curator,
    release_moments,
)
from dpmc_core.completion.offsets import PrivateMeansConfig, fit_means, means_curator, release_means
from dpmc_core.mechanisms.huber_distribution import rho
from dpmc_core.partitioned.population import Partitions, PartitionStep
from dpmc_core.privacy.budget import Curator, Journal
from dpmc_core.privacy.ledger import Release, sample

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
    people: Partitions, config: ALSConfig, rng: np.random.Generator, journal: Journal
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
            solved, squares = _solved(sums[:-1], config.reg, noise)
            # for whoever holds the data: kept nowhere
            exact.extend((squares, float(sums[-1, 0])))
            return solved

        items = journal.once(f"items {iteration}", sweep, rng, release)
        made = () if release is None else (release,)
        state = replace(state, items=items)
        if not exact and iteration == config.iterations:  # the last one was kept: one more pass
            squares, _, of_users = (float(x) for x in people.total(_losses, state, 1.0))
            exact.extend((squares, of_users))
        if not exact:
            yield PartitionStep(iteration, state, made)
            continue
        squares, of_users = exact
        penalty = config.reg * (of_users + float(np.vdot(items, items)))
        yield PartitionStep(iteration, state, made, (), squares, squares + penalty)


def irls(
    people: Partitions, config: IRLSConfig | IRLS2Config, rng: np.random.Generator, journal: Journal
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
                given = None if noise is None else noise[k]
                sums = people.total(_sums, state, theta, config.loss_alpha)
                theta, _ = _solved(sums[:-1], config.reg, given)
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


def _solved(sums: FloatArray, reg: float, noise: FloatArray | None) -> tuple[FloatArray, float]:
    """Of the items' rows of ``_sums``, every item's θ = (G + λI)⁻¹(b + t) (n_items×r), and all
    items' Σ residual² = Σ x² − 2θ·b + θ·Gθ.
    """
    rank = int(np.sqrt(2 * sums.shape[1] + 0.25) - 1.5)  # r(r + 1)/2 + r + 1 columns
    rows, columns = np.triu_indices(rank)
    out, squares = np.zeros((len(sums), rank)), 0.0
    with single_blas_thread():
        for at in range(0, len(sums), _AT_ONCE):
            piece = slice(at, at + _AT_ONCE)
            packed, b, of_values = np.split(sums[piece], [len(rows), len(rows) + rank], axis=1)
            gram = np.zeros((len(packed), rank, rank))
            gram[:, rows, columns] = packed
            gram.reshape(len(packed), -1)[:, :: rank + 1] += reg
            t = 0.0 if noise is None else noise[piece]
            out[piece] = theta = solve_spd(gram, b + t)
            # with (G + λI)θ = b + t, as in ``kernel.solve``
            squares += float(of_values.sum() - np.vdot(theta, b - t + reg * theta))
    return out, squares


Solver = Callable[[Partitions, Any, np.random.Generator, Journal], Iterator[PartitionStep]]


@dataclass(frozen=True, eq=False)
class _Means:
    offsets: FloatArray

    def model(self, group: Group) -> FactorModel:
        return fit_means(group, self.offsets)


@dataclass(frozen=True, eq=False)
class _Moments:
    profile: Profile

    def model(self, group: Group) -> FactorModel:
        return fit_moments(group, self.profile)


@dataclass(frozen=True, eq=False)
class _DPALS:
    basis: Basis
    items: FloatArray

    def model(self, group: Group) -> FactorModel:
        return fit_dpals(group, self.basis, self.items)


def _private_means(
    people: Population, config: PrivateMeansConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[PartitionStep]:
    curator = means_curator(people, config, rng, journal)
    learned = _Means(release_means(people, config, curator))
    yield PartitionStep(1, learned, curator.made(), curator.rest())


def _one_shot_moments(
    people: Population, config: MomentsConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[PartitionStep]:
    curator = moments_curator(people, config, rng, journal)
    for iteration, profile in enumerate(release_moments(people, config, curator), start=1):
        yield PartitionStep(iteration, _Moments(profile), curator.made(), curator.rest())


def _dpals(
    people: Population, config: DPALSConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[PartitionStep]:
    check_rank(people, config.rank)
    curator = Curator(dpals_plan(people, config), rng, journal)
    basis, items = begin(people, config, curator, rng)
    for iteration in range(1, config.iterations + 1):
        items = next_items(people, basis, items, curator)
        yield PartitionStep(iteration, _DPALS(basis, items), curator.made(), curator.rest())


SOLVERS: dict[str, Solver] = {
    "als": als,
    "irls": irls,
    "irls-2": irls,
    "dpals": _dpals,
    "moments": _one_shot_moments,
    "private-means": _private_means,
}
