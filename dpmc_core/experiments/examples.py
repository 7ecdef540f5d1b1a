"""The sweeps and studies that come with the app: their runs, read as those of a run store are."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

from dpmc_core.errors import DataError
from dpmc_core.experiments.store.records import NUMBERS, Record, Runs, record_for
from dpmc_core.experiments.studies.engine import StudyResult
from dpmc_core.experiments.studies.spec import StudySpec
from dpmc_core.experiments.sweeps.spec import ManyRuns, Planned, SweepSpec
from dpmc_core.experiments.sweeps.sweep import finished
from dpmc_core.experiments.sweeps.tradeoff import Point, points_of
from dpmc_core.paths import RESULTS
from dpmc_core.wording import JsonObject

# by group; made by ``python -m benchmarks.examples GROUP``
FILES = {name: RESULTS / f"{name}.json" for name in ("tradeoffs", "completion", "factorization")}
_NUMBERS = (*NUMBERS, "error")
# what studies read of a summary
_SUMMARY = ("baselines", "reference", "found", "coherence", "objective", "lists")


@dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """Finished runs of ``spec`` in the order of its plan, and their ``metadata``: the date,
    seconds, versions, and what they are about.
    """

    spec: Any
    runs: tuple[tuple[Planned, Record], ...]
    metadata: JsonObject

    @cached_property
    def points(self) -> list[Point]:
        """The points of a sweep."""
        return points_of(self.runs)

    @cached_property
    def study(self) -> StudyResult:
        """The result of a study."""
        return StudyResult(spec=self.spec, runs=self.runs, seconds=self.metadata["seconds"])


@lru_cache(maxsize=32)
def example(group: str, name: str) -> Example:
    """The example called ``name`` of a ``group``: the kind of a study of "completion" or
    "factorization", or a sweep of "tradeoffs".
    """
    raw = _read(group)[name]
    spec = (SweepSpec if group == "tradeoffs" else StudySpec).from_dict(raw["spec"])
    metadata = raw["made"]
    plan, runs = tuple(spec.plan()), []
    if raw["order"] != _order(plan):
        raise DataError(f"The stored runs of {group}, {name}, are of a plan in another order.")
    for planned, row in zip(plan, raw["runs"], strict=True):
        record = record_for(
            planned.spec,
            **dict(zip(_NUMBERS, row, strict=False)),
            created=metadata["date"],
            version=metadata["versions"]["dpmc_lab"],
            summary=dict(zip(_SUMMARY, row[len(_NUMBERS) :], strict=False)),
        )
        runs.append((planned, record))
    return Example(spec=spec, runs=tuple(runs), metadata=metadata)


def _order(plan: Iterable[Planned]) -> str:
    """A digest of what the runs of a ``plan`` are of, in their order: rows are stored without."""
    text = json.dumps([(run.settings, run.replicate) for run in plan], default=float)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def names(group: str) -> tuple[str, ...]:
    """The names of a group's examples."""
    return tuple(_read(group))


@lru_cache(maxsize=len(FILES))
def _read(group: str) -> JsonObject:
    with FILES[group].open(encoding="utf-8") as file:
        return json.load(file)


def write(group: str, name: str, spec: ManyRuns, store: Runs, metadata: JsonObject) -> None:
    """Put the finished runs of ``spec`` that ``store`` has among the examples of ``group``."""
    parts = () if group == "tradeoffs" else _SUMMARY
    rows = [
        [
            *(getattr(record, number) for number in _NUMBERS),
            *(record.summary.get(part) for part in parts),
        ]
        for _, record in finished(spec, store, whole=True)
    ]
    old = json.loads(FILES[group].read_text(encoding="utf-8")) if FILES[group].exists() else {}
    order = _order(spec.plan())
    one = {"spec": spec.as_dict(), "made": metadata, "order": order, "runs": rows}
    new = {**old, name: one}
    FILES[group].write_text(json.dumps(new) + "\n", encoding="utf-8")
