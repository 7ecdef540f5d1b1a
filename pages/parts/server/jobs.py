"""Background runs.

Lives here: a job (a thread that draws results from a worker process and stops when told), the pool of all visitors, and each visitor's current job of each kind (a completion
run, an audit, a download), which ends when the visitor is gone. Does not live here: whose turn it is (``pool``), the processes (``dpmc_core.experiments.worker.worker``), or anything
drawn; job threads never call ``st``.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpmc_core.datasets import user_datasets as shelf
from dpmc_core.datasets.own import OwnSet
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.factor_registry import FACTORIZERS
from dpmc_core.experiments.factor_spec import FactorSpec
from dpmc_core.experiments.registry import ALGORITHMS
from dpmc_core.experiments.studies.completion import StudySpec, cells
from dpmc_core.experiments.studies.factorization import FactorStudySpec, factor_runs
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import Made, Runs, sweep
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.tasks.factorize import FactorResult
from dpmc_core.experiments.worker.worker import Share, Worker
from pages.parts.server import logs, settings
from pages.parts.server import run_store as keeping
from pages.parts.server.queue import Pool, Ticket, TooManyJobs

__all__ = [
    "Job",
    "TooManyJobs",
    "current",
    "forget_own",
    "session",
    "standing",
    "start",
    "start_audit",
    "start_factor_study",
    "start_factors",
    "start_row",
    "start_study",
    "start_sweep",
    "start_task",
    "workers_start",
]

_LEAST = 500  # megabytes that a process needs for itself
_LOOK = 2.0  # seconds between looks at whose tab has gone


@dataclass(eq=False)
class Job:
    """A running or finished piece of work. The page reads it; only its own thread writes ``results`` and ``error``.

    ``kind`` is "run", "recommend", "lists", "study-" and its kind, "factors", "factor-study-" and its kind, "audit", "sweep", "row" or "task"; a visitor has at most one of each. ``results[k]`` is the latest result of the k-th spec (None before its first iteration). ``state`` is "waiting",
    "running", "done", "cancelled" or "failed"; partial results stay in every case. ``note`` says why a finished run could not be kept in the store, if so.
    ``session`` is the visitor's, ``sets`` the own data that it may read.
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


def start(specs: tuple[RunSpec, ...], kind: str = "run") -> Job:
    """Run ``specs`` one after the other in the pool; replaces (and cancels) the visitor's former job of this ``kind``."""
    job = Job(
        kind=kind,
        specs=specs,
        results=[None] * len(specs),
        progress=(0, sum(ALGORITHMS[s.algorithm].length(s) for s in specs)),
    )
    lengths = [ALGORITHMS[s.algorithm].length(s) for s in specs]

    def made(k: int, result: Any) -> int:
        return sum(lengths[:k]) + min(result.final.iteration, lengths[k])

    return _submit(job, _drawn(job, "any", made, kept=True), _pool())


def start_study(spec: StudySpec) -> Job:
    """Make the runs of a study in the same pool; replaces (and cancels) the visitor's former one of that kind."""
    job = Job(
        kind=f"study-{spec.kind}",
        specs=(spec,),
        results=[None],
        progress=(0, len(cells(spec)) * spec.seeds),
    )
    return _submit(job, _drawn(job, "study", lambda _, result: result.runs), _pool())


def start_factors(specs: tuple[FactorSpec, ...]) -> Job:
    """Run factorisations one after the other; replaces (and cancels) the visitor's former job of this kind."""
    lengths = [FACTORIZERS[s.algorithm].length(s) for s in specs]
    job = Job(kind="factors", specs=specs, results=[None] * len(specs), progress=(0, sum(lengths)))

    def made(k: int, result: FactorResult) -> int:
        return sum(lengths[:k]) + min(result.final.iteration, lengths[k])

    return _submit(job, _drawn(job, "factors", made, kept=True), _pool())


def start_factor_study(spec: FactorStudySpec) -> Job:
    """Make the runs of a study of factorisations; replaces (and cancels) the visitor's former one of that kind."""
    job = Job(
        kind=f"factor-study-{spec.kind}",
        specs=(spec,),
        results=[None],
        progress=(0, factor_runs(spec)),
    )
    return _submit(job, _drawn(job, "factor-study", lambda _, result: result.runs), _pool())


def start_audit(spec: AuditSpec) -> Job:
    """Audit ``spec`` in the same pool; replaces (and cancels) the visitor's former audit."""
    job = Job(kind="audit", specs=(spec,), results=[None], progress=(0, spec.runs))
    return _submit(job, _drawn(job, "audit", lambda _, result: result.runs), _pool())


def start_sweep(spec: SweepSpec, at_once: int, store: Callable[[], Runs]) -> Job:
    """Make the runs of a sweep that the ``store`` has not, ``at_once`` in processes of their own; replaces (and cancels) the visitor's former one."""
    job = Job(kind="sweep", specs=(spec,), results=[None], progress=(0, spec.size))

    def results(_: Worker) -> Iterator[tuple[int, Made, bool]]:
        for made in sweep(spec, store(), jobs=at_once, sets=job.sets, share=_share(at_once)):
            job.progress = (made.done, made.total)  # equal cells are run once
            yield 0, made, False

    return _submit(
        job, lambda worker: _follow(job, results(worker), lambda _, result: result.done), _pool()
    )


def start_row(entry: str, row: str, seed: int) -> Job:
    """Compute one more trial of a paper's row; replaces (and cancels) the visitor's former one."""
    job = Job(kind="row", specs=((entry, row, seed),), results=[None], progress=(0, 1))
    return _submit(job, _drawn(job, "row", lambda *_: 1), _pool())


def start_task(work: Callable[[Job], None]) -> Job:
    """Run any other work (a download) in a pool of its own; ``work`` reports through ``job.progress`` and heeds ``job.stopped``."""
    job = Job()
    return _submit(job, lambda _: work(job), _task_pool())


def current(kind: str = "run") -> Job | None:
    """The visitor's latest job of this kind, which may be going on; None before the first."""
    return _box().jobs.get(kind)


def standing(kind: str = "run") -> Job | None:
    """The visitor's latest job of this kind that has results to show: one that fails at once takes nothing away."""
    box = _box()
    job = box.jobs.get(kind)
    if job is not None and any(job.results):
        box.former.pop(
            kind, None
        )  # results hold models and splits: the former ones are not needed any more
        return job
    return box.former.get(kind)


def session() -> str:
    """Whose page runs; "" where it is nobody's."""
    context = get_script_run_ctx(suppress_warning=True)
    return "" if context is None else context.session_id


def forget_own(name: str) -> None:
    """Drop the visitor's jobs on their own set called ``name``, results included: it is gone."""
    _box().forget(name)


def workers_start() -> None:
    """Start the processes that compute before anybody needs them."""
    _pool().start_workers()


def _drawn(
    job: Job, steps: str, done: Callable[[int, Any], int], *, kept: bool = False
) -> Callable[[Worker], None]:
    """The work of a job whose results a worker draws."""

    def work(worker: Worker) -> None:
        results = worker.draw(steps, job.specs, job.sets)
        try:
            _follow(job, results, done, kept=kept)
        finally:
            results.close()  # type: ignore[attr-defined]

    return work


def _follow(
    job: Job,
    results: Iterable[tuple[int, Any, bool] | None],
    done: Callable[[int, Any], int],
    *,
    kept: bool = False,
) -> None:
    for found in results:
        if job.stopped:  # what came after *Cancel* is not shown: the page has said how far it got
            return
        if found is None:
            continue
        k, result, last = found
        if result is not None:
            job.results[k] = result
            job.progress = (done(k, result), job.progress[1])
        if kept and last:  # at once: the next one may fail, or be cancelled
            _keep(job, k)


def _keep(job: Job, k: int) -> None:
    """Put a finished run into the store; runs on somebody's own data are nobody else's business."""
    if job.results[k] is not None and not shelf.is_own(job.specs[k].dataset):
        job.note = keeping.keep(job.results[k]) or job.note


def _submit(job: Job, work: Callable[[Worker], None], pool: Pool) -> Job:
    box = _box()
    job.session = session()
    # names of own sets occur nowhere else: the job gets those that its specs name
    job.sets = tuple(one for name, one in shelf.current().items() if name in repr(job.specs))
    asked = time.monotonic()

    def body(worker: Worker) -> None:
        try:
            if job.stopped:
                return
            job.state, job.started = "running", time.monotonic()
            if job.stopped:  # cancelled between the two lines above
                return
            with shelf.using(*job.sets):
                work(worker)
            job.state = "done"
        except DPMCError as error:
            job.error, job.state = str(error), "failed"
        except MemoryError:
            job.error, job.state = (
                "There is not enough memory for this run; a smaller rank or dataset fits.",
                "failed",
            )
        except Exception as error:  # noqa: BLE001 - one failure must never take the app down; the page shows it
            job.error, job.state = (
                f"The run stopped unexpectedly ({type(error).__name__}: {error}).",
                "failed",
            )
        finally:
            if job.stopped:
                job.state = "cancelled"
            job.seconds = time.monotonic() - job.started
            logs.note(
                "job",
                job.session,
                kind=job.kind,
                state=job.state,
                waited=round(job.started - asked, 3),
                seconds=round(job.seconds, 3),
                done=job.progress[0],
                of=job.progress[1],
            )

    # in line first: where there is no place, the visitor's former job stands
    job._ticket = pool.submit(job.session, body)
    box.replace(job)
    _watch(job)
    return job


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

    def forget(self, name: str) -> None:
        for kept in (self.jobs, self.former):
            for kind, job in list(kept.items()):
                if any(one.name == name for one in job.sets):
                    job.cancel()
                    del kept[kind]

    def cancel(self) -> None:
        for job in self.jobs.values():
            job.cancel()


_watched: set[Job] = set()
_watching = threading.Lock()


def _watch(job: Job) -> None:
    """Cancel ``job`` when its visitor has been gone for a while: a closed tab needs no result, and others wait."""
    if not runtime.exists():  # a script without a server has no tabs
        return
    with _watching:
        first = not _watched
        _watched.add(job)
    if first:
        threading.Thread(target=_look_after_jobs, name="dpmc-watch", daemon=True).start()


def _look_after_jobs() -> None:
    gone: dict[Job, float] = {}
    while True:
        time.sleep(_LOOK)
        with _watching:
            _watched.difference_update([job for job in _watched if not job.active])
            gone = {job: since for job, since in gone.items() if job in _watched}
            if not _watched:
                return
            jobs = tuple(_watched)
        with suppress(RuntimeError):  # the server is stopping
            for job in jobs:
                if runtime.get_instance().is_active_session(job.session):
                    gone.pop(job, None)
                elif time.monotonic() - gone.setdefault(job, time.monotonic()) >= settings.of(
                    "DPMC_GRACE_SECONDS"
                ):
                    job.cancel()
                    logs.note("left", job.session, kind=job.kind)


@lru_cache(maxsize=1)
def _pool() -> Pool:
    return Pool(
        settings.of("DPMC_JOBS"),
        settings.of("DPMC_QUEUE"),
        settings.of("DPMC_QUEUE_OF_ONE"),
        _share(),
    )


def _share(processes: int = 1) -> Share:
    """What each of the ``processes`` of a job may take: pages come first, and together they hold what one job may."""
    return Share(
        max(settings.of("DPMC_JOB_MEMORY_MB") // processes, _LEAST), settings.of("DPMC_JOB_NICE")
    )


@lru_cache(maxsize=1)
def _task_pool() -> Pool:
    """For downloads: they wait for a network, not for a processor."""
    return Pool(2, settings.of("DPMC_QUEUE"), settings.of("DPMC_QUEUE_OF_ONE"))


@st.cache_resource(scope="session", on_release=lambda box: box.cancel(), show_spinner=False)
def _box() -> _Box:
    return _Box()
