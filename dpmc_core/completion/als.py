"""Alternating least squares with optional noise (huber-paper Algorithm 1).

Lives here: the solver as a generator of steps. Does not live here: the least-squares kernel (``kernel``), robust
reweighting (``irls``), or any claim about privacy beyond the releases it writes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpmc_core import limits
from dpmc_core.completion.kernel import Workers, half_sweep
from dpmc_core.completion.step import (
    FactorModel,
    Sides,
    Step,
    check_rank,
    draw_item_noise,
    start_item_factors,
)
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.mechanisms import Mechanism

__all__ = ["ALSConfig", "als"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ALSConfig:
    """``rank`` r, ridge penalty ``reg`` λ, ``iterations`` T, ``mechanism`` (None for no noise), and the nominal
    ``sensitivity`` Δ that the ledger records. Validated on construction (``ParameterError``)."""

    rank: int = 32
    reg: float = 10.0
    iterations: int = 20
    mechanism: Mechanism | None = None
    sensitivity: float = 5.0

    def __post_init__(self) -> None:
        limits.check_int("rank", self.rank)
        limits.check("reg", self.reg)
        limits.check_int("iterations", self.iterations)
        limits.check("nominal_sensitivity", self.sensitivity)


def als(
    ratings: Ratings, config: ALSConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """Yield a ``Step`` after each outer iteration: all users solved exactly, then all items with noise.

    u_i ← (Σ v vᵀ + λI)⁻¹ Σ x v;  v_j ← (Σ u uᵀ + λI)⁻¹ (Σ x u + t), t fresh noise of r numbers per item.
    The objective is Σ (x − u·v)² + λ(‖U‖² + ‖V‖²). Results do not depend on ``workers`` (threads; all processors by
    default). Raises ``ParameterError`` for a rank above the matrix's smaller side.
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
