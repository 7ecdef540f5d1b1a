"""Background runs.

Lives here: a job (a thread that draws results from a generator of steps and stops when told), the one bounded pool for
all visitors, and each visitor's current job of each kind (a completion run, an audit, a download). Does not live here: anything
drawn; worker threads never call ``st``.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from app_pages.parts import keeping
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec, any_steps
from dpmc_core.experiments.audit_spec import AuditSpec
from dpmc_core.experiments.audits import audit_steps
from dpmc_core.experiments.factor_registry import FACTORIZERS
from dpmc_core.experiments.factor_run import FactorResult, factor_steps
from dpmc_core.experiments.factor_spec import FactorSpec
from dpmc_core.experiments.factor_studies import FactorStudySpec, factor_runs
from dpmc_core.experiments.factor_study_run import factor_study_steps
from dpmc_core.experiments.registry import ALGORITHMS
from dpmc_core.experiments.studies import StudySpec, cells, study_steps
from dpmc_core.experiments.sweep import Made, sweep
from dpmc_core.experiments.sweep_spec import SweepSpec

__all__ = [
    "Job",
    "TooManyJobs",
    "current",
    "standing",
    "start",
    "start_audit",
    "start_factor_study",
    "start_factors",
    "start_row",
    "start_study",
    "start_sweep",
    "start_task",
]

_AT_ONCE = 2  # jobs that compute at the same time; each uses the kernel's own threads
_WAITING = 8  # jobs that may wait for a turn


class TooManyJobs(DPMCError):
    """The pool is full; the message says what to do."""


@dataclass
class Job:
    """A running or finished piece of work. The page reads it; only its own thread writes ``results`` and ``error``.

    ``kind`` is "run", "recommend", "lists", "study-" and its kind, "factors", "factor-study-" and its kind, "audit", "sweep", "row" or "task"; a visitor has at most one of each. ``results[k]`` is the latest result of the k-th spec (None before its first iteration). ``state`` is "waiting",
    "running", "done", "cancelled" or "failed"; partial results stay in every case. ``note`` says why a finished run could not be kept in the store, if so.
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
        known = getattr(self.results[-1], "remaining", None) if self.results else None
        if isinstance(known, float):  # it knows what was there before it began
            return known
        if not done or not total:
            return None
        return (time.monotonic() - self.started) / done * (total - done)


def start(specs: tuple[RunSpec, ...], kind: str = "run") -> Job:
    """Run ``specs`` one after the other in the pool; replaces (and cancels) the visitor's former job of this ``kind``."""
    job = Job(
        kind=kind,
        specs=specs,
        results=[None] * len(specs),
        progress=(0, sum(ALGORITHMS[s.algorithm].length(s) for s in specs)),
    )
    return _submit(job, lambda: _follow(job, any_steps, lambda result: job.progress[0] + 1, kept=True), _pool())


def start_study(spec: StudySpec) -> Job:
    """Make the runs of a study in the same pool; replaces (and cancels) the visitor's former one of that kind."""
    job = Job(kind=f"study-{spec.kind}", specs=(spec,), results=[None], progress=(0, len(cells(spec)) * spec.seeds))
    return _submit(job, lambda: _follow(job, study_steps, lambda result: result.runs), _pool())


def start_factors(specs: tuple[FactorSpec, ...]) -> Job:
    """Run factorisations one after the other; replaces (and cancels) the visitor's former job of this kind."""
    lengths = [FACTORIZERS[s.algorithm].length(s) for s in specs]
    job = Job(kind="factors", specs=specs, results=[None] * len(specs), progress=(0, sum(lengths)))

    def made(result: FactorResult) -> int:
        done = min(result.final.iteration, lengths[specs.index(result.spec)])
        return sum(lengths[: specs.index(result.spec)]) + done

    return _submit(job, lambda: _follow(job, factor_steps, made, kept=True), _pool())


def start_factor_study(spec: FactorStudySpec) -> Job:
    """Make the runs of a study of factorisations; replaces (and cancels) the visitor's former one of that kind."""
    job = Job(kind=f"factor-study-{spec.kind}", specs=(spec,), results=[None], progress=(0, factor_runs(spec)))
    return _submit(job, lambda: _follow(job, factor_study_steps, lambda result: result.runs), _pool())


def start_audit(spec: AuditSpec) -> Job:
    """Audit ``spec`` in the same pool; replaces (and cancels) the visitor's former audit."""
    job = Job(kind="audit", specs=(spec,), results=[None], progress=(0, spec.runs))
    return _submit(job, lambda: _follow(job, audit_steps, lambda result: result.runs), _pool())


def start_sweep(spec: SweepSpec, at_once: int) -> Job:
    """Make the runs of a sweep that the store has not, ``at_once`` in processes of their own; replaces (and cancels) the visitor's former one."""
    job = Job(kind="sweep", specs=(spec,), results=[None], progress=(0, spec.size))

    def made(result: Made) -> int:
        job.progress = (result.done, result.total)  # equal cells are run once
        return result.done

    return _submit(job, lambda: _follow(job, lambda s: sweep(s, keeping.store(), jobs=at_once), made), _pool())


def start_row(entry: str, row: str, seed: int, trial: Callable[[], float]) -> Job:
    """Compute one more ``trial`` of a paper's row; replaces (and cancels) the visitor's former one. It cannot be stopped half-way: cancelled, its result is not shown."""
    job = Job(kind="row", specs=((entry, row, seed),), results=[None], progress=(0, 1))

    def once(_: Any) -> Iterator[float]:
        yield trial()

    return _submit(job, lambda: _follow(job, once, lambda _: 1), _pool())


def start_task(work: Callable[[Job], None]) -> Job:
    """Run any other work (a download) in a pool of its own; ``work`` reports through ``job.progress`` and heeds ``job.stopped``."""
    job = Job()
    return _submit(job, lambda: work(job), _task_pool())


def current(kind: str = "run") -> Job | None:
    """The visitor's latest job of this kind, which may be going on; None before the first."""
    return _box().jobs.get(kind)


def standing(kind: str = "run") -> Job | None:
    """The visitor's latest job of this kind that has results to show: one that fails at once takes nothing away."""
    box = _box()
    job = box.jobs.get(kind)
    if job is not None and any(job.results):
        box.former.pop(kind, None)  # results hold models and splits: the former ones are not needed any more
        return job
    return box.former.get(kind)


def _follow(job: Job, run: Callable[[Any], Iterator[Any]], done: Callable[[Any], int], *, kept: bool = False) -> None:
    for k, spec in enumerate(job.specs):
        result = None
        for result in run(spec):
            if job.stopped:  # what came after *Cancel* is not shown: the page has said how far it got
                return
            job.results[k] = result
            job.progress = (done(result), job.progress[1])
        if kept and result is not None:
            job.note = keeping.keep(result) or job.note


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
            if job.stopped:  # cancelled between the two lines above
                return
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
    """One visitor's current job of each kind, and the former ones that had results."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.former: dict[str, Job] = {}

    def replace(self, job: Job) -> None:
        """Make ``job`` the current one of its kind; the one it replaces is cancelled."""
        old = self.jobs.get(job.kind)
        if old is not None:
            old.cancel()
            if any(old.results):
                self.former[job.kind] = old
        self.jobs[job.kind] = job

    def cancel(self) -> None:
        for job in self.jobs.values():
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
