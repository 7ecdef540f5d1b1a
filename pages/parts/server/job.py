"""A piece of background work, and those of a visit: specs, states, and results so far."""

import math
import threading
import time
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker.cluster import WAITING
from dpmc_core.experiments.worker.process import too_large
from pages.parts.server import settings
from pages.parts.server.queue import Ticket


class Held:
    """Megabytes by what they belong to; given back when that is gone, however it goes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sizes = weakref.WeakKeyDictionary[object, float]()

    @property
    def megabytes(self) -> float:
        """All together."""
        return sum(list(self._sizes.values()))

    def of(self, owner: object) -> float:
        """What ``owner`` holds."""
        return self._sizes.get(owner, 0.0)

    def fits(self, megabytes: float, most: float, instead_of: Iterable[object]) -> bool:
        """Whether all together hold at most ``most`` with ``megabytes`` in the place of what
        ``instead_of`` hold.
        """
        return self.megabytes - sum(map(self.of, instead_of)) + megabytes <= most

    def take(
        self, owner: object, megabytes: float, most: float, instead_of: Iterable[object] = ()
    ) -> bool:
        """Let ``owner`` hold ``megabytes`` in the place of what it and ``instead_of`` held, if that
        ``fits``; says whether it may. If not, nothing changes.
        """
        former = {owner, *instead_of}
        with self._lock:
            if not self.fits(megabytes, most, former):
                return False
            for one in former:
                self._sizes.pop(one, None)
            self._sizes[owner] = megabytes
            return True


OWN_DATA, RESULTS = Held(), Held()


_GLANCE = 0.01  # seconds between two looks for a first result
_PRIOR = 0.05  # share of the expected time that counts as seen when the pace is taken


@dataclass(eq=False)
class Job:
    """A running or finished piece of work.

    The page reads it; only its own thread writes ``results`` and ``error``. ``kind`` is "run",
    "recommend", "lists", "study-" and its kind, "factors", "factor-study-" and its kind, "audit",
    "sweep", "row" or "task"; a visitor has at most one of each. ``results[k]`` is the latest
    result of the k-th spec (None before its first iteration). ``state`` is "waiting", "running",
    "done", "cancelled" or "failed"; partial results stay in every case. ``note`` says why a
    finished run could not be kept in the store, if so, ``let_go`` which former results made room
    for these, ``where`` it was computed, if not where it should be. ``expected`` seconds and
    ``amounts`` of progress belong to each spec. ``session`` is the visitor's, ``sets`` the own
    data that it may read, ``address`` the page with the settings that began it. ``drawn`` and
    ``trail`` are the page's: whether it has drawn results, and what it noted of them as they came.
    """

    kind: str = "task"
    specs: tuple[Any, ...] = ()
    results: list[Any] = field(default_factory=list)
    state: str = "waiting"
    error: str = ""
    note: str = ""
    let_go: str = ""
    where: str = ""
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    progress: tuple[int, int] = (0, 0)
    expected: tuple[float, ...] = ()
    amounts: tuple[int, ...] = ()
    session: str = ""
    sets: tuple[OwnSet, ...] = ()
    address: str = ""
    drawn: bool = False
    trail: list[tuple[int, float]] = field(default_factory=list)
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
        self.no_longer_waits()
        if self._ticket is not None:
            self._ticket.leave()  # if it was still waiting, its place is free at once

    def wait_for_result(self, seconds: float) -> bool:
        """Wait up to so many seconds for a first result; say whether there is any."""
        until = time.monotonic() + seconds
        while self.active and not any(self.results) and time.monotonic() < until:
            time.sleep(_GLANCE)
        return any(self.results)

    def no_longer_waits(self) -> None:
        """Forget that it waits for a worker: its thread may notice a little later."""
        self.where = "" if self.where == WAITING else self.where

    @property
    def place(self) -> int:
        """Its place in the line: 1 is next, 0 when it has begun or was never in one."""
        return 0 if self._ticket is None else self._ticket.place

    @property
    def stopped(self) -> bool:
        """Whether somebody asked it to stop."""
        return self._stop.is_set()

    def remaining(self) -> float | None:
        """Seconds left: the expected work that is left, at the pace so far; None at first."""
        done, total = self.progress
        if self.results and hasattr(self.results[-1], "remaining"):
            return self.results[-1].remaining  # it knows what was there at first
        if not done or not total:
            return None
        worked, whole = self._work(done), sum(self.expected)
        elapsed = time.monotonic() - self.started
        if not 0 < whole < math.inf:  # nothing is known beforehand
            return elapsed / done * (total - done)
        # at first the expectation counts for something: starting is not the pace
        pace = (elapsed + _PRIOR * whole) / (worked + _PRIOR * whole)
        return max(whole - worked, 0.0) * pace

    def _work(self, done: int) -> float:
        """How many of the expected seconds ``done`` amounts stand for."""
        worked = 0.0
        for amount, seconds in zip(self.amounts, self.expected, strict=True):
            share = min(done, amount)
            worked += seconds * share / max(amount, 1)
            done -= share
        return worked


class Box:
    """One visitor's current job of each kind, and the former ones that had results.

    Pages and the threads of jobs ask it at once.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._former: dict[str, Job] = {}
        self._lock = threading.Lock()
        self.token = ""  # what the visit is known by
        self.belongings: Mapping[str, Any] = {}  # what the visit has besides, for as long as these
        self.runs = set[str]()  # keys of what was kept of it

    def current(self, kind: str) -> Job | None:
        """The latest job of this kind."""
        return self._jobs.get(kind)

    def standing(self, kind: str) -> Job | None:
        """The latest job of this kind that is over and has results."""
        with self._lock:
            job = self._jobs.get(kind)
            if job is not None and not job.active and any(job.results):
                # results hold models and splits: the former ones are not needed any more
                self._former.pop(kind, None)
                return job
            return self._former.get(kind)

    def replace(self, job: Job) -> None:
        """Make ``job`` the current one of its kind; the one it replaces is cancelled."""
        with self._lock:
            old = self._jobs.get(job.kind)
            if old is not None:
                old.cancel()
                if any(old.results):
                    self._former[job.kind] = old
            self._jobs[job.kind] = job

    def forget(self, name: str) -> None:
        """Cancel and drop the jobs that see the own set called ``name``, results included."""
        with self._lock:
            seeing = {job for job in self.every() if any(one.name == name for one in job.sets)}
            for job in seeing:
                job.cancel()
            self._drop(seeing)

    def active(self) -> list[Job]:
        """Return the jobs that still have work to do."""
        return [job for job in list(self._jobs.values()) if job.active]

    def make_room(self, job: Job, megabytes: float) -> None:
        """Hold ``megabytes`` of results of ``job``; if need be, let the oldest others go.

        Raises ``DPMCError`` where that would not be enough, or all visits together would hold too
        much; nothing is let go then.
        """
        of_one, of_all = settings.of("DPMC_RESULTS_OF_ONE_MB"), settings.of("DPMC_RESULTS_MB")
        with self._lock:
            sizes = {old: RESULTS.of(old) for old in self.every() - {job}}
            mine, evicted = sum(sizes.values()) + megabytes, set[Job]()
            for old in sorted(sizes, key=lambda old: (old.kind != job.kind, old.started)):
                if mine <= of_one and RESULTS.fits(megabytes, of_all, {job, *evicted}):
                    break
                if sizes[old] and not old.active:
                    evicted.add(old)
                    mine -= sizes[old]
            if mine > of_one:
                raise DPMCError(too_large(mine, of_one))
            if not RESULTS.take(job, megabytes, of_all, evicted):
                raise DPMCError(
                    f"These results would take {megabytes:,.0f} MB, and those of all visitors "
                    f"together may take {of_all:,} MB here: try again later, or choose a smaller "
                    "rank or dataset."
                )
            self._drop(evicted)
            if evicted:
                job.let_go = (
                    "To make room for these results, the oldest others of this visit were let go: "
                    "run them again to see them."
                )

    def every(self) -> set[Job]:
        """Return the current jobs and the former ones."""
        return {*self._jobs.values(), *self._former.values()}

    def _drop(self, gone: set[Job]) -> None:
        self._jobs = {kind: job for kind, job in self._jobs.items() if job not in gone}
        self._former = {kind: job for kind, job in self._former.items() if job not in gone}
