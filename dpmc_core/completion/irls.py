"""Alternating IRLS: Huber loss on the item side, with optional noise (huber-paper Algorithms 2 and
3; thesis 4.6).

The solver as a generator of steps; K = 2 inner iterations is the papers' IRLS-2.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.parameters import Iterations, Penalty, Rank, Sensitivity
from dpmc_core.completion.common.step import (
    FactorModel,
    Sides,
    Step,
    check_rank,
    draw_item_noise,
    start_item_factors,
)
from dpmc_core.completion.kernel.solve import BlockSolver, Update, half_sweep
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.config import Config
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.limits import Limit
from dpmc_core.mechanisms import Mechanism
from dpmc_core.mechanisms.huber_distribution import rho
from dpmc_core.privacy.algorithm import Algorithm, with_mechanism
from dpmc_core.privacy.noise import NominalEpsilon, ReleaseVariance, TotalEpsilon

LossAlpha = Annotated[
    float,
    Limit(
        "loss_alpha",
        0.01,
        20,
        "transition parameter of the Huber loss in IRLS, in rating units",
        label="IRLS loss α",
        step=0.1,
    ),
]


@dataclass(frozen=True, kw_only=True)
class IRLSConfig(Config):
    """As ``ALSConfig``, with K and the Huber loss's transition (the papers use the noise's α)."""

    rank: Rank = 32
    reg: Penalty = 10.0
    iterations: Iterations = 20
    inner: Annotated[
        int,
        Limit(
            "inner",
            1,
            100,
            "inner reweighting iterations K of IRLS per item pass",
            integer=True,
            label="IRLS inner iterations K",
        ),
    ] = 10
    loss_alpha: LossAlpha = 1.076
    sensitivity: Sensitivity = 5.0
    mechanism: Mechanism | None = None


@dataclass(frozen=True, kw_only=True)
class IRLS2Config(Config):
    """IRLS with K = 2."""

    rank: Rank = 32
    reg: Penalty = 10.0
    iterations: Iterations = 20
    loss_alpha: LossAlpha = 1.076
    sensitivity: Sensitivity = 5.0
    mechanism: Mechanism | None = None
    inner: ClassVar[int] = 2


def irls(
    ratings: Ratings,
    config: IRLSConfig | IRLS2Config,
    rng: np.random.Generator,
    workers: int | None = None,
) -> Iterator[Step]:
    """Yield a ``Step`` after each outer iteration.

    Users by least squares, items by K reweighted solves.

    Per item (R-IRLS, Algorithm 3): θ ~ N(0, I); K times: W = diag(ψ_α(r)/r) with r = y − Aθ, fresh
    noise t, θ ← (AᵀWA + λI)⁻¹(AᵀWy + t). ψ_α(r)/r = min(1, α/|r|). The objective is 2Σ ρ_α(x − u·v)
    + λ(‖U‖² + ‖V‖²), ALS's for α → ∞. The item pass minimises it only for large K: each pass starts
    again from a random θ, and the user pass minimises squares, so the objective may rise from step
    to step. Raises ``ParameterError`` for a rank above the matrix's smaller side.
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


ALGORITHMS = (
    Algorithm(
        name="irls",
        title="IRLS",
        summary="The item pass uses the Huber loss, solved by K reweighted least squares, each "
        "with fresh noise.",
        source="huber-paper, Algorithms 2 and 3; huber-thesis, section 4.6",
        tuned="MovieLens 100K",
        config=IRLSConfig,
        order=2,
        noise=(ReleaseVariance, NominalEpsilon, TotalEpsilon),
        unit="rating",
        prepare=with_mechanism,
        rate=irls,
    ),
    Algorithm(
        name="irls-2",
        title="IRLS-2",
        summary="IRLS with K = 2 reweightings per item pass: the papers' cheap variant.",
        source="huber-paper, section 4 (Tables 4 and 5)",
        tuned="MovieLens 100K",
        config=IRLS2Config,
        order=3,
        noise=(ReleaseVariance, NominalEpsilon, TotalEpsilon),
        unit="rating",
        prepare=with_mechanism,
        rate=irls,
    ),
)
