"""The part of a page that runs something: a button, the work going on, and the results that stand.

Lives here: which of the four states is shown (nothing yet, running, failed or cancelled, done), and the address that repeats a run. Does not
live here: jobs (``jobs``), progress (``live``), or what results look like.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpmc_core.errors import DPMCError
from pages.parts.server import jobs
from pages.parts.ui import controls, live

__all__ = ["Panel", "panel"]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One thing that a page runs. ``kind`` of job; ``wanted`` specs, empty where there is a ``problem``; ``start`` begins; ``step`` is what progress
    counts; ``so_far`` draws a running job and says whether there was anything; ``show`` draws a job's results; ``example`` what is there
    before the first; ``beside`` draws what stands beside the button. ``kept`` says that ``example`` finds results of any settings in the run store: those of
    other settings are then not shown in their place."""

    kind: str
    wanted: tuple[Any, ...]
    problem: str
    start: Callable[[], jobs.Job]
    step: str
    so_far: Callable[[jobs.Job], bool]
    show: Callable[[jobs.Job], None]
    example: Callable[[], None]
    beside: Callable[[], None] | None = None
    kept: bool = False


_LETTERS = "ABC"


def _unfinished(job: jobs.Job) -> int | None:
    """Which of up to three configurations has no result, where several were asked for."""
    if not 1 < len(job.specs) <= len(_LETTERS) or job.kind not in ("run", "recommend"):
        return None
    return next(
        (k for k, result in enumerate(job.results) if result is None or not result.finished), None
    )


def panel(of: Panel) -> None:
    """Draw it."""
    job = jobs.current(of.kind)
    left, right = st.columns([1, 2], vertical_alignment="center")
    pressed = left.button(
        "**Run**",
        icon=":material/play_arrow:",
        disabled=bool(of.problem),
        width="stretch",
        key="go",
    )
    with right:
        if of.beside is not None:
            of.beside()
    if of.problem:
        st.error(controls.said(of.problem), icon=":material/error:")
    # a link runs once per visit, whatever it asks for
    linked = (
        st.query_params.get("run") == "1"
        and "linked" not in st.session_state
        and controls.trusted()
    )
    if linked:
        st.session_state["linked"] = True
    if (pressed or linked) and of.wanted and not of.problem:
        st.session_state["linked"] = True
        st.query_params["run"] = "1"
        try:
            job = of.start()
        except DPMCError as error:
            st.error(controls.said(str(error)))
    if job is None:
        st.query_params.pop("run", None)
        of.example()
        return
    if job.active:
        running = job
        live.watch(running, of.step, lambda: of.so_far(running))
        return
    standing = jobs.standing(of.kind)
    below = (
        "What it computed is below."
        if standing is job
        else "Earlier results are below."
        if standing
        else ""
    )
    if of.kept and not job.progress[0]:
        below = ""
    if job.state == "failed" and (job.specs == of.wanted or not of.wanted):  # other settings may do
        which = _LETTERS[unfinished] + ": " if (unfinished := _unfinished(job)) is not None else ""
        st.error(f"{which}{controls.said(job.error)} {below}", icon=":material/error:")
    if job.state == "cancelled":
        done, total = job.progress
        st.info(
            f"Cancelled after {done} of {total} {of.step}s. {below}", icon=":material/stop_circle:"
        )
    if job.note:
        st.warning(
            controls.plain(f"Finished, but not kept among past runs. {job.note}"),
            icon=":material/save:",
        )
    if standing is None or (of.kept and standing.specs != of.wanted):
        of.example()
        return
    if of.wanted and standing.specs != of.wanted:
        # the address shows settings that have not been run: who gets it sees them and presses Run
        st.query_params.pop("run", None)
        st.info(
            "The settings have changed since this run; press *Run* to compute with them.",
            icon=":material/update:",
        )
    of.show(standing)
