"""Processes that make runs, of this machine or of a Dask cluster, kept from one batch of runs to
the next.
"""

import math
import queue
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

from threadpoolctl import threadpool_limits

from dpmc_core import limits
from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.store.records import Record, failed, record_of, run_single_threaded
from dpmc_core.experiments.tasks.factorize import FactorResult
from dpmc_core.experiments.worker.cluster import ClusterWorker, Connection
from dpmc_core.experiments.worker.share import ALL, Share, interrupts_held
from dpmc_core.experiments.worker.worker import Worker
from dpmc_core.metrics.topics import mean_score, tc_w2v

_HEARTBEAT, _LEAST = 0.5, 0.001  # seconds, and of a run
_TURN = 10.0  # seconds of runs for which a cluster's worker is kept: then it may be others' turn
_FIRST = 3  # runs of each worker that tell how long they take, before its first turn
_TURN_HERE = 0.2  # seconds of runs that a process of this machine is given at once


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
        self._remote = connection is not None
        # what has a share of its own needs a process of its own
        self.here = jobs == 1 and share == ALL and not self._remote
        self._workers = [
            Worker(share) if connection is None else ClusterWorker(connection, share)
            for _ in range(0 if self.here else self.jobs)
        ]
        self._sets = tuple(sets)
        self._seconds: float | None = None  # of a run, as far as is known
        self._noted = ""  # of a turn that is over

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def note(self) -> str:
        """Where it ran, if not where it should, and whether a worker was lost."""
        return next((note for worker in self._workers if (note := worker.note)), self._noted)

    def close(self) -> None:
        """End the processes; the next run starts others."""
        for worker in self._workers:
            worker.close()

    def records(
        self, specs: Sequence[RunSpec], *, word_vectors: bool = False
    ) -> Generator[Record | None, None, None]:
        """Records of the runs of ``specs`` as they are finished, with ``word_vectors`` also of
        topics' TC-W2V.

        None where nothing was for half a second, so that the caller may stop: then the processes
        end. Raises ``DPMCError``; ``WorkerEndedError`` where a process of this machine died.
        """
        if self.here:
            yield from (one(spec, word_vectors=word_vectors) for spec in specs)
            return
        steps = _records_with_word_vectors if word_vectors else _records
        waiting, stop = deque(specs), threading.Event()
        results: queue.Queue[Record | BaseException | None] = queue.Queue()
        changing = threading.Lock()
        sizes: list[int] = []  # of turns to come
        first, turn_seconds = (_FIRST, _TURN) if self._remote else (1, _TURN_HERE)

        def turn() -> tuple[list[RunSpec], bool]:
            """Runs for a worker, and whether it is kept after them."""
            with changing:
                known = self._seconds
                if not sizes:
                    longest = first if known is None else max(int(turn_seconds / known), 1)
                    sizes.extend(_turns(len(waiting), self.jobs, longest))
                size = min(sizes.pop(), len(waiting)) if sizes else 0
                return [waiting.popleft() for _ in range(size)], known is None or not self._remote

        def took(seconds: float) -> None:
            with changing:
                known = seconds if self._seconds is None else self._seconds
                self._seconds = max(0.5 * (known + seconds), _LEAST)

        def serve(worker: Worker | ClusterWorker) -> None:
            whole = False
            try:
                batch, keep = turn()
                while batch and not stop.is_set():
                    with closing(worker.draw(steps, batch, self._sets, keep=keep)) as drawn:
                        for result in drawn:
                            if stop.is_set():
                                worker.close()  # a run is one step, which would be waited for
                                return
                            if result is not None and result[1] is not None:
                                took(result[1].seconds)
                                results.put(result[1])
                    self._noted = worker.note or self._noted
                    batch, keep = turn()
                whole = not self._remote
            except BaseException as error:  # noqa: BLE001 - the caller raises it
                results.put(error)
            finally:
                if not whole:
                    worker.close()
                results.put(None)

        serving = self._workers[: len(specs)]
        threads = [
            threading.Thread(target=serve, args=(worker,), name="dpmc-runs", daemon=True)
            for worker in serving
        ]
        with interrupts_held():  # processes do not heed Ctrl-C: they are ended from here
            for thread in threads:
                thread.start()
        left = len(threads)
        try:
            while left:
                try:
                    result = results.get(timeout=_HEARTBEAT)
                except queue.Empty:
                    yield None
                    continue
                if result is None:
                    left -= 1
                elif isinstance(result, BaseException):
                    raise result
                else:
                    yield result
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def _records(spec: RunSpec) -> Iterator[Record]:
    yield one(spec)


def _records_with_word_vectors(spec: RunSpec) -> Iterator[Record]:
    yield one(spec, word_vectors=True)


def one(spec: RunSpec, *, word_vectors: bool = False) -> Record:
    """One run, in whatever process."""
    try:
        with threadpool_limits(1):
            result = run_single_threaded(spec)
            record = record_of(result)
            if word_vectors and isinstance(result, FactorResult) and result.clean.texts:
                score = mean_score(tc_w2v(result.clean, result.dictionary))
                record.summary["coherence"]["tc_w2v"] = score if math.isfinite(score) else None
            return record
    except (
        DataError,
        ParameterError,
    ) as error:  # what only the data can tell: too few ratings, a rank above its sizes
        return failed(spec, error)
