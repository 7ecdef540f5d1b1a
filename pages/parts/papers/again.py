"""One more trial of one row of a paper's table, live."""

import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.papers import stored
from dpmc_core.experiments.papers.row import Row
from pages.parts.papers.picture import label_of
from pages.parts.papers.view import outcome
from pages.parts.server import jobs
from pages.parts.ui import controls, declared, run_panel


def once_more(name: str, rows: tuple[Row, ...]) -> None:
    """Run one more trial of one row of the table called ``name``, live."""
    able = [row for row in rows if row.computable]
    result = stored(name)
    if not able or result is None:
        return
    labels = {row.id: label_of(row.setting) for row in able}
    left, middle, right = st.columns([4, 1, 1], vertical_alignment="bottom")
    with left:
        row_id = controls.choice("Row", f"p_row_{name}", labels, able[0].id)
    with middle:
        seed = declared.box("seed", "p_seed", 1)
    row = next(r for r in able if r.id == row_id)
    exact = row.exact is not None
    job = jobs.current("row")
    if job is not None and not job.active and job.specs[0][0] != name:
        job = None  # it was of another table
    with right:
        pressed = st.button(
            "Run",
            type="primary",
            icon=":material/play_arrow:",
            width="stretch",
            key="run-row",
            disabled=job is not None and job.active,
        )
    if pressed:
        try:
            job = jobs.start("row", ((name, row_id, seed),))
        except DPMCError as error:
            controls.show_error(error)
    if job is None:
        st.caption(
            "Exact rows take a moment; others as long as one run of their kind took when they "
            "were stored."
            if not exact
            else "This row is exact: no seed changes it."
        )
        return
    if job.active:
        run_panel.watch(job, "trial", lambda: False)
    elif job.state == "failed":
        controls.show_error(job.error)
    elif job.state == "cancelled":
        st.info("Cancelled.", icon=":material/stop_circle:")
    elif job.results[0] is not None:
        _, done_id, with_seed = job.specs[0]
        outcome(
            next(r for r in rows if r.id == done_id), result.row(done_id), job.results[0], with_seed
        )
