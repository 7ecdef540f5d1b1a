"""A piece of background work, and those of a visit: specs, states, and results so far."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker.messages import too_large
from pages.parts.server import held, settings
from pages.parts.server.queue import Ticket

__all__ = ["Box", "Job"]


@dataclass(eq=False)
class Job:
    """A running or finished piece of work.

    The page reads it; only its own thread writes ``results`` and ``error``. ``kind`` is "run",
    "recommend", "lists", "study-" and its kind, "factors", "factor-study-" and its kind, "audit",
    "sweep", "row" or "task"; a visitor has at most one of each. ``results[k]`` is the latest
    result of the k-th spec (None before its first iteration). ``state`` is "waiting", "running",
    "done", "cancelled" or "failed"; partial results stay in every case. ``note`` says why a
    finished run could not be kept in the store, if so, ``let_go`` which former results made room
    for these. ``session`` is the visitor's, ``sets`` the own data that it may read.
    """

    kind: str = "task"
    specs: tuple[Any, ...] = ()
    results: list[Any] = field(default_factory=list)
    state: str = "waiting"
    error: str = ""
    note: str = ""
    let_go: str = ""
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


class Box:
    """One visitor's current job of each kind, and the former ones that had results."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.former: dict[str, Job] = {}
        self._making_room = threading.Lock()

    def replace(self, job: Job) -> None:
        """Make ``job`` the current one of its kind; the one it replaces is cancelled."""
        old = self.jobs.get(job.kind)
        if old is not None:
            old.cancel()
            if any(old.results):
                self.former[job.kind] = old
        self.jobs[job.kind] = job

    def others(self, job: Job) -> list[Job]:
        """All jobs but this that are here."""
        here = (*self.jobs.values(), *self.former.values())
        return list(dict.fromkeys(old for old in here if old is not job))

    def drop(self, job: Job) -> None:
        """Forget ``job``."""
        for kept in (self.jobs, self.former):
            for kind, here in list(kept.items()):
                if here is job:
                    del kept[kind]

    def forget(self, name: str) -> None:
        for kept in (self.jobs, self.former):
            for kind, job in list(kept.items()):
                if any(one.name == name for one in job.sets):
                    job.cancel()
                    del kept[kind]

    def cancel(self) -> None:
        for job in self.jobs.values():
            job.cancel()

    def make_room(self, job: Job, megabytes: float) -> None:
        """Hold ``megabytes`` of results of ``job``; if need be, let the oldest others go.

        Raises ``DPMCError`` where that is not enough, or all visits together would hold too much.
        """
        of_one, of_all = settings.of("DPMC_RESULTS_OF_ONE_MB"), settings.of("DPMC_RESULTS_MB")
        with self._making_room:
            others = {old: size for old in self.others(job) if (size := held.RESULTS.of(old))}
            for old in sorted(
                others, key=lambda old: (old.active, old.kind != job.kind, old.started)
            ):
                if sum(others.values()) + megabytes <= of_one:
                    break
                if old.active:
                    raise DPMCError(too_large(sum(others.values()) + megabytes, of_one))
                self.drop(old)
                held.RESULTS.take(old, 0.0, of_all)
                del others[old]
                job.let_go = (
                    "To make room for these results, the oldest others of this visit were let go: "
                    "run them again to see them."
                )
            if not held.RESULTS.take(job, megabytes, of_all):
                raise DPMCError(
                    f"These results would take {megabytes:,.0f} MB, and those of all visitors "
                    f"together may take {of_all:,} MB here: try again later, or choose a smaller "
                    "rank or dataset."
                )
