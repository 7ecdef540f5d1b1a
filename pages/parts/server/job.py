"""A piece of background work: its specs, its state, and its results so far."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from dpmc_core.datasets.own import OwnSet
from pages.parts.server.queue import Ticket

__all__ = ["Job"]


@dataclass(eq=False)
class Job:
    """A running or finished piece of work.

    The page reads it; only its own thread writes ``results`` and ``error``. ``kind`` is "run",
    "recommend", "lists", "study-" and its kind, "factors", "factor-study-" and its kind, "audit",
    "sweep", "row" or "task"; a visitor has at most one of each. ``results[k]`` is the latest
    result of the k-th spec (None before its first iteration). ``state`` is "waiting", "running",
    "done", "cancelled" or "failed"; partial results stay in every case. ``note`` says why a
    finished run could not be kept in the store, if so. ``session`` is the visitor's, ``sets`` the
    own data that it may read.
    """

    kind: str = "task"
    specs: tuple[Any, ...] = ()
    results: list[Any] = field(default_factory=list)
    state: str = "waiting"
    error: str = ""
    note: str = ""
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    progress: tuple[int, int] = (0, 0)
    session: str = ""
    sets: tuple[OwnSet, ...] = ()
    _stop: threading.Event = field(default_factory=threading.Event)
    _ticket: Ticket | None = None

    @property
    def active(self) -> bool:
        """Whether it still has work to do."""
        return self.state in ("waiting", "running")

    def cancel(self) -> None:
        """Stop at the next iteration; the page sees it at once."""
        self._stop.set()
        if self.active:
            self.state = "cancelled"
        if self._ticket is not None:
            self._ticket.leave()  # if it was still waiting, its place is free at once

    @property
    def place(self) -> int:
        """Its place in the line: 1 is next, 0 when it has begun or was never in one."""
        return 0 if self._ticket is None else self._ticket.place

    @property
    def stopped(self) -> bool:
        """Whether somebody asked it to stop."""
        return self._stop.is_set()

    def remaining(self) -> float | None:
        """Seconds left, from the pace of the iterations so far; None before the first."""
        done, total = self.progress
        known = getattr(self.results[-1], "remaining", None) if self.results else None
        if isinstance(known, float):  # it knows what was there before it began
            return known
        if not done or not total:
            return None
        return (time.monotonic() - self.started) / done * (total - done)
