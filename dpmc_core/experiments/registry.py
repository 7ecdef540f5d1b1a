"""What the names in a RunSpec stand for.

Lives here: algorithms and mechanisms by name, with what a visitor reads about them, and how a spec becomes a mechanism
or a stream of steps. A new algorithm is one file in ``completion`` and one entry here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmc_core.completion import ALSConfig, IRLSConfig, Step, als, irls
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, alpha_with_variance

if TYPE_CHECKING:
    from dpmc_core.experiments.spec import RunSpec

__all__ = ["ALGORITHMS", "CHOICES", "MECHANISMS", "Algorithm", "build_mechanism", "start"]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A completion algorithm as a visitor meets it; ``steps(ratings, spec, mechanism, rng, workers)`` runs it."""

    title: str
    summary: str
    source: str
    steps: Callable[[Ratings, "RunSpec", Mechanism | None, np.random.Generator, int | None], Iterator[Step]]


def _als(
    ratings: Ratings, spec: "RunSpec", mechanism: Mechanism | None, rng: np.random.Generator, workers: int | None
) -> Iterator[Step]:
    config = ALSConfig(
        rank=spec.rank,
        reg=spec.reg,
        iterations=spec.iterations,
        mechanism=mechanism,
        sensitivity=spec.sensitivity,
    )
    return als(ratings, config, rng, workers)


def _irls(
    ratings: Ratings, spec: "RunSpec", mechanism: Mechanism | None, rng: np.random.Generator, workers: int | None
) -> Iterator[Step]:
    config = IRLSConfig(
        rank=spec.rank,
        reg=spec.reg,
        iterations=spec.iterations,
        inner=spec.inner_iterations,
        loss_alpha=spec.loss_alpha,
        mechanism=mechanism,
        sensitivity=spec.sensitivity,
    )
    return irls(ratings, config, rng, workers)


ALGORITHMS: dict[str, Algorithm] = {
    "als": Algorithm(
        "ALS",
        "Alternating least squares: all users exactly, then all items, with one noise vector per item and iteration.",
        "huber-paper, Algorithm 1",
        _als,
    ),
    "irls": Algorithm(
        "IRLS",
        "The item pass uses the Huber loss, solved by K reweighted least squares, each with fresh noise.",
        "huber-paper, Algorithms 2 and 3; huber-thesis, section 4.6",
        _irls,
    ),
    "irls-2": Algorithm(
        "IRLS-2",
        "IRLS with K = 2 reweightings per item pass: the papers' cheap variant.",
        "huber-paper, section 4 (Tables 4 and 5)",
        _irls,
    ),
}

MECHANISMS = ("none", "huber", "laplace", "gaussian")
CHOICES: dict[str, tuple[str, ...]] = {
    "algorithm": tuple(ALGORITHMS),
    "mechanism": MECHANISMS,
    "split": ("random", "u1"),
    "zeros": ("missing", "rating"),
}
DEFAULT_VARIANCE = 2.0


def build_mechanism(spec: "RunSpec") -> Mechanism | None:
    """The noise that a spec asks for, or None. See ``RunSpec`` for the rules; raises ``ParameterError``."""
    if spec.mechanism == "none":
        return None
    if spec.epsilon is not None:
        if spec.mechanism == "gaussian":
            return Gaussian.with_epsilon(spec.epsilon, spec.sensitivity, delta=spec.delta)
        if spec.mechanism == "laplace":
            return Laplace.with_epsilon(spec.epsilon, spec.sensitivity)
        return Huber.with_epsilon(
            spec.epsilon, spec.sensitivity, **({} if spec.alpha is None else {"alpha": spec.alpha})
        )
    variance = DEFAULT_VARIANCE if spec.variance is None else spec.variance
    if spec.mechanism == "gaussian":
        return Gaussian.with_variance(variance)
    if spec.mechanism == "laplace":
        return Laplace.with_variance(variance)
    if spec.alpha is not None:
        return Huber.with_variance(variance, alpha=spec.alpha)
    return papers_huber(variance)


def papers_huber(variance: float) -> Huber:
    """Huber noise "of variance v" as the papers make it: unit scale, α solving σ²(α) = v, and α = 3 for v = 1.

    Below 1, where no unit-scale member exists and the papers say nothing, α = 3 scaled to the variance.
    """
    if variance == 1.0:
        return Huber(alpha=3.0)
    if variance < Huber(alpha=3.0).variance:
        return Huber.with_variance(variance, alpha=3.0)
    return Huber(alpha=alpha_with_variance(variance))


def start(ratings: Ratings, spec: "RunSpec", workers: int | None = None) -> Iterator[Step]:
    """The steps of the spec's algorithm on training ``ratings``, with the spec's noise and seed."""
    rng = np.random.default_rng(np.random.SeedSequence([spec.seed, 0xA15]))
    return ALGORITHMS[spec.algorithm].steps(ratings, spec, build_mechanism(spec), rng, workers)
