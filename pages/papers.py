"""Papers: every table and figure of the four papers, printed against recomputed."""

import streamlit as st

from dpmc_core.experiments.papers import ENTRIES, PAPERS, rows_of, stored
from dpmc_core.experiments.papers.entries import errata
from pages.parts.frame.page import control, head, tab
from pages.parts.papers import view
from pages.parts.ui import controls
from pages.parts.ui.on_screen import points

TITLES = {e.id: f"{e.place}: {e.title}" for e in ENTRIES}
SOURCES = {e.id: e.source for e in ENTRIES}

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
if "p_differs" in st.session_state:  # stays as it is while its tab is closed
    st.session_state["p_differs"] = st.session_state["p_differs"]
head("papers")
with control():
    paper = controls.choice("Paper", "p_paper", PAPERS, "huber")
    of_paper = {e.id: TITLES[e.id] for e in ENTRIES if e.paper == paper}
    printed = {n: view.compared(SOURCES[n]) for n in of_paper}
    # what takes runs, if any does; sizes and sums of ε are convincing, and no reason to come
    first = max(
        printed, key=lambda n: (sum(r.spec is not None for r in printed[n]), len(printed[n]))
    )
    name = controls.choice("Table or figure", f"p_entry_{paper}", of_paper, first)
entry = next(e for e in ENTRIES if e.id == name)
problems = st.container()
source = entry.source
rows = rows_of(source)
if rows:
    view.table(entry, rows, stored(source))
    if stored(source) is not None and any(row.computable for row in rows):
        tab("Run a row again", "again", lambda: view.once_more(source, rows))
else:
    view.without_rows(entry)
if misprints := errata(paper):
    tab("Misprints", "errata", lambda: points(misprints))
tab("All tables and figures", "all", view.overview)

with problems:
    controls.link_problems()
