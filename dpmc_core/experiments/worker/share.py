"""What a process that computes may take of the machine."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker

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


def end_with_parent(parent: int, every: float = 1.0) -> None:
    """End this process soon after process ``parent`` is gone, which may have been killed without a
    word, and before this process had begun.

    Looked for each ``every`` seconds, in a thread of its own.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os._exit(1)

    threading.Thread(target=watch, name="dpmc-parent", daemon=True).start()


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
