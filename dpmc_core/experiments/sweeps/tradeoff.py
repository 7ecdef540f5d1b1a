"""What the runs of a sweep or a study show together.

Means with intervals, paired differences, the best trade-offs, and how much data would be needed.

Pure functions from finished runs to numbers.

Intervals are over repetitions (new synthetic data, split, start and noise), by Student's t.
Differences are paired: repetition k has the same seeds in both cells.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from dpmc_core.experiments.run import TASKS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.store.records import Record
from dpmc_core.experiments.sweeps.spec import Items, Planned
from dpmc_core.metrics.intervals import Comparison, t_half_width
from dpmc_core.wording import JsonObject, finite

Number = Callable[[Planned, Record], float | None]
_SAME = 1.02  # two ε nearer than this are one
_MORE_IS_BETTER = (TASKS["recommend"].measure, "recall", "found", "npmi", "tc_w2v")


@dataclass(frozen=True, kw_only=True, eq=False)
class Point:
    """The finished runs of one cell.

    ``values`` by repetition (its number → the measure; ``baselines`` likewise), the ``spec`` of its
    first, the largest ε that the runs' statements say (None without a finite one;
    ``epsilon_published`` by published results alone) and whether that is nominal. ``failures`` had
    an error of their own, the first of which is ``error``; they are no part of any mean.
    """

    settings: Items
    spec: RunSpec
    measure: str
    values: dict[int, float]
    baselines: dict[int, float]
    truths: dict[int, float]
    epsilon: float | None
    epsilon_published: float | None
    nominal: bool
    unit: str
    failures: int
    error: str = ""

    @property
    def mean(self) -> float:
        """Mean of the measure; NaN without any finished run."""
        return float(np.mean(list(self.values.values()))) if self.values else math.nan

    @property
    def half_width(self) -> float:
        """Half of a 95 % t-interval of the mean over repetitions; NaN for fewer than two."""
        return t_half_width(tuple(self.values.values()))

    @property
    def baseline(self) -> float:
        """Mean of the best baseline on the same data."""
        return float(np.mean(list(self.baselines.values()))) if self.baselines else math.nan

    @property
    def less_is_better(self) -> bool:
        """True of errors and objectives, False of recall, coherence and parts found."""
        return self.measure not in _MORE_IS_BETTER

    @property
    def series(self) -> str:
        """The line of a study that it is on."""
        return str(dict(self.settings)["series"])

    @property
    def x(self) -> float:
        """Its place on that line."""
        return float(dict(self.settings)["x"])

    @cached_property
    def against_baseline(self) -> Comparison:
        """Mean of measure minus the best baseline's, paired."""
        return self.apart_from_baseline(1)

    def apart_from_baseline(self, together: int) -> Comparison:
        """The same as one of so many comparisons, whose intervals hold for all at once."""
        return self._minus(self.baselines, together)

    def minus(self, other: "Point", together: int = 1) -> Comparison:
        """The difference from another point over the repetitions that both have."""
        return self._minus(other.values, together)

    def _minus(self, others: Mapping[int, float], together: int) -> Comparison:
        both = sorted(self.values.keys() & others.keys())
        apart = [self.values[k] - others[k] for k in both]
        return Comparison.of_runs(apart, together=together, less=self.less_is_better)

    def to_json(self) -> JsonObject:
        """Everything, JSON-able."""
        fields_of = {field.name: getattr(self, field.name) for field in fields(self)}
        numbers = {n: sorted(fields_of[n].items()) for n in ("values", "baselines", "truths")}
        named = {"settings": dict(self.settings), "spec": self.spec.as_dict()}
        return fields_of | numbers | named

    def as_dict(self) -> JsonObject:
        """What a table shows, JSON-able."""
        apart = self.against_baseline
        shown = {
            "settings": dict(self.settings),
            "measure": self.measure,
            "mean": self.mean,
            "half_width_95": self.half_width,
            "runs": len(self.values),
            "failures": self.failures,
            "trivial": self.baseline,
            "against_baseline": {"mean": apart.mean, "half_width_95": apart.half_width}
            if apart.pairs > 1
            else None,
            "epsilon": self.epsilon,
            "epsilon_by_published_results": self.epsilon_published,
            "delta": self.spec.noise.delta,
            "nominal": self.nominal,
            "unit": self.unit,
        }
        return finite(shown)


Lines = dict[str, list[Point]]  # of a study, by their names


def points_of(
    runs: Sequence[tuple[Planned, Record]],
    measure: str = "",
    number: Number = lambda _, record: record.value,
) -> list[Point]:
    """The cells that have a run, in the order of the plan, by a ``number`` of each run, its
    ``measure`` (what its task is judged by, unless another is given).
    """
    cells: dict[int, list[tuple[Planned, Record]]] = {}
    for run, record in runs:
        cells.setdefault(run.cell, []).append((run, record))
    out = []
    for _, members in sorted(cells.items()):
        good = [(run, record) for run, record in members if not record.error]
        first, some = members[0]
        out.append(
            Point(
                settings=first.settings,
                spec=first.spec,
                measure=measure or some.measure,
                values={
                    r.replicate: x for r, record in good if (x := number(r, record)) is not None
                },
                baselines={
                    r.replicate: x for r, record in good if (x := record.baseline) is not None
                },
                truths={r.replicate: x for r, record in good if (x := record.truth) is not None},
                epsilon=largest([record.epsilon for _, record in good]),
                epsilon_published=largest([record.epsilon_published for _, record in good]),
                nominal=some.nominal,
                unit=some.unit,
                failures=len(members) - len(good),
                error=next((record.error for _, record in members if record.error), ""),
            )
        )
    return out


def largest(some: Sequence[float | None]) -> float | None:
    """The largest; None where there is none, or one of them is not finite.

    >>> largest([1.0, 3.0, 2.0]), largest([1.0, None]), largest([])
    (3.0, None, None)
    """
    numbers = [x for x in some if x is not None]
    return max(numbers) if numbers and len(numbers) == len(some) else None


def frontier(points: Sequence[Point]) -> list[Point]:
    """Those with a finite ε that no other of their kind betters in both ε and mean, by rising ε.

    Of a kind are points about the same unit, standing (nominal or sound), δ and data. Two ε within
    2 % count as one: what was asked for is the same, and plans stay below it by a little.

    By means alone: whether neighbours on it differ is for ``Point.minus`` to say.
    """
    pairs = [(p.epsilon, p) for p in points if p.epsilon is not None and p.values]

    def better(spent: float, p: Point, other: float, q: Point) -> bool:
        sign = 1 if p.less_is_better else -1
        mine, its = sign * p.mean, sign * q.mean
        return (mine < its and spent <= other * _SAME) or (spent * _SAME < other and mine <= its)

    best = [
        (other, q)
        for other, q in pairs
        if not any(
            kind_of_point(p) == kind_of_point(q) and better(spent, p, other, q)
            for spent, p in pairs
        )
    ]
    return [q for _, q in sorted(best, key=lambda pair: pair[0])]


def kind_of_point(p: Point) -> tuple[object, ...]:
    """What must be alike for two points to be compared."""
    sizes = tuple(
        getattr(p.spec.data, name, None)
        for name in ("n_users", "n_items", "n_ratings", "n_samples", "user_share")
    )
    return p.unit, p.nominal, p.measure, p.spec.noise.delta, p.spec.dataset, sizes


@dataclass(frozen=True)
class Needed:
    """How much data closes a gap.

    ``n``, the median over repetitions, and the least and most of them (``low``, ``high``). Infinity
    means more than the most that was run, 0 that the least was enough.
    """

    n: float
    low: float
    high: float


def needed(sizes: Sequence[float], gaps: Sequence[dict[int, float]]) -> Needed:
    """The least size from which on a gap (by repetition, one mapping for each of the rising
    ``sizes``) is at most zero, linear in log size between what was run; nothing is extrapolated.

    Each repetition has a crossing of its own. Their range covers the median crossing with 1 −
    2^(1−k) for k of them: 96.9 % for 6. Raises ``ValueError`` for sizes that do not rise, or
    without a repetition that has them all.
    """
    both = set.intersection(*(set(gap) for gap in gaps)) if gaps else set()
    if list(sizes) != sorted(set(sizes)) or len(sizes) != len(gaps) or not both:
        raise ValueError("sizes rise, with one gap for each, and some repetition has all of them")

    def crossing(values: Sequence[float]) -> float:
        first = from_where_on([gap <= 0 for gap in values])
        if not first:
            return math.inf if first is None else 0.0
        around = slice(first - 1, first + 1)
        falls = [-gap for gap in values[around]]
        return float(np.exp(np.interp(0.0, falls, np.log(sizes[around]))))

    each = [crossing([gap[k] for gap in gaps]) for k in both]
    return Needed(float(np.median(each)), min(each), max(each))


def from_where_on(held: list[bool]) -> int | None:
    """Where the last unbroken run of True begins that reaches the end.

    None if the last is False.
    """
    place = len(held)
    while place and held[place - 1]:
        place -= 1
    return place if place < len(held) else None
