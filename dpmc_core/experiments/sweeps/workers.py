"""Processes of this machine that make runs, kept from one batch of runs to the next."""

import itertools
import os
from collections.abc import Generator, Sequence
from typing import Any, Protocol

from joblib.externals.loky import FIRST_COMPLETED, ProcessPoolExecutor, wait
from threadpoolctl import threadpool_limits

from dpmc_core import limits
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.store.records import (
    Record,
    failed,
    record_of,
    run_single_threaded,
    spec_of,
)
from dpmc_core.experiments.worker.share import ALL, Share, end_with_parent, interrupts_held

_HEARTBEAT = 0.5  # seconds
_SETTLE = 0.1  # seconds


class MakesRuns(Protocol):
    """Processes that make runs, wherever they are."""

    jobs: int

    def records(self, named: Sequence[tuple[str, str]]) -> Generator[Record | None, None, None]:
        """Records of the runs in ``named`` (kind, spec as JSON) as they are finished; None where
        nothing was for half a second.
        """

    def __enter__(self) -> Any: ...

    def __exit__(self, *failure: object) -> None: ...


class Workers:
    """``jobs`` processes that see ``sets``, each with its ``share`` of the machine; one without a
    share of its own is this process, with the sets that it sees already.

    By joblib's own pool: its shared one is shut down for everybody when one sweep is stopped. They
    start with the first run. Raises ``ParameterError`` for a number of jobs that is not allowed.
    """

    def __init__(self, jobs: int, sets: Sequence[OwnSet] = (), share: Share = ALL) -> None:
        self.jobs = limits.check_int("sweep_jobs", jobs)
        self._begin = (tuple(sets), share, os.getpid())
        # what has a share of its own needs a process of its own
        self.here = jobs == 1 and share == ALL
        self._pool: Any = None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; the next run starts others."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None

    def records(self, named: Sequence[tuple[str, str]]) -> Generator[Record | None, None, None]:
        """Records of the runs in ``named`` (kind, spec as JSON) as they are finished.

        None where nothing was for half a second, so that who asked may stop. Raises joblib's
        ``TerminatedWorkerError`` or ``BrokenProcessPool`` where a process died.
        """
        if self.here:
            yield from (one(*name) for name in named)
            return
        if not named:
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.jobs, initializer=_begin, initargs=self._begin)
        waiting: set[Any] = set()
        try:
            rest = iter(named)
            first = itertools.islice(rest, 2 * self.jobs)
            with interrupts_held():  # the first starts the processes
                waiting |= {self._pool.submit(one, *name) for name in first}
            while waiting:
                done, waiting = wait(waiting, timeout=_HEARTBEAT, return_when=FIRST_COMPLETED)
                if not done:
                    yield None
                for future in done:
                    waiting |= {self._pool.submit(one, *name) for name in itertools.islice(rest, 1)}
                    yield future.result()
        except BaseException:
            # joblib's manager stumbles over work that it was given and has not looked at when it
            # is told to end
            wait(waiting, timeout=_SETTLE)
            self.close()
            raise


def _begin(sets: tuple[OwnSet, ...], share: Share, parent: int) -> None:
    end_with_parent(parent)
    share.take()
    user_datasets.put({one.name: one for one in sets})


def one(kind: str, text: str) -> Record:
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
