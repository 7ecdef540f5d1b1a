"""Messages between a worker and its parent: pickled, with large data sent once."""

import io
import os
import pickle
import queue
import struct
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any

from dpmc_core.datasets.implicit import UserSplit
from dpmc_core.datasets.ratings import Split
from dpmc_core.datasets.samples import Samples
from dpmc_core.errors import DPMCError

_HEADER = struct.Struct(">Q")


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

    def __init__(self, outbox: IO[bytes], number: int, most: int = 0) -> None:
        self._outbox, self._of, self._most = outbox, number, most
        # by identity; holding on to them keeps identities unique
        self._sent: dict[int, tuple[int, Any]] = {}
        self._shared, self._results = 0, dict[int, int]()  # bytes, of results by number of spec

    def send(self, kind: str, content: Any) -> None:
        """Raises ``DPMCError`` for a result that is too large."""
        buffer = io.BytesIO()
        super().__init__(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self.dump((kind, self._of, content, 0 if kind == "result" else in_use()))
        if kind == "result" and content[1] is not None:
            self._results[content[0]] = len(buffer.getbuffer())
            self._checked()
        send(self._outbox, buffer.getbuffer())

    def persistent_id(self, found: Any) -> int | None:
        if not isinstance(found, SENT_ONCE):
            return None
        if id(found) not in self._sent:
            number = len(self._sent)
            self._sent[id(found)] = (number, found)
            message = ("shared", self._of, (number, found), 0)
            pickled = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
            self._shared += len(pickled)
            self._checked()
            send(self._outbox, pickled)
        return self._sent[id(found)][0]

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
    """Unpickles messages, with the data that was sent before."""

    def __init__(self, content: bytes, shared: Mapping[int, Any]) -> None:
        super().__init__(io.BytesIO(content))
        self._shared = shared

    def persistent_load(self, pid: Any) -> Any:
        return self._shared[pid]


def send(pipe: IO[bytes] | None, content: bytes | memoryview) -> None:
    """Write one message, its length first."""
    assert pipe is not None  # both ends are pipes
    pipe.write(_HEADER.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: IO[bytes] | None, inbox: "queue.Queue[Message | None]") -> None:
    """Put what arrives into ``inbox``, and None when nothing more will."""
    assert pipe is not None
    shared: dict[int, Any] = {}
    held, sizes = 0, dict[int, int]()  # bytes of the data within results, and of the results
    # whatever happens here, also for want of memory: who waits must hear that nothing more comes
    with suppress(Exception):
        while True:
            header = pipe.read(_HEADER.size)
            if len(header) < _HEADER.size:
                break
            (size,) = _HEADER.unpack(header)
            content = pipe.read(size)
            if len(content) < size:
                break
            message = Reader(content, shared).load()
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
            del message, content
    inbox.put(None)


def in_use() -> int:
    """Bytes of memory in use, 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
