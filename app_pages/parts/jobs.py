"""Background runs.

Lives here: a job (a thread that draws results from ``experiments.steps`` and stops when told), the one bounded pool for
all visitors, and each visitor's current job. Does not live here: anything drawn; worker threads never call ``st``.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunResult, RunSpec, steps

__all__ = ["Job", "TooManyJobs", "current", "standing", "start", "start_task"]

_AT_ONCE = 2  # jobs that compute at the same time; each uses the kernel's own threads
_WAITING = 8  # jobs that may wait for a turn


class TooManyJobs(DPMCError):
    """The pool is full; the message says what to do."""


@dataclass
class Job:
    """A running or finished piece of work. The page reads it; only its own thread writes ``results`` and ``error``.

    ``results[k]`` is the latest result of the k-th spec (None before its first iteration). ``state`` is "waiting",
    "running", "done", "cancelled" or "failed"; partial results stay in every case.
    """

    specs: tuple[RunSpec, ...] = ()
    results: list[RunResult | None] = field(default_factory=list)
    state: str = "waiting"
    error: str = ""
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    progress: tuple[int, int] = (0, 0)
    _stop: threading.Event = field(default_factory=threading.Event)
    _leave: Callable[[], None] = lambda: None

    @property
    def active(self) -> bool:
        """Whether it still has work to do."""
        return self.state in ("waiting", "running")

    def cancel(self) -> None:
        """Stop at the next iteration; the page sees it at once."""
        self._stop.set()
        if self.active:
            self.state = "cancelled"
        self._leave()

    @property
    def stopped(self) -> bool:
        """Whether somebody asked it to stop."""
        return self._stop.is_set()

    def remaining(self) -> float | None:
        """Seconds left, from the pace of the iterations so far; None before the first."""
        done, total = self.progress
        if not done or not total:
            return None
        return (time.monotonic() - self.started) / done * (total - done)


def start(specs: tuple[RunSpec, ...]) -> Job:
    """Run ``specs`` one after the other in the pool; replaces (and cancels) the visitor's former run."""
    job = Job(specs=specs, results=[None] * len(specs), progress=(0, sum(s.iterations for s in specs)))
    return _submit(job, lambda: _complete(job), _pool())


def start_task(work: Callable[[Job], None]) -> Job:
    """Run any other work (a download) in the pool; ``work`` reports through ``job.progress`` and heeds ``job.stopped``."""
    job = Job()
    return _submit(job, lambda: work(job), _task_pool())


def current() -> Job | None:
    """The visitor's latest run, which may be going on; None before the first."""
    return _box().job


def standing() -> Job | None:
    """The visitor's latest run that has results to show: a run that fails at once takes nothing away."""
    box = _box()
    return box.job if box.job is not None and any(box.job.results) else box.former


def _complete(job: Job) -> None:
    for k, spec in enumerate(job.specs):
        for result in steps(spec):
            job.results[k] = result
            job.progress = (job.progress[0] + 1, job.progress[1])
            if job.stopped:
                return


def _submit(job: Job, work: Callable[[], None], pool: "_Pool") -> Job:
    box = _box()
    if not pool.admit():
        raise TooManyJobs(
            "The lab is busy: ten runs are going on or waiting. Try again in a minute; your settings are kept."
        )

    def body() -> None:
        try:
            if job.stopped:
                return
            job.state, job.started = "running", time.monotonic()
            work()
            job.state = "done"
        except DPMCError as error:
            job.error, job.state = str(error), "failed"
        except MemoryError:
            job.error, job.state = "There is not enough memory for this run; a smaller rank or dataset fits.", "failed"
        except Exception as error:  # noqa: BLE001 - one failure must never take the app down; the page shows it
            job.error, job.state = f"The run stopped unexpectedly ({type(error).__name__}: {error}).", "failed"
        finally:
            if job.stopped:
                job.state = "cancelled"
            job.seconds = time.monotonic() - job.started
            pool.leave()

    box.replace(job)
    future = pool.threads.submit(body)

    def leave() -> None:
        if future.cancel():  # it was still waiting: its place is free at once
            pool.leave()

    job._leave = leave
    return job


class _Pool:
    """A bounded number of threads and a bounded queue before them."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="dpmc-job")
        self._lock, self._inside = threading.Lock(), 0

    def admit(self) -> bool:
        with self._lock:
            if self._inside >= _AT_ONCE + _WAITING:
                return False
            self._inside += 1
            return True

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1


class _Box:
    """One visitor's current run, the former one that had results, and a task (a download) beside them."""

    def __init__(self) -> None:
        self.job: Job | None = None
        self.former: Job | None = None
        self.task: Job | None = None

    def replace(self, job: Job) -> None:
        """Make ``job`` the current run or task; the one it replaces is cancelled."""
        if not job.specs:
            if self.task is not None:
                self.task.cancel()
            self.task = job
            return
        if self.job is not None:
            self.job.cancel()
            if any(self.job.results):
                self.former = self.job
        self.job = job

    def cancel(self) -> None:
        for job in (self.job, self.task):
            if job is not None:
                job.cancel()


@st.cache_resource(show_spinner=False)
def _pool() -> _Pool:
    return _Pool()


@st.cache_resource(show_spinner=False)
def _task_pool() -> _Pool:
    """For downloads: they wait for a network, not for a processor."""
    return _Pool()


@st.cache_resource(scope="session", on_release=lambda box: box.cancel(), show_spinner=False)
def _box() -> _Box:
    return _Box()
