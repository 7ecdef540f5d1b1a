"""The one engine of studies: from a question and settings to points with intervals over seeds."""

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from dpmc_core.datasets.data import samples_of, split_of
from dpmc_core.datasets.ratings import Ratings, Split
from dpmc_core.errors import DataError
from dpmc_core.experiments.run import run
from dpmc_core.experiments.studies.spec import (
    MEASURES,
    Cell,
    StudySpec,
    cells,
    overall_epsilon,
    seeds_of,
)
from dpmc_core.experiments.tasks.factorize import FactorResult, baselines_of, reference
from dpmc_core.experiments.tasks.solve import versions
from dpmc_core.metrics.intervals import Comparison, t_half_width
from dpmc_core.metrics.topics import mean_score, tc_w2v
from dpmc_core.paths import RESULTS


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


# made by ``python -m benchmarks.studies`` and ``python -m benchmarks.factor_studies``
_FILES = {"completion": RESULTS / "studies.json", "factorization": RESULTS / "factor_studies.json"}


@lru_cache(maxsize=len(_FILES))
def examples(room: str) -> dict[str, StudyResult]:
    """Studies on synthetic data, by kind. ``room``: "completion" or "factorization"."""
    with _FILES[room].open(encoding="utf-8") as file:
        return {kind: StudyResult.from_summary(raw) for kind, raw in json.load(file).items()}


def study_steps(spec: StudySpec, *, workers: int | None = None) -> Iterator[StudyResult]:
    """Yield the ``StudyResult`` so far after each run.

    All points once with the first seed, then with the next. Stop iterating to cancel.
    """
    started = time.perf_counter()
    wanted = cells(spec)
    seeds = [seeds_of(spec, cell) for cell in wanted]
    made: list[Point | None] = [None] * len(wanted)
    baselines: dict[str, list[float]] = {}
    level, runs = math.nan, 0
    if spec.room == "factorization":
        clean = samples_of(spec.base.data, clean=True)
        beside = baselines_of(clean, spec.base.algorithm.rank)
        baselines = {name: [float(errors.mean())] for name, errors in beside.items()}
        level = reference(spec.base.data, spec.base.algorithm.rank)
    for k in range(spec.seeds):
        for n, cell in enumerate(wanted):
            if k >= seeds[n]:
                continue
            point, found = _one_run(spec, cell, k, workers)
            made[n] = _joined(made[n], point)
            for name, value in found.items():
                baselines.setdefault(name, []).append(value)
            runs += 1
            yield StudyResult(
                spec=spec,
                points=tuple(p for p in made if p is not None),
                baselines={name: float(np.mean(values)) for name, values in baselines.items()},
                reference=level,
                runs=runs,
                total=sum(seeds),
                seconds=time.perf_counter() - started,
                versions=versions(),
            )


def _one_run(
    spec: StudySpec, cell: Cell, k: int, workers: int | None
) -> tuple[Point, dict[str, float]]:
    """The point of a single run, and the baselines that hold for the whole study."""
    one = cell.spec.repetition(cell.spec.seed + k)
    if spec.room == "factorization":
        fresh = spec.kind in ("people", "outliers")
        if fresh:
            one = one.replace(data_seed=cell.spec.data.data_seed + k)
        result = run(one, compare=False)
        found = _measured(result, spec.study.measures)
        values: dict[str, tuple[float, ...]] = {m: (v,) for m, v in found.items()}
        return Point(series=cell.series, x=cell.x, values=values, baseline=(result.baseline,)), {}
    split = some_users(split_of(one.data, one.seed), cell.users, one.seed)
    result = run(one, workers=workers, split=split if cell.users < 1 else None)
    x = float(split.train.n_users) if spec.kind == "people" else cell.x
    point = Point(
        series=cell.series,
        x=x,
        values={"error": (result.value,)},
        baseline=(result.baseline,),
        epsilon=result.statement.epsilon,
    )
    return point, result.baselines if cell.users == 1.0 else {}


def _joined(before: Point | None, new: Point) -> Point:
    if before is None:
        return new
    return replace(
        new,
        values={m: (*v, *new.values[m]) for m, v in before.values.items()},
        baseline=(*before.baseline, *new.baseline),
        epsilon=max(before.epsilon, new.epsilon),
    )


def _measured(result: FactorResult, wanted: tuple[str, ...]) -> dict[str, float]:
    out = {m: math.nan for m in MEASURES if m != "error"}
    out["objective"] = result.final.objective
    if result.final.found is not None:
        out["found"] = result.final.found
    spec = result.spec
    if "epsilon" in wanted and not spec.card.guarantee and spec.noise.epsilon is not None:
        out["epsilon"] = overall_epsilon(spec.noise.epsilon, spec.length, spec.noise.delta)
    if "npmi" in wanted:
        out["npmi"] = mean_score(result.coherence)
    if "tc_w2v" in wanted and result.clean.texts:
        out["tc_w2v"] = mean_score(tc_w2v(result.clean, result.dictionary))
    return out


def study(spec: StudySpec, *, workers: int | None = None) -> StudyResult:
    """The finished result; see ``study_steps``."""
    *_, result = study_steps(spec, workers=workers)
    return result


def some_users(split: Split, share: float, seed: int) -> Split:
    """The same split with a ``share`` of its rows (users) only, chosen at random; at least two
    stay.

    Which stay follows from the number of rows, whoever has ratings. The others have no row.
    """
    if share >= 1:
        return split
    rows = split.train.n_users
    order = np.random.default_rng(np.random.SeedSequence([seed, 0x5EA7])).permutation(rows)
    kept = np.sort(order[: max(2, round(share * rows))])
    row = np.full(rows, -1)
    row[kept] = np.arange(kept.size)

    def of(ratings: Ratings) -> Ratings:
        part = ratings.take(row[ratings.users] >= 0)
        truth = part.truth
        if truth is not None:
            truth = replace(truth, left=truth.left[kept])
        users = row[part.users].astype(np.int32)
        return replace(part, users=users, n_users=kept.size, user_labels=(), truth=truth)

    train, test = of(split.train), of(split.test)
    if not len(test) or not len(train):
        which = "held-out rating" if len(train) else "rating to learn from"
        raise DataError(
            f"{share:.2g} of the users of {split.train.name} leaves no {which}; more users "
            "or another held-out share are needed."
        )
    return replace(split, train=train, test=test, how=f"{split.how}; {share:.3g} of the users")
