"""Studies of factorisations: one question, answered by many runs over a few seeds.

Lives here: which runs each study consists of and what is measured of them. Does not live here: making them (``factor_study_run``), what a run is (``factor_spec``) or
charts. Settings stay as the base has them along a line: nothing is re-tuned on the data from point to point.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpmc_core import limits
from dpmc_core.datasets.catalogue import entry
from dpmc_core.errors import ParameterError
from dpmc_core.experiments.factor_registry import FACTORIZERS
from dpmc_core.experiments.factor_spec import FactorSpec

__all__ = [
    "FACTOR_STUDIES",
    "MEASURES",
    "FactorCell",
    "FactorStudy",
    "FactorStudySpec",
    "factor_cells",
    "factor_runs",
    "overall_epsilon",
    "seeds_of",
]

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
ROUND_EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.999)
PEOPLE = (300, 1000, 3000, 10_000, 30_000)
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3)
IMAGE_COUNTS, TOPIC_COUNTS = (2, 4, 8, 16, 32), (2, 4, 6, 8, 10, 12, 16)

# what is measured of a run -> its axis title
MEASURES: dict[str, str] = {
    "objective": "objective (squared error / 2 per column of length 1)",
    "found": "true parts found (share)",
    "npmi": "NPMI coherence (−1 to 1)",
    "tc_w2v": "TC-W2V coherence (cosine; see the warning)",
    "epsilon": "overall ε, by the paper's formula",
}


@dataclass(frozen=True, slots=True)
class FactorCell:
    """One point of one line: runs of ``spec`` (with seeds of their own)."""

    series: str
    x: float
    spec: FactorSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class FactorStudy:
    """A study as a visitor meets it. ``measures`` are drawn one below the other, where the data have them; ``holds`` says for which data it is, ``made`` whether for made data
    only. ``own_epsilon``: its runs set ε themselves."""

    title: str
    intro: str
    x_title: str
    log_x: bool
    source: str
    measures: tuple[str, ...]
    cells: Callable[[FactorSpec], tuple[FactorCell, ...]]
    holds: tuple[str, ...] = ("images", "documents")
    made: bool = False
    own_epsilon: bool = False


def _noise(base: FactorSpec) -> dict[str, Any]:
    return {
        "mechanism": "gaussian" if base.mechanism == "none" else base.mechanism,
        "alpha": base.alpha,
    }


def _sound(base: FactorSpec, algorithm: str, epsilon: float) -> FactorSpec:
    plain = {"outlier_penalty": None} if algorithm == "moment-nmf" else {}
    return base.but(algorithm=algorithm, epsilon=epsilon, **_noise(base), **plain)


def _quiet(base: FactorSpec, algorithm: str = "nmf") -> FactorSpec:
    return base.but(
        algorithm=algorithm, mechanism="none", epsilon=None, alpha=None, outlier_penalty=None
    )


def _total(base: FactorSpec) -> float:
    return 1.0 if base.epsilon is None else base.epsilon


def _title(algorithm: str) -> str:
    return FACTORIZERS[algorithm].title


def _by_epsilon(base: FactorSpec) -> tuple[FactorCell, ...]:
    noisy = [
        FactorCell(_title(a), e, _sound(base, a, e))
        for a in ("moment-nmf", "private-nmf")
        for e in EPSILONS
    ]
    quiet = [
        FactorCell(name, e, _quiet(base, algorithm))
        for name, algorithm in (
            ("NMF, no noise", "nmf"),
            ("Private NMF, made sound, no noise", "private-nmf"),
        )
        for e in (EPSILONS[0], EPSILONS[-1])
    ]
    return (*noisy, *quiet)


def _by_round(base: FactorSpec) -> tuple[FactorCell, ...]:
    published = base.but(algorithm="private-nmf-published", mechanism="gaussian", alpha=None)
    loud = [
        FactorCell("as published (not private)", e, published.but(epsilon=e))
        for e in ROUND_EPSILONS
    ]
    quiet = [
        FactorCell("as published, no noise", e, published.but(mechanism="none", epsilon=None))
        for e in (ROUND_EPSILONS[0], ROUND_EPSILONS[-1])
    ]
    # for one replaced by another, as the paper counts: one number ε must mean one promise
    sound = base.but(
        algorithm="private-nmf", mechanism="gaussian", alpha=None, neighbours="replace-one"
    )
    rounds = published.rounds
    honest = [
        FactorCell(
            "made sound, same overall ε",
            e,
            sound.but(epsilon=overall_epsilon(e, rounds, base.delta)),
        )
        for e in ROUND_EPSILONS
    ]
    moments = [
        FactorCell(
            "Moment NMF, same overall ε",
            e,
            sound.but(algorithm="moment-nmf", epsilon=overall_epsilon(e, rounds, base.delta)),
        )
        for e in ROUND_EPSILONS
    ]
    return (*loud, *quiet, *honest, *moments)


def overall_epsilon(epsilon: float, rounds: int, delta: float) -> float:
    """nmf-paper section 3.3: T rounds of A and B, each with Δ/τ = ε/√(2 ln(1.25/δ)), by Rényi divergence at the best order; the paper's own formula."""
    ratio = epsilon**2 / (2 * math.log(1.25 / delta))
    spent = 2 * rounds * ratio
    order = 1 + math.sqrt(2 * math.log(1 / delta) / spent)
    return order * spent / 2 + math.log(1 / delta) / (order - 1)


def _by_parts(base: FactorSpec) -> tuple[FactorCell, ...]:
    counts = IMAGE_COUNTS if entry(base.dataset).holds == "images" else TOPIC_COUNTS
    most = min(
        n
        for n in (
            entry(base.dataset).samples or base.n_samples,
            entry(base.dataset).dimension or base.most_words,
        )
        if n
    )
    epsilon = _total(base)
    return tuple(
        FactorCell(name, k, spec.but(rank=k))
        for k in counts
        if k <= most
        for name, spec in (
            ("NMF, no noise", _quiet(base)),
            (f"Moment NMF, ε = {epsilon:g}", _sound(base, "moment-nmf", epsilon)),
        )
    )


def _by_people(base: FactorSpec) -> tuple[FactorCell, ...]:
    epsilon = _total(base)
    return tuple(
        FactorCell(name, n, spec.but(n_samples=n))
        for n in PEOPLE
        for name, spec in (
            (f"Moment NMF, ε = {epsilon:g}", _sound(base, "moment-nmf", epsilon)),
            (f"Private NMF, made sound, ε = {epsilon:g}", _sound(base, "private-nmf", epsilon)),
            (
                "as published (not private)",
                base.but(
                    algorithm="private-nmf-published",
                    mechanism="gaussian",
                    alpha=None,
                    epsilon=0.5,
                    rounds=20,
                ),
            ),
        )
    )


def _by_outliers(base: FactorSpec) -> tuple[FactorCell, ...]:
    epsilon = _total(base)
    lines = (
        (
            "NMF, no noise",
            _quiet(base).but(inner=FACTORIZERS["robust-nmf"].inner),
        ),  # as many steps as robust NMF
        (
            "Robust NMF, no noise",
            _quiet(base, "robust-nmf").but(outlier_penalty=base.outlier_penalty),
        ),
        (f"Moment NMF, ε = {epsilon:g}", _sound(base, "moment-nmf", epsilon)),
    )
    return tuple(
        FactorCell(name, s, spec.but(contaminated=s)) for s in SHARES for name, spec in lines
    )


FACTOR_STUDIES: dict[str, FactorStudy] = {
    "epsilon": FactorStudy(
        title="What does privacy cost?",
        intro="How well parts or topics rebuild the data as the total privacy loss ε grows, one image or document added or removed.",
        x_title="total ε (log scale)",
        log_x=True,
        source="nmf-paper, figures 2 and 5, honestly counted",
        measures=("objective", "found", "npmi"),
        own_epsilon=True,
        cells=_by_epsilon,
    ),
    "rounds": FactorStudy(
        title="What do many rounds add up to?",
        intro="The paper chooses an ε for every round and adds them up by Rényi divergence. Its objective hardly depends on ε, because its parts start from the raw data and hardly move. The sound forms get the same overall ε, for the same neighbours (one replaced by another).",
        x_title="nominal ε of each round",
        log_x=False,
        source="nmf-paper, section 3.3 and figures 3 and 6",
        measures=("epsilon", "objective"),
        own_epsilon=True,
        cells=_by_round,
    ),
    "parts": FactorStudy(
        title="How many parts or topics?",
        intro="With more parts the data are rebuilt better; topics are judged by whether their words go together.",
        x_title="parts or topics K (log scale)",
        log_x=True,
        source="nmf-paper, figure 10",
        measures=("objective", "npmi", "tc_w2v"),
        cells=_by_parts,
    ),
    "people": FactorStudy(
        title="Does more data help?",
        intro="The same ε with more and more made-up images or documents, whose true parts are known.",
        x_title="images or documents N (log scale)",
        log_x=True,
        source="this project",
        measures=("found", "objective"),
        made=True,
        cells=_by_people,
    ),
    "outliers": FactorStudy(
        title="What do spoiled images do?",
        intro="A share of the images has most of its pixels spoiled; the error is taken on the clean images.",
        x_title="share of the images that is spoiled",
        log_x=False,
        source="nmf-paper, section 4.3 and figure 8",
        measures=("objective",),
        holds=("images",),
        cells=_by_outliers,
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class FactorStudySpec:
    """A study named completely: ``kind`` is one of ``FACTOR_STUDIES``, ``base`` gives data, settings, δ and the first seed, ``seeds`` how many seeds in a row each
    noisy point has. Raises ``ParameterError``."""

    kind: str
    base: FactorSpec
    seeds: int = 3

    def __post_init__(self) -> None:
        if self.kind not in FACTOR_STUDIES:
            raise ParameterError("study", self.kind, "one of " + ", ".join(FACTOR_STUDIES))
        limits.check_int("study_seeds", self.seeds)
        study, known = FACTOR_STUDIES[self.kind], entry(self.base.dataset)
        if known.holds not in study.holds or (study.made and not known.synthetic):
            allowed = "made data (cartoon faces or synthetic topics)" if study.made else "images"
            raise ParameterError("dataset", self.base.dataset, f"{allowed} for this question")
        self.base.but(
            seed=self.base.seed + self.seeds - 1, data_seed=self.base.data_seed + self.seeds - 1
        )
        factor_cells(self)  # which checks every run's own settings before the first is made

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(
            {"kind": self.kind, "base": self.base.as_dict(), "seeds": self.seeds}, sort_keys=True
        )


def factor_cells(spec: FactorStudySpec) -> tuple[FactorCell, ...]:
    """The points of a study, before seeds."""
    return FACTOR_STUDIES[spec.kind].cells(spec.base)


def factor_runs(spec: FactorStudySpec) -> int:
    """How many runs a study makes in all."""
    return sum(seeds_of(spec, cell) for cell in factor_cells(spec))


def seeds_of(spec: FactorStudySpec, cell: FactorCell) -> int:
    """How many runs a point has: one where nothing is random (no noise, and data that stay the same)."""
    fresh_data = spec.kind == "people" or (spec.kind == "outliers" and cell.spec.contaminated > 0)
    return spec.seeds if cell.spec.mechanism != "none" or fresh_data else 1
