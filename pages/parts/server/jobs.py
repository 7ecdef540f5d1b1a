"""Background runs: the pool of all visitors, and each visitor's current job of each kind.

Job threads never call ``st``; a visitor's jobs end when the visitor is gone.
"""

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import closing, suppress
from functools import partial
from typing import Any

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpmc_core.datasets import user_datasets
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.papers.compute import Trial, trial_steps
from dpmc_core.experiments.run import watched
from dpmc_core.experiments.spec import Spec
from dpmc_core.experiments.store.records import Runs
from dpmc_core.experiments.studies.engine import StudyResult, study_steps
from dpmc_core.experiments.studies.spec import StudySpec
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import sweep
from dpmc_core.experiments.sweeps.workers import Workers
from dpmc_core.experiments.tasks.audit import audit_steps
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.worker.cluster import WAITING
from dpmc_core.experiments.worker.process import too_large
from dpmc_core.experiments.worker.worker import Outcome, Outcomes, Steps, Worker
from dpmc_core.paths import reason
from dpmc_core.planning.goal import ModelPlan, Search
from dpmc_core.planning.models import search
from pages.parts.server import logs, progress, queue, run_store, settings
from pages.parts.server.job import Box, Job
from pages.parts.server.queue import Pool, TooManyJobs

__all__ = ["Job", "TooManyJobs"]

RUNS_AT_ONCE = min(2, os.cpu_count() or 1)
"""How many of many runs are made at a time."""
_LOOK = 2.0  # seconds between looks at whose tab has gone
_PATIENCE = 1.0  # seconds in which a worker that is free has begun
_LONGEST_GRACE = 120.0  # seconds: Streamlit keeps no visit longer that has lost its connection


def start(kind: str, specs: tuple[Spec, ...]) -> Job:
    """Run ``specs`` one after the other in the pool.

    Runs, studies, audits and rows of papers alike. Replaces (and cancels) the visitor's former job
    of this ``kind``.
    """
    amounts = tuple(spec.amount for spec in specs)
    most = settings.of("DPMC_RESULTS_OF_ONE_MB")
    megabytes = sum(spec.model_megabytes for spec in specs if isinstance(spec, RunSpec))
    if megabytes > most:
        raise DPMCError(too_large(megabytes, most))
    job = Job(
        kind=kind,
        specs=specs,
        results=[None] * len(specs),
        progress=(0, sum(amounts)),
        expected=tuple(map(progress.of_one, specs)),
        amounts=amounts,
    )

    counts, box = [0] * len(specs), visit_box()

    def advance(k: int, result: Any) -> tuple[int, int]:
        counts[k] = min(_amount(result), amounts[k])
        return sum(counts), sum(amounts)

    def work(worker: Worker) -> None:
        steps, together = _STEPS[type(specs[0])], isinstance(specs[0], RunSpec)  # runs advance so
        drawn = worker.draw(steps, specs, job.sets, most=most * 1_000_000, together=together)
        with closing(drawn) as results:
            _follow(job, results, worker, advance, box)

    return _submit(job, work)


_STEPS: dict[type, Steps] = {RunSpec: watched, AuditSpec: audit_steps, Trial: trial_steps}


def _amount(result: Any) -> int:
    """How much of it a result so far stands for."""
    if hasattr(result, "final"):
        return int(result.final.iteration)
    return int(getattr(result, "runs", 1))


def start_many(kind: str, spec: SweepSpec | StudySpec | ModelPlan, store: Runs) -> Job:
    """Make the runs of ``spec`` that the ``store`` has not, each in a process of its own.

    Replaces (and cancels) the visitor's former job of this ``kind``.
    """
    job, box = Job(kind=kind, specs=(spec,), results=[None], progress=(0, spec.amount)), visit_box()

    def work(_: Worker) -> None:
        workers = queue.many(RUNS_AT_ONCE, job.sets)
        results = _MANY[type(spec)](spec, store, workers=workers)

        def drawn() -> Outcomes:
            for result in results:
                job.progress = _runs_of(result)
                # a search that has looked nowhere yet is no result
                yield (0, result, False) if getattr(result, "probes", True) else None

        _follow(job, drawn(), workers, lambda _, result: _runs_of(result), box)

    return _submit(job, work)


_MANY: dict[type, Callable[..., Iterator[Any]]] = {
    SweepSpec: sweep,
    StudySpec: study_steps,
    ModelPlan: search,
}


def are_many(specs: Sequence[Spec]) -> bool:
    """Whether each of ``specs`` stands for many runs (``start_many``)."""
    return bool(specs) and type(specs[0]) in _MANY


def at_once(specs: Sequence[Spec]) -> int:
    """How many runs of ``specs`` are made at a time."""
    return RUNS_AT_ONCE if are_many(specs) else 1


def _runs_of(result: Any) -> tuple[int, int]:
    """How many runs of many a result so far stands for, and of how many."""
    if isinstance(result, StudyResult):
        return len(result.runs), result.total
    if isinstance(result, Search):
        return result.spent, result.plan.total_runs
    return result.done, result.total  # of a sweep: equal cells are run once


def start_task(work: Callable[[Job], None]) -> Job:
    """Run any other work (a download) in a pool of its own.

    ``work`` reports through ``job.progress`` and heeds ``job.stopped``.
    """
    job = Job()
    return _submit(job, lambda _: work(job), queue.task_pool())


def current(kind: str = "run") -> Job | None:
    """Find the visitor's latest job of this kind; None before the first."""
    return visit_box().current(kind)


def standing(kind: str = "run") -> Job | None:
    """Find the visitor's latest job of this kind that is over and has results to show.

    One that goes on, or fails at once, takes nothing away.
    """
    return visit_box().standing(kind)


def session() -> str:
    """Whose page runs; "" where it is nobody's."""
    context = get_script_run_ctx(suppress_warning=True)
    return "" if context is None else context.session_id


def place_of(job: Job) -> str:
    """Where a job that goes on has computed so far, unless this server is its usual place; that it
    waits for a place is said by its progress.
    """
    if job.where:
        return "" if job.where == WAITING else job.where
    elsewhere = job.specs and job.state == "running" and job.progress[0] and settings.scheduler()
    return "Computed on a worker of the cluster." if elsewhere else ""


_ahead: dict[tuple[RunSpec, ...], Future[list[Any]]] = {}
_AHEAD = "ahead-"  # who waits for a worker under such a name has nobody waiting for results


def example(specs: tuple[RunSpec, ...]) -> Future[list[Any]]:
    """Return finished results of a few small ``specs``, as soon as they are there: those that are
    made ahead, or else made by a worker process; in a thread where every process is busy, or is of
    a cluster and there for one job. Cancelled ones were left for somebody's run: ask again. Failed
    ones are made again: what stopped them may be over.
    """
    results = _ahead.get(specs)
    if results is not None and not results.cancelled():
        failed = results.done() and results.exception() is not None
        if not failed:
            return results
    results = _ahead[specs] = Future()
    ticket, make = None, partial(_make, examples={specs: results})
    if not settings.scheduler():
        with suppress(TooManyJobs):
            ticket = queue.job_pool().submit(f"example-{id(results)}", make)

    def make_here() -> None:
        if ticket is None or ticket.leave():
            make(None)

    timer = threading.Timer(_PATIENCE if ticket else 0.0, make_here)
    timer.daemon = True
    timer.start()
    return results


def make_ahead(examples: Sequence[tuple[RunSpec, ...]]) -> None:
    """Have each worker process make the runs of all ``examples``.

    What it loads, compiles and draws for them, a visit's first runs need not wait for. A process
    stops as soon as a visitor waits for one. Where processes are of a cluster, each of them is
    there for one job: the runs are made here.
    """
    wanted = [(specs, _ahead.setdefault(specs, Future())) for specs in examples]
    if settings.scheduler():
        _make(None, dict(wanted))
        return
    pool = queue.job_pool()

    def somebody_waits() -> bool:
        return any(not session.startswith(_AHEAD) for session in tuple(pool.waiting))

    for k in range(len(pool.workers)):
        first = k % len(wanted)
        order = dict((*wanted[first:], *wanted[:first]))
        with suppress(TooManyJobs):
            pool.submit(f"{_AHEAD}{k}", partial(_make, examples=order, stopped=somebody_waits))


def _make(
    worker: Worker | None,
    examples: Mapping[tuple[RunSpec, ...], Future[list[Any]]],
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Have ``worker``, or this thread, make the runs of ``examples``, one example after the other,
    until ``stopped``; those who wait for one that is not made then are told.
    """
    for specs, of_these in examples.items():
        results: list[Any] = [None] * len(specs)
        try:
            with closing(worker.draw(watched, specs) if worker else _drawn_here(specs)) as drawn:
                for item in drawn:
                    if stopped():
                        break
                    if item is not None and item[1] is not None:
                        results[item[0]] = item[1]
                else:
                    with suppress(InvalidStateError):  # another worker was quicker
                        of_these.set_result(results)
        except (DPMCError, MemoryError) as error:
            with suppress(InvalidStateError):
                of_these.set_exception(error)
        if stopped():
            break
    for of_these in examples.values():
        of_these.cancel()


def _drawn_here(specs: tuple[RunSpec, ...]) -> Outcomes:
    for k, spec in enumerate(specs):
        for result in watched(spec):
            yield k, result, False


def _follow(
    job: Job,
    results: Iterable[Outcome | None],
    worker: Worker | Workers,
    progress_of: Callable[[int, Any], tuple[int, int]],
    box: Box,
) -> None:
    """Take the ``results`` of a ``worker`` as they come; the visit's ``box`` makes room for what it
    holds, and is told of the runs that were kept.
    """
    for item in results:
        if job.stopped:  # what came after *Cancel* is not shown: the page has said how far it got
            return
        job.where = worker.note
        if item is None:
            if job.where == WAITING:  # for a worker: that is no computing
                job.started = time.monotonic()
            continue
        k, result, last = item
        if result is not None:
            box.make_room(job, getattr(worker, "held", 0) / 1e6)  # of many runs none is held
            job.results[k] = result
            job.progress = progress_of(k, result)
        if last and isinstance(job.specs[k], RunSpec):
            # at once: the next one may fail, or be cancelled
            progress.learn(job.specs[k], job.results[k].seconds)
            if not user_datasets.is_own(job.specs[k].dataset):
                job.note = run_store.keep(job.results[k], box.runs) or job.note


def _submit(job: Job, work: Callable[[Worker], None], pool: Pool | None = None) -> Job:
    box = visit_box()
    job.session = session()
    own = frozenset[str]().union(*(spec.own_data for spec in job.specs))
    job.sets = tuple(one for name, one in user_datasets.current().items() if name in own)
    submitted = time.monotonic()

    def body(worker: Worker) -> None:
        state = "failed"
        try:
            if job.stopped:
                return
            job.state, job.started = "running", time.monotonic()
            if job._stop.is_set():  # cancelled between the two lines above
                return
            with user_datasets.using(*job.sets):
                work(worker)
            state = "done"
        except DPMCError as error:
            job.error = run_store.public_message(error)
        except MemoryError:
            job.error = "There is not enough memory for this run; a smaller rank or dataset fits."
        except Exception as error:  # noqa: BLE001
            # one failure must never take the app down; the page shows it
            job.error = f"The run stopped unexpectedly ({type(error).__name__}: {reason(error)})."
        finally:
            job.no_longer_waits()
            job.state = "cancelled" if job.stopped else state
            job.seconds = time.monotonic() - job.started
            logs.note(
                "job",
                job.session,
                kind=job.kind,
                state=job.state,
                waited=round(job.started - submitted, 3),
                seconds=round(job.seconds, 3),
                done=job.progress[0],
                of=job.progress[1],
            )

    # in line first: where there is no place, the visitor's former job stands
    job._ticket = (pool or queue.job_pool()).submit(job.session, body)
    box.replace(job)
    return job


# by session, and in no cache of Streamlit's: any visitor can have those cleared
_boxes: dict[str, Box] = {}


def visit_box() -> Box:
    """Return the visitor's jobs, which are let go when the visitor has been gone for a while."""
    return _boxes.setdefault(session(), Box())


def runs() -> frozenset[str]:
    """Keys of the visit's own runs in the store."""
    return frozenset(visit_box().runs)


def of_visit() -> list[Job]:
    """Return the visit's jobs, the latest first."""
    return sorted(visit_box().every(), key=lambda job: job.started, reverse=True)


def take_over(token: str) -> Mapping[str, Any] | None:
    """Go on with the jobs of the visit that is known by ``token`` and has lost its tab; return what
    else it had, None where there is no such visit.
    """
    for name, box in list(_boxes.items()):
        same = token and secrets.compare_digest(box.token.encode(), token.encode())
        # nobody else had it first
        if same and not _has_tab(name) and _boxes.pop(name, None) is box:
            _boxes[session()] = box
            return box.belongings
    return None


def _has_tab(name: str) -> bool:
    """Whether the session called ``name`` has a tab."""
    return runtime.exists() and runtime.get_instance().is_active_session(name)


def look_after() -> None:
    """Let go of the jobs of visitors who have gone: they need no result, and others wait."""
    gone: dict[str, float] = {}
    while True:
        time.sleep(_LOOK)
        with suppress(RuntimeError):  # the server is stopping
            here = runtime.get_instance().is_active_session
            now = time.monotonic()
            gone = {name: gone.get(name, now) for name in tuple(_boxes) if not here(name)}
            grace = min(settings.of("DPMC_GRACE_SECONDS"), _LONGEST_GRACE)
            for name, since in gone.items():
                if now - since >= grace:
                    _let_go(name)


def _let_go(name: str) -> None:
    """Apart: a variable of a loop would hold the last job, with all its data and results."""
    box = _boxes.pop(name, None)
    for job in box.active() if box is not None else ():  # else another tab has it now
        job.cancel()
        logs.note("left", name, kind=job.kind)
