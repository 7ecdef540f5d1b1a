"""Progress of long commands.

Provides ``Progress``.
"""

import sys
import time

_EVERY = 2.0  # seconds between lines


class Progress:
    """A line on standard error now and then: what is done, and how many of how many partitions."""

    def __init__(self) -> None:
        self._began = self._said = time.monotonic()
        self._doing = ""

    def __call__(self, doing: str, done: int, of: int) -> None:
        now = time.monotonic()
        if doing != self._doing:
            self._doing, self._began, self._said = doing, now, now
        if now - self._said >= _EVERY:
            self._said = now
            print(f"{doing}: {done} of {of} partitions, {now - self._began:.0f} s", file=sys.stderr)
