"""The process that a worker computes in, as its parent sees it, and the messages between them.

Provides ``Share``, what a process may take of the machine; ``Sender``, ``send`` and ``receive`` of
pickled messages, in which large data is sent once; ``Process``, what can be done with one; and
``LocalProcess``, one of this machine.
"""

import ctypes
import gc
import io
import os
import pickle
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import IO, Any

import psutil

from dpmc_core.datasets.ratings import Split, UserSplit
from dpmc_core.datasets.samples import Samples
from dpmc_core.errors import DPMCError

_LAST = 19  # the most steps that Unix has


@dataclass(frozen=True)
class Share:
    """What a process that computes may take of the machine.

    At most ``memory`` megabytes (0: no cap; heeded on Linux), and the processor after others, by
    Unix's ``nice`` steps (0 to 19; 19: on Linux only when no other process wants it).
    """

    memory: int = 0
    nice: int = 0

    def take(self) -> None:
        """Hold this process to it, where the system can do that."""
        with suppress(AttributeError, OSError):
            os.nice(self.nice)
        if self.nice == _LAST and sys.platform == "linux":
            with suppress(OSError):
                os.sched_setscheduler(
                    0, os.SCHED_IDLE, os.sched_param(0)
                )  # even a nice process keeps others waiting
        if self.memory and sys.platform == "linux":
            import resource

            with suppress(ValueError, OSError):
                resource.setrlimit(
                    resource.RLIMIT_DATA, (self.memory * 1_000_000, self.memory * 1_000_000)
                )


ALL = Share()  # no cap, and no giving way


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C and a request to terminate back until the ``with`` block ends, and Ctrl-C from
    processes started in it for good: their parent ends them.

    A process inherits which signals are blocked, not how they are handled, and Python sees a
    signal that any thread lets through: so SIGINT is both blocked here and noted.
    """
    if threading.current_thread() is not threading.main_thread() or os.name != "posix":
        yield
        return
    resource_tracker.ensure_running()  # its start would let SIGINT through again
    held: list[int] = []
    handlers = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        if callable(handler := signal.getsignal(number))
    }
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    for number in handlers:
        signal.signal(number, lambda sent, _: held.append(sent))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)  # one that waits is noted now
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for sent in held[:1]:
            signal.raise_signal(sent)


SENT_ONCE = (
    Split,
    UserSplit,
    Samples,
)  # the data within results: large, and the same in each of them


# kind, of which job, content, and bytes: of all results of the job so far where it is one, else in
# use where it was sent
Message = tuple[str, int, Any, int]


class Sender(pickle.Pickler):
    """Pickles messages of one job.

    The data within results is sent once, before the first result that holds it. The latest results
    of a job take ``most`` bytes together, or none is sent (0: as many as there are).
    """

    def __init__(self, outbox: IO[bytes], number: int, most: int) -> None:
        self._outbox, self._of, self._most = outbox, number, most
        # by identity; holding on to them keeps identities unique
        self._sent: dict[int, tuple[int, Any]] = {}
        self._shared, self._results = 0, dict[int, int]()  # bytes, of results by number of spec

    def send(self, kind: str, content: Any) -> None:
        """Raises ``DPMCError`` for a result that is too large."""
        buffer, arrays = io.BytesIO(), list[pickle.PickleBuffer]()
        super().__init__(buffer, protocol=5, buffer_callback=arrays.append)
        self.dump((kind, self._of, content, 0 if kind == "result" else in_use()))
        parts = [buffer.getbuffer(), *(array.raw() for array in arrays)]
        if kind == "result" and content[1] is not None:
            self._results[content[0]] = sum(part.nbytes for part in parts)
            self._checked()
        send(self._outbox, *parts)

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, SENT_ONCE):
            return None
        if id(obj) not in self._sent:
            number = len(self._sent)
            self._sent[id(obj)] = (number, obj)
            message = ("shared", self._of, (number, obj), 0)
            pickled = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
            self._shared += len(pickled)
            self._checked()
            send(self._outbox, pickled)
        return self._sent[id(obj)][0]

    def _checked(self) -> None:
        size = self._shared + sum(self._results.values())
        if self._most and size > self._most:
            raise DPMCError(too_large(size / 1e6, self._most / 1e6))


def too_large(megabytes: float, most: float) -> str:
    """What is said of results that may not be held."""
    return (
        f"The results would take {megabytes:,.0f} MB, and at most {most:,.0f} MB are held for one "
        "visit: a smaller rank or dataset, or fewer runs at once, fit."
    )


class Reader(pickle.Unpickler):
    """Unpickles a message of some ``parts``, with the data that was sent before."""

    def __init__(self, parts: Sequence[bytearray], shared: Mapping[int, Any]) -> None:
        super().__init__(io.BytesIO(parts[0]), buffers=parts[1:])
        self._shared = shared

    def persistent_load(self, pid: Any) -> Any:
        return self._shared[pid]


def send(pipe: IO[bytes], *parts: bytes | memoryview) -> None:
    """Write the ``parts`` of one message, how long they are first: pickled content, and the arrays
    that it refers to.
    """
    pipe.write(pickle.dumps([len(part) for part in parts]))
    for part in parts:
        pipe.write(part)
    pipe.flush()


def _read(pipe: IO[bytes], size: int) -> bytearray:
    """Raises ``EOFError`` where there are fewer bytes."""
    content = bytearray(size)
    if pipe.readinto(content) < size:  # type: ignore[attr-defined]
        raise EOFError
    return content


def receive(pipe: IO[bytes], inbox: "queue.Queue[Message | None]") -> None:
    """Put what arrives into ``inbox``, and None when nothing more will."""
    shared: dict[int, Any] = {}
    held, sizes = 0, dict[int, int]()  # bytes of the data within results, and of the results
    # whatever happens here, also for want of memory: who waits must hear that nothing more comes
    with suppress(Exception):
        while True:
            parts = [_read(pipe, size) for size in pickle.load(pipe)]
            size = sum(map(len, parts))
            message = Reader(parts, shared).load()
            if message[0] == "shared":
                shared[message[2][0]] = message[2][1]
                held += size
                continue
            if message[0] != "result":
                shared, held, sizes = {}, 0, {}  # the job is over: nothing of its data stays here
            elif message[2][1] is not None:
                sizes[message[2][0]] = size
                message = (*message[:3], held + sum(sizes.values()))
            inbox.put(message)
            del message, parts
    inbox.put(None)


def in_use() -> int:
    """Bytes of memory in use, 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def return_memory() -> None:
    """Have Python and the C library give memory that nobody uses back to the system, where they
    can: between results and figures they keep much.
    """
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


class Process(ABC):
    """A process that takes messages and gives some, which arrive in ``inbox``: None when it has
    ended. ``lost`` says that it ended because the machine it was on, or the way there, is gone, and
    ``unable`` why no machine there can hold it, if so.
    """

    def __init__(self) -> None:
        self.inbox: queue.Queue[Message | None] = queue.Queue()
        self.lost, self.unable = False, ""

    @property
    def pid(self) -> int | None:
        """Its number; None once it has ended, or where it is not on this machine."""
        return None

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether it has not ended."""

    @property
    def busy(self) -> float:
        """Seconds of a processor that it has used; 0 where that cannot be known."""
        return 0.0

    @abstractmethod
    def send(self, content: bytes) -> None:
        """Give it a message. Raises ``OSError`` where it has ended."""

    @abstractmethod
    def close(self) -> None:
        """End it."""


class LocalProcess(Process):
    """A process of this machine that takes its ``share`` of it, with a temporary folder of its own
    in ``place`` ("": the system's), which goes when it ends. What it writes arrives in ``inbox``,
    or with ``raw`` is read from ``outbound`` by the thread that started it. Raises ``OSError``.
    """

    def __init__(self, share: Share, place: str = "", *, raw: bool = False) -> None:
        super().__init__()
        folder = tempfile.mkdtemp(prefix="dpmc-worker-", dir=place or None)
        # also where nobody ends it: it died by itself, or this process exits
        self._clean = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        words = ("-m", "dpmc_core.experiments.worker.worker", folder)
        try:
            self._process = subprocess.Popen(
                [sys.executable, *words, str(share.memory), str(share.nice)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
                    "TMPDIR": folder,
                    # Arrow's own pool takes a gigabyte at once, all of which a cap counts
                    "ARROW_DEFAULT_MEMORY_POOL": "system",
                },
            )
        except OSError:
            self._clean()
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._inbound, self.outbound = self._process.stdin, self._process.stdout
        if not raw:
            reading = (self.outbound, self.inbox)
            threading.Thread(target=receive, args=reading, daemon=True).start()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self.alive else None

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def busy(self) -> float:
        with suppress(psutil.Error):
            if self.alive:
                used = psutil.Process(self._process.pid).cpu_times()
                return float(used.user + used.system)
        return 0.0

    def send(self, content: bytes) -> None:
        send(self._inbound, content)

    def close(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._inbound, self.outbound):
            with suppress(OSError):
                pipe.close()
        self._clean()
