"""Alternating least squares with optional noise (huber-paper Algorithm 1).

The solver as a generator of steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpmc_core.completion.common.parameters import Iterations, Penalty, Rank, Sensitivity
from dpmc_core.completion.common.step import (
    FactorModel,
    Sides,
    Step,
    check_rank,
    draw_item_noise,
    start_item_factors,
)
from dpmc_core.completion.kernel.solve import half_sweep
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.config import Config
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.algorithm import Algorithm, with_mechanism
from dpmc_core.privacy.noise import NominalEpsilon, ReleaseVariance, TotalEpsilon


@dataclass(frozen=True, kw_only=True)
class ALSConfig(Config):
    """Settings of ALS; ``mechanism`` is the noise, None for none, and the ledger records the Δ."""

    rank: Rank = 32
    reg: Penalty = 10.0
    iterations: Iterations = 20
    sensitivity: Sensitivity = 5.0
    mechanism: Mechanism | None = None


def als(
    ratings: Ratings, config: ALSConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """Yield a ``Step`` after each outer iteration.

    All users solved exactly, then all items with noise.

    u_i ← (Σ v vᵀ + λI)⁻¹ Σ x v;  v_j ← (Σ u uᵀ + λI)⁻¹ (Σ x u + t), t fresh noise of r numbers per
    item. The objective is Σ (x − u·v)² + λ(‖U‖² + ‖V‖²). Results do not depend on ``workers``
    (threads; all processors by default). Raises ``ParameterError`` for a rank above the matrix's
    smaller side.
    """
    check_rank(ratings, config.rank)
    sides = Sides.of(ratings, config.rank)
    items = start_item_factors(ratings.n_items, config.rank, rng)
    with Workers(workers) as pool:
        for iteration in range(1, config.iterations + 1):
            noise, releases = draw_item_noise(
                config.mechanism, ratings.n_items, config.rank, 1, config.sensitivity, rng
            )
            users, _ = half_sweep(sides.by_user, items, config.reg, pool)
            items, squares = half_sweep(
                sides.by_item,
                users,
                config.reg,
                pool,
                noise=None if noise is None else noise[0],
                measure=True,
            )
            penalty = config.reg * float(np.vdot(users, users) + np.vdot(items, items))
            yield Step(iteration, FactorModel(users, items), squares, squares + penalty, releases)


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
    ),
)
