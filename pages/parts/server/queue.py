"""Whose turn it is, and who computes: processes of this machine, or of a cluster.

A bounded number of threads that take jobs from a bounded line, one visitor after the other: who
asks for ten things waits behind nobody's first. Each thread has a worker, a process that computes.
Nothing here calls ``st``.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache

from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.sweeps.workers import Workers
from dpmc_core.experiments.worker.cluster import ClusterWorker, Connection
from dpmc_core.experiments.worker.process import Share
from dpmc_core.experiments.worker.worker import Worker
from pages.parts.server import settings

_LEAST = 500  # megabytes that a process needs for itself


class TooManyJobs(DPMCError):
    """The line is full; the message says what to do."""


@dataclass(frozen=True, eq=False)
class Ticket:
    """A place in the line of ``pool``."""

    pool: "Pool"
    session: str
    work: Callable[[Worker], None]

    @property
    def place(self) -> int:
        """How many begin before this one, and itself: 1 is next; 0 when it has begun or left."""
        with self.pool.changed:
            lines = [list(line) for line in self.pool.waiting.values()]
        mine = next((line for line in lines if self in line), None)
        if mine is None:
            return 0
        before, turns = mine.index(self), lines.index(mine)
        # in each round before mine every other line moves by one; in my own round only those ahead
        # of mine
        others = [min(len(line), before + (k < turns)) for k, line in enumerate(lines)]
        return 1 + before + sum(others) - others[turns]

    def leave(self) -> bool:
        """Give the place up; False if it was this one's turn already."""
        with self.pool.changed:
            line = self.pool.waiting.get(self.session)
            if line is None or self not in line:
                return False
            line.remove(self)
            if not line:
                del self.pool.waiting[self.session]
            return True


class Pool:
    """``at_once`` threads; at most ``most`` jobs wait, ``most_of_one`` of one visitor.

    Each thread has a worker that ``made`` makes; one of this machine without limits if left out.
    """

    def __init__(
        self, at_once: int, most: int, most_of_one: int, factory: Callable[[], Worker] = Worker
    ) -> None:
        self._most, self._most_of_one = most, most_of_one
        # by session; the first visitor is served next, and is then the last
        self.waiting = OrderedDict[str, deque[Ticket]]()
        self.changed = threading.Condition()
        self.workers = [factory() for _ in range(at_once)]
        for worker in self.workers:
            threading.Thread(
                target=self._serve, args=(worker,), name="dpmc-job", daemon=True
            ).start()

    def submit(self, session: str, work: Callable[[Worker], None]) -> Ticket:
        """Get in line.

        ``work`` is called with a worker when its turn has come. Raises ``TooManyJobs``.
        """
        ticket = Ticket(self, session, work)
        with self.changed:
            if len(self.waiting.get(session, ())) >= self._most_of_one:
                raise TooManyJobs(
                    f"{self._most_of_one} of your runs wait already; cancel one or let one "
                    "finish. Your settings are kept."
                )
            if sum(map(len, self.waiting.values())) >= self._most:
                raise TooManyJobs(
                    f"The lab is busy: {self._most} runs are waiting. Try again in a minute; "
                    "your settings are kept."
                )
            self.waiting.setdefault(session, deque()).append(ticket)
            self.changed.notify()
        return ticket

    def start_workers(self) -> None:
        """Start the processes before anybody needs them."""
        for worker in self.workers:
            worker.start_aside()

    def _serve(self, worker: Worker) -> None:
        while True:
            with self.changed:
                while not self.waiting:
                    self.changed.wait()
                session, line = next(iter(self.waiting.items()))
                ticket = line.popleft()
                del self.waiting[session]
                if line:
                    self.waiting[session] = line  # to the end
            with suppress(Exception):  # a job tells of its own failures; none may end this thread
                ticket.work(worker)
            del ticket, line  # while waiting for the next one nothing of this visitor stays here


@cache
def job_pool() -> Pool:
    """For what pages have computed."""
    return Pool(
        settings.of("DPMC_JOBS"), settings.of("DPMC_QUEUE"), settings.of("DPMC_QUEUE_OF_ONE"), _one
    )


@cache
def task_pool() -> Pool:
    """For downloads: they wait for a network, not for a processor."""
    return Pool(2, settings.of("DPMC_QUEUE"), settings.of("DPMC_QUEUE_OF_ONE"))


def many(at_once: int, sets: Sequence[OwnSet]) -> Workers:
    """Processes that make runs for one job, which together hold what one job may."""
    return Workers(at_once, sets, _share(at_once), _cluster())


def _one() -> Worker:
    cluster = _cluster()
    return Worker(_share()) if cluster is None else ClusterWorker(cluster, _share())


_connection = lru_cache(maxsize=1)(Connection)


def _cluster() -> Connection | None:
    address = settings.scheduler()
    return _connection(address) if address else None


def _share(processes: int = 1) -> Share:
    """What each of the ``processes`` of a job may take: pages come first."""
    return Share(
        max(settings.of("DPMC_JOB_MEMORY_MB") // processes, _LEAST), settings.of("DPMC_JOB_NICE")
    )
