"""Alternating least squares with optional noise (huber-paper Algorithm 1).

The solver as a generator of steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.alternating import Alternating, losses, solve_items
from dpmc_core.completion.common.parameters import Iterations, Penalty, Rank, Sensitivity
from dpmc_core.completion.common.population import Learning, Population, in_memory
from dpmc_core.completion.common.step import check_rank, item_release_of, start_item_factors
from dpmc_core.config import Config
from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.algorithm import Algorithm, with_mechanism
from dpmc_core.privacy.budget import Journal
from dpmc_core.privacy.ledger import sample
from dpmc_core.privacy.noise import NominalEpsilon, ReleaseVariance, TotalEpsilon


@dataclass(frozen=True, kw_only=True)
class ALSConfig(Config):
    """Settings of ALS; ``mechanism`` is the noise, None for none, and the ledger records the Δ."""

    rank: Rank = 32
    reg: Penalty = 10.0
    iterations: Iterations = 20
    sensitivity: Sensitivity = 5.0
    mechanism: Mechanism | None = None


def learn_als(
    people: Population, config: ALSConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[Learning]:
    """Yield what was learned after each outer iteration.

    All users solved exactly, then all items with noise.

    u_i ← (Σ v vᵀ + λI)⁻¹ Σ x v;  v_j ← (Σ u uᵀ + λI)⁻¹ (Σ x u + t), t fresh noise of r numbers per
    item. The objective is Σ (x − u·v)² + λ(‖U‖² + ‖V‖²). Raises ``ParameterError`` for a rank above
    the matrix's smaller side.
    """
    check_rank(people, config.rank)
    shape = people.n_items, config.rank
    release = item_release_of(config, shape)
    items = journal.once("start", lambda: start_item_factors(*shape, rng), rng)
    for iteration in range(1, config.iterations + 1):
        state = Alternating(items, items, config.reg, iteration)
        exact: list[float] = []

        def sweep(state: Alternating = state, exact: list[float] = exact) -> FloatArray:
            noise = None if release is None else sample(release, rng).reshape(shape)
            solved, *sums = solve_items(people, state, noise)
            exact.extend(sums)  # for the holder of the data: kept nowhere
            return solved

        items = journal.once(f"items {iteration}", sweep, rng, release)
        releases = () if release is None else (release,)
        state = replace(state, items=items)
        if not exact and iteration == config.iterations:  # the last one was kept: one more pass
            squares, _, of_users = losses(people, state, 1.0)
            exact.extend((squares, of_users))
        if not exact:
            yield Learning(iteration, state, releases)
            continue
        squares, of_users = exact
        penalty = config.reg * (of_users + float(np.vdot(items, items)))
        yield Learning(iteration, state, releases, (), squares, squares + penalty)


als = in_memory(learn_als, as_given=True)


ALGORITHMS = (
    Algorithm(
        name="als",
        title="ALS",
        summary="Alternating least squares: all users exactly, then all items, with one noise "
        "vector per item and iteration.",
        source="huber-paper, Algorithm 1",
        tuned="MovieLens 100K",
        config=ALSConfig,
        order=1,
        noise=(ReleaseVariance, NominalEpsilon, TotalEpsilon),
        unit="rating",
        prepare=with_mechanism,
        rate=als,
        learn=learn_als,
    ),
)
