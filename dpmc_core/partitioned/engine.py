"""Where partitions are worked on: this process, or the worker processes that make runs, too.

Provides ``Engine``, ``Work``, ``Tell``, ``Here``, ``Processes`` and ``engine_at``. What is computed
is a pure function of a partition and of what is known. No noise is ever drawn here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from dpmc_core.arrays import FloatArray
from dpmc_core.experiments.spec import RunSpec, Spec
from dpmc_core.experiments.sweeps.workers import Workers, workers_at
from dpmc_core.experiments.tasks.solve import solvable
from dpmc_core.experiments.worker.cluster import SweepError
from dpmc_core.experiments.worker.process import Share
from dpmc_core.experiments.worker.worker import WorkerEndedError, WorkerError
from dpmc_core.limits import Limit

WORKERS = Limit(1, 256, "processes on this machine", integer=True, name="workers")
_ATTEMPTS = 4  # how often a process may end over one sum
_GONE = "{} What was released is kept, and the same command goes on from there."
_ENDED = f"Workers ended {_ATTEMPTS} times over one sum, perhaps for want of memory"
_MEMORY = "{}: give them more, or write the users into more files."

# called with how many partitions are done, of how many; may raise to stop
Tell = Callable[[int, int], None]

# what is done with partition k: ``work(k)``; in a sum ``work(k, into)``, which adds to ``into``
# where that is given
Work = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Batch(Spec):
    """The ``partitions`` that one worker does ``work`` with; with ``add`` their sum is asked for.

    No noise is drawn: a batch may be done again.
    """

    work: Work
    partitions: range
    add: bool

    @property
    def amount(self) -> int:
        return len(self.partitions)

    def weighted_runs(self) -> Iterable[tuple[RunSpec, float]]:
        return ()

    def steps(self) -> Iterator[tuple[int, Any]]:
        """How many partitions are done, and with the last what came out: their sum, or a list."""
        out: Any = None if self.add else []
        for done, k in enumerate(self.partitions, 1):
            if self.add:
                out = self.work(k, out)
            else:
                out.append(self.work(k))
            yield done, out if done == self.amount else None


def batch_steps(batch: Batch) -> Iterator[tuple[int, Any]]:
    """The steps of ``batch`` in a worker of one thread. Raises ``DataError``."""
    with solvable(), threadpool_limits(1):
        yield from batch.steps()


class Engine(ABC):
    """Works on partitions 0 to n − 1."""

    def total(self, work: Work, n: int, tell: Tell) -> FloatArray:
        """Σ_k ``work(k)``."""
        first, *others = self._batches(work, n, tell, add=True)
        for one in others:
            first += one
        return first

    def each(self, work: Work, n: int, tell: Tell) -> list[Any]:
        """``work(k)`` for each k, in their order."""
        batches = self._batches(work, n, tell, add=False)
        return [batches[k % len(batches)][k // len(batches)] for k in range(n)]

    @abstractmethod
    def _batches(self, work: Work, n: int, tell: Tell, *, add: bool) -> list[Any]:
        """What came out of each worker's partitions, which are as far apart as there are workers:
        their sum where they are to ``add`` up.
        """


class Here(Engine):
    """One partition after the other, in this process."""

    def _batches(self, work: Work, n: int, tell: Tell, *, add: bool) -> list[Any]:
        result = None
        for done, outcome in Batch(work, range(n), add).steps():
            tell(done, n)
            result = outcome
        return [result]


class Processes(Engine):
    """The processes of ``workers``, as many at once as ``jobs`` returns before each sum.

    Each has the same partitions in each sum, of which it keeps copies, and sends one sum of them,
    whatever their number. Where one ends, what it had begun is done again.
    """

    def __init__(self, workers: Workers, jobs: Callable[[], int]) -> None:
        self.workers, self._jobs = workers, jobs

    def _batches(self, work: Work, n: int, tell: Tell, *, add: bool) -> list[Any]:
        jobs = min(max(self._jobs(), 1), n)
        left = {k: Batch(work, range(k, n, jobs), add) for k in range(jobs)}
        out: dict[int, Any] = {}
        for attempt in range(1, _ATTEMPTS + 1):
            numbers, batches, done = list(left), list(left.values()), dict.fromkeys(left, 0)
            before = n - sum(batch.amount for batch in batches)
            try:
                with closing(self.workers.latest(batch_steps, batches)) as results:
                    for result in results:
                        if result is not None and result[1] is not None:
                            number = numbers[result[0]]
                            done[number], outcome = result[1]
                            if outcome is not None:
                                out[number] = outcome
                                del left[number]
                        tell(before + sum(done.values()), n)
                break
            except WorkerEndedError:
                if attempt == _ATTEMPTS:
                    raise SweepError(_GONE.format(_MEMORY.format(_ENDED))) from None
            except MemoryError:
                why = _MEMORY.format("The memory of a worker did not suffice")
                raise SweepError(_GONE.format(why)) from None
            except WorkerError as error:
                raise SweepError(_GONE.format(error)) from None
        return [out[k] for k in range(jobs)]


@contextmanager
def engine_at(scheduler: str | None, workers: int = 1, megabytes: int = 0) -> Iterator[Engine]:
    """The workers of ``scheduler``, a process for each thread; else ``workers`` processes of this
    machine, one thread and at most ``megabytes`` each (0: no limit); one without a limit is this
    process.

    Raises ``ParameterError`` and ``SweepError``.
    """
    with workers_at(scheduler, workers, share=Share(memory=megabytes)) as pool:
        yield Here() if pool.here else Processes(pool, pool.places)
