"""The one engine of studies: from a question and settings to points with intervals over seeds."""

import math
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpmc_core.datasets.data import samples_of, split_of
from dpmc_core.datasets.ratings import Ratings, Split
from dpmc_core.errors import DataError
from dpmc_core.experiments.run import run
from dpmc_core.experiments.studies.cells import Cell, overall_epsilon
from dpmc_core.experiments.studies.result import Point, StudyResult
from dpmc_core.experiments.studies.spec import MEASURES, StudySpec, cells, seeds_of
from dpmc_core.experiments.tasks.factorize import FactorResult, baselines_of, reference
from dpmc_core.experiments.tasks.solve import versions
from dpmc_core.metrics.topics import mean_score, tc_w2v


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
