"""What the names in a RunSpec stand for.

Lives here: algorithms and mechanisms by name, with what a visitor reads about them, and how a spec becomes a mechanism
or a stream of steps. A new algorithm is one file in ``completion`` and one entry here.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmc_core.completion import ALSConfig, IRLSConfig, Step, als, irls
from dpmc_core.completion.dpnmf import DPNMFConfig, dpnmf, functional_sensitivity
from dpmc_core.completion.preprocessing import SAMPLING
from dpmc_core.completion.projection import PROJECTIONS
from dpmc_core.completion.spectral import svt, trifactor, truncated_svd, user_item
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.private import budget_of, recommender, run_baseline, run_private
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, alpha_with_variance
from dpmc_core.privacy.calibrate import scaled

if TYPE_CHECKING:
    from dpmc_core.experiments.spec import RunSpec

__all__ = [
    "ALGORITHMS",
    "CHOICES",
    "MECHANISMS",
    "Algorithm",
    "build_mechanism",
    "check_noise",
    "noise_source",
    "start",
    "start_recommending",
]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A completion algorithm as a visitor meets it; ``steps(ratings, spec, mechanism, rng, workers)`` runs it.

    ``protects`` says what its noise is about: "rating" (nominal, as published: ``variance`` or ``epsilon`` per draw), "user" (sound:
    ``epsilon`` is the total of the run), or nothing "": it has no private form here. ``rounds`` is how many steps it makes, None
    for T of them. ``recommends(likes, visitors, spec, rng, workers)`` runs it on likes, None where it cannot; ``rates`` is False for one that can do
    nothing else.
    """

    title: str
    summary: str
    source: str
    steps: Callable[
        [Ratings, "RunSpec", Mechanism | None, np.random.Generator, int | None], Iterator[Step]
    ]
    protects: str = "rating"
    rounds: int | None = None
    recommends: (
        Callable[[Ratings, Ratings, "RunSpec", np.random.Generator, int | None], Iterator[Step]]
        | None
    ) = None
    rates: bool = True

    def length(self, spec: "RunSpec") -> int:
        """How many steps a run of ``spec`` makes."""
        return spec.iterations if self.rounds is None else self.rounds


def _als(
    ratings: Ratings,
    spec: "RunSpec",
    mechanism: Mechanism | None,
    rng: np.random.Generator,
    workers: int | None,
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
    ratings: Ratings,
    spec: "RunSpec",
    mechanism: Mechanism | None,
    rng: np.random.Generator,
    workers: int | None,
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


def _dpnmf(
    ratings: Ratings,
    spec: "RunSpec",
    mechanism: Mechanism | None,
    rng: np.random.Generator,
    workers: int | None,
) -> Iterator[Step]:
    if (
        mechanism is not None and spec.epsilon is not None
    ):  # ε of a draw, at this algorithm's own sensitivity
        largest = max(abs(ratings.low), abs(ratings.high))
        mechanism = scaled(mechanism, functional_sensitivity(spec.rank, largest) / spec.sensitivity)
    config = DPNMFConfig(
        rank=spec.rank, reg=spec.reg, iterations=spec.iterations, mechanism=mechanism
    )
    return dpnmf(ratings, config, rng, workers)


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
    "dpnmf": Algorithm(
        "DPNMF",
        "Non-negative factors; the coefficients of every item's objective get noise in each iteration. Nominal: users' vectors are not protected.",
        "after Ran et al. 2022 (abstract); nmf-paper, section 4.4",
        _dpnmf,
    ),
    "moments": Algorithm(
        "Moments once",
        "Popularity, offsets and which tastes go together leave once, with noise; every user does the rest alone.",
        "this project, after finding 11 (docs/moments-once.md)",
        run_private("moments"),
        "user",
        2,
        recommender("moments"),
    ),
    "dpals": Algorithm(
        "DPALS",
        "Alternating least squares whose item statistics leave with noise; every user is clipped and takes part with k items.",
        "dpals-paper, Algorithms 1 to 3",
        run_private("dpals"),
        "user",
        recommends=recommender("dpals"),
    ),
    "private-means": Algorithm(
        "Private means",
        "The trivial predictor made private: noisy item offsets, and every user's own mean.",
        "this project (findings 11)",
        run_private("private-means"),
        "user",
        1,
    ),
    "popular": Algorithm(
        "Most liked",
        "Everybody gets the items that most people like, by noisy counts: what any recommender has to beat.",
        "this project; dpals-paper, section 5.1 (noisy counts)",
        run_private("popular"),
        "user",
        1,
        recommender("popular"),
        rates=False,
    ),
    "private-fw": Algorithm(
        "Private Frank–Wolfe",
        "Per round one noisy second moment of residuals, one direction, and a step that every user takes alone.",
        "Jain, Thakkar & Thakurta 2018",
        run_private("private-fw"),
        "user",
    ),
    "private-svd": Algorithm(
        "Private SVD",
        "Noisy item offsets, then the top directions of a noisy covariance of what is left.",
        "after McSherry & Mironov 2009",
        run_private("private-svd"),
        "user",
        1,
    ),
    "svt": Algorithm(
        "SVT",
        "Singular value thresholding: fills the matrix by repeatedly shrinking singular values. Not private.",
        "Cai, Candès & Shen 2010",
        run_baseline(svt),
        "",
    ),
    "trifactor": Algorithm(
        "Tri-factorisation",
        "Two orthonormal factors around a small core whose singular values are shrunk. Not private.",
        "after Liu, Jiao & Shang 2013",
        run_baseline(trifactor),
        "",
    ),
    "truncated-svd": Algorithm(
        "Truncated SVD",
        "The best low-rank fit with zeros (user and item means) where nothing is known. Not private.",
        "Eckart & Young 1936",
        run_baseline(truncated_svd),
        "",
        1,
    ),
    "user-item": Algorithm(
        "User + item means",
        "The strongest trivial predictor, as a model of its own. Not private.",
        "trivial predictor",
        run_baseline(user_item),
        "",
        1,
    ),
}

MECHANISMS = ("none", "huber", "laplace", "gaussian")
TASKS = ("rate", "recommend")
CHOICES: dict[str, tuple[str, ...]] = {
    "task": TASKS,
    "algorithm": tuple(ALGORITHMS),
    "mechanism": MECHANISMS,
    "split": ("random", "u1"),
    "zeros": ("missing", "rating"),
    "sampling": SAMPLING,
    "projection": PROJECTIONS,
    "start": ("random", "power"),
    "centring": ("mean", "user", "none"),
}
DEFAULT_VARIANCE = 2.0


def build_mechanism(spec: "RunSpec") -> Mechanism | None:
    """The noise that a nominal spec asks for, or None; user-level algorithms plan their own (``private``). See ``RunSpec`` for the
    rules; raises ``ParameterError``."""
    if spec.mechanism == "none" or ALGORITHMS[spec.algorithm].protects != "rating":
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


def check_task(spec: "RunSpec") -> None:
    """Raise ``ParameterError`` unless the spec's algorithm can do its task."""
    algorithm = ALGORITHMS[spec.algorithm]
    able = algorithm.recommends is not None if spec.task == "recommend" else algorithm.rates
    if not able:
        names = [
            n
            for n, a in ALGORITHMS.items()
            if (a.recommends if spec.task == "recommend" else a.rates)
        ]
        raise ParameterError(
            "algorithm", spec.algorithm, "one of " + ", ".join(names) + f" for the task {spec.task}"
        )


def check_noise(spec: "RunSpec") -> None:
    """Raise ``ParameterError`` unless the spec's noise is one that its algorithm has."""
    algorithm = ALGORITHMS[spec.algorithm]
    if algorithm.protects == "" and spec.mechanism != "none":
        raise ParameterError(
            "mechanism",
            spec.mechanism,
            f"none for {algorithm.title}, which has no private form here",
        )
    if algorithm.protects == "user":
        if spec.variance is not None:
            raise ParameterError(
                "variance",
                spec.variance,
                f"left out for {algorithm.title}: its noise follows from the total epsilon",
            )
        budget_of(spec)
    elif spec.mechanism != "none":
        build_mechanism(spec)


def noise_source(spec: "RunSpec") -> np.random.Generator:
    """The generator of a run's start and noise.

    Where a statement is to be sound it depends on every field of the spec: two runs with one seed that shared their noise, scaled by each run's σ, would
    give the exact sums away together. The nominal algorithms keep one start for one seed, so that their comparison with and
    without noise is of the noise alone.
    """
    if ALGORITHMS[spec.algorithm].protects != "user" or spec.mechanism == "none":
        return np.random.default_rng(np.random.SeedSequence([spec.seed, 0xA15]))
    text = json.dumps(spec.changes(), sort_keys=True)
    return np.random.default_rng(
        np.random.SeedSequence(list(hashlib.blake2b(text.encode()).digest()))
    )


def start(ratings: Ratings, spec: "RunSpec", workers: int | None = None) -> Iterator[Step]:
    """The steps of the spec's algorithm on training ``ratings``, with the spec's noise and seed."""
    rng = noise_source(spec)
    return ALGORITHMS[spec.algorithm].steps(ratings, spec, build_mechanism(spec), rng, workers)


def start_recommending(
    likes: Ratings, visitors: Ratings, spec: "RunSpec", workers: int | None = None
) -> Iterator[Step]:
    """The steps of the spec's algorithm on ``likes``, which serve ``visitors`` too."""
    rng = noise_source(spec)
    recommends = ALGORITHMS[spec.algorithm].recommends
    assert recommends is not None  # the spec has checked it
    return recommends(likes, visitors, spec, rng, workers)
