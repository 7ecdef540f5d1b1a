"""Making the runs of a sweep, on processes of this machine or on a Dask cluster.

Lives here: ``sweep``, a generator of what has been made so far (stop asking and it stops), which
keeps every finished run in the store before it is counted, so that a sweep that was stopped, killed
or cut off goes on where it was. Numbers do not depend on how many work: each run has its seeds from
the plan (``sweep_spec``) and one thread. Does not live here: what runs mean together
(``tradeoff``).
"""

import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from joblib.externals.loky import FIRST_COMPLETED, ProcessPoolExecutor, wait
from joblib.externals.loky.process_executor import BrokenProcessPool, TerminatedWorkerError
from threadpoolctl import threadpool_limits

from dpmc_core import limits
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.store.records import (
    Record,
    failed,
    key_of,
    kind_of,
    measure_of,
    record_of,
    run_single_threaded,
    spec_of,
)
from dpmc_core.experiments.store.store import RunStore, StoreError
from dpmc_core.experiments.sweeps.cluster import SweepError, connected, results_of
from dpmc_core.experiments.sweeps.spec import Planned, SweepSpec
from dpmc_core.experiments.sweeps.storing import Runs
from dpmc_core.experiments.worker.share import ALL, Share, end_with_parent
from dpmc_core.paths import read_file

__all__ = ["Made", "SweepError", "finished", "how_many", "make_all", "read_unkept", "sweep"]

_ATTEMPTS = 3  # how often workers may die before the sweep gives up
_HEARTBEAT = 0.5  # seconds
_SETTLE = 0.1  # seconds
_LARGEST = 1_000_000_000  # bytes of a file of runs that could not be kept


@dataclass(frozen=True, kw_only=True, slots=True)
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
    spec: SweepSpec,
    store: Runs,
    *,
    jobs: int = 2,
    scheduler: str | None = None,
    sets: Sequence[OwnSet] = (),
    share: Share = ALL,
) -> Iterator[Made]:
    """Make the runs of ``spec`` that ``store`` has not, ``jobs`` at once in processes of their own
    (1: here), or on the Dask cluster at ``scheduler`` (as "tcp://host:8786"; its workers need this
    software). Processes here see ``sets``, and each takes at most its ``share`` of the machine.

    Runs that end in an error of their own (an overflow) are kept with its sentence. A worker that
    dies takes no finished run with it, and its unfinished ones are made again. Raises
    ``ParameterError``; ``SweepError`` where no scheduler answers, its workers cannot run this, or
    workers die again and again; ``StoreError`` where nothing can be kept, before any run, or where
    a run cannot be, which is then in the file that the message names.
    """
    yield from make_all(
        {key: run.spec for key, run in _keyed(spec)},
        store,
        jobs=jobs,
        scheduler=scheduler,
        sets=sets,
        share=share,
    )


def make_all(
    specs: Mapping[str, RunSpec],
    store: Runs,
    *,
    jobs: int = 2,
    scheduler: str | None = None,
    sets: Sequence[OwnSet] = (),
    share: Share = ALL,
) -> Iterator[Made]:
    """As ``sweep``, for any ``specs`` by their keys."""
    jobs = limits.check_int("sweep_jobs", jobs)
    with connected(scheduler) as client:
        started = time.perf_counter()
        missing = specs.keys() - store.have(specs)
        if missing:
            store.check_writable()
        before = done = len(specs) - len(missing)
        failures = 0

        def made(record: Record | None) -> Made:
            return Made(
                done=done,
                total=len(specs),
                before=before,
                failures=failures,
                seconds=time.perf_counter() - started,
                record=record,
            )

        yield made(None)
        for attempt in range(_ATTEMPTS):
            try:
                for record in _records(
                    [specs[key] for key in specs if key in missing], jobs, client, sets, share
                ):
                    if record is None:
                        yield made(None)
                        continue
                    _keep(store, record)
                    missing.discard(record.key)
                    done, failures = done + 1, failures + bool(record.error)
                    yield made(record)
                break
            except (TerminatedWorkerError, BrokenProcessPool) as error:
                if attempt == _ATTEMPTS - 1:
                    raise SweepError(
                        f"Worker processes ended {_ATTEMPTS} times, perhaps for want of memory "
                        f"({done} of {len(specs)} runs are kept): start the sweep again with "
                        "fewer jobs to go on."
                    ) from error


def finished(spec: SweepSpec, store: Runs, *, whole: bool = False) -> list[tuple[Planned, Record]]:
    """The runs of ``spec`` that are in ``store``, in the order of the plan.

    ``whole`` with their summaries.
    """
    plan = _keyed(spec)
    found = store.find((key for key, _ in plan), whole=whole)
    return [(run, found[key]) for key, run in plan if key in found]


@lru_cache(maxsize=8)
def _keyed(spec: SweepSpec) -> tuple[tuple[str, Planned], ...]:
    """The plan with each run's key; a page asks for it again and again."""
    return tuple((key_of(run.spec), run) for run in spec.plan())


def how_many(spec: SweepSpec) -> int:
    """Runs of ``spec``, those that are equal counted once."""
    return len({key for key, _ in _keyed(spec)})


def read_unkept(file: Path, store: RunStore) -> int:
    """Add the runs that could not be kept to ``store``; returns how many were new.

    Raises ``DataError`` for any other file.
    """
    try:
        text = read_file(file, _LARGEST).decode()
        records = [Record(**json.loads(line)) for line in text.splitlines() if line]
        for record in records:
            spec = spec_of(record.kind, record.spec)
            said = (
                record.key,
                record.dataset,
                record.algorithm,
                record.mechanism,
                record.seed,
                record.measure,
            )
            if said != (
                key_of(spec),
                spec.dataset,
                spec.card.name,
                spec.noise.mechanism,
                spec.seed,
                measure_of(spec),
            ):
                raise ValueError("a run's key does not fit its settings or this release")
            if record.error == "" and not isinstance(record.value, float):
                raise ValueError("a run has neither a result nor an error")
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"{file} holds no runs that can be added ({error}): it must be a file that a sweep "
            "left."
        ) from None
    return sum(store.add(record) for record in records)


def _records(
    todo: list[RunSpec], jobs: int, client: Any, sets: Sequence[OwnSet], share: Share
) -> Iterator[Record | None]:
    """Records of ``todo`` as they are finished.

    None where nothing was for half a second, so that who asked may stop.
    """
    named = [(kind_of(spec), spec.to_json()) for spec in todo]
    if client is not None:
        yield from results_of(_one, named, client)
    elif jobs == 1 and share == ALL:  # what has a share of its own needs a process of its own
        yield from (_one(*name) for name in named)
    else:
        yield from _here(named, jobs, sets, share)


def _here(
    named: list[tuple[str, str]], jobs: int, sets: Sequence[OwnSet], share: Share
) -> Iterator[Record | None]:
    """On processes of this machine, by joblib's own pool.

    Each sweep has one to itself: joblib's shared one is shut down for everybody when one sweep is
    stopped.
    """
    pool = ProcessPoolExecutor(jobs, initializer=_begin, initargs=(tuple(sets), share))
    waiting: set[Any] = set()
    try:
        rest = iter(named)
        waiting |= {pool.submit(_one, *name) for name in itertools.islice(rest, 2 * jobs)}
        while waiting:
            done, waiting = wait(waiting, timeout=_HEARTBEAT, return_when=FIRST_COMPLETED)
            if not done:
                yield None
            for future in done:
                waiting |= {pool.submit(_one, *name) for name in itertools.islice(rest, 1)}
                yield future.result()
    finally:
        # joblib's manager stumbles over work that it was given and has not looked at when it is
        # told to end
        wait(waiting, timeout=_SETTLE)
        pool.shutdown(wait=True, kill_workers=True)


def _begin(sets: tuple[OwnSet, ...], share: Share) -> None:
    share.take()
    end_with_parent()
    user_datasets.put({one.name: one for one in sets})


def _one(kind: str, text: str) -> Record:
    """One run, in whatever process: the spec travels as JSON, a record comes back."""
    spec = spec_of(kind, text)
    try:
        with threadpool_limits(1):
            return record_of(run_single_threaded(spec))
    except (
        DataError,
        ParameterError,
    ) as error:  # what only the data can tell: too few ratings, a rank above its sizes
        return failed(spec, error)


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
