"""Points and results of studies, with intervals over seeds."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpmc_core.experiments.studies.spec import StudySpec
from dpmc_core.metrics.intervals import Comparison, t_half_width


@dataclass(frozen=True, kw_only=True)
class Point:
    """The runs of one cell.

    ``values`` holds for each measure one number per seed (NaN where the data have no such measure),
    ``baseline`` the best baseline's on the same data, ``x`` is as drawn, ``epsilon`` the largest
    that the ledgers state (∞ without noise).
    """

    series: str
    x: float
    values: dict[str, tuple[float, ...]]
    baseline: tuple[float, ...]
    epsilon: float = math.inf

    def mean(self, measure: str) -> float:
        """Mean over seeds."""
        return float(np.mean(self.values[measure]))

    def half_width(self, measure: str) -> float:
        """Half of a 95 % t-interval of the mean over seeds; NaN for one seed."""
        return t_half_width(self.values[measure])

    @property
    def against_baseline(self) -> Comparison:
        """The difference from the best baseline on the same data."""
        mine = self.values.get("error") or self.values["objective"]
        return Comparison.of_runs([a - b for a, b in zip(mine, self.baseline, strict=True)])

    def minus(self, other: "Point", measure: str) -> Comparison:
        """The difference from another cell, seed by seed.

        Of the seeds that both have: a study may be stopped between the two.
        """
        both = zip(self.values[measure], other.values[measure], strict=False)
        return Comparison.of_runs([a - b for a, b in both])


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyResult:
    """A study so far: its points in order, and how many of ``total`` runs were made.

    ``baselines`` are their means on the splits of all users (or the baselines'
    objectives), ``reference`` is scikit-learn's NMF with the settings' K (NaN for ratings).
    """

    spec: StudySpec
    points: tuple[Point, ...]
    baselines: dict[str, float]
    reference: float
    runs: int
    total: int
    seconds: float
    versions: dict[str, str]

    @property
    def finished(self) -> bool:
        """Whether every run was made."""
        return self.runs == self.total

    @property
    def by_series(self) -> dict[str, list[Point]]:
        """The points of each line, in order of x."""
        out: dict[str, list[Point]] = {}
        for point in self.points:
            out.setdefault(point.series, []).append(point)
        return {name: sorted(points, key=lambda p: p.x) for name, points in out.items()}

    @property
    def measures(self) -> tuple[str, ...]:
        """The study's measures that these data have."""
        return tuple(
            m
            for m in self.spec.study.measures
            if any(math.isfinite(p.mean(m)) for p in self.points)
        )

    def summary(self) -> dict[str, Any]:
        """A JSON-able account; what is not finite becomes None."""
        return {
            "study": self.spec.as_dict(),
            "points": [
                {
                    **asdict(p),
                    "values": {m: [_known(x) for x in v] for m, v in p.values.items()},
                    "epsilon": _known(p.epsilon),
                }
                for p in self.points
            ],
            "baselines": self.baselines,
            "reference": _known(self.reference),
            "runs": self.runs,
            "total": self.total,
            "seconds": round(self.seconds, 2),
            "versions": self.versions,
        }

    @classmethod
    def from_summary(cls, raw: Mapping[str, Any]) -> "StudyResult":
        """A stored result, read back."""
        points = tuple(
            Point(
                series=p["series"],
                x=p["x"],
                values={
                    m: tuple(math.nan if v is None else v for v in vs)
                    for m, vs in p["values"].items()
                },
                baseline=tuple(p["baseline"]),
                epsilon=math.inf if p["epsilon"] is None else p["epsilon"],
            )
            for p in raw["points"]
        )
        kept = {n: raw[n] for n in ("baselines", "runs", "total", "seconds", "versions")}
        level = math.nan if raw["reference"] is None else raw["reference"]
        spec = StudySpec.from_dict(raw["study"])
        return cls(spec=spec, points=points, reference=level, **kept)


def from_where_on(held: list[bool]) -> int | None:
    """Where the last unbroken run of True begins that reaches the end.

    None if the last is False.
    """
    place = len(held)
    while place and held[place - 1]:
        place -= 1
    return place if place < len(held) else None


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
