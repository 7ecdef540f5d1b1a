"""A study's runs and what they show: they are made and kept as a sweep's are."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpmc_core.arrays import FloatArray
from dpmc_core.errors import DataError
from dpmc_core.experiments.store.records import PassingRuns, Record, Runs
from dpmc_core.experiments.studies.spec import StudySpec, overall_epsilon
from dpmc_core.experiments.sweeps.spec import Planned
from dpmc_core.experiments.sweeps.sweep import finished, sweep
from dpmc_core.experiments.sweeps.tradeoff import Lines, Number, Point, points_of
from dpmc_core.experiments.sweeps.workers import Workers
from dpmc_core.experiments.tasks.solve import versions
from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.wording import JsonObject, finite


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyResult:
    """A study so far: its finished ``runs`` in the order of the plan, each record with its summary,
    made in so many ``seconds``.
    """

    spec: StudySpec
    runs: tuple[tuple[Planned, Record], ...]
    seconds: float

    @property
    def total(self) -> int:
        """How many runs it takes."""
        return self.spec.amount

    @property
    def finished(self) -> bool:
        """Whether every run was made."""
        return len(self.runs) == self.total

    @cached_property
    def _points(self) -> Lines:
        of_ratings = self.spec.room == "completion"
        names = self.spec.study.measures if of_ratings else _OF_FACTORS
        points = {m: points_of(self.runs, m, _NUMBERS[m]) for m in names}
        return {m: _from_quiet(p) if m == "apart" else p for m, p in points.items()}

    def points(self, measure: str = "") -> list[Point]:
        """The points of all lines by ``measure`` (one of ``MEASURES``; what runs are judged by,
        unless named).
        """
        return self._points[measure or next(iter(self._points))]

    def lines(self, measure: str = "") -> Lines:
        """The points of each line, in order of x."""
        out: Lines = {}
        for point in self.points(measure):
            out.setdefault(point.series, []).append(point)
        return {name: sorted(points, key=lambda p: p.x) for name, points in out.items()}

    @property
    def measures(self) -> tuple[str, ...]:
        """The study's measures that these data have."""
        wanted = self.spec.study.measures
        return tuple(m for m in wanted if any(p.values for p in self.points(m)))

    @property
    def baselines(self) -> dict[str, float]:
        """Of ratings: the mean of each baseline over the splits of all users. Else the objective of
        each on the study's own data, with its own number of parts where any run has that.
        """
        if self.spec.room == "factorization":
            return dict(self._own_run.summary["baselines"])
        whole = [r.summary["baselines"] for p, r in self.runs if p.spec.data.user_share == 1]
        names = whole[0] if whole else ()
        return {name: float(np.mean([some[name] for some in whole])) for name in names}

    @property
    def reference(self) -> float:
        """The objective of scikit-learn's NMF on the same data; NaN for ratings."""
        if self.spec.room == "completion":
            return math.nan
        return float(self._own_run.summary["reference"]["scikit-learn NMF"])

    @property
    def _own_run(self) -> Record:
        base = self.spec.base
        own = (base.data, base.algorithm.rank)
        alike = (r for p, r in self.runs if (p.spec.data, p.spec.algorithm.rank) == own)
        return next(alike, self.runs[0][1])

    def summary(self) -> JsonObject:
        """A JSON-able account; what is not finite becomes None."""
        return {
            "study": self.spec.as_dict(),
            "points": [
                {
                    "series": p.series,
                    "x": p.x,
                    "values": {
                        m: [of[n].values.get(k) for k in p.values] for m, of in self._points.items()
                    },
                    "baseline": list(p.baselines.values()),
                    "epsilon": p.epsilon,
                }
                for n, p in enumerate(self.points())
            ],
            "baselines": self.baselines,
            "reference": finite(self.reference),
            "runs": len(self.runs),
            "total": self.total,
            "seconds": round(self.seconds, 2),
            "versions": versions(),
        }


def _overall(run: Planned, _: Record) -> float | None:
    spec = run.spec
    if spec.card.guarantee or spec.noise.kind == "none":
        return None
    return overall_epsilon(spec.noise.epsilon, spec.length, spec.noise.delta)


def _of_lists(name: str) -> Number:
    return lambda _, record: record.summary.get("lists", {}).get("model", {}).get(name)


def _coherence(name: str) -> Number:
    return lambda _, record: (record.summary["coherence"] or {}).get(name)


_OF_RATINGS: dict[str, Number] = {
    "error": lambda _, record: record.value,
    "recall": lambda _, record: record.value,
    "popular": _of_lists("popular"),
    "coverage": _of_lists("coverage"),
    "truth": lambda _, record: record.truth,
    "apart": lambda _, record: record.summary.get("objective"),
}
# what is read of a run, by the names of ``MEASURES``; None where its data have no such measure
_NUMBERS: dict[str, Number] = {
    **_OF_RATINGS,
    "objective": lambda _, record: record.value,
    "found": lambda _, record: record.summary["found"],
    "epsilon": _overall,
    "npmi": _coherence("npmi"),
    "tc_w2v": _coherence("tc_w2v"),
}
_OF_FACTORS = tuple(name for name in _NUMBERS if name not in _OF_RATINGS)


def _from_quiet(points: list[Point]) -> list[Point]:
    """The points in per cent above the run of the same seed without noise."""
    quiet = next((p.values for p in points if p.spec.noise.kind == "none"), {})
    return [
        replace(p, values={k: 100 * (x / quiet[k] - 1) for k, x in p.values.items() if k in quiet})
        for p in points
    ]


def power_of(points: Sequence[Point]) -> tuple[float, float]:
    """Return the power of x that the measure follows, and half of its 95 % t-interval.

    Each seed that all ``points`` have gets a power of its own; their mean is returned. NaN for
    fewer than two points, the half for fewer than two seeds.
    """
    seeds = set.intersection(*(set(p.values) for p in points)) if len(points) > 1 else set()
    if not seeds:
        return math.nan, math.nan
    each = powers([p.x for p in points], [[p.values[k] for k in sorted(seeds)] for p in points])
    return float(each.mean()), t_half_width(tuple(each))


def larger_half(values: Sequence[Any]) -> Sequence[Any]:
    """Return the second half of ``values``, where a bound for large n is compared."""
    return values[len(values) // 2 :]


def powers(x: ArrayLike, y: ArrayLike) -> FloatArray:
    """Return the power of ``x`` (n,) that each column of ``y`` (n, columns) follows, by least
    squares of logarithms.
    """
    return np.asarray(np.polyfit(np.log(x), np.log(y), 1)[0])


# Bounds on the relative error of M along what a study of rates varies, by algorithm, up to a
# constant: the words and the function. DPALS: m·log²n/(εn) (dpals-paper Theorem 2, whose γ has √m
# and log²(κn), with κ = 1 for orthonormal factors); Frank–Wolfe: (m^{5/4}/(nε))^{1/5} (Remark 4).
# Regressions: √m/(εn) for the excess risk (Remark 5), of which the error here is the root.
BOUNDS: dict[str, dict[str, tuple[str, Callable[[FloatArray], FloatArray]]]] = {
    "rate": {
        "dpals": ("log²n/n", lambda n: np.log(n) ** 2 / n),
        "private-fw": ("n^(−1/5)", lambda n: n**-0.2),
    },
    "rate-epsilon": {
        "dpals": ("1/ε", lambda e: 1 / e),
        "private-fw": ("ε^(−1/5)", lambda e: e**-0.2),
    },
    "rate-items": {"dpals": ("m", lambda m: m), "private-fw": ("m^(1/4)", lambda m: m**0.25)},
    "regressions": {"dpals": ("n^(−1/2)", lambda n: n**-0.5)},
}


def bound_on(kind: str, points: Sequence[Point]) -> tuple[str, FloatArray, FloatArray] | None:
    """Return the bound on a line of a study of rates: its words, the larger half of x, and its
    values there through the first error. None where the line's algorithm has none.
    """
    spec = points[0].spec
    bounds = BOUNDS.get(kind, {})
    if spec.noise.kind == "none" or spec.card.name not in bounds:
        return None
    words, bound = bounds[spec.card.name]
    large = larger_half(points)
    x = np.array([p.x for p in large])
    return words, x, large[0].mean * bound(x) / bound(x[0])


def study_steps(
    spec: StudySpec, store: Runs | None = None, *, jobs: int = 1, workers: Workers | None = None
) -> Iterator[StudyResult]:
    """Yield the ``StudyResult`` so far after each run: all points once with the first seed, then
    with the next. Runs that ``store`` has are not made again; without one nothing is kept. See
    ``sweep`` for ``jobs`` and ``workers``, and what else is raised. Stop iterating to cancel.

    Raises ``DataError`` where the numbers of a run stopped it.
    """
    store = PassingRuns() if store is None else store
    for so_far in sweep(spec, store, jobs=jobs, workers=workers):
        if so_far.record is not None or so_far.done == so_far.total:
            runs = tuple(finished(spec, store, whole=True))
            if error := next((record.error for _, record in runs if record.error), ""):
                raise DataError(error)
            yield StudyResult(spec=spec, runs=runs, seconds=so_far.seconds)


def study(spec: StudySpec, store: Runs | None = None, *, jobs: int = 1) -> StudyResult:
    """The finished result; see ``study_steps``."""
    *_, result = study_steps(spec, store, jobs=jobs)
    return result
