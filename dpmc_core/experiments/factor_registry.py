"""What the names in a FactorSpec stand for.

Lives here: the factorisations by name, what a visitor reads about them, and how a spec becomes a stream of steps. A new one is one file in
``factorization`` and one entry here.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmc_core.datasets.samples import Samples
from dpmc_core.errors import ParameterError
from dpmc_core.factorization import (
    FactorStep,
    MomentConfig,
    PublishedConfig,
    RobustConfig,
    SoundConfig,
    moment_nmf,
    published_nmf,
    robust_nmf,
    sklearn_nmf,
    sound_nmf,
)
from dpmc_core.factorization.corrected import STARTS
from dpmc_core.factorization.robust import SOLVERS
from dpmc_core.privacy.budget import FAMILIES, Budget
from dpmc_core.privacy.ledger import NEIGHBOURS, Neighbours

if TYPE_CHECKING:
    from dpmc_core.experiments.factor_spec import FactorSpec

__all__ = [
    "CHOICES",
    "DEFAULT_ROUND_EPSILON",
    "DEFAULT_TOTAL",
    "FACTORIZERS",
    "Factorizer",
    "check_noise",
    "start_factors",
]

DEFAULT_TOTAL, DEFAULT_ROUND_EPSILON = 1.0, 0.5  # ε where a spec names noise but no amount
USUAL_PENALTY = 0.5  # λ where outliers are modelled and none is given, in units of 1/√D; chosen on contaminated Yale B


@dataclass(frozen=True, slots=True)
class Factorizer:
    """A factorisation as a visitor meets it. ``claims`` is "" (no private form), "nominal" (as the paper counts it; here known to be broken) or "sound".
    ``rounds`` and ``inner`` are the usual numbers; ``fixed`` says that it makes so many steps whatever the spec says."""

    title: str
    summary: str
    source: str
    steps: Callable[[Samples, "FactorSpec", np.random.Generator], Iterator[FactorStep]]
    claims: str
    rounds: int
    inner: int = 1
    fixed: int | None = None
    mechanisms: tuple[str, ...] = ("none",)

    def length(self, spec: "FactorSpec") -> int:
        """How many steps a run of ``spec`` makes."""
        return spec.rounds if self.fixed is None else self.fixed


def _budget(spec: "FactorSpec") -> Budget | None:
    if spec.mechanism == "none":
        return None
    options = {} if spec.alpha is None else {"alpha": spec.alpha}
    epsilon = DEFAULT_TOTAL if spec.epsilon is None else spec.epsilon
    return Budget(epsilon=epsilon, delta=spec.delta, family=spec.mechanism, **options)


def _neighbours(spec: "FactorSpec") -> Neighbours:
    return "replace-one" if spec.neighbours == "replace-one" else "add/remove-one"


def _nmf(samples: Samples, spec: "FactorSpec", rng: np.random.Generator) -> Iterator[FactorStep]:
    config = RobustConfig(rank=spec.rank, rounds=spec.rounds, inner=spec.inner, solver=spec.solver)
    return robust_nmf(samples.values, config, rng)


def _robust(samples: Samples, spec: "FactorSpec", rng: np.random.Generator) -> Iterator[FactorStep]:
    config = RobustConfig(
        rank=spec.rank,
        rounds=spec.rounds,
        inner=spec.inner,
        solver=spec.solver,
        outlier_penalty=USUAL_PENALTY if spec.outlier_penalty is None else spec.outlier_penalty,
        outlier_bound=spec.outlier_bound,
    )
    return robust_nmf(samples.values, config, rng)


def _sklearn(
    samples: Samples, spec: "FactorSpec", rng: np.random.Generator
) -> Iterator[FactorStep]:
    del rng
    return sklearn_nmf(samples.values, spec.rank, spec.rounds)


def _published(
    samples: Samples, spec: "FactorSpec", rng: np.random.Generator
) -> Iterator[FactorStep]:
    epsilon = (
        None
        if spec.mechanism == "none"
        else DEFAULT_ROUND_EPSILON
        if spec.epsilon is None
        else spec.epsilon
    )
    config = PublishedConfig(
        rank=spec.rank,
        rounds=spec.rounds,
        inner=spec.inner,
        epsilon=epsilon,
        delta=spec.delta,
        dictionary_step=spec.dictionary_step,
        outlier_penalty=spec.outlier_penalty,
        outlier_bound=spec.outlier_bound,
    )
    return published_nmf(samples.values, config, rng, samples.unit)


def _sound(samples: Samples, spec: "FactorSpec", rng: np.random.Generator) -> Iterator[FactorStep]:
    config = SoundConfig(
        rank=spec.rank,
        rounds=spec.rounds,
        inner=spec.inner,
        start=spec.start,
        averaging=spec.averaging,
        outlier_penalty=spec.outlier_penalty,
        outlier_bound=spec.outlier_bound,
        budget=_budget(spec),
        neighbours=_neighbours(spec),
    )
    return sound_nmf(samples, config, rng)


def _moments(
    samples: Samples, spec: "FactorSpec", rng: np.random.Generator
) -> Iterator[FactorStep]:
    return moment_nmf(
        samples,
        MomentConfig(
            rank=spec.rank, rounds=spec.rounds, budget=_budget(spec), neighbours=_neighbours(spec)
        ),
        rng,
    )


FACTORIZERS: dict[str, Factorizer] = {
    "nmf": Factorizer(
        "NMF",
        "Parts and how much of each, fitted in turns. Not private.",
        "nmf-paper, Algorithm 1 and eqs. 5–12 without outliers",
        _nmf,
        "",
        50,
    ),
    "robust-nmf": Factorizer(
        "Robust NMF",
        "The same, with a third matrix that takes up pixels which fit nothing. Not private.",
        "nmf-paper, eqs. 1–12",
        _robust,
        "",
        50,
        3,
    ),
    "sklearn-nmf": Factorizer(
        "scikit-learn's NMF",
        "The yardstick: coordinate descent from the same start. Not private.",
        "scikit-learn",
        _sklearn,
        "",
        50,
        fixed=1,
    ),
    "private-nmf-published": Factorizer(
        "Private NMF, as published",
        "Noise on every gradient, but the parts start from the raw data's singular vectors and hardly move: not private.",
        "nmf-paper, Algorithm 2; findings 13",
        _published,
        "nominal",
        100,
        5,
        mechanisms=("none", "gaussian"),
    ),
    "private-nmf": Factorizer(
        "Private NMF, made sound",
        "The same idea from a start that tells nothing, with everything clipped and counted.",
        "nmf-paper, eqs. 13–14 and section 3.3; this project",
        _sound,
        "sound",
        20,
        10,
        mechanisms=("none", *FAMILIES),
    ),
    "moment-nmf": Factorizer(
        "Moment NMF",
        "The average and what varies together leave once, with noise; the parts are made from what left.",
        "this project, after finding 15 (docs/moment-nmf.md)",
        _moments,
        "sound",
        150,
        fixed=2,
        mechanisms=("none", *FAMILIES),
    ),
}
CHOICES: dict[str, tuple[str, ...]] = {
    "algorithm": tuple(FACTORIZERS),
    "mechanism": ("none", *FAMILIES),
    "start": STARTS,
    "neighbours": NEIGHBOURS,
    "solver": SOLVERS,
    "stop_words": ("left-out", "kept"),
}


def check_noise(spec: "FactorSpec") -> None:
    """Raise ``ParameterError`` unless the spec's noise is one that its algorithm has."""
    algorithm = FACTORIZERS[spec.algorithm]
    if spec.mechanism not in algorithm.mechanisms:
        raise ParameterError(
            "mechanism",
            spec.mechanism,
            f"{' or '.join(algorithm.mechanisms)} for {algorithm.title}",
        )
    if algorithm.claims == "sound":
        _budget(spec)


def start_factors(samples: Samples, spec: "FactorSpec") -> Iterator[FactorStep]:
    """The steps of the spec's algorithm on ``samples``.

    Where a statement is to be sound, start and noise depend on every field of the spec: two runs of one seed that shared their noise would give exact sums
    away together.
    """
    entropy = [spec.seed, 0xFAC]
    if FACTORIZERS[spec.algorithm].claims == "sound" and spec.mechanism != "none":
        text = "factorize" + json.dumps(spec.changes(), sort_keys=True)
        entropy = list(hashlib.blake2b(text.encode()).digest())
    return FACTORIZERS[spec.algorithm].steps(
        samples, spec, np.random.default_rng(np.random.SeedSequence(entropy))
    )
