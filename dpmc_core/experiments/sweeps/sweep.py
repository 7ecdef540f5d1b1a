"""Making the runs of a sweep, on processes of this machine or on a Dask cluster.

``sweep``, a generator of what has been made so far (stop asking and it stops), which keeps every
finished run in the store before it is counted, so that a sweep that was stopped, killed or cut off
goes on where it was. Numbers do not depend on how many work: each run has its seeds from the plan
(``spec``) and one thread.
"""

import json
import math
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import DataError
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.store.records import Record, Runs, key_of, record_for, spec_of
from dpmc_core.experiments.store.store import RunStore, StoreError
from dpmc_core.experiments.sweeps.spec import ManyRuns, Planned
from dpmc_core.experiments.sweeps.workers import Workers, workers_at
from dpmc_core.experiments.worker.cluster import SweepError
from dpmc_core.experiments.worker.process import ALL, Share
from dpmc_core.experiments.worker.worker import WorkerEndedError
from dpmc_core.paths import read_text, text_lines

_ATTEMPTS = 3  # how often workers may die before the sweep gives up
# of a record, what its spec and this release say
_OF_SPEC = ("key", "dataset", "algorithm", "mechanism", "seed", "measure")
_LARGEST = 1_000_000_000  # bytes of a file of runs that could not be kept


@dataclass(frozen=True, kw_only=True)
class Made:
    """A sweep so far: ``done`` of ``total`` runs are in the store, ``before`` of them were there
    already. ``record`` is the latest, None in the first, which is yielded before any run, and where
    none has finished for half a second. ``failures`` of the new ones ended in an error of their
    own.
    """

    done: int
    total: int
    before: int
    failures: int
    seconds: float
    record: Record | None

    @property
    def remaining(self) -> float | None:
        """Seconds left at the pace so far; None before the first new run."""
        new = self.done - self.before
        return self.seconds / new * (self.total - self.done) if new else None


def sweep(
    spec: ManyRuns,
    store: Runs,
    *,
    jobs: int = 2,
    scheduler: str | None = None,
    sets: Sequence[OwnSet] = (),
    share: Share = ALL,
    workers: Workers | None = None,
) -> Iterator[Made]:
    """Make the runs of ``spec`` that ``store`` has not, ``jobs`` at once in processes of their own
    (1: here), or on the Dask cluster at ``scheduler`` (as "tcp://host:8786"; its workers need this
    software). Processes here see ``sets``, and each takes at most its ``share`` of the machine.
    ``workers`` make the runs in the place of processes here.

    Runs that end in an error of their own (an overflow) are kept with its sentence. A worker that
    dies takes no finished run with it, and its unfinished ones are made again. Raises
    ``ParameterError``; ``SweepError`` where no scheduler answers, its workers cannot run this, or
    workers die again and again; ``StoreError`` where nothing can be kept, before any run, or where
    a run cannot be, which is then in the file that the message names.
    """
    with workers_at(scheduler, jobs, sets, share) if workers is None else workers as workers:
        specs = {key: run.spec for key, run in _keyed(spec)}
        yield from make_all(specs, store, workers, word_vectors=spec.word_vectors)


def make_all(
    specs: Mapping[str, RunSpec], store: Runs, workers: Workers, *, word_vectors: bool = False
) -> Iterator[Made]:
    """As ``sweep``, for any ``specs`` by their keys; the ``workers`` are kept for the next."""
    started = time.perf_counter()
    missing = specs.keys() - store.have(specs)
    if missing:
        store.check_writable()
    before = done = len(specs) - len(missing)
    failures = 0

    def status(record: Record | None) -> Made:
        return Made(
            done=done,
            total=len(specs),
            before=before,
            failures=failures,
            seconds=time.perf_counter() - started,
            record=record,
        )

    yield status(None)
    for attempt in range(_ATTEMPTS):
        todo = [specs[key] for key in specs if key in missing]
        try:
            with closing(workers.records(todo, word_vectors=word_vectors)) as records:
                for record in records:
                    if record is None:
                        yield status(None)
                        continue
                    _keep(store, record)
                    missing.discard(record.key)
                    done, failures = done + 1, failures + bool(record.error)
                    yield status(record)
            break
        except WorkerEndedError as error:
            if attempt == _ATTEMPTS - 1:
                raise SweepError(
                    f"Worker processes ended {_ATTEMPTS} times, perhaps for want of memory "
                    f"({done} of {len(specs)} runs are kept): start the sweep again with "
                    "fewer jobs to go on."
                ) from error


def finished(spec: ManyRuns, store: Runs, *, whole: bool = False) -> list[tuple[Planned, Record]]:
    """The runs of ``spec`` that are in ``store``, in the order of the plan.

    ``whole`` with their summaries.
    """
    plan = _keyed(spec)
    records = store.find((key for key, _ in plan), whole=whole)
    return [(run, records[key]) for key, run in plan if key in records]


@lru_cache(maxsize=8)
def _keyed(spec: ManyRuns) -> tuple[tuple[str, Planned], ...]:
    """The plan with each run's key; a page asks for it again and again."""
    return tuple((key_of(run.spec), run) for run in spec.plan())


def how_many(spec: ManyRuns) -> int:
    """Runs of ``spec``, those that are equal counted once."""
    return len(dict(_keyed(spec)))


def read_unkept(file: Path, store: RunStore) -> int:
    """Add the runs that could not be kept to ``store``; returns how many were new.

    Raises ``DataError`` for any other file.
    """
    try:
        records = [
            Record(**json.loads(line, parse_constant=_refuse, parse_float=_finite))
            for line in text_lines(read_text(file, _LARGEST))
            if line
        ]
        for record in records:
            by_spec = record_for(spec_of(record.kind, record.spec))
            if any(getattr(record, name) != getattr(by_spec, name) for name in _OF_SPEC):
                raise ValueError("a run's key does not fit its settings or this release")
            if record.error == "" and not isinstance(record.value, float):
                raise ValueError("a run has neither a result nor an error")
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"{file} holds no runs that can be added ({error}): it must be a file that a sweep "
            "left."
        ) from None
    return sum(store.add(record) for record in records)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no finite number")


def _keep(store: Runs, record: Record) -> None:
    """Add ``record``; where that fails it goes to a file of its own, so that an hour's run is not
    lost to a full disk.
    """
    try:
        store.add(record)
    except StoreError as error:
        try:
            handle, name = tempfile.mkstemp(prefix="dpmc-unkept-", suffix=".jsonl")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(json.dumps(asdict(record)) + "\n")
        except OSError as worse:
            raise StoreError(
                f"{error} The run that just finished could not be put elsewhere either "
                f"({worse.strerror}); all earlier ones are kept."
            ) from error
        raise StoreError(
            f"{error} The run that just finished is in {name}: add it later with 'python -m "
            f"dpmc_core runs add {name}'. All earlier ones are kept."
        ) from error
