"""Making the runs of a study of factorisations.

Lives here: the points and results, and the one path to them from a ``FactorStudySpec``. Does not live here: which runs a study consists of (``factor_studies``) or charts.
"""

import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpmc_core.experiments.factor_registry import DEFAULT_ROUND_EPSILON
from dpmc_core.experiments.factor_spec import FactorSpec
from dpmc_core.experiments.studies.factorization import (
    FACTOR_STUDIES,
    MEASURES,
    FactorStudySpec,
    factor_cells,
    overall_epsilon,
    seeds_of,
)
from dpmc_core.experiments.tasks.factorize import (
    FactorResult,
    clean_samples,
    factorize,
    trivial_objective,
    yardstick,
)
from dpmc_core.experiments.tasks.rate import versions
from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.metrics.topics import tc_w2v

__all__ = ["FactorPoint", "FactorStudyResult", "factor_study", "factor_study_steps"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FactorPoint:
    """The runs of one cell: ``values`` (measure -> one number per seed; NaN where the data have no such measure) and ``trivial``, the average column's objective on the same data."""

    series: str
    x: float
    values: dict[str, tuple[float, ...]]
    trivial: tuple[float, ...]

    def mean(self, measure: str) -> float:
        """Mean over seeds."""
        return float(np.mean(self.values[measure]))

    def half_width(self, measure: str) -> float:
        """Half of a 95 % t-interval of the mean over seeds (noise, start, and made or spoiled data); NaN for one seed."""
        return t_half_width(self.values[measure])

    @property
    def against_trivial(self) -> tuple[float, float]:
        """Mean of objective minus the trivial one on the same data, and half of its 95 % t-interval over seeds (NaN for one seed)."""
        apart = tuple(o - t for o, t in zip(self.values["objective"], self.trivial, strict=True))
        return float(np.mean(apart)), t_half_width(apart)


@dataclass(frozen=True, kw_only=True, eq=False)
class FactorStudyResult:
    """A study so far: its points in order, the trivial objective and the yardstick's (scikit-learn's NMF with the base's K) on the base's data, and how many of ``total`` runs were made."""

    spec: FactorStudySpec
    points: tuple[FactorPoint, ...]
    trivial: float
    yardstick: float
    runs: int
    total: int
    seconds: float
    versions: dict[str, str]

    @property
    def finished(self) -> bool:
        """Whether every run was made."""
        return self.runs == self.total

    @property
    def measures(self) -> tuple[str, ...]:
        """The study's measures that these data have."""
        return tuple(
            m
            for m in FACTOR_STUDIES[self.spec.kind].measures
            if any(math.isfinite(p.mean(m)) for p in self.points)
        )

    def summary(self) -> dict[str, Any]:
        """A JSON-able account; NaN becomes None."""

        def plain(values: tuple[float, ...]) -> list[float | None]:
            return [v if math.isfinite(v) else None for v in values]

        return {
            "study": json.loads(self.spec.to_json()),
            "points": [
                {**asdict(p), "values": {m: plain(v) for m, v in p.values.items()}}
                for p in self.points
            ],
            "trivial": self.trivial,
            "yardstick": self.yardstick,
            "runs": self.runs,
            "total": self.total,
            "seconds": round(self.seconds, 2),
            "versions": self.versions,
        }

    @classmethod
    def from_summary(cls, raw: dict[str, Any]) -> "FactorStudyResult":
        """A stored result, read back."""
        named = raw["study"]
        points = tuple(
            FactorPoint(
                series=p["series"],
                x=p["x"],
                values={
                    m: tuple(math.nan if v is None else v for v in vs)
                    for m, vs in p["values"].items()
                },
                trivial=tuple(p["trivial"]),
            )
            for p in raw["points"]
        )
        return cls(
            spec=FactorStudySpec(
                kind=named["kind"], base=FactorSpec.from_dict(named["base"]), seeds=named["seeds"]
            ),
            points=points,
            **{
                name: raw[name]
                for name in ("trivial", "yardstick", "runs", "total", "seconds", "versions")
            },
        )


def _measured(result: FactorResult, kind: str) -> dict[str, float]:
    wanted = FACTOR_STUDIES[kind].measures
    out = dict.fromkeys(MEASURES, math.nan)
    out["objective"] = result.final.objective
    if result.final.found is not None:
        out["found"] = result.final.found
    spec = result.spec
    if (
        "epsilon" in wanted
        and spec.algorithm == "private-nmf-published"
        and result.statement.private
    ):
        out["epsilon"] = overall_epsilon(
            spec.epsilon or DEFAULT_ROUND_EPSILON, spec.rounds, spec.delta
        )
    if "npmi" in wanted and result.coherence is not None and np.isfinite(result.coherence).any():
        out["npmi"] = float(np.nanmean(result.coherence))
    if "tc_w2v" in wanted and result.clean.texts:
        scores = tc_w2v(result.clean, result.dictionary)
        if np.isfinite(scores).any():
            out["tc_w2v"] = float(np.nanmean(scores))
    return out


def factor_study_steps(spec: FactorStudySpec) -> Iterator[FactorStudyResult]:
    """Yield the ``FactorStudyResult`` so far after each run, all points once with the first seed, then with the next. Stop iterating to cancel."""
    started = time.perf_counter()
    wanted = factor_cells(spec)
    seeds = [seeds_of(spec, cell) for cell in wanted]
    values: list[dict[str, list[float]]] = [{m: [] for m in MEASURES} for _ in wanted]
    beside: list[list[float]] = [[] for _ in wanted]
    fresh_data = spec.kind in ("people", "outliers")
    runs, total = 0, sum(seeds)
    trivial, best = math.nan, math.nan
    for k in range(spec.seeds):
        for n, cell in enumerate(wanted):
            if k >= seeds[n]:
                continue
            one = cell.spec.but(
                seed=cell.spec.seed + k, data_seed=cell.spec.data_seed + (k if fresh_data else 0)
            )
            result = factorize(one, compare=False)
            for measure, value in _measured(result, spec.kind).items():
                values[n][measure].append(value)
            beside[n].append(result.trivial)
            runs += 1
            if math.isnan(trivial):
                trivial, best = trivial_objective(clean_samples(spec.base)), yardstick(spec.base)
            points = tuple(
                FactorPoint(
                    series=c.series,
                    x=c.x,
                    values={m: tuple(v) for m, v in held.items()},
                    trivial=tuple(t),
                )
                for c, held, t in zip(wanted, values, beside, strict=True)
                if t
            )
            yield FactorStudyResult(
                spec=spec,
                points=points,
                trivial=trivial,
                yardstick=best,
                runs=runs,
                total=total,
                seconds=time.perf_counter() - started,
                versions=versions(),
            )


def factor_study(spec: FactorStudySpec) -> FactorStudyResult:
    """The finished result; see ``factor_study_steps``."""
    *_, result = factor_study_steps(spec)
    return result
