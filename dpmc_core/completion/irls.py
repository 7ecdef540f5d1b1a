"""Alternating IRLS: Huber loss on the item side, with optional noise (huber-paper Algorithms 2 and
3; thesis 4.6).

The solver as a generator of steps; K = 2 inner iterations is the papers' IRLS-2.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.alternating import (
    Alternating,
    AlternatingConfig,
    Reweighting,
    losses,
    noise_of,
    releases_of,
    reweight_items,
)
from dpmc_core.completion.common.population import Learning, Population, in_memory
from dpmc_core.completion.common.step import check_rank, start_item_factors
from dpmc_core.limits import Limit
from dpmc_core.privacy.algorithm import Algorithm, with_mechanism
from dpmc_core.privacy.budget import Journal
from dpmc_core.privacy.ledger import Release
from dpmc_core.privacy.noise import NominalEpsilon, ReleaseVariance, TotalEpsilon

LossAlpha = Annotated[
    float,
    Limit(
        0.01,
        20,
        "transition parameter of the Huber loss in IRLS, in rating units",
        label="IRLS loss α",
        step=0.1,
    ),
]


@dataclass(frozen=True, kw_only=True)
class IRLSConfig(AlternatingConfig):
    """Settings of IRLS: K and the Huber loss's transition (the papers use the noise's α)."""

    inner: Annotated[
        int,
        Limit(
            1,
            100,
            "inner reweighting iterations K of IRLS per item pass",
            label="IRLS inner iterations K",
        ),
    ] = 10
    loss_alpha: LossAlpha = 1.076


@dataclass(frozen=True, kw_only=True)
class IRLS2Config(AlternatingConfig):
    """IRLS with K = 2."""

    loss_alpha: LossAlpha = 1.076
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
    to step. ``noise_on`` moves the noise: see ``releases_of``. With noise on both sides users are
    solved by R-IRLS too (huber-paper eq. 8): the paper has least squares for them because no noise
    is added there (section 3.2). Raises ``ParameterError`` for a rank above the matrix's smaller
    side, and for noise elsewhere than on right-hand sides of ratings that are in partitions.
    """
    check_rank(people, config.rank)
    planned = releases_of(people, config, config.inner)
    release, for_users = (*planned, None, None)[:2]

    def reweighting(n: int, release: Release | None) -> Reweighting:
        noise = None if release is None else noise_of(people, config, release, rng)
        start = rng.standard_normal((n, config.rank))
        return Reweighting(start, noise, config.inner, config.loss_alpha)

    items = journal.once("start", lambda: start_item_factors(people.n_items, config.rank, rng), rng)
    for iteration in range(1, config.iterations + 1):
        users = None if for_users is None else reweighting(people.n_users, for_users)
        state = Alternating(items, items, config.reg, iteration, reweighting=users)

        def sweep(state: Alternating = state) -> FloatArray:
            how = reweighting(people.n_items, release)
            if how.noise is not None and config.noise_on == "output":
                return reweight_items(people, state, replace(how, noise=None)) + how.noise[0]
            return reweight_items(people, state, how)

        items = journal.once(f"items {iteration}", sweep, rng, release)
        state = replace(state, items=items)
        squares, loss, of_users = losses(people, state, config.loss_alpha)
        penalty = config.reg * float(of_users + np.vdot(items, items))
        yield Learning(iteration, state, planned, (), squares, 2 * loss + penalty)


irls = in_memory(learn_irls, as_given=True)


_IRLS = Algorithm(
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
)
ALGORITHMS = (
    _IRLS,
    replace(
        _IRLS,
        name="irls-2",
        title="IRLS-2",
        summary="IRLS with K = 2 reweightings per item pass: the papers' cheap variant.",
        source="huber-paper, section 4 (Tables 4 and 5)",
        config=IRLS2Config,
        order=3,
    ),
)
