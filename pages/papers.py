"""Papers: every table and figure of the four papers, what is printed, what we get, and what that
means; any row can be run again live.
"""

import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.papers import ENTRIES, PAPERS, rows_of, stored
from dpmc_core.experiments.papers.row import Row
from pages.parts.papers import picture
from pages.parts.papers import view as papers_view
from pages.parts.server import jobs
from pages.parts.ui import controls, declared, glossary, run_panel

TITLES = {e.id: f"{e.place}: {e.title}" for e in ENTRIES}

controls.on_page(
    "papers.py",
    {
        "p_paper": PAPERS,
        **{
            f"p_entry_{paper}": {e.id: TITLES[e.id] for e in ENTRIES if e.paper == paper}
            for paper in PAPERS
        },
    },
)
with st.sidebar:
    st.subheader("Paper")
    paper = controls.choice("Paper", "p_paper", PAPERS, "huber")
    st.subheader("Table or figure")
    of_paper = {e.id: TITLES[e.id] for e in ENTRIES if e.paper == paper}
    first = next((e.id for e in ENTRIES if e.paper == paper and e.computed), next(iter(of_paper)))
    name = controls.choice("Table or figure", f"p_entry_{paper}", of_paper, first)
entry = next(e for e in ENTRIES if e.id == name)

glossary.title("Do the papers' numbers come back?", "papers")
st.markdown(
    "Four papers stand behind this app. Here is every table and figure they have, what is "
    "printed, what came out when we ran it several times, and what we found. **Reproduced**, "
    "**same trend** and **differs** follow one rule for all rows, said below each table."
)
problems = st.container()
papers_view.overview(paper)
st.subheader(f"{entry.place}: {entry.title}", anchor=False)
papers_view.about(entry)


def again(rows: tuple[Row, ...]) -> None:
    """One more trial of one row, live."""
    able = [row for row in rows if row.computable]
    result = stored(name)
    if not able or result is None:
        return
    st.subheader("Run one row again", anchor=False)
    labels = {row.id: picture.label_of(row) for row in able}
    left, middle, right = st.columns([4, 1, 1], vertical_alignment="bottom")
    with left:
        row_id = controls.choice("Row", f"p_row_{name}", labels, able[0].id)
    with middle:
        seed = declared.box("seed", "p_seed", 1)
    row = next(r for r in able if r.id == row_id)
    exact = row.exact is not None
    job = jobs.current("row")
    with right:
        pressed = st.button(
            "Run it",
            icon=":material/play_arrow:",
            width="stretch",
            key="run-row",
            disabled=job is not None and job.active,
        )
    if pressed:
        try:
            job = jobs.start("row", ((name, row_id, seed),))
        except DPMCError as error:
            st.error(controls.plain(str(error)))
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
        st.error(controls.plain(job.error), icon=":material/error:")
    elif job.state == "cancelled":
        st.info("Cancelled.", icon=":material/stop_circle:")
    elif job.results[0] is not None and job.specs[0][0] == name:
        _, done_id, with_seed = job.specs[0]
        papers_view.outcome(
            next(r for r in rows if r.id == done_id), result.row(done_id), job.results[0], with_seed
        )


rows = rows_of(name)
if rows:
    papers_view.table(entry, rows, stored(name))
    again(rows)
else:
    papers_view.without_rows(entry)

with problems:
    controls.link_problems()
