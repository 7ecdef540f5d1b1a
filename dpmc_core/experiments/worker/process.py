"""The process that a worker computes in, as whoever asks sees it.

Provides ``Process``, what can be done with one, ``LocalProcess``, one of this machine, and
``spawned``, which starts it.
"""

import os
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, Protocol

import psutil

from dpmc_core.experiments.worker.messages import Message, receive, send
from dpmc_core.experiments.worker.share import Share


class Process(Protocol):
    """A process that takes messages and gives some, which arrive in ``inbox``: None when it has
    ended. ``lost`` says that it ended because the machine it was on, or the way there, is gone, and
    ``unable`` why no machine there can hold it, if so.
    """

    inbox: "queue.Queue[Message | None]"
    lost: bool
    unable: str

    @property
    def pid(self) -> int | None:
        """Its number; None once it has ended, or where it is not on this machine."""

    @property
    def going(self) -> bool:
        """Whether it has not ended."""

    @property
    def busy(self) -> float:
        """Seconds of a processor that it has used; 0 where that cannot be known."""

    def send(self, content: bytes) -> None:
        """Give it a message. Raises ``OSError`` where it has ended."""

    def close(self) -> None:
        """End it."""


class LocalProcess:
    """A process of this machine with its ``share`` of it. Raises ``OSError``."""

    def __init__(self, share: Share) -> None:
        self._process = spawned(share)
        self.inbox: queue.Queue[Message | None] = queue.Queue()
        self.lost, self.unable = False, ""
        reading = threading.Thread(
            target=receive, args=(self._process.stdout, self.inbox), daemon=True
        )
        reading.start()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self.going else None

    @property
    def going(self) -> bool:
        return self._process.poll() is None

    @property
    def busy(self) -> float:
        with suppress(psutil.Error):
            if self.going:
                used = psutil.Process(self._process.pid).cpu_times()
                return float(used.user + used.system)
        return 0.0

    def send(self, content: bytes) -> None:
        send(self._process.stdin, content)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        close_pipes(self._process)


def spawned(share: Share) -> subprocess.Popen[bytes]:
    """The process itself, whose standard input and output are pipes. Raises ``OSError``."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "dpmc_core.experiments.worker.worker"),
            *(str(share.memory), str(share.nice)),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close both pipes of a process that has ended."""
    pipes: tuple[IO[bytes] | None, ...] = (process.stdin, process.stdout)
    for pipe in pipes:
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
