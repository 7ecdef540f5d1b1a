"""Partitions on the workers of a Dask cluster.

Provides ``Cluster``. Where a worker is lost its partitions are worked on again, elsewhere, and
nothing else changes.
"""

import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpmc_core import __version__
from dpmc_core.arrays import FloatArray
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.sweeps.cluster import SweepError
from dpmc_core.partitioned.engine import sums
from dpmc_core.partitioned.engine.here import Tell, Then, Work

_HEARTBEAT = 0.5  # seconds
_TRIES = 5  # of a sum that was lost on its way
_LOSSES = 3  # workers that may be lost over one partition
_ANSWER = 60.0  # seconds within which the scheduler answers
_FETCHED = 60.0  # seconds within which a worker tells what it found, before it is asked again
_ASKED = 10  # times that it is asked as long as it is there
_PAUSE = 60.0  # seconds for which a worker may be paused with nothing to do
_PIECES = 4  # of a sum, which workers merge side by side
_WORKERS_PATIENCE = 60.0  # seconds for which no worker may be there at all


class Cluster:
    """The workers of a Dask ``client``, each thread of which adds up what it works on.

    A thread takes the partitions that its worker has had before, then others'. So one sum for each
    thread travels, whatever the number of partitions. The sum is in its worker's memory under a
    name that no other sum ever has, and tells which partitions it holds: those of a worker that is
    lost are worked on again by others, and one that is asked for twice is added once.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._had: dict[int, str] = {}  # partition: the worker that has a copy of it
        self._still: dict[str, float] = {}  # worker: since when it has been paused and idle
        self.keys: frozenset[str] = frozenset()  # of the data that workers may have copies of

    def total(self, work: Work, n: int, tell: Tell, then: Then | None = None) -> FloatArray:
        """See ``Engine.total``."""
        for _ in range(_TRIES):
            lanes: list[_Lane] = []
            with _said(), suppress(sums.LostError):
                try:
                    self._worked(work, n, tell, lanes, add=True)
                    return self._merged(lanes, n, then)
                except BaseException:
                    self._forget(lanes)
                    raise
        raise SweepError(_GONE.format("its workers are lost again and again"))

    def each(self, work: Work, n: int, tell: Tell) -> list[Any]:
        """See ``Engine.each``."""
        with _said():
            found = self._worked(work, n, tell, [], add=False)
        return [found[k] for k in range(n)]

    def _worked(
        self, work: Work, n: int, tell: Tell, lanes: list["_Lane"], *, add: bool
    ) -> dict[int, Any]:
        """What was found in each partition; with ``add`` it is in the sums of ``lanes`` instead."""
        self.keys |= {work.key} - {""}
        shared = self._submit(sums.same, work)
        found: dict[int, Any] = {}
        lost_over = Counter[int]()  # partition: workers that were lost while they worked on it
        seen = known = time.monotonic()
        while True:
            threads = self._threads()
            if shared.done() or not self._still:
                known = time.monotonic()
            elif time.monotonic() - known > _PAUSE:
                # it went to a worker that was paused before the scheduler heard of that, where it
                # would stay, and all that waits for it
                self._drop([shared, *(lane.future for lane in lanes if lane.future is not None)])
                for lane in lanes:
                    lane.future = None
                shared, known = self._submit(sums.same, work), time.monotonic()
            self._drop_lost(lanes, threads, lost_over)
            for address, count in threads.items():
                there = sum(lane.address == address for lane in lanes)
                lanes += [_Lane(address) for _ in range(count - there)]
            done = set(found).union(*(lane.held for lane in lanes))
            tell(len(done), n)
            if len(done) == n:
                return found
            if lanes:
                seen = time.monotonic()
            elif time.monotonic() - seen > _WORKERS_PATIENCE:
                why = "its workers are paused for want of memory" if self._still else _NONE_LEFT
                raise SweepError(_GONE.format(why))
            waiting = set(range(n)) - done - {lane.k for lane in lanes if lane.future is not None}
            for lane in lanes:
                if lane.future is None and waiting:
                    lane.k = self._next(waiting, lane.address, threads)
                    waiting.remove(lane.k)
                    function, name = (sums.add, (lane.name,)) if add else (sums.found, ())
                    lane.future = self._submit(
                        function, shared, lane.k, *name, workers=[lane.address]
                    )
            self._wait([lane.future for lane in lanes if lane.future is not None])
            for lane in lanes:
                if lane.future is None or not lane.future.done():
                    continue
                found_out = self._answers([lane.future], {lane.address})
                if found_out is None:
                    continue  # its worker is gone: the next look at them tells
                (answer,) = found_out
                self._had[lane.k], lane.future = lane.address, None
                if add:
                    lane.held = answer  # less than before where the worker was started again
                else:
                    found[lane.k] = answer

    def _drop_lost(
        self, lanes: list["_Lane"], workers: Collection[str], lost_over: Counter[int]
    ) -> None:
        """Take out of ``lanes`` those whose worker is not among ``workers``."""
        lost = [one for one in lanes if one.address not in workers]
        self._forget([one for one in lost if one.address in self._still])
        for lane in lost:
            lanes.remove(lane)
            if lane.future is None:
                continue
            self._drop([lane.future])  # what it still does adds to a sum that nobody asks for
            if lane.address not in self._still:
                lost_over[lane.k] += 1
                if lost_over[lane.k] > _LOSSES:
                    raise SweepError(_ENDED.format(_LOSSES + 1))

    def _drop(self, futures: list[Any]) -> None:
        with suppress(TimeoutError):
            self._client.sync(self._client._cancel, futures, force=True, callback_timeout=_ANSWER)

    def _answers(self, futures: list[Any], addresses: Set[str]) -> list[Any] | None:
        """What the ``futures``, which are done, found; None where one of the workers at
        ``addresses`` is gone before it told.
        """
        for future in futures:
            if future.status == "error":
                future.result()  # raises what it raised, a TimeoutError too
        fetch = self._client._gather  # of which ``gather`` has no limit of time
        for _ in range(_ASKED):
            with suppress(TimeoutError):
                got = self._client.sync(fetch, futures, direct=True, callback_timeout=_FETCHED)
                return list(got)
            if not addresses <= self._threads().keys():
                return None
        raise SweepError(_GONE.format("a worker does not answer"))

    def _threads(self) -> dict[str, int]:
        """How many threads each worker has that works, by address."""
        if self._client.status != "running":
            raise SweepError(_GONE.format("its scheduler is gone"))
        # what ``scheduler_info`` returns is emptied by a callback of the client now and then
        asked = self._client.scheduler.identity
        workers = self._client.sync(asked, n_workers=-1, callback_timeout=_ANSWER)["workers"]
        now, before, self._still = time.monotonic(), self._still, {}
        for address, one in workers.items():
            busy = one["metrics"].get("task_counts", {}).get("executing")
            if one["status"] == "paused" and not busy:
                self._still[address] = before.get(address, now)
        return {
            address: workers[address]["nthreads"]
            for address in sorted(workers)
            if now - self._still.get(address, now) < _PAUSE
        }

    def _next(self, waiting: Set[int], address: str, workers: Collection[str]) -> int:
        """A partition for the worker at ``address``: one that it has had, else one that nobody has,
        else one of the worker with most left.
        """
        left: dict[str, list[int]] = {}
        for k in sorted(waiting):
            had = self._had.get(k, "")
            left.setdefault(had if had in workers else "", []).append(k)
        return (left.get(address) or left.get("") or max(left.values(), key=len))[0]

    def _merged(self, lanes: Sequence["_Lane"], n: int, then: Then | None) -> FloatArray:
        """The sum of all ``lanes``, or what ``then`` makes of it."""
        held = [lane for lane in lanes if lane.held]
        addresses = sorted({lane.address for lane in held})
        targets, given, merged = addresses[:_PIECES], Counter[str](), []
        for k, at in enumerate(targets):
            whole = self._piece(held, k, len(targets), at, given)
            merged.append(
                whole if then is None else self._submit(sums.made, then, whole, workers=[at])
            )
        while waiting := [one for one in merged if not one.done()]:
            if not set(addresses) <= self._threads().keys():
                raise sums.LostError
            self._wait(waiting)
        found = self._answers(merged, set(addresses))
        if found is None or any(one.of != set(range(n)) for one in found):
            raise sums.LostError
        return np.concatenate([one.numbers for one in found]) if found[1:] else found[0].numbers

    def _piece(
        self, parts: Sequence["_Lane"], piece: int, pieces: int, target: str, given: Counter[str]
    ) -> Any:
        """A piece of the sum of all ``parts``, at ``target``: each worker adds up its own, then
        pairs of workers theirs, on that of the two which has been ``given`` fewer of these sums.
        """
        own: dict[str, list[Any]] = {}
        for one in parts:
            took = self._submit(sums.take, one.name, piece, pieces, workers=[one.address])
            own.setdefault(one.address, []).append(took)
        left = [(address, self._added(address, *those)) for address, those in own.items()]
        while len(left) > 1:
            (at, one), (other_at, other), *left = left
            if other_at == target or (at != target and given[other_at] < given[at]):
                at, one, other = other_at, other, one
            given[at] += 1
            left.append((at, self._added(at, one, other)))
        return left[0][1]

    def _added(self, at: str, one: Any, *others: Any) -> Any:
        for other in others:
            one = self._submit(sums.merge, one, other, workers=[at])
        return one

    def _submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        with warnings.catch_warnings():
            # what is known travels with its task, so that it is not lost with a worker
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(function, *arguments, pure=False, **options)

    def _wait(self, futures: Sequence[Any]) -> None:
        """Until one is done, but no longer than a heartbeat."""
        import distributed

        wait: Any = distributed.wait
        if not futures:
            time.sleep(_HEARTBEAT)
            return
        with suppress(TimeoutError), self._client.as_current():
            wait(futures, _HEARTBEAT, return_when="FIRST_COMPLETED")

    def _forget(self, lanes: Sequence["_Lane"]) -> None:
        """Have workers forget the sums of ``lanes``."""
        names = frozenset(lane.name for lane in lanes)
        with suppress(Exception):  # they may be gone
            there = {lane.address for lane in lanes} & (self._threads().keys() | self._still.keys())
            self._client.run(sums.forget, names, workers=sorted(there), wait=False)


_NONE_LEFT = "no worker is left"
_GONE = (
    "The cluster cannot go on ({}): start it again, and the same command goes on from where the "
    "run was. What was released is kept."
)
_ENDED = (
    "Workers ended {} times over one partition, perhaps for want of memory: give them more, or "
    "write the users into more files. What was released is kept, and the same command goes on "
    "from there."
)


@dataclass(eq=False)
class _Lane:
    """A thread of the worker at ``address``: the partition ``k`` it works on, and those that its
    sum has ``held`` when it last told.
    """

    address: str
    name: str = field(default_factory=lambda: uuid.uuid4().hex)
    held: frozenset[int] = frozenset()
    k: int = -1
    future: Any = None


@contextmanager
def _said() -> Iterator[None]:
    """Turn what Dask raises into one sentence."""
    from distributed import CancelledError, KilledWorker
    from distributed import client as of_clients

    closed = getattr(of_clients, "ClosedClientError", CancelledError)  # not in older releases

    try:
        yield
    except (DPMCError, sums.LostError, BrokenPipeError):
        raise  # a pipe is where somebody reads the progress
    except KilledWorker as error:
        raise SweepError(_ENDED.format(error.allowed_failures + 1)) from None
    except (CancelledError, closed):
        raise SweepError(_GONE.format("the connection to its scheduler is lost")) from None
    except (OSError, TimeoutError) as error:
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise SweepError(_GONE.format(why)) from None
    except (ImportError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "deserializ" not in str(error):
            raise
        raise SweepError(
            f"A worker or the scheduler cannot run this software ({str(error)[:200]}): install "
            f"release {__version__} on each of them. Nothing was lost."
        ) from None
