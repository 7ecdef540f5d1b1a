"""Processes that make runs, of this machine or of a Dask cluster, kept from one batch of runs to
the next.
"""

import math
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from dpmc_core import limits
from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.store.records import Record, failed, record_of, run_single_threaded
from dpmc_core.experiments.tasks.factorize import FactorResult
from dpmc_core.experiments.worker.cluster import (
    ClusterWorker,
    Connection,
    SweepError,
    check_scheduler,
)
from dpmc_core.experiments.worker.process import ALL, Share, interrupts_held
from dpmc_core.experiments.worker.worker import Outcome, Outcomes, Steps, Worker
from dpmc_core.metrics.factors import mean_score, tc_w2v

_PATIENCE = 60.0  # seconds for which a cluster may have no worker at all
_GONE = (
    "The cluster's scheduler or its workers are gone: start them again, and the same command goes "
    "on from here. What was finished or released is kept."
)
_HEARTBEAT, _LEAST = 0.5, 0.001  # seconds, and of a run
_TURN = 10.0  # seconds of runs for which a cluster's worker is kept: then it may be others' turn
_FIRST = 3  # runs of each worker that tell how long they take, before its first turn
_TURN_HERE = 0.2  # seconds of runs that a process of this machine is given at once


# what a generator of steps yields for specs, on one worker, which is kept or not
_Draw = Callable[[Steps, Sequence[Any], bool], Iterator[Outcome]]


def _turns(runs: int, jobs: int, longest: int) -> list[int]:
    """How many of the ``runs`` each of the ``jobs`` makes in its next turn, which is no longer
    than ``longest``: all as many, and in as few turns as may be, as each has a process to start.

    >>> _turns(1000, 2, 150)
    [125, 125]
    >>> _turns(250, 2, 150), _turns(3, 2, 150), _turns(1, 2, 150), _turns(0, 2, 150)
    ([125, 125], [2, 1], [1], [])
    """
    if not runs:
        return []
    rounds = math.ceil(runs / (jobs * longest))
    now = math.ceil(runs / rounds)  # runs of this round, all jobs together
    return [size for k in range(jobs) if (size := (now + jobs - 1 - k) // jobs)]


class Workers:
    """``jobs`` processes that see ``sets``, each with its ``share`` of the machine that it is on:
    this one, or a worker of the cluster of ``connection``. One of this machine without a share of
    its own is this process, with the sets that it sees already.

    They start with the first run. A cluster's worker is kept for some seconds of runs, then it is
    given back, so that others have their turns; where one is lost, the runs that it had not
    finished are made by another one. Raises ``ParameterError`` for a number of jobs that is not
    allowed.
    """

    def __init__(
        self,
        jobs: int,
        sets: Sequence[OwnSet] = (),
        share: Share = ALL,
        connection: Connection | None = None,
    ) -> None:
        self.jobs = limits.check_int("sweep_jobs", jobs)
        self._remote, self._connection = connection is not None, connection
        # what has a share of its own needs a process of its own
        self.here = jobs == 1 and share == ALL and not self._remote
        self.each: list[Worker] = []  # as many as were needed
        self._sets, self._share = tuple(sets), share
        self._seconds: float | None = None  # of a run, as far as is known
        self._noted = ""  # of a turn that is over

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def places(self) -> int:
        """How many can be at work at once: those of a cluster come and go."""
        return self.jobs if self._connection is None else self._connection.threads()

    @property
    def note(self) -> str:
        """Where it ran, if not where it should, and whether a worker was lost."""
        return next((note for worker in self.each if (note := worker.note)), self._noted)

    def close(self) -> None:
        """End the processes; the next run starts others."""
        for worker in self.each:
            worker.close()

    def records(
        self, specs: Sequence[RunSpec], *, word_vectors: bool = False
    ) -> Generator[Record | None, None, None]:
        """Records of the runs of ``specs`` as they are finished, with ``word_vectors`` also of
        topics' TC-W2V.

        None where nothing was for half a second, so that the caller may stop: then the processes
        end. Raises ``DPMCError``; ``WorkerEndedError`` where a process of this machine died.
        """
        steps = partial(_records, word_vectors=word_vectors)
        if self.here:
            for spec in specs:
                yield from steps(spec)
            return
        waiting = deque(specs)
        changing = threading.Lock()
        sizes: list[int] = []  # of turns to come
        first, turn_seconds = (_FIRST, _TURN) if self._remote else (1, _TURN_HERE)

        def turn() -> tuple[list[RunSpec], bool]:
            """Runs for a worker, and whether it is kept after them."""
            with changing:
                average = self._seconds
                if not sizes:
                    longest = first if average is None else max(int(turn_seconds / average), 1)
                    sizes.extend(_turns(len(waiting), self.jobs, longest))
                size = min(sizes.pop(), len(waiting)) if sizes else 0
                return [waiting.popleft() for _ in range(size)], average is None or not self._remote

        def took(seconds: float) -> None:
            with changing:
                average = seconds if self._seconds is None else self._seconds
                self._seconds = max(0.5 * (average + seconds), _LEAST)

        def serve(_: int, drawn: _Draw) -> Iterator[Record]:
            batch, keep = turn()
            while batch:
                for _, record, _ in drawn(steps, batch, keep):
                    if record is not None:
                        took(record.seconds)
                        yield record
                batch, keep = turn()

        yield from self._served(serve, min(self.jobs, len(specs)), keep=not self._remote)

    def latest(self, steps: Steps, specs: Sequence[Any]) -> Outcomes:
        """As ``Worker.draw``, with a worker for each of ``specs``: the first call's first has the
        same worker as the next call's first, as long as nobody else waits for its place on a
        cluster.

        None where nothing was for half a second. Raises as ``records``.
        """

        def serve(number: int, drawn: _Draw) -> Iterator[Outcome]:
            for _, result, last in drawn(steps, specs[number : number + 1], True):
                yield number, result, last

        yield from self._served(serve, len(specs), keep=True)

    def _served(
        self, serve: Callable[[int, _Draw], Iterator[Any]], count: int, *, keep: bool
    ) -> Generator[Any | None, None, None]:
        """What ``serve`` yields for each of the first ``count`` workers, each in a thread of its
        own, and None where nothing was for half a second; with ``keep`` they stay for the next
        call.
        """
        while len(self.each) < count:
            at, share = self._connection, self._share
            self.each.append(Worker(share) if at is None else ClusterWorker(at, share))
        stop, over = threading.Event(), object()
        results: queue.Queue[Any] = queue.Queue()

        def run(number: int) -> None:
            worker = self.each[number]

            def drawn(steps: Steps, specs: Sequence[Any], keep: bool) -> Iterator[Any]:
                with closing(worker.draw(steps, specs, self._sets, keep=keep)) as outcomes:
                    for result in outcomes:
                        if stop.is_set():
                            worker.close()  # a run is one step, which would be waited for
                            raise _StoppedError
                        if result is not None:
                            yield result
                self._noted = worker.note or self._noted

            whole = False
            try:
                for result in serve(number, drawn):
                    results.put(result)
                whole = keep
            except _StoppedError:
                pass
            except BaseException as error:  # noqa: BLE001 - the caller raises it
                results.put(error)
            finally:
                if not whole:
                    worker.close()
                results.put(over)

        threads = [
            threading.Thread(target=run, args=(number,), name="dpmc-runs", daemon=True)
            for number in range(count)
        ]
        self._give_way()
        with interrupts_held():  # processes do not heed Ctrl-C: they are ended from here
            for thread in threads:
                thread.start()
        left = count
        try:
            while left:
                try:
                    result = results.get(timeout=_HEARTBEAT)
                except queue.Empty:
                    self._give_way([k for k in range(count) if threads[k].is_alive()])
                    yield None
                    continue
                if result is over:
                    left -= 1
                elif isinstance(result, BaseException):
                    raise result
                else:
                    yield result
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def _give_way(self, at_work: Sequence[int] = ()) -> None:
        """Where something waits for a place on the cluster, give back those of the workers that
        are not ``at_work``.
        """
        if self._connection is not None and self._connection.crowded():
            for number, worker in enumerate(self.each):
                if number not in at_work:
                    worker.close()


@contextmanager
def workers_at(
    scheduler: str | None, jobs: int, sets: Sequence[OwnSet] = (), share: Share = ALL
) -> Iterator[Workers]:
    """``Workers``: one for each thread of the Dask cluster at ``scheduler``, else ``jobs`` here.

    Raises ``ParameterError``; ``SweepError`` where no scheduler answers or it has no workers, and
    later where they are gone for a minute.
    """
    if scheduler is None:
        with Workers(jobs, sets, share) as workers:
            yield workers
        return
    check_scheduler(scheduler)
    connection = Connection(scheduler, SweepError(_GONE), _PATIENCE)
    try:
        with Workers(max(connection.threads(), 1), sets, share, connection) as workers:
            yield workers
    finally:
        connection.close()


class _StoppedError(Exception):
    """Nobody asks any more."""


def _records(spec: RunSpec, *, word_vectors: bool) -> Iterator[Record]:
    """The record of one run, in whatever process."""
    try:
        with threadpool_limits(1):
            result = run_single_threaded(spec)
            record = record_of(result)
            if word_vectors and isinstance(result, FactorResult) and result.clean.texts:
                score = mean_score(tc_w2v(result.clean, result.dictionary))
                record.summary["coherence"]["tc_w2v"] = score if math.isfinite(score) else None
    # what only the data can tell: too few ratings, a rank above its sizes
    except (DataError, ParameterError) as error:
        record = failed(spec, error)
    yield record
