"""Planning of models: the least ε, or the fewest people, at which runs reach a goal.

Lives here: a search over runs on paired seeds that spends them where they decide. Does not live
here: making and keeping runs (``experiments.sweeps``), or answers that need none (``answer``).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import special

from dpmc_core.config import Config
from dpmc_core.datasets.user_datasets import is_own
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.run import TASKS
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.store.records import Record, key_of
from dpmc_core.experiments.sweeps.storing import Runs
from dpmc_core.experiments.sweeps.sweep import make_all
from dpmc_core.limits import Limit
from dpmc_core.wording import three

__all__ = ["ModelPlan", "Probe", "Search", "search"]

_LOOKS = (4, 6, 9, 13, 20)  # runs at one place after which it is asked whether it is decided
_MOST_PROBES = 16
_CONFIDENCE = 0.95  # of the whole interval: shared by all looks at all probes
_STEPS = {"epsilon": "ε", "n_users": "people"}


@dataclass(frozen=True, kw_only=True)
class ModelPlan(Config):
    """The runs of ``base`` with another total ε, or another number of users, reach ``target``: an
    error or objective at most that, a recall at least; None for better than the best baseline.

    The answer is looked for between ``least`` and ``most`` of ``vary``, until its interval's ends
    are within the factor ``within`` of one another, no number of runs up to ``runs`` at one place
    tells more, or another place could take more than ``total_runs`` in all. Raises
    ``ParameterError``: for a ``base`` without a guarantee's total ε, or with secret noise, whose
    runs nothing can repeat.
    """

    base: RunSpec
    vary: str = "epsilon"
    target: (
        Annotated[
            float, Limit("target", -1e9, 1e9, "what an error may be at most, or a recall at least")
        ]
        | None
    ) = None
    least: Annotated[
        float, Limit("least", 0, 1e9, "least value that is looked at", open_low=True)
    ] = 0.1
    most: Annotated[
        float, Limit("most", 0, 1e9, "largest value that is looked at", open_low=True)
    ] = 50.0
    within: Annotated[
        float, Limit("within", 1.02, 10, "factor between the answer's ends at which it stops")
    ] = 1.5
    runs: Annotated[int, Limit("runs", 4, 100, "most runs at one place", integer=True)] = 20
    total_runs: Annotated[
        int, Limit("total_runs", 8, 10_000, "runs in all after which it stops", integer=True)
    ] = 120

    def consistent(self) -> None:
        if self.vary not in _STEPS:
            raise ParameterError("vary", self.vary, "one of " + ", ".join(_STEPS))
        if self.least >= self.most:
            raise ParameterError("least", self.least, f"below most, {self.most:g}")
        if self.base.noise.kind != "total":
            name = self.base.card.name
            raise ParameterError(
                "mechanism", self.base.noise.mechanism, f"one with a total ε for {name}"
            )
        if self.base.secret:
            raise ParameterError("secret", True, "left out: a plan repeats runs on paired seeds")
        self.spec_at(self.most, 0)

    def spec_at(self, place: float, seed: int) -> RunSpec:
        """The run at ``place`` with the ``seed``-th of the paired seeds."""
        chance = {"seed": self.base.seed + seed}
        if self.vary == "epsilon":
            return self.base.replace(epsilon=float(f"{place:.4g}"), **chance)
        people = {"n_users": round(place)}
        ratings = getattr(self.base.data, "n_ratings", None)
        if ratings is not None:  # each person rates as many items as before
            people["n_ratings"] = round(ratings * round(place) / self.base.data.n_users)
        return self.base.replace(**people, **chance)

    @property
    def goal(self) -> str:
        """What is to be reached, in words."""
        measure = TASKS[self.base.task].measure
        if self.target is None:
            return "better than the best baseline"
        how = "at most" if TASKS[self.base.task].less_is_better else "at least"
        return f"{measure} {how} {three(self.target)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """What the runs at one ``place`` say: by how much each reached the goal (below 0: by how much
    it missed), and whether that is ``decided``: 1 reached, −1 missed, 0 neither.
    """

    place: float
    margins: tuple[float, ...]
    values: tuple[float, ...]
    decided: int

    @property
    def mean(self) -> float:
        """The mean of what the runs measured."""
        return float(np.mean(self.values))


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """A search so far: between ``low`` (clearly missed) and ``high`` (clearly reached) the goal is
    first reached, with 95 % confidence if reaching it is monotone in what varies; ``estimate`` is
    where the means cross. ``spent`` runs were looked at, ``before`` of them were in the store.
    """

    plan: ModelPlan
    probes: tuple[Probe, ...]
    low: float
    high: float
    spent: int
    before: int
    finished: bool

    @property
    def estimate(self) -> float:
        """Where a line through the two nearest means crosses 0, on a logarithmic scale."""
        inside = sorted(self.probes, key=lambda probe: probe.place)
        missed = [p for p in inside if np.mean(p.margins) < 0]
        reached = [p for p in inside if np.mean(p.margins) >= 0]
        if not missed or not reached:
            return math.sqrt(self.low * self.high)
        a, b = missed[-1], reached[0]
        if a.place > b.place:  # not monotone within noise: the middle of where it turns
            return math.sqrt(a.place * b.place)
        share = -np.mean(a.margins) / (np.mean(b.margins) - np.mean(a.margins))
        found = math.exp(math.log(a.place) + float(share) * (math.log(b.place) - math.log(a.place)))
        return min(max(found, self.low), self.high)

    @property
    def sentence(self) -> str:
        """The answer, with its interval and how many runs it took."""
        what = "a total ε of" if self.plan.vary == "epsilon" else "people:"
        is_ = "is" if self.plan.target is None else "reaches"
        return (
            f"{self.plan.base.card.title} {is_} {self.plan.goal} from {what} "
            f"{three(self.estimate)} on ({three(self.low)} to {three(self.high)}, 95 % interval; "
            f"{self.spent} runs)."
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What an answer from runs leaves out."""
        said = [
            "The answer is for this data, these settings and these seeds; it takes for granted "
            "that more of it is never worse.",
            "Errors of runs are computed without noise: choosing by them is for the holder of the "
            "data, and no ε of a later run covers that choice.",
        ]
        reached = [p.place for p in self.probes if p.decided > 0]
        first = min(reached, default=math.inf)
        again = [p.place for p in self.probes if p.decided < 0 and p.place > first]
        if again:
            said.append(
                f"More was not always better: reached at {three(first)}, the goal was "
                f"missed at {three(max(again))}. The interval is of the last time it is reached."
            )
        if not is_own(self.plan.base.dataset):
            said[1] = (
                "Errors of runs are computed without noise. On data that is public already this "
                "costs nobody anything; on your own, no ε of a later run covers the choice."
            )
        return tuple(said)

    def as_dict(self) -> dict[str, Any]:
        """A JSON-able copy."""
        return {
            "spec": self.plan.base.as_dict(),
            "vary": self.plan.vary,
            "goal": self.plan.goal,
            "estimate": self.estimate,
            "interval_95": [self.low, self.high],
            "runs": self.spent,
            "already_there": self.before,
            "finished": self.finished,
            "answer": self.sentence,
            "caveats": list(self.caveats),
            "probes": [
                {"place": p.place, "mean": p.mean, "runs": len(p.values), "decided": p.decided}
                for p in self.probes
            ],
        }


def search(
    plan: ModelPlan, store: Runs, *, jobs: int = 2, sets: Sequence[Any] = ()
) -> Iterator[Search]:
    """Yield the search so far after each look; stop asking and it stops. Runs that ``store`` has
    are not made again.

    Both ends first, then halves of the interval on a logarithmic scale. At one place runs are made
    until a t-interval of their margins, paired with the target or each run's own best baseline,
    leaves 0 out, at a level that all looks at all places share (Bonferroni): the interval of the
    answer then holds with 95 %. Where ``plan.runs`` decide nothing the place is as near as runs
    tell, and both sides are narrowed towards it.

    Raises ``DataError`` where the goal is reached at ``least`` already, or missed at ``most``.
    """
    looking = _Looking(plan, store, jobs, sets)
    yield from looking.at(plan.most)
    if looking.last.decided < 0:
        raise DataError(_missed(plan, looking.last))
    yield from looking.at(plan.least)
    if looking.last.decided > 0:
        raise DataError(
            f"“{plan.goal}” is reached at {_STEPS[plan.vary]} = {three(plan.least)} "
            f"already ({three(looking.last.mean)} on average): look below it."
        )
    murky: list[float] = []  # where runs could not decide: between them no look is worth it
    while len(looking.probes) < _MOST_PROBES and looking.room:
        low, high = looking.low, looking.high
        gaps = [(low, high)]
        if murky:
            gaps = [(low, min(murky)), (max(murky), high)]
        gaps = [(a, b) for a, b in gaps if b > a * plan.within and looking.new(math.sqrt(a * b))]
        if not gaps or (not murky and high <= low * plan.within):
            break
        a, b = max(gaps, key=lambda gap: gap[1] / gap[0])
        place = math.sqrt(a * b)
        yield from looking.at(place)
        if not looking.last.decided:
            murky.append(looking.last.place)
        murky = [m for m in murky if looking.low < m < looking.high]
    yield looking.state(finished=True)


class _Looking:
    """The probes of one search, and the runs behind them."""

    def __init__(self, plan: ModelPlan, store: Runs, jobs: int, sets: Sequence[Any]) -> None:
        self._plan, self._store, self._jobs, self._sets = plan, store, jobs, sets
        self.probes: dict[float, Probe] = {}
        self._before = 0
        looks = [look for look in _LOOKS if look < plan.runs] + [plan.runs]
        self._looks = looks
        self._tail = (1 - _CONFIDENCE) / 2 / (len(looks) * _MOST_PROBES)

    @property
    def last(self) -> Probe:
        """The latest probe."""
        return next(reversed(self.probes.values()))

    @property
    def low(self) -> float:
        """The largest place that clearly missed."""
        return max(
            (p.place for p in self.probes.values() if p.decided < 0), default=self._plan.least
        )

    @property
    def high(self) -> float:
        """The least place that clearly reached."""
        above = [p.place for p in self.probes.values() if p.decided > 0 and p.place >= self.low]
        return min(above, default=self._plan.most)

    @property
    def room(self) -> bool:
        """Whether one place more keeps to the runs in all."""
        spent = sum(len(probe.values) for probe in self.probes.values())
        return spent + self._plan.runs <= self._plan.total_runs

    def new(self, place: float) -> bool:
        """Whether nothing was looked at there, as runs are told apart."""
        return self._value(place) not in self.probes

    def _value(self, place: float) -> float:
        spec = self._plan.spec_at(place, 0)
        if self._plan.vary == "epsilon":
            return float(spec.noise.epsilon)
        return float(spec.data.n_users)

    def at(self, place: float) -> Iterator[Search]:
        """Runs at ``place`` until they decide, or there are enough."""
        value = self._value(place)
        seen: set[str] = set()
        for runs in self._looks:
            specs = {
                key_of(spec): spec
                for spec in (self._plan.spec_at(place, seed) for seed in range(runs))
            }
            self._before += len(self._store.have([key for key in specs if key not in seen]))
            seen |= specs.keys()
            for _ in make_all(specs, self._store, jobs=self._jobs, sets=self._sets):
                if self.probes:
                    yield self.state(finished=False)
            records = self._store.find(specs)
            self.probes.pop(value, None)
            self.probes[value] = self._probe(value, [records[key] for key in specs])
            yield self.state(finished=False)
            if self.last.decided:
                return

    def _probe(self, place: float, records: Sequence[Record]) -> Probe:
        sign = -1.0 if TASKS[self._plan.base.task].less_is_better else 1.0
        values, margins = [], []
        for record in records:
            if record.value is None:
                raise DataError(f"A run ended in an error: {record.error}")
            aim = record.baseline if self._plan.target is None else self._plan.target
            assert aim is not None
            values.append(record.value)
            margins.append(sign * (record.value - aim))
        mean, count = float(np.mean(margins)), len(margins)
        half = float(special.stdtrit(count - 1, 1 - self._tail) * np.std(margins, ddof=1))
        half /= math.sqrt(count)
        decided = 0 if abs(mean) <= half else int(math.copysign(1, mean))
        return Probe(place=place, margins=tuple(margins), values=tuple(values), decided=decided)

    def state(self, *, finished: bool) -> Search:
        return Search(
            plan=self._plan,
            probes=tuple(self.probes.values()),
            low=self.low,
            high=self.high,
            spent=sum(len(p.values) for p in self.probes.values()),
            before=self._before,
            finished=finished,
        )


def _missed(plan: ModelPlan, probe: Probe) -> str:
    """What can be reached in the place of the goal."""
    more = "More people" if plan.vary == "epsilon" else "A larger ε"
    return (
        f"“{plan.goal}” is not reached at {_STEPS[plan.vary]} = {three(plan.most)}: it is "
        f"{three(probe.mean)} there on average of {len(probe.values)} runs. {more}, another method "
        "or an easier goal can be reached."
    )
