"""The part of a page that runs something: a button, the work going on, the results that stand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpmc_core.errors import DPMCError
from pages.parts.server import jobs
from pages.parts.server.job import Job
from pages.parts.ui import controls

__all__ = ["Look", "Panel", "panel", "watch"]

_EVERY = 1.0  # seconds between two looks at a running job


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a panel is called, for visitors and in the address.

    The button has a ``label`` and a ``key``. ``flag`` is the parameter of an address that runs,
    ``used`` the key that remembers that this was done in this visit. ``changed`` is said where
    results are of other settings. ``alone``: nothing stands beside the button, and the page
    itself says what the problem is. ``strict``: an address runs once whatever it asks for, and
    not where it asks for what could not be had; else it runs as soon as its settings can be.
    """

    label: str = "Run"
    key: str = "go"
    flag: str = "run"
    used: str = "linked"
    changed: str = "The settings have changed since this run; press *Run* to compute with them."
    alone: bool = False
    strict: bool = True


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One thing that a page runs.

    ``kind`` of job; ``wanted`` specs, empty where there is a ``problem``; ``start`` begins;
    ``step`` is what progress counts; ``so_far`` draws a running job and says whether there was
    anything; ``show`` draws a job's results; ``example`` what is there before the first;
    ``beside`` draws what stands beside the button, ``going_on`` what stands above the progress.
    ``ended`` says why a job ended before its time, where the usual words do not fit. ``kept``
    says that ``example`` finds results of any settings in the run store: those of other settings
    are then not shown in their place.
    """

    kind: str
    wanted: tuple[Any, ...]
    problem: str
    start: Callable[[], jobs.Job]
    step: str
    so_far: Callable[[jobs.Job], bool]
    show: Callable[[jobs.Job], None]
    example: Callable[[], None]
    beside: Callable[[], object] | None = None
    going_on: Callable[[jobs.Job], None] | None = None
    ended: Callable[[jobs.Job], None] | None = None
    kept: bool = False
    look: Look = Look()


_LETTERS = "ABC"


def panel(of: Panel) -> None:
    """Draw a panel."""
    job = jobs.current(of.kind)
    pressed = _button(of)
    if (pressed or _linked(of)) and of.wanted and not of.problem:
        st.session_state[of.look.used] = True
        st.query_params[of.look.flag] = "1"
        try:
            job = of.start()
        except DPMCError as error:
            st.error(controls.said(str(error)))
    if job is None:
        if of.look.strict:
            st.query_params.pop(of.look.flag, None)
        of.example()
    elif job.active:
        _active(of, job)
    else:
        _over(of, job)


def _button(of: Panel) -> bool:
    """Draw the button and what is beside and below it; says whether it was pressed."""
    look = of.look
    cells = None if look.alone else st.columns([1, 2], vertical_alignment="center")
    pressed = (st.button if cells is None else cells[0].button)(
        f"**{look.label}**",
        icon=":material/play_arrow:",
        disabled=bool(of.problem),
        width="content" if look.alone else "stretch",
        key=look.key,
    )
    if cells is not None and of.beside is not None:
        with cells[1]:
            of.beside()
    if of.problem and not look.alone:
        st.error(controls.said(of.problem), icon=":material/error:")
    return pressed


def _linked(of: Panel) -> bool:
    """Say whether the address asks for a run: once per visit."""
    look = of.look
    linked = st.query_params.get(look.flag) == "1" and look.used not in st.session_state
    if look.strict:
        linked = linked and controls.trusted()
        if linked:
            st.session_state[look.used] = True
    return linked


def _active(of: Panel, job: jobs.Job) -> None:
    if of.going_on is not None:
        of.going_on(job)
    watch(job, of.step, lambda: of.so_far(job))


def _over(of: Panel, job: jobs.Job) -> None:
    """Say how the job ended, and show the results that stand."""
    standing = jobs.standing(of.kind)
    if of.ended is not None:
        of.ended(job)
    else:
        _ended(of, job, standing)
    if standing is None or (of.kept and standing.specs != of.wanted):
        of.example()
        return
    if of.wanted and standing.specs != of.wanted:
        # the address shows settings that have not been run: who gets it sees them and presses Run
        st.query_params.pop(of.look.flag, None)
        st.info(of.look.changed, icon=":material/update:")
    of.show(standing)


def _ended(of: Panel, job: jobs.Job, standing: jobs.Job | None) -> None:
    """Say that a job failed or was cancelled, or that its results could not be kept."""
    below = ""
    if standing is not None and (job.progress[0] or not of.kept):
        below = "What it computed is below." if standing is job else "Earlier results are below."
    if job.state == "failed" and (job.specs == of.wanted or not of.wanted):  # other settings may do
        which = _LETTERS[unfinished] + ": " if (unfinished := _unfinished(job)) is not None else ""
        st.error(f"{which}{controls.said(job.error)} {below}", icon=":material/error:")
    if job.state == "cancelled":
        done, total = job.progress
        st.info(
            f"Cancelled after {done} of {total} {of.step}s. {below}", icon=":material/stop_circle:"
        )
    if job.let_go:
        st.info(job.let_go, icon=":material/memory:")
    if job.note:
        st.warning(
            controls.plain(f"Finished, but not kept among past runs. {job.note}"),
            icon=":material/save:",
        )


def _unfinished(job: jobs.Job) -> int | None:
    """Find which of several configurations has no result."""
    if not 1 < len(job.specs) <= len(_LETTERS) or job.kind not in ("run", "recommend"):
        return None
    return next(
        (k for k, result in enumerate(job.results) if result is None or not result.finished), None
    )


def waiting(place: int) -> str:
    """What a job that waits says: its ``place`` in the line, 1 for the next."""
    if place <= 1:
        return "next in line: others' runs are going on…"
    return f"number {place} in line: others' runs are going on…"


def watch(job: Job, step: str, so_far: Callable[[], bool]) -> None:
    """Show ``job`` until it ends.

    ``step`` is what its progress counts; ``so_far`` draws what there is and says whether it did.
    """

    @st.fragment(run_every=_EVERY)
    def live() -> None:
        if not job.active:
            st.rerun()
        done, total = job.progress
        left = job.remaining()
        text = f"{step} {done:,} of {total:,}" + (
            f", about {max(left, 0.1):.0f} s left" if left is not None and left >= 1 else ""
        )
        bar, button = st.columns([5, 1], vertical_alignment="center")
        bar.progress(
            done / total if total else 0.0,
            text=waiting(job.place) if job.state == "waiting" else text,
        )
        if button.button(
            "Cancel", icon=":material/stop_circle:", key=f"cancel-{job.kind}", width="stretch"
        ):
            job.cancel()
            st.rerun()
        if not so_far():
            st.caption(f"Preparing the first {step}…")

    live()
