"""Alternating IRLS: Huber loss on the item side, with optional noise (huber-paper Algorithms 2 and 3; thesis 4.6).

Lives here: the solver as a generator of steps; K = 2 inner iterations is the papers' IRLS-2. Does not live here: the
least-squares kernel (``kernel``).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmc_core import limits
from dpmc_core.completion.kernel import BlockSolver, Update, Workers, half_sweep
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
from dpmc_core.mechanisms.huber_distribution import rho

FloatArray = NDArray[np.float64]

__all__ = ["IRLSConfig", "irls"]


@dataclass(frozen=True, kw_only=True, slots=True)
class IRLSConfig:
    """As ``ALSConfig``, plus ``inner`` K reweighting iterations per item pass and the Huber loss's transition
    ``loss_alpha`` in rating units (the papers use the noise's α). Validated on construction (``ParameterError``)."""

    rank: int = 32
    reg: float = 10.0
    iterations: int = 20
    inner: int = 10
    loss_alpha: float = 1.076
    mechanism: Mechanism | None = None
    sensitivity: float = 5.0

    def __post_init__(self) -> None:
        limits.check_int("rank", self.rank)
        limits.check("reg", self.reg)
        limits.check_int("iterations", self.iterations)
        limits.check_int("inner", self.inner)
        limits.check("loss_alpha", self.loss_alpha)
        limits.check("nominal_sensitivity", self.sensitivity)


def irls(
    ratings: Ratings, config: IRLSConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """Yield a ``Step`` after each outer iteration: users by least squares, items by K reweighted solves.

    Per item (R-IRLS, Algorithm 3): θ ~ N(0, I); K times: W = diag(ψ_α(r)/r) with r = y − Aθ, fresh noise t,
    θ ← (AᵀWA + λI)⁻¹(AᵀWy + t). ψ_α(r)/r = min(1, α/|r|). The objective is 2Σ ρ_α(x − u·v) + λ(‖U‖² + ‖V‖²), ALS's for
    α → ∞. The item pass minimises it only for large K: each pass starts anew from a random θ, and the user pass minimises
    squares, so the objective may rise from step to step. Raises ``ParameterError`` for a rank above the matrix's smaller
    side.
    """
    check_rank(ratings, config.rank)
    sides = Sides.of(ratings, config.rank)
    items = start_item_factors(ratings.n_items, config.rank, rng)
    with Workers(workers) as pool:
        for iteration in range(1, config.iterations + 1):
            noise, releases = draw_item_noise(
                config.mechanism,
                ratings.n_items,
                config.rank,
                config.inner,
                config.sensitivity,
                rng,
            )
            start = rng.standard_normal((ratings.n_items, config.rank))
            users, _ = half_sweep(sides.by_user, items, config.reg, pool)
            items, squares = half_sweep(
                sides.by_item,
                users,
                config.reg,
                pool,
                update=_reweighted(start, noise, config.inner, config.loss_alpha),
                measure=True,
            )
            # an item without ratings has A = 0: its solution is the last noise vector over λ
            empty = sides.by_item.empty_rows
            if noise is not None:
                items[empty] = noise[-1][empty] / config.reg
            model = FactorModel(users, items)
            residuals = ratings.values - model.predict(ratings.users, ratings.items)
            penalty = config.reg * float(np.vdot(users, users) + np.vdot(items, items))
            objective = 2 * float(np.sum(rho(residuals, config.loss_alpha))) + penalty
            yield Step(iteration, model, squares, objective, releases)


def _reweighted(
    start: FloatArray, noise: FloatArray | None, inner: int, loss_alpha: float
) -> Update:
    """The R-IRLS update of one gathered block, for ``half_sweep``."""

    def update(
        a: FloatArray, y: FloatArray, rows: NDArray[np.intp], solver: BlockSolver
    ) -> FloatArray:
        theta = start[rows]
        for k in range(inner):
            weights = np.matmul(a, theta[..., None])[..., 0]
            np.subtract(y, weights, out=weights)
            np.abs(weights, out=weights)
            np.maximum(
                weights, loss_alpha, out=weights
            )  # min(1, α/|r|) = α/max(|r|, α), without dividing by zero
            np.divide(loss_alpha, weights, out=weights)
            theta = solver.solve(y, weights, None if noise is None else noise[k][rows])
        return theta

    return update
