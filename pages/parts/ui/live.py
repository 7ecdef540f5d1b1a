"""A running job on a page.

Lives here: progress with time left, Cancel, and the picture so far, refreshed about once a second
until the job ends. Does not live here: the job (``jobs``) or what is drawn.
"""

from collections.abc import Callable

import streamlit as st

from pages.parts.server.job import Job

__all__ = ["watch"]

_EVERY = 1.0  # seconds


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
