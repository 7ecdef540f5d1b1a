"""How a RunSpec becomes a user-level run: its budget, and the configurations of the algorithms that protect users.

Lives here: the step builders that ``registry`` names for those algorithms and for the baselines that protect nobody. Does not live here:
the algorithms (``completion``) or their plans.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpmc_core.completion.dpals import dpals
from dpmc_core.completion.dpals_plan import DPALSConfig
from dpmc_core.completion.frank_wolfe import FrankWolfeConfig, frank_wolfe
from dpmc_core.completion.moments import MomentsConfig, moments_once
from dpmc_core.completion.offsets import PrivateMeansConfig, private_means
from dpmc_core.completion.private_svd import PrivateSVDConfig, private_svd
from dpmc_core.completion.recommending import LikesConfig, moments_of_likes, most_popular
from dpmc_core.completion.spectral import SpectralConfig
from dpmc_core.completion.step import Step
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.budget import Budget

if TYPE_CHECKING:
    from dpmc_core.experiments.spec import RunSpec

__all__ = [
    "DEFAULT_TOTAL",
    "budget_of",
    "dpals_config",
    "recommender",
    "run_baseline",
    "run_private",
]

DEFAULT_TOTAL = 1.0  # total ε where a spec names noise but no amount
Steps = Callable[
    [Ratings, "RunSpec", Mechanism | None, np.random.Generator, int | None], Iterator[Step]
]
Recommends = Callable[
    [Ratings, Ratings, "RunSpec", np.random.Generator, int | None], Iterator[Step]
]
Solver = Callable[[Ratings, SpectralConfig, np.random.Generator, int | None], Iterator[Step]]


def budget_of(spec: "RunSpec") -> Budget | None:
    """The total budget of a user-level spec, or None without noise. Raises ``ParameterError``."""
    if spec.mechanism == "none":
        return None
    options = {} if spec.alpha is None else {"alpha": spec.alpha}
    epsilon = DEFAULT_TOTAL if spec.epsilon is None else spec.epsilon
    return Budget(epsilon=epsilon, delta=spec.delta, family=spec.mechanism, **options)


def dpals_config(spec: "RunSpec") -> DPALSConfig:
    """DPALS as a spec sets it."""
    budget = budget_of(spec)
    return DPALSConfig(
        rank=spec.rank,
        reg=spec.reg,
        iterations=spec.iterations,
        items_per_user=spec.items_per_user,
        item_share=spec.item_share,
        clip_norm=spec.clip_norm,
        value_clip=spec.value_clip,
        gram_ratio=spec.gram_ratio,
        item_exponent=spec.item_exponent,
        user_exponent=spec.user_exponent,
        global_penalty=spec.global_penalty,
        sampling=spec.sampling,
        projection=spec.projection,
        start=spec.start,
        centring=spec.centring,
        private=budget is not None,
        budget=budget,
    )


def run_private(name: str) -> Steps:
    """The builder of one of the algorithms that protect users."""

    def build(
        ratings: Ratings,
        spec: "RunSpec",
        mechanism: Mechanism | None,
        rng: np.random.Generator,
        workers: int | None,
    ) -> Iterator[Step]:
        budget = budget_of(spec)
        if name == "dpals":
            return dpals(ratings, dpals_config(spec), rng, workers)
        if name == "private-means":
            return private_means(ratings, PrivateMeansConfig(budget=budget), rng, workers)
        if name == "private-svd":
            return private_svd(
                ratings, PrivateSVDConfig(rank=spec.rank, budget=budget), rng, workers
            )
        if name == "private-fw":
            config = FrankWolfeConfig(
                iterations=spec.iterations,
                nuclear=spec.nuclear,
                items_per_user=spec.items_per_user,
                budget=budget,
            )
            return frank_wolfe(ratings, config, rng, workers)
        assert name == "moments"
        return moments_once(ratings, MomentsConfig(rank=spec.rank, budget=budget), rng, workers)

    return build


def recommender(name: str) -> Recommends:
    """The builder of one of the algorithms that recommend; DPALS takes likes as ratings of 1, not centred."""

    def build(
        likes: Ratings,
        visitors: Ratings,
        spec: "RunSpec",
        rng: np.random.Generator,
        workers: int | None,
    ) -> Iterator[Step]:
        if name == "dpals":
            return dpals(
                likes,
                replace(dpals_config(spec), centring="none", implicit=True),
                rng,
                workers,
                visitors,
            )
        config = LikesConfig(rank=spec.rank, budget=budget_of(spec))
        solver = {"popular": most_popular, "moments": moments_of_likes}[name]
        return solver(likes, config, rng, workers, visitors)

    return build


def run_baseline(solver: Solver) -> Steps:
    """The builder of a baseline without noise."""

    def build(
        ratings: Ratings,
        spec: "RunSpec",
        mechanism: Mechanism | None,
        rng: np.random.Generator,
        workers: int | None,
    ) -> Iterator[Step]:
        config = SpectralConfig(rank=spec.rank, iterations=spec.iterations, reg=spec.reg)
        return solver(ratings, config, rng, workers)

    return build
