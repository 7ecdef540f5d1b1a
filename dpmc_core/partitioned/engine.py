"""Where partitions are worked on: in this process one by one, or on the workers of a Dask cluster.

Provides ``Engine``, ``Here`` and ``Cluster``. What is computed is a pure function of a partition
and of what is known: where a worker is lost its partitions are worked on again, elsewhere, and
nothing else changes. No noise is ever drawn here.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpmc_core import __version__
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.sweeps.cluster import SweepError

__all__ = ["Cluster", "Engine", "Here", "Tell", "Work"]

FloatArray = NDArray[np.float64]
# called with how many partitions are done, of how many; may raise to stop
Tell = Callable[[int, int], None]

_HEARTBEAT = 0.5  # seconds
_TRIES = 5  # of a sum that was worked on twice
_WORKERS_PATIENCE = 60.0  # seconds for which no worker may be there at all


class Work(Protocol):
    """What is done with a partition; ``key`` names the data that copies are kept of."""

    @property
    def key(self) -> str:
        """ "" where none are."""

    def __call__(self, k: int, into: FloatArray | None = None) -> Any:
        """Work on partition ``k``; the result is added to ``into`` where that is given."""


class Engine(Protocol):
    """Works on partitions 0 to n − 1."""

    def total(self, work: Work, n: int, tell: Tell) -> FloatArray:
        """Σ_k ``work(k)``."""

    def each(self, work: Work, n: int, tell: Tell) -> list[Any]:
        """``work(k)`` for each k, in their order."""


class Here:
    """One partition after the other, in this process."""

    def total(self, work: Work, n: int, tell: Tell) -> FloatArray:
        """See ``Engine.total``."""
        out = None
        for k in range(n):
            out = work(k, out)
            tell(k + 1, n)
        return np.asarray(out)

    def each(self, work: Work, n: int, tell: Tell) -> list[Any]:
        """See ``Engine.each``."""
        out = []
        for k in range(n):
            out.append(work(k))
            tell(k + 1, n)
        return out


class Cluster:
    """The workers of a Dask ``client``, each thread of which adds up what it works on.

    A thread takes the partitions that its worker has had before, then others'. So one sum for each
    thread travels, whatever the number of partitions.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._had: dict[int, str] = {}  # partition: the worker that has a copy of it
        self.keys: frozenset[str] = frozenset()  # of the data that workers may have copies of

    def total(self, work: Work, n: int, tell: Tell) -> FloatArray:
        """See ``Engine.total``."""
        for _ in range(_TRIES):
            with suppress(_HeldTwiceError):
                sums = [future for future, _ in self._worked(work, n, tell, add=True)]
                return np.asarray(self._fetched([self._submit(_added, *sums)])[0])
        raise SweepError(_GONE.format("its workers are lost again and again"))

    def each(self, work: Work, n: int, tell: Tell) -> list[Any]:
        """See ``Engine.each``."""
        found = dict[int, Any]()
        for future, k in self._worked(work, n, tell, add=False):
            found[k] = future
        return self._fetched([found[k] for k in range(n)])

    def _worked(self, work: Work, n: int, tell: Tell, *, add: bool) -> list[tuple[Any, int]]:
        """The futures of all partitions, or with ``add`` of each thread's sum."""
        import distributed

        wait: Any = distributed.wait
        with _said(self._client):
            self.keys |= {work.key} - {""}
            shared = self._submit(_same, work)
            lanes = self._lanes()
            waiting = self._dealt(n, sorted(set(lanes)))
            busy: dict[Any, tuple[int, int]] = {}  # future: its lane and partition
            sums: dict[int, Any] = {}
            held: dict[int, tuple[int, ...]] = {}
            out: list[tuple[Any, int]] = []

            def next_of(lane: int) -> None:
                k = _taken(waiting, lanes[lane])
                if k is None:
                    return
                where = {"workers": [lanes[lane]], "allow_other_workers": True}
                if add:
                    held[lane] = (*held.get(lane, ()), k)
                    before = sums.pop(lane, None)
                    future = self._submit(_summed, shared, held[lane], before, **where)
                else:
                    future = self._submit(_worked_on, shared, k, **where)
                busy[future] = (lane, k)

            for lane in range(len(lanes)):
                next_of(lane)
            done, seen = 0, time.monotonic()
            while busy:
                try:
                    with self._client.as_current():
                        finished, _ = wait(list(busy), _HEARTBEAT, return_when="FIRST_COMPLETED")
                except TimeoutError:
                    finished = set()
                if self._client.scheduler_info(n_workers=1)["workers"]:
                    seen = time.monotonic()
                elif time.monotonic() - seen > _WORKERS_PATIENCE:
                    raise SweepError(_GONE.format("no worker is left"))
                if self._client.status != "running":
                    raise SweepError(_GONE.format("its scheduler is gone"))
                for future in finished:
                    lane, k = busy.pop(future)
                    if future.status != "finished":
                        future.result()  # raises
                    self._had[k] = lanes[lane]
                    if add:
                        sums[lane] = future
                    else:
                        out.append((future, k))
                    done += 1
                    next_of(lane)
                tell(done, n)
            return [(future, 0) for future in sums.values()] if add else out

    def _lanes(self) -> list[str]:
        """The address of a worker for each of its threads."""
        until = time.monotonic() + _WORKERS_PATIENCE
        while True:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            lanes = [one for one in sorted(workers) for _ in range(workers[one]["nthreads"])]
            if lanes:
                return lanes
            if time.monotonic() > until:
                raise SweepError(_GONE.format("no worker is there"))
            time.sleep(_HEARTBEAT)

    def _dealt(self, n: int, workers: Sequence[str]) -> dict[str, list[int]]:
        """Partitions by the worker that has had them; new ones are dealt out evenly."""
        waiting: dict[str, list[int]] = {one: [] for one in workers}
        for k in range(n):
            owner = self._had.get(k, "")
            if owner in waiting:
                waiting[owner].append(k)
        for k in range(n):
            if self._had.get(k, "") not in waiting:
                min(waiting.values(), key=len).append(k)
        return waiting

    def _submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            # what is known travels with its task, so that it is not lost with a worker
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(function, *arguments, pure=False, **options)

    def _fetched(self, futures: list[Any]) -> list[Any]:
        with _said(self._client):
            found: list[Any] = self._client.gather(futures, direct=True)
            return found


_GONE = (
    "The cluster cannot go on ({}): start it again, and the same command goes on from where the "
    "run was. What was released is kept."
)


def _taken(waiting: dict[str, list[int]], worker: str) -> int | None:
    """The next partition for ``worker``: its own, else one of whoever has most left."""
    mine = waiting.get(worker) or max(waiting.values(), key=len, default=[])
    return mine.pop(0) if mine else None


def _same(found: Any) -> Any:
    return found


@dataclass(eq=False)
class _Sum:
    """A sum over the partitions ``of`` in memory that is added to in place.

    What it holds is written beside it: a task that is worked on again, as Dask may do where a
    worker is lost, finds a sum that holds its partition already, and starts anew.
    """

    of: tuple[int, ...]
    numbers: FloatArray


class _HeldTwiceError(Exception):
    """A sum in memory does not hold what its task expects."""


def _worked_on(work: Work, k: int) -> Any:
    return work(k)


def _summed(work: Work, of: tuple[int, ...], before: _Sum | None) -> _Sum:
    """The sum over the partitions ``of``, the last of which is new."""
    numbers = None
    if before is not None:
        if before.of != of[:-1]:
            raise _HeldTwiceError
        numbers = before.numbers
        before.of = of
    return _Sum(of, work(of[-1], numbers))


def _added(*sums: _Sum) -> FloatArray:
    held = sorted(k for one in sums for k in one.of)
    if held != list(range(len(held))):
        raise _HeldTwiceError
    whole = sums[0]
    whole.of = tuple(held)  # from here on it holds more than its own
    for one in sums[1:]:
        whole.numbers += one.numbers
    return whole.numbers


@contextmanager
def _said(client: Any) -> Iterator[None]:
    """Turn what Dask raises into one sentence."""
    from distributed import CancelledError, KilledWorker
    from distributed import client as of_clients

    closed = getattr(of_clients, "ClosedClientError", CancelledError)  # not in older releases

    try:
        yield
    except DPMCError:
        raise
    except KilledWorker as error:
        raise SweepError(
            f"Workers ended {error.allowed_failures + 1} times over one partition, perhaps for "
            "want of memory: give them more, or write the users into more files. What was "
            "released is kept, and the same command goes on from there."
        ) from None
    except (CancelledError, closed, OSError, TimeoutError) as error:
        raise SweepError(_GONE.format(type(error).__name__)) from None
    except (ImportError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "deserializ" not in str(error):
            raise
        raise SweepError(
            f"A worker cannot run this software ({error}): install release {__version__} on every "
            "worker. Nothing was lost."
        ) from None
