"""A process on a worker of a Dask cluster, as its parent sees it.

Provides ``RemoteProcess``, and ``silence_dask`` for callers that connect. Dask decides where a
process is and when its turn has come, and tells when a worker is lost. What is computed, and on
which data, goes from here to that worker directly: the scheduler sees a name.
"""

import logging
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from dpmc_core import __version__
from dpmc_core.experiments.worker.process import LocalProcess, Process, Share, receive

_ALONE = 15.0  # seconds without anybody who asks, after which a process is ended
# bytes that are read at once, as many as a pipe holds, and how often so many are kept until
# somebody takes them
_CHUNK, _MOST = 65_536, 500
_LOOK = 0.05


@dataclass(eq=False)
class _Seat:
    process: LocalProcess
    last_contact: float
    # b"" is the last that each has
    written: queue.Queue[bytes] = field(default_factory=partial(queue.Queue, _MOST))
    given: queue.Queue[bytes] = field(default_factory=queue.Queue)
    leaving: bool = False


_seats: dict[str, _Seat] = {}


class _NotOurs(logging.Filter):
    """Lets through what is not about ``exchange``, which is asked for many times a second."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "exchange" not in record.getMessage()


@cache
def _quiet() -> None:
    logging.getLogger("distributed.worker").addFilter(_NotOurs())


class ReleaseError(RuntimeError):
    """A worker has another release of this software than who asks."""


def hold(name: str, share: Share, release: str) -> None:
    """Keep a process under ``name`` until it has ended and everything was taken, somebody says so,
    or nobody has asked for a while. Raises ``OSError`` where none can be started, ``ReleaseError``
    where this worker has another ``release``.
    """
    if release != __version__:
        raise ReleaseError(f"a worker has release {__version__} of this software, not {release}")
    _quiet()
    from distributed import get_worker

    # what it keeps on this machine goes with the worker, too
    process = LocalProcess(share, str(get_worker().local_directory), raw=True)
    seat = _seats[name] = _Seat(process, time.monotonic())
    for work in (_read, _write):
        threading.Thread(target=work, args=(seat,), name="dpmc-seat", daemon=True).start()
    try:
        while not seat.leaving and time.monotonic() - seat.last_contact < _ALONE:
            time.sleep(_LOOK)
    finally:
        _seats.pop(name, None)
        seat.leaving = True
        seat.given.put(b"")
        process.close()


def exchange(name: str, messages: list[bytes], leave: bool) -> tuple[bytes, bool] | None:
    """Give ``messages`` to the process called ``name``; returns what it wrote since, and whether
    that was its last. ``leave`` ends it. None where there is no such process here.

    It raises nothing: Dask would write what it was given into the worker's log.
    """
    seat = _seats.get(name)
    if seat is None:
        return None
    seat.last_contact = time.monotonic()
    try:
        for message in messages:
            seat.given.put(message)
        written = [seat.written.get() for _ in range(seat.written.qsize())]  # nobody else takes
        seat.leaving = seat.leaving or leave
        return b"".join(written), b"" in written
    except Exception:  # noqa: BLE001 - for want of memory, for one
        seat.leaving = True
        return b"", True


def _read(seat: _Seat) -> None:
    """Take what the process writes, no more than anybody takes away."""
    chunk = b"more"
    while chunk and not seat.leaving:
        chunk = b""
        with suppress(OSError, ValueError):
            chunk = seat.process.outbound.read1(_CHUNK)  # type: ignore[attr-defined]
        while not seat.leaving:
            with suppress(queue.Full):
                seat.written.put(chunk, timeout=_LOOK)
                break


def _write(seat: _Seat) -> None:
    """Give the process what is there for it, in a thread that may wait for it."""
    with suppress(OSError, ValueError):
        while message := seat.given.get():
            seat.process.send(message)
            del message  # it may hold somebody's data, and the next one may be long in coming


OWN_DATA = "OWN_DATA"  # a resource of workers that are told to hold visitors' own data
_OF_IT = 0.001  # as much of it as one process takes
_ASK_EVERY, _LOOK_EVERY = 0.05, 0.5  # seconds: while it computes, and while its turn has not come
_LONG, _LONG_EVERY = 2.0, 0.2  # what has computed for long is asked less often: it takes time, too
_WORKERS_EVERY = 5.0  # seconds between looks at whether there are workers at all
_TIMEOUT = 10.0  # seconds for an answer
_LINGER = 2.0  # seconds in which a process whose turn comes just then is told to end


def silence_dask() -> None:
    """Keep Dask's tracebacks of lost connections out of this process's log: the caller says
    what was lost in a sentence. Call it once ``distributed`` is imported, which sets its loggers.
    """
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


class RemoteProcess(Process):
    """A process with its ``share`` of the worker that it is on, of the cluster of ``client``;
    ``own`` asks for a worker that is told to hold visitors' own data.

    It is there when its turn has come; what is sent before waits here. Raises ``ConnectionError``
    where the cluster cannot be reached.
    """

    def __init__(self, client: Any, share: Share, *, own: bool) -> None:
        self._client, self._name, self._own = client, f"dpmc-{uuid.uuid4().hex}", own
        super().__init__()
        self._alive = True
        self._given: list[bytes] = []
        self._leaving = threading.Event()
        options = {"resources": {OWN_DATA: _OF_IT}} if own else {}
        try:
            self._future = client.submit(
                hold, self._name, share, __version__, key=self._name, pure=False, **options
            )
        except Exception as error:  # noqa: BLE001 - Dask has a class of its own for a closed client
            raise ConnectionError(0, f"the cluster cannot be reached: {error}") from None
        reading, writing = os.pipe()
        self._pipe = os.fdopen(writing, "wb")
        whole = os.fdopen(reading, "rb")
        threading.Thread(target=self._received, args=(whole,), daemon=True).start()
        self._asking = threading.Thread(target=self._ask, name="dpmc-remote", daemon=True)
        self._asking.start()

    @property
    def alive(self) -> bool:
        return self._alive

    def send(self, content: bytes) -> None:
        if not self._alive:
            raise OSError(0, "it has ended")
        self._given.append(content)

    def close(self) -> None:
        self._leaving.set()
        self._asking.join(timeout=2 * _TIMEOUT)

    def _received(self, whole: Any) -> None:
        with whole:
            receive(whole, self.inbox)

    def _ask(self) -> None:
        """Exchange messages until either side has had enough."""
        address = ""
        try:
            address = self._exchanged()
        except Exception:  # noqa: BLE001 - whatever it is, the process cannot be reached
            self.lost = True
        finally:
            self._alive = False
            with suppress(OSError):
                self._pipe.close()  # which tells the parent
            with suppress(Exception):  # the scheduler may be gone
                self._future.cancel()
                if not address and not self.lost:
                    self._end_late()

    def _exchanged(self) -> str:
        """Until the end; returns which worker had it, "" where its turn did not come."""
        address, looked, paused = "", time.monotonic(), False
        began = looked
        while True:
            leaving = self._leaving.is_set()
            if self._future.status in ("error", "lost", "cancelled"):
                self.lost, self.unable = True, self._problem()
                return address
            address = at = address or self._address()
            answer = None
            if address:
                given = self._given[:]
                answer = self._called(address, given, leaving)
                if answer is None:
                    address = ""  # its turn has not come, or another worker has it
                else:
                    del self._given[: len(given)]
                    if answer[0]:
                        self._pipe.write(answer[0])
                        self._pipe.flush()
                    if answer[1]:  # it ended by itself: nobody else needs the seat
                        self._called(address, [], True)
                        return address
            if answer is None and time.monotonic() - looked > _WORKERS_EVERY:
                looked, before = time.monotonic(), paused
                # one that came to a worker just as that was paused would wait for as long
                paused = self._paused(at)
                if (paused and before) or not workers_of(self._client, own=self._own):
                    self.lost = True
                    return address
            if leaving:
                return address
            if answer is None:
                self._leaving.wait(_LOOK_EVERY)
                began = time.monotonic()
            else:
                long = time.monotonic() - began > _LONG
                self._leaving.wait(_LONG_EVERY if long else _ASK_EVERY)

    def _problem(self) -> str:
        """Why no worker can hold the process; "" where its workers were lost."""
        if self._future.status != "error":
            return ""
        error = self._future.exception(timeout=_TIMEOUT)
        if isinstance(error, ReleaseError):
            return str(error)
        if isinstance(error, (ImportError, OSError)) or "deserializ" in str(error):
            return f"a worker cannot run release {__version__} of this software ({error})"
        return ""

    def _end_late(self) -> None:
        """Cancelling ends nothing that has begun: tell it, if its turn came just then."""
        end = time.monotonic() + _LINGER
        while time.monotonic() < end:
            address = self._address()
            if address and self._called(address, [], True) is not None:
                return
            time.sleep(_LOOK_EVERY)

    def _address(self) -> str:
        """Which worker has it, "" while none has."""
        if self._client.status != "running":
            raise OSError
        processing = answered(self._client, self._client.scheduler.processing)
        return next((one for one, keys in processing.items() if self._name in map(str, keys)), "")

    def _paused(self, address: str) -> bool:
        workers = answered(self._client, self._client.scheduler.identity)["workers"]
        return bool(workers.get(address, {}).get("status") == "paused")

    def _called(self, address: str, given: list[bytes], leaving: bool) -> tuple[bytes, bool] | None:
        """What ``exchange`` returns in the worker at ``address``, asked directly."""
        from distributed.protocol import pickle

        dumps: Any = pickle.dumps

        async def ask() -> Any:
            request = self._client.rpc(address).run(
                function=dumps(exchange),
                args=dumps((self._name, given, leaving)),
                kwargs=dumps({}),
                wait=True,
            )
            answer = await request
            if answer["status"] != "OK":
                raise OSError(0, "the worker cannot do this")
            return answer["result"]

        return answered(self._client, ask)


def workers_of(client: Any, *, own: bool = False) -> list[dict[str, Any]]:
    """The workers of a cluster; ``own``: those that are told to hold visitors' own data. Raises
    ``OSError`` and its like where the scheduler does not answer.
    """
    workers = answered(client, client.scheduler.identity)["workers"].values()
    return [one for one in workers if not own or one.get("resources", {}).get(OWN_DATA, 0)]


def answered(client: Any, question: Callable[[], Any]) -> Any:
    """The scheduler's answer to a ``question``, within a few seconds."""

    async def ask() -> Any:
        return await question()

    return client.sync(ask, callback_timeout=_TIMEOUT)
