"""Studies: one question, answered by many runs over a few seeds.

Lives here: which runs each study consists of, and the one path from a ``StudySpec`` to its rows. Does not live here: what a run is (``spec``, ``run``),
or charts. Hyper-parameters stay as the base spec has them, whatever ε is: nothing is re-tuned on the data from point to point.
"""

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dpmc_core import limits
from dpmc_core.datasets.ratings import Ratings, Split
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.data import sizes_of, split_of
from dpmc_core.experiments.private import DEFAULT_TOTAL
from dpmc_core.experiments.registry import ALGORITHMS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.rate import run, versions
from dpmc_core.metrics.intervals import t_half_width

__all__ = [
    "STUDIES",
    "Cell",
    "Point",
    "Study",
    "StudyResult",
    "StudySpec",
    "cells",
    "some_users",
    "study",
    "study_steps",
]

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
RIVALS = ("moments", "private-means", "dpals")
SHARES_OF_USERS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of one line: runs of ``spec`` (with seeds of their own), of ``users`` share of all people."""

    series: str
    x: float
    spec: RunSpec
    users: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """A study as a visitor meets it: its question, what one needs to know to read it (``intro``), what runs along the horizontal axis, and where the question comes from.
    ``own_epsilon``: its runs set ε themselves, whatever the base says."""

    title: str
    intro: str
    x_title: str
    log_x: bool
    source: str
    own_epsilon: bool = False
    cells: Callable[[RunSpec], tuple[Cell, ...]]


def _quiet(base: RunSpec) -> RunSpec:
    return base.but(mechanism="none", epsilon=None, alpha=None, variance=None)


def _noisy(base: RunSpec, epsilon: float) -> RunSpec:
    mechanism = "gaussian" if base.mechanism == "none" else base.mechanism
    return base.but(mechanism=mechanism, epsilon=epsilon, variance=None)


def _total(base: RunSpec) -> float:
    return base.epsilon if base.epsilon is not None else DEFAULT_TOTAL


def _by_epsilon(base: RunSpec) -> tuple[Cell, ...]:
    noisy = [
        Cell(ALGORITHMS[a].title, e, _noisy(base, e).but(algorithm=a))
        for a in RIVALS
        for e in EPSILONS
    ]
    quiet = [
        Cell(f"{ALGORITHMS[a].title}, no noise", e, _quiet(base).but(algorithm=a))
        for a in ("moments", "dpals")
        for e in (EPSILONS[0], EPSILONS[-1])
    ]
    return (*noisy, *quiet)


def _by_users(base: RunSpec) -> tuple[Cell, ...]:
    epsilon = _total(base)
    noisy = [
        Cell(ALGORITHMS[a].title, s, _noisy(base, epsilon).but(algorithm=a), s)
        for a in RIVALS
        for s in SHARES_OF_USERS
    ]
    quiet = [
        Cell("Moments once, no noise", s, _quiet(base).but(algorithm="moments"), s)
        for s in SHARES_OF_USERS
    ]
    return (*noisy, *quiet)


def _by_share(base: RunSpec) -> tuple[Cell, ...]:
    dpals, shares = base.but(algorithm="dpals"), (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
    noisy = [
        Cell(f"ε = {e:g}", b, _noisy(dpals, e).but(item_share=b))
        for e in (1.0, 5.0, 20.0)
        for b in shares
    ]
    return (*noisy, *(Cell("no noise", b, _quiet(dpals).but(item_share=b)) for b in shares))


def _by_rank(base: RunSpec) -> tuple[Cell, ...]:
    dpals, ranks = base.but(algorithm="dpals"), (2, 4, 8, 16, 32)
    noisy = [
        Cell(f"DPALS, ε = {e:g}", r, _noisy(dpals, e).but(rank=r))
        for e in (1.0, 10.0)
        for r in ranks
    ]
    quiet = [Cell("DPALS, no noise", r, _quiet(dpals).but(rank=r)) for r in ranks]
    once = [
        Cell("Moments once, ε = 10", r, _noisy(base, 10.0).but(algorithm="moments", rank=r))
        for r in ranks
    ]
    return (*noisy, *quiet, *once)


def _by_projection(base: RunSpec) -> tuple[Cell, ...]:
    names = {"inner": "before λ is added", "printed": "as printed", "off": "off"}
    return tuple(
        Cell(title, e, _noisy(base, e).but(algorithm="dpals", projection=name))
        for name, title in names.items()
        for e in (2.0, 5.0, 10.0, 20.0, 50.0)
    )


def _by_exponents(base: RunSpec) -> tuple[Cell, ...]:
    dpals = _noisy(base, _total(base)).but(algorithm="dpals")
    return tuple(
        Cell(
            f"μ = {mu:g}, ν = {nu:g}",
            b,
            dpals.but(item_exponent=mu, user_exponent=nu, item_share=b),
        )
        for mu, nu in ((0.0, 0.0), (0.5, 1.0), (1.0, 1.0))
        for b in (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
    )


STUDIES: dict[str, Study] = {
    "epsilon": Study(
        title="What does privacy cost?",
        intro="The error on held-out ratings as the total privacy loss ε grows, one user added or removed.",
        x_title="total ε (log scale)",
        log_x=True,
        source="dpals-paper, figure 3",
        own_epsilon=True,
        cells=_by_epsilon,
    ),
    "people": Study(
        title="Do more people help?",
        intro="The same algorithms at the same ε on a random part of the people.",
        x_title="users in the data (log scale)",
        log_x=True,
        source="dpals-paper, figures 4 and 8",
        cells=_by_users,
    ),
    "items": Study(
        title="How many items to learn?",
        intro="DPALS learns factors for the most-rated share β of the items; for the others it predicts a user's own mean.",
        x_title="share β of the items learned (log scale)",
        log_x=True,
        source="dpals-paper, figures 5 and 10",
        own_epsilon=True,
        cells=_by_share,
    ),
    "rank": Study(
        title="How many factors?",
        intro="r is how many hidden tastes a model has; Moments once keeps at most r, and no more than stand above its noise.",
        x_title="rank r (log scale)",
        log_x=True,
        source="dpals-paper, figure 9",
        own_epsilon=True,
        cells=_by_rank,
    ),
    "projection": Study(
        title="Why project noisy matrices?",
        intro="DPALS solves equations whose noisy (Gram) matrices may lose their positive eigenvalues, and solutions then run away. Projecting sets negative eigenvalues to zero: before the "
        "regularisation λ is added, after it (as printed in the paper), or not at all (off).",
        x_title="total ε (log scale)",
        log_x=True,
        source="dpals-paper, Algorithm 1 line 10 and figure 5",
        own_epsilon=True,
        cells=_by_projection,
    ),
    "exponents": Study(
        title="Whom to regularise more?",
        intro="DPALS pulls factors to zero by λ; with μ > 0 more so for items that are rated often, with ν > 0 for users who rate much.",
        x_title="share β of the items learned (log scale)",
        log_x=True,
        source="dpals-paper, figure 12",
        cells=_by_exponents,
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class StudySpec:
    """A study named completely: ``kind`` is one of ``STUDIES``, ``base`` gives dataset, settings, δ and the first seed, ``seeds`` how many
    seeds in a row each point has. Raises ``ParameterError``."""

    kind: str
    base: RunSpec
    seeds: int = 3

    def __post_init__(self) -> None:
        if self.kind not in STUDIES:
            raise ParameterError("study", self.kind, "one of " + ", ".join(STUDIES))
        limits.check_int("study_seeds", self.seeds)
        if self.base.task != "rate":
            raise ParameterError(
                "task", self.base.task, "rate: the studies are of predicted ratings"
            )
        if self.base.split != "random":
            raise ParameterError(
                "split", self.base.split, "random: every seed of a study has a split of its own"
            )
        self.base.but(seed=self.base.seed + self.seeds - 1)
        if not cells(self):  # which checks every run's own settings before the first is made
            raise ParameterError(
                "rank",
                self.base.rank,
                f"at most {min(sizes_of(self.base))} here, for any point of the study to exist",
            )

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(
            {"kind": self.kind, "base": self.base.as_dict(), "seeds": self.seeds}, sort_keys=True
        )


def cells(spec: StudySpec) -> tuple[Cell, ...]:
    """The points of a study, before seeds: without those that a matrix of this size cannot have (a rank above the number of items learned)."""
    n_users, n_items = sizes_of(spec.base)

    def possible(cell: Cell) -> bool:
        items = (
            math.ceil(cell.spec.item_share * n_items) if cell.spec.algorithm == "dpals" else n_items
        )
        needs = cell.spec.rank if cell.spec.algorithm in ("dpals", "private-svd") else 1
        return needs <= min(items, round(cell.users * n_users))

    return tuple(cell for cell in STUDIES[spec.kind].cells(spec.base) if possible(cell))


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """The runs of one cell: ``errors`` (clipped held-out RMSE, one per seed), ``trivial`` (the best trivial predictor's on the same ratings), ``x`` as
    drawn, and the largest ``epsilon`` that the ledgers state (∞ without noise)."""

    series: str
    x: float
    errors: tuple[float, ...]
    trivial: tuple[float, ...]
    epsilon: float

    @property
    def mean(self) -> float:
        """Mean error over the seeds."""
        return float(np.mean(self.errors))

    @property
    def half_width(self) -> float:
        """Half of a 95 % t-interval of the mean over seeds (split, start and noise); NaN for one seed."""
        return t_half_width(self.errors)

    @property
    def against_trivial(self) -> tuple[float, float]:
        """Mean of error minus the best trivial predictor's on the same ratings, and half of its 95 % t-interval over seeds (NaN for one seed)."""
        apart = tuple(e - t for e, t in zip(self.errors, self.trivial, strict=True))
        return float(np.mean(apart)), t_half_width(apart)


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyResult:
    """A study so far: its points in order, the trivial predictors' mean error on the splits of all people, and how many of ``total`` runs were made."""

    spec: StudySpec
    points: tuple[Point, ...]
    trivial: dict[str, float]
    runs: int
    total: int
    seconds: float
    versions: dict[str, str]

    @property
    def finished(self) -> bool:
        """Whether every run was made."""
        return self.runs == self.total

    def summary(self) -> dict[str, Any]:
        """A JSON-able account."""
        return {
            "study": json.loads(self.spec.to_json()),
            "points": [
                {**asdict(p), "epsilon": p.epsilon if math.isfinite(p.epsilon) else None}
                for p in self.points
            ],
            "trivial": self.trivial,
            "runs": self.runs,
            "total": self.total,
            "seconds": round(self.seconds, 2),
            "versions": self.versions,
        }

    @classmethod
    def from_summary(cls, raw: dict[str, Any]) -> "StudyResult":
        """A stored result, read back."""
        named = raw["study"]
        points = tuple(
            Point(
                series=p["series"],
                x=p["x"],
                errors=tuple(p["errors"]),
                trivial=tuple(p["trivial"]),
                epsilon=math.inf if p["epsilon"] is None else p["epsilon"],
            )
            for p in raw["points"]
        )
        return cls(
            spec=StudySpec(
                kind=named["kind"], base=RunSpec.from_dict(named["base"]), seeds=named["seeds"]
            ),
            points=points,
            **{name: raw[name] for name in ("trivial", "runs", "total", "seconds", "versions")},
        )


def study_steps(spec: StudySpec, *, workers: int | None = None) -> Iterator[StudyResult]:
    """Yield the ``StudyResult`` so far after each run, all points once with the first seed, then with the next. Stop iterating to cancel."""
    started = time.perf_counter()
    wanted = cells(spec)
    errors: list[list[float]] = [[] for _ in wanted]
    beside: list[list[float]] = [[] for _ in wanted]
    spent, places = [0.0] * len(wanted), [math.nan] * len(wanted)
    trivial: dict[str, list[float]] = {}
    runs, total = 0, len(wanted) * spec.seeds
    for k in range(spec.seeds):
        for n, cell in enumerate(wanted):
            one = cell.spec.but(seed=cell.spec.seed + k)
            whole = split_of(one)
            split = some_users(whole, cell.users, one.seed)
            result = run(one, workers=workers, split=split)
            errors[n].append(result.final.test_rmse_clipped)
            beside[n].append(min(result.trivial.values()))
            spent[n] = max(spent[n], result.statement.epsilon)
            places[n] = (
                float(np.unique(split.train.users).size) if spec.kind == "people" else cell.x
            )
            if cell.users == 1.0:
                for name, value in result.trivial.items():
                    trivial.setdefault(name, []).append(value)
            runs += 1
            points = tuple(
                Point(series=c.series, x=x, errors=tuple(e), trivial=tuple(t), epsilon=s)
                for c, x, e, t, s in zip(wanted, places, errors, beside, spent, strict=True)
                if e
            )
            yield StudyResult(
                spec=spec,
                points=points,
                trivial={name: float(np.mean(values)) for name, values in trivial.items()},
                runs=runs,
                total=total,
                seconds=time.perf_counter() - started,
                versions=versions(),
            )


def study(spec: StudySpec, *, workers: int | None = None) -> StudyResult:
    """The finished result; see ``study_steps``."""
    result = None
    for result in study_steps(spec, workers=workers):  # noqa: B007
        pass
    assert result is not None  # a study has at least one point
    return result


def some_users(split: Split, share: float, seed: int) -> Split:
    """The same split with a ``share`` of its users only, chosen at random; the others have no row. At least two users stay."""
    if share >= 1:
        return split
    present = np.unique(split.train.users)
    order = np.random.default_rng(np.random.SeedSequence([seed, 0x5EA7])).permutation(present)
    kept = np.sort(order[: max(2, round(share * present.size))])
    row = np.full(split.train.n_users, -1)
    row[kept] = np.arange(kept.size)

    def of(ratings: Ratings) -> Ratings:
        part = ratings.take(row[ratings.users] >= 0)
        truth = part.truth
        if truth is not None:
            truth = replace(truth, left=truth.left[kept])
        return replace(
            part,
            users=row[part.users].astype(np.int32),
            n_users=kept.size,
            user_labels=(),
            truth=truth,
        )

    test = of(split.test)
    if not len(test):
        raise DataError(
            f"{share:.2g} of the users of {split.train.name} leaves no held-out rating; more users or a larger held-out share are needed."
        )
    return replace(
        split, train=of(split.train), test=test, how=f"{split.how}; {share:.3g} of the users"
    )
