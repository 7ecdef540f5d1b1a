"""What the runs of a sweep show together: means with intervals, paired differences, the best trade-offs, and how much data would be needed.

Lives here: pure functions from finished runs to numbers. Does not live here: making runs (``sweep``), figures or sentences.

Intervals are over repetitions (data where it is made anew, split, start and noise), by Student's t. Differences are paired: repetition k has the same seeds in both cells.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from dpmc_core.experiments.intervals import t_half_width
from dpmc_core.experiments.records import KINDS, MEASURES, AnySpec, Record, kind_of
from dpmc_core.experiments.sweep_spec import Items, Planned

__all__ = ["Difference", "Needed", "Point", "frontier", "needed", "paired", "points_of"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Point:
    """The finished runs of one cell: ``values`` by repetition (its number → the measure; ``trivials`` likewise), the ``spec`` of its first, the largest ε that the runs' statements say
    (None without a finite one) and whether that is nominal. ``failures`` had an error of their own; they are no part of any mean."""

    settings: Items
    spec: AnySpec
    measure: str
    values: dict[int, float]
    trivials: dict[int, float]
    truths: dict[int, float]
    epsilon: float | None
    nominal: bool
    unit: str
    failures: int

    @property
    def mean(self) -> float:
        """Mean of the measure; NaN without any finished run."""
        return float(np.mean(list(self.values.values()))) if self.values else math.nan

    @property
    def half_width(self) -> float:
        """Half of a 95 % t-interval of the mean over repetitions; NaN for fewer than two."""
        return t_half_width(tuple(self.values.values()))

    @property
    def trivial(self) -> float:
        """Mean of the best trivial predictor on the same data."""
        return float(np.mean(list(self.trivials.values()))) if self.trivials else math.nan

    @property
    def less_is_better(self) -> bool:
        """True of errors and objectives, False of recall."""
        return self.measure != MEASURES["recommend"]

    @cached_property
    def against_trivial(self) -> "Difference | None":
        """Mean of measure minus the best trivial predictor's, paired; None for fewer than two repetitions."""
        return _difference(self.values, self.trivials, 1)

    def to_json(self) -> dict[str, Any]:
        """Everything, JSON-able; ``from_json`` reads it back."""
        numbers = {name: sorted(getattr(self, name).items()) for name in ("values", "trivials", "truths")}
        spec = {"kind": kind_of(self.spec), "fields": self.spec.changes()}
        return {
            "settings": dict(self.settings),
            "spec": spec,
            **numbers,
            **{name: getattr(self, name) for name in ("measure", "epsilon", "nominal", "unit", "failures")},
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> "Point":
        """A kept point, read back."""
        named = raw["spec"]
        numbers = {name: {int(k): v for k, v in raw[name]} for name in ("values", "trivials", "truths")}
        spec = KINDS[named["kind"]].from_dict(named["fields"])
        return cls(**{**raw, **numbers, "settings": tuple(raw["settings"].items()), "spec": spec})

    def as_dict(self) -> dict[str, Any]:
        """What a table shows, JSON-able."""
        apart = self.against_trivial
        return {
            "settings": dict(self.settings),
            "measure": self.measure,
            "mean": None if math.isnan(self.mean) else self.mean,
            "half_width_95": None if math.isnan(self.half_width) else self.half_width,
            "runs": len(self.values),
            "failures": self.failures,
            "trivial": None if math.isnan(self.trivial) else self.trivial,
            "against_trivial": None if apart is None else {"mean": apart.mean, "half_width_95": apart.half_width},
            "epsilon": self.epsilon,
            "nominal": self.nominal,
            "unit": self.unit,
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """A paired difference: its ``mean`` over ``pairs`` repetitions and half of its interval, at 95 % for all ``together`` comparisons of one table at once (Bonferroni)."""

    mean: float
    half_width: float
    pairs: int
    together: int

    @property
    def detected(self) -> bool:
        """Whether the interval leaves zero out."""
        return abs(self.mean) > self.half_width


def points_of(runs: Sequence[tuple[Planned, Record]]) -> list[Point]:
    """The cells of a sweep that have a run, in the order of the plan."""
    cells: dict[int, list[tuple[Planned, Record]]] = {}
    for run, record in runs:
        cells.setdefault(run.cell, []).append((run, record))
    out = []
    for _, members in sorted(cells.items()):
        good = [(run.replicate, record) for run, record in members if not record.error]
        first, some = members[0]
        spent = [record.epsilon for _, record in good]
        out.append(
            Point(
                settings=first.settings,
                spec=first.spec,
                measure=some.measure,
                values={k: record.value for k, record in good if record.value is not None},
                trivials={k: record.trivial for k, record in good if record.trivial is not None},
                truths={k: record.truth for k, record in good if record.truth is not None},
                epsilon=None if not spent or None in spent else max(e for e in spent if e is not None),
                nominal=any(record.nominal for _, record in good),
                unit=good[0][1].unit if good else "",
                failures=len(members) - len(good),
            )
        )
    return out


def paired(one: Point, other: Point, together: int = 1) -> Difference | None:
    """``one`` minus ``other`` over the repetitions that both have; None for fewer than two of them."""
    return _difference(one.values, other.values, together)


def _difference(one: dict[int, float], other: dict[int, float], together: int) -> Difference | None:
    both = sorted(one.keys() & other.keys())
    if len(both) < 2:
        return None
    apart = np.array([one[k] - other[k] for k in both])
    t = stats.t.ppf(1 - 0.025 / together, len(both) - 1)
    return Difference(float(apart.mean()), float(t * apart.std(ddof=1) / math.sqrt(len(both))), len(both), together)


def frontier(points: Sequence[Point]) -> list[Point]:
    """Those with a finite ε that no other one of the same unit and standing (nominal or sound) betters in both ε and mean, by rising ε.

    By means alone: whether neighbours on it differ is for ``paired`` to say.
    """
    known = [p for p in points if p.epsilon is not None and p.values]

    def better(p: Point, q: Point) -> bool:
        assert p.epsilon is not None  # ``known`` has only those
        assert q.epsilon is not None
        sign = 1 if p.less_is_better else -1
        alike = (p.unit, p.nominal, p.measure) == (q.unit, q.nominal, q.measure)
        no_worse = p.epsilon <= q.epsilon and sign * p.mean <= sign * q.mean
        return alike and no_worse and (p.epsilon < q.epsilon or sign * p.mean < sign * q.mean)

    return sorted((q for q in known if not any(better(p, q) for p in known)), key=lambda p: p.epsilon or 0.0)


@dataclass(frozen=True, slots=True)
class Needed:
    """How much data brings the mean to a target: ``n``, and an interval (``low``, ``high``) from the same crossing of each repetition's own line; infinity means
    more than the most that was run, 0 that the least was enough."""

    n: float
    low: float
    high: float


def needed(sizes: Sequence[float], points: Sequence[Point], target: float) -> Needed:
    """Where the line of ``points`` over ``sizes`` first reaches ``target`` and stays, linear in log size between what was run; nothing is extrapolated.

    The interval is the range of repetitions' crossings: for 6 or more it covers the median crossing with at least 96.8 % (order statistics), for fewer
    with less. Raises ``ValueError`` for sizes that do not rise.
    """
    if list(sizes) != sorted(set(sizes)) or len(sizes) != len(points) or not points:
        raise ValueError("sizes rise, one for each point")
    sign = 1 if points[0].less_is_better else -1

    def crossing(values: Sequence[float]) -> float:
        good = [sign * value <= sign * target for value in values]
        if not good[-1]:
            return math.inf
        first = len(good) - next((k for k, ok in enumerate(reversed(good)) if not ok), len(good))
        if first == 0:
            return 0.0
        before, after = values[first - 1], values[first]
        along = (target - before) / (after - before)
        return float(math.exp(math.log(sizes[first - 1]) + along * math.log(sizes[first] / sizes[first - 1])))

    both = set.intersection(*(set(p.values) for p in points))
    each = [crossing([p.values[k] for p in points]) for k in sorted(both)]
    whole = crossing([p.mean for p in points])
    return Needed(whole, min(each, default=0.0), max(each, default=math.inf))
