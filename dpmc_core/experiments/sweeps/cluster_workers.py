"""Processes of a Dask cluster that make runs, as ``workers.Workers`` are of this machine."""

import math
import queue
import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import closing

from dpmc_core import limits
from dpmc_core.datasets.own import OwnSet
from dpmc_core.experiments.store.records import Record
from dpmc_core.experiments.worker.cluster import ClusterWorker, Connection
from dpmc_core.experiments.worker.share import ALL, Share

_HEARTBEAT, _LEAST = 0.5, 0.01  # seconds, and of a run
_TURN = 10.0  # seconds of runs for which a worker is kept: then it may be others' turn
_FIRST = 3  # runs of each worker that tell how long they take, before its first turn


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


class ClusterWorkers:
    """``jobs`` of a cluster's workers at once, each with its ``share``; they see ``sets``.

    A worker is kept for some seconds of runs, then it is given back, so that others have their
    turns. Where one is lost, the runs that it had not finished are made by another one.
    """

    def __init__(
        self, connection: Connection, jobs: int, sets: Sequence[OwnSet] = (), share: Share = ALL
    ) -> None:
        self.jobs = limits.check_int("sweep_jobs", jobs)
        self._workers = [ClusterWorker(connection, share) for _ in range(jobs)]
        self._sets = tuple(sets)
        self._seconds: float | None = None  # of a run, as far as is known
        self._noted = ""  # of a turn that is over

    def __enter__(self) -> "ClusterWorkers":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def note(self) -> str:
        """Where it ran, if not where it should, and whether a worker was lost."""
        return next((worker.note for worker in self._workers if worker.note), self._noted)

    def close(self) -> None:
        """End the processes; the next run starts others."""
        for worker in self._workers:
            worker.close()

    def records(self, named: Sequence[tuple[str, str]]) -> Generator[Record | None, None, None]:
        """Records of the runs in ``named`` (kind, spec as JSON) as they are finished.

        None where nothing was for half a second, so that who asked may stop. Raises ``DPMCError``.
        """
        waiting, stop = deque(named), threading.Event()
        found: queue.Queue[Record | BaseException | None] = queue.Queue()
        changing = threading.Lock()

        sizes: list[int] = []  # of turns to come

        def turn() -> tuple[list[tuple[str, str]], bool]:
            """Runs for a worker, and whether they are there to tell how long runs take."""
            with changing:
                known = self._seconds
                if not sizes:
                    longest = _FIRST if known is None else max(int(_TURN / known), 1)
                    sizes.extend(_turns(len(waiting), self.jobs, longest))
                size = sizes.pop() if sizes else 0
                return [waiting.popleft() for _ in range(size)], known is None

        def took(seconds: float) -> None:
            with changing:
                known = seconds if self._seconds is None else self._seconds
                self._seconds = max(0.5 * (known + seconds), _LEAST)

        def serve(worker: ClusterWorker) -> None:
            try:
                batch, first = turn()
                while batch and not stop.is_set():
                    drawn = worker.draw("record", batch, self._sets, keep=first)
                    with closing(drawn):
                        for one in drawn:
                            if stop.is_set():
                                return
                            if one is not None and one[1] is not None:
                                took(one[1].seconds)
                                found.put(one[1])
                    self._noted = worker.note or self._noted
                    batch, first = turn()
            except BaseException as error:  # noqa: BLE001 - who asked raises it
                found.put(error)
            finally:
                worker.close()
                found.put(None)

        threads = [
            threading.Thread(target=serve, args=(worker,), name="dpmc-runs", daemon=True)
            for worker in self._workers[: max(len(named), 1)]
        ]
        for thread in threads:
            thread.start()
        left = len(threads)
        try:
            while left:
                try:
                    one = found.get(timeout=_HEARTBEAT)
                except queue.Empty:
                    yield None
                    continue
                if one is None:
                    left -= 1
                elif isinstance(one, BaseException):
                    raise one
                else:
                    yield one
        finally:
            stop.set()
            for thread in threads:
                thread.join()
