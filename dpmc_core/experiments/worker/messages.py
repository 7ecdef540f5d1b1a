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

__all__ = ["Message", "Sender", "receive", "send"]


_HEADER = struct.Struct(">Q")


SENT_ONCE = (
    Split,
    UserSplit,
    Samples,
)  # the data within results: large, and the same in each of them


Message = tuple[str, int, Any, int]  # kind, of which job, content, bytes in use where it was sent


class Sender(pickle.Pickler):
    """Pickles messages of one job.

    The data within results is sent once, before the first result that holds it.
    """

    def __init__(self, outbox: IO[bytes], number: int) -> None:
        self._outbox, self._of = outbox, number
        self._sent: dict[
            int, tuple[int, Any]
        ] = {}  # by identity; holding on to them keeps identities unique

    def send(self, kind: str, content: Any) -> None:
        buffer = io.BytesIO()
        super().__init__(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self.dump((kind, self._of, content, 0 if kind == "result" else in_use()))
        send(self._outbox, buffer.getbuffer())

    def persistent_id(self, found: Any) -> int | None:
        if not isinstance(found, SENT_ONCE):
            return None
        if id(found) not in self._sent:
            number = len(self._sent)
            self._sent[id(found)] = (number, found)
            send(
                self._outbox,
                pickle.dumps(
                    ("shared", self._of, (number, found), 0), protocol=pickle.HIGHEST_PROTOCOL
                ),
            )
        return self._sent[id(found)][0]


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
                continue
            if message[0] != "result":
                shared = {}  # the job is over: nothing of its data stays here
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
