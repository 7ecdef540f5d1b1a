"""A process on a Dask worker: what runs there.

Provides ``hold``, the task that keeps a process for as long as somebody asks after it, and
``exchange``, which gives it messages and takes what it wrote. Neither ever holds what is computed
in Dask's own memory, which may go to a disk. What a process had is gone with it.
"""

import logging
import subprocess
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

from dpmc_core import __version__
from dpmc_core.experiments.worker.messages import send
from dpmc_core.experiments.worker.process import close_pipes, spawned
from dpmc_core.experiments.worker.share import Share

_ALONE = 15.0  # seconds without anybody who asks, after which a process is ended
_CHUNK, _MOST = 1_000_000, 32_000_000  # bytes that are read, and kept until somebody takes them
_LOOK = 0.05


@dataclass(eq=False)
class _Seat:
    process: subprocess.Popen[bytes]
    asked: float
    written: deque[bytes] = field(default_factory=deque)
    given: deque[bytes] = field(default_factory=deque)
    changed: threading.Condition = field(default_factory=threading.Condition)
    held: int = 0
    read_all: bool = False
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
    process = spawned(share)
    seat = _seats[name] = _Seat(process, time.monotonic())
    for work in (_read, _write):
        threading.Thread(target=work, args=(seat,), name="dpmc-seat", daemon=True).start()
    try:
        while not seat.leaving and time.monotonic() - seat.asked < _ALONE:
            time.sleep(_LOOK)
    finally:
        _seats.pop(name, None)
        with seat.changed:
            seat.leaving = True
            seat.changed.notify_all()
        process.kill()
        process.wait()
        with suppress(OSError):
            close_pipes(process)


def exchange(name: str, messages: list[bytes], leave: bool) -> tuple[bytes, bool] | None:
    """Give ``messages`` to the process called ``name``; returns what it wrote since, and whether
    that was its last. ``leave`` ends it. None where there is no such process here.

    It raises nothing: Dask would write what it was given into the worker's log.
    """
    try:
        return _exchanged(name, messages, leave)
    except Exception:  # noqa: BLE001 - for want of memory, for one
        seat = _seats.get(name)
        if seat is not None:
            seat.leaving = True
        return b"", True


def _exchanged(name: str, messages: list[bytes], leave: bool) -> tuple[bytes, bool] | None:
    seat = _seats.get(name)
    if seat is None:
        return None
    seat.asked = time.monotonic()
    with seat.changed:
        seat.given.extend(messages)
        written, last = b"".join(seat.written), seat.read_all
        seat.written.clear()
        seat.held = 0
        seat.leaving = seat.leaving or leave
        seat.changed.notify_all()
    return written, last


def _read(seat: _Seat) -> None:
    """Take what the process writes, no more than anybody takes away."""
    pipe = seat.process.stdout
    assert pipe is not None
    with suppress(OSError, ValueError):
        while chunk := pipe.read1(_CHUNK):  # type: ignore[attr-defined]
            with seat.changed:
                seat.written.append(chunk)
                seat.held += len(chunk)
                while seat.held > _MOST and not seat.leaving:
                    seat.changed.wait()
    with seat.changed:
        seat.read_all = True


def _write(seat: _Seat) -> None:
    """Give the process what is there for it, in a thread that may wait for it."""
    with suppress(OSError, ValueError):
        while True:
            with seat.changed:
                while not seat.given and not seat.leaving:
                    seat.changed.wait()
                if seat.leaving:
                    return
                message = seat.given.popleft()
            send(seat.process.stdin, message)
            del message  # it may hold somebody's data, and the next one may be long in coming
