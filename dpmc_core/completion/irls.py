"""Alternating IRLS: Huber loss on the item side, with optional noise (huber-paper Algorithms 2 and
3; thesis 4.6).

The solver as a generator of steps; K = 2 inner iterations is the papers' IRLS-2.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.alternating import Alternating, losses, reweight_items
from dpmc_core.completion.common.parameters import Iterations, Penalty, Rank, Sensitivity
from dpmc_core.completion.common.population import Learning, Population, in_memory
from dpmc_core.completion.common.step import check_rank, item_release_of, start_item_factors
from dpmc_core.config import Config
from dpmc_core.limits import Limit
from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.algorithm import Algorithm, with_mechanism
from dpmc_core.privacy.budget import Journal
from dpmc_core.privacy.ledger import sample
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


def learn_irls(
    people: Population, config: IRLSConfig | IRLS2Config, rng: np.random.Generator, journal: Journal
) -> Iterator[Learning]:
    """Yield what was learned after each outer iteration.

    Users by least squares, items by K reweighted solves.

    Per item (R-IRLS, Algorithm 3): θ ~ N(0, I); K times: W = diag(ψ_α(r)/r) with r = y − Aθ, fresh
    noise t, θ ← (AᵀWA + λI)⁻¹(AᵀWy + t). ψ_α(r)/r = min(1, α/|r|). The objective is 2Σ ρ_α(x − u·v)
    + λ(‖U‖² + ‖V‖²), ALS's for α → ∞. The item pass minimises it only for large K: each pass starts
    again from a random θ, and the user pass minimises squares, so the objective may rise from step
    to step. Raises ``ParameterError`` for a rank above the matrix's smaller side.
    """
    check_rank(people, config.rank)
    shape, inner = (people.n_items, config.rank), config.inner
    release = item_release_of(config.mechanism, config.sensitivity, shape, inner)
    items = journal.once("start", lambda: start_item_factors(*shape, rng), rng)
    for iteration in range(1, config.iterations + 1):
        state = Alternating(items, items, config.reg, iteration)

        def sweep(state: Alternating = state) -> FloatArray:
            noise = None if release is None else sample(release, rng).reshape(inner, *shape)
            theta = rng.standard_normal(shape)
            return reweight_items(people, state, theta, noise, inner, config.loss_alpha)

        items = journal.once(f"items {iteration}", sweep, rng, release)
        state = replace(state, items=items)
        squares, loss, of_users = losses(people, state, config.loss_alpha)
        penalty = config.reg * float(of_users + np.vdot(items, items))
        releases = () if release is None else (release,)
        yield Learning(iteration, state, releases, (), squares, 2 * loss + penalty)


irls = in_memory(learn_irls, as_given=True)


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
        learn=learn_irls,
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
        learn=learn_irls,
    ),
)
