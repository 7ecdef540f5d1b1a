"""Planning of models: the least ε, or the fewest people, at which runs reach a goal.

A search over runs on paired seeds that spends them where they decide.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from dpmc_core.errors import DataError
from dpmc_core.experiments import TASKS, RunSpec
from dpmc_core.experiments.store.records import PassingRuns, Record, Runs, key_of, record_for
from dpmc_core.experiments.sweeps.sweep import make_all
from dpmc_core.experiments.sweeps.workers import Workers
from dpmc_core.experiments.worker.process import ALL, Share
from dpmc_core.paths import RESULTS
from dpmc_core.planning.goal import ModelPlan, Probe, Search
from dpmc_core.wording import JsonObject

_LOOKS = (4, 6, 9, 13, 20)  # runs at one place after which it is asked whether it is decided
_MOST_PROBES = 16
_CONFIDENCE = 0.95  # of the whole interval: shared by all looks at all probes


def search(
    plan: ModelPlan,
    store: Runs,
    *,
    jobs: int = 2,
    sets: Sequence[Any] = (),
    share: Share = ALL,
    workers: Workers | None = None,
) -> Iterator[Search]:
    """Yield the search so far after each run; stop asking and it stops. Runs that ``store`` has
    are not made again. Processes see ``sets``, and each takes at most its ``share`` of the machine;
    ``workers`` make the runs in their place.

    Both ends first, then halves of the interval on a logarithmic scale. At one place runs are made
    until a t-interval of their margins, paired with the target or each run's own best baseline,
    leaves 0 out, at a level that all looks at all places share (Bonferroni): the interval of the
    answer then holds with 95 %. Where ``plan.runs`` decide nothing the place is as near as runs
    tell, and both sides are narrowed towards it.

    Where the goal is missed at ``most``, or reached at ``least`` already, the search ends there
    (``Search.crossing``). Raises ``DataError`` where a run ends in an error.
    """
    with Workers(jobs, sets, share) if workers is None else workers as workers:
        yield from _searched(plan, _Looking(plan, store, workers))


def _searched(plan: ModelPlan, looking: "_Looking") -> Iterator[Search]:
    yield from looking.at(plan.most)
    if looking.last.decided >= 0:
        yield from looking.at(plan.least)
    ended = looking.state(finished=True)
    if ended.crossing != "inside":
        yield ended
        return
    murky: list[float] = []  # where runs could not decide: between them no look is worth it
    while len(looking.probes) < _MOST_PROBES and looking.room:
        state = looking.state()
        low, high = state.low, state.high
        gaps = [(low, high)]
        if murky:
            gaps = [(low, min(murky)), (max(murky), high)]
        gaps = [(a, b) for a, b in gaps if b > a * plan.within and looking.new(math.sqrt(a * b))]
        if not gaps or (not murky and high <= low * plan.within):
            break
        a, b = max(gaps, key=lambda gap: gap[1] / gap[0])
        yield from looking.at(math.sqrt(a * b))
        if not looking.last.decided:
            murky.append(looking.last.place)
        state = looking.state()
        murky = [m for m in murky if state.low < m < state.high]
    else:
        yield looking.state(finished=True, used_up=True)
        return
    yield looking.state(finished=True)


def stored_search(plan: ModelPlan, store: Runs) -> Search | None:
    """The search as far as the runs in ``store`` carry it; None where these are too few.

    Makes no run. Raises ``DataError`` as ``search`` does.
    """
    latest: Search | None = None
    with suppress(_NotMade):
        for state in search(plan, _Kept(store)):
            if state.probes:
                latest = state
    return latest


FILE = RESULTS / "plans.json"


@lru_cache(maxsize=1)
def examples() -> tuple[Search, ...]:
    """The searches that come with the app, as far as their runs carry them; made by
    ``python -m benchmarks.privacy.planning --keep``.
    """
    return tuple(map(_example, json.loads(FILE.read_text(encoding="utf-8"))))


def _example(raw: Mapping[str, Any]) -> Search:
    base = RunSpec.from_dict(raw["base"])
    plan, store = ModelPlan(base=base, vary=raw["vary"], target=raw["target"]), PassingRuns()
    for place, *numbers in raw["runs"]:
        for seed, (value, baseline) in enumerate(zip(*numbers, strict=True)):
            spec = plan.spec_at(place, seed)
            store.add(record_for(spec, value=value, baseline=baseline))
    state = stored_search(plan, store)
    assert state is not None  # the file has the runs of both ends
    return state


def example_runs(state: Search) -> JsonObject:
    """The entry of ``FILE`` from which ``examples`` makes ``state`` again."""
    sign = -1.0 if TASKS[state.plan.base.task].less_is_better else 1.0
    return {
        "base": state.plan.base.as_dict(),
        "vary": state.plan.vary,
        "target": state.plan.target,
        "runs": [
            [p.place, p.values, [v - sign * m for v, m in zip(p.values, p.margins, strict=True)]]
            for p in state.probes
        ],
    }


class _NotMade(Exception):
    """The next run is not in the store."""


class _Kept:
    """A store to which nothing is added."""

    def __init__(self, store: Runs) -> None:
        self.have, self.find, self.add = store.have, store.find, store.add

    def check_writable(self) -> None:
        """Called before the first run that the store has not."""
        raise _NotMade


class _Looking:
    """The probes of one search, and the runs behind them."""

    def __init__(self, plan: ModelPlan, store: Runs, workers: Workers) -> None:
        self._plan, self._store, self._workers = plan, store, workers
        self.probes: dict[float, Probe] = {}
        self._before = 0
        self._looks = [look for look in _LOOKS if look < plan.runs] + [plan.runs]
        self._tail = (1 - _CONFIDENCE) / 2 / (len(self._looks) * _MOST_PROBES)

    @property
    def last(self) -> Probe:
        """The latest probe."""
        return next(reversed(self.probes.values()))

    @property
    def room(self) -> bool:
        """Whether one place more keeps to the runs in all."""
        return self.state().spent + self._plan.runs <= self._plan.total_runs

    def new(self, place: float) -> bool:
        """Whether no run was made with this value yet."""
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
            self._before += len(self._store.have(specs.keys() - seen))
            seen |= specs.keys()
            others = sum(len(p.values) for k, p in self.probes.items() if k != value)
            for status in make_all(specs, self._store, self._workers):
                yield self.state(under_way=others + status.done)
            records = self._store.find(specs)
            self.probes.pop(value, None)
            self.probes[value] = self._probe(value, [records[key] for key in specs])
            yield self.state()
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

    def state(self, *, finished: bool = False, under_way: int = 0, used_up: bool = False) -> Search:
        """The search so far."""
        return Search(
            plan=self._plan,
            probes=tuple(self.probes.values()),
            before=self._before,
            finished=finished,
            under_way=under_way,
            used_up=used_up,
        )
