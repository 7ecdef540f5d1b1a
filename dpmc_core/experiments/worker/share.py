"""What a process that computes may take of the machine."""

import os
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

__all__ = ["ALL", "Share", "end_with_parent"]


_LAST = 19  # the most steps that Unix has


@dataclass(frozen=True, slots=True)
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


def end_with_parent(every: float = 1.0) -> None:
    """End this process soon after its parent is gone, which may have been killed without a word.

    Looked for each ``every`` seconds, in a thread of its own.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(every)
        os._exit(1)

    threading.Thread(target=watch, name="dpmc-parent", daemon=True).start()
