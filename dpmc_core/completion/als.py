"""Alternating least squares with optional noise (huber-paper Algorithm 1).

The solver as a generator of steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.alternating import (
    Alternating,
    AlternatingConfig,
    losses,
    noise_of,
    releases_of,
    solve_items,
)
from dpmc_core.completion.common.population import Learning, Population, in_memory
from dpmc_core.completion.common.step import check_rank, start_item_factors
from dpmc_core.limits import Limit
from dpmc_core.privacy.algorithm import Algorithm, with_mechanism
from dpmc_core.privacy.budget import Journal
from dpmc_core.privacy.ledger import Release
from dpmc_core.privacy.noise import NominalEpsilon, ReleaseVariance, TotalEpsilon


@dataclass(frozen=True, kw_only=True)
class ALSConfig(AlternatingConfig):
    """Settings of ALS."""

    noisy_iterations: (
        Annotated[
            int,
            Limit(
                1,
                500,
                "outer iterations with noise, from the first; the others have none, and the run "
                "protects nothing",
            ),
        ]
        | None
    ) = None

    @property
    def stops(self) -> bool:
        """Whether iterations without noise follow those with it."""
        return self.noisy_iterations is not None and self.noisy_iterations < self.iterations


def learn_als(
    people: Population, config: ALSConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[Learning]:
    """Yield what was learned after each outer iteration.

    All users solved exactly, then all items with noise.

    u_i ← (Σ v vᵀ + λI)⁻¹ Σ x v;  v_j ← (Σ u uᵀ + λI)⁻¹ (Σ x u + t), t fresh noise of r numbers per
    item. The objective is Σ (x − u·v)² + λ(‖U‖² + ‖V‖²). ``noise_on`` moves the noise: see
    ``releases_of``. Raises ``ParameterError`` for a rank above the matrix's smaller side, and for
    noise elsewhere than on right-hand sides of ratings that are in partitions.
    """
    check_rank(people, config.rank)
    planned = releases_of(people, config)
    if config.stops:
        planned = tuple(replace(one, kind="huber-stopped") for one in planned)
    items = journal.once("start", lambda: start_item_factors(people.n_items, config.rank, rng), rng)
    for iteration in range(1, config.iterations + 1):
        if iteration > (config.noisy_iterations or iteration):
            planned = ()
        release, for_users = (*planned, None, None)[:2]
        noise = None if for_users is None else noise_of(people, config, for_users, rng)[0]
        state = Alternating(items, items, config.reg, iteration, noise)
        exact: list[float] = []

        def sweep(
            state: Alternating = state,
            exact: list[float] = exact,
            release: Release | None = release,
        ) -> FloatArray:
            noise = None if release is None else noise_of(people, config, release, rng)[0]
            if noise is not None and config.noise_on == "output":
                return solve_items(people, state, None)[0] + noise
            solved, *sums = solve_items(people, state, noise)
            exact.extend(sums)  # for the holder of the data: kept nowhere
            return solved

        items = journal.once(f"items {iteration}", sweep, rng, release)
        state = replace(state, items=items)
        if not exact and iteration == config.iterations:  # the last one was kept: one more pass
            squares, _, of_users = losses(people, state, 1.0)
            exact.extend((squares, of_users))
        if not exact:
            yield Learning(iteration, state, planned)
            continue
        squares, of_users = exact
        penalty = config.reg * (of_users + float(np.vdot(items, items)))
        yield Learning(iteration, state, planned, (), squares, squares + penalty)


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
