"""Papers: every table and figure of the four papers, printed against recomputed."""

from functools import partial

import streamlit as st

from dpmc_core.experiments.papers import ENTRIES, PAPERS, rows_of, stored
from dpmc_core.experiments.papers.entries import errata
from pages.parts.frame.page import control, head, tab
from pages.parts.papers import view
from pages.parts.ui import controls
from pages.parts.ui.on_screen import points

ENTRY = {e.id: e for e in ENTRIES}
PLACES = {
    paper: {e.id: f"{e.place}: {e.title}" for e in ENTRIES if e.paper == paper} for paper in PAPERS
}

head(
    "papers",
    {"p_paper": PAPERS, **{f"p_entry_{paper}": titles for paper, titles in PLACES.items()}},
)
if "p_differs" in st.session_state:  # stays as it is while its tab is closed
    st.session_state["p_differs"] = st.session_state["p_differs"]
with control():
    paper = controls.choice("Paper", "p_paper", PAPERS, "huber")
    of_paper = PLACES[paper]
    printed = {n: view.compared(ENTRY[n].source) for n in of_paper}
    # what takes runs, if any does; sizes and sums of ε are convincing, and no reason to come
    first = max(
        printed, key=lambda n: (sum(r.spec is not None for r in printed[n]), len(printed[n]))
    )
    name = controls.choice("Table or figure", f"p_entry_{paper}", of_paper, first)
entry = ENTRY[name]
source = entry.source
rows = rows_of(source)
if rows:
    result = stored(source)
    view.table(entry, rows, result)
    able = [row for row in rows if row.computable]
    if result is not None and able:
        tab("Run a row again", "again", partial(view.once_more, source, able, result))
else:
    view.without_rows(entry)
if misprints := errata(paper):
    tab("Misprints", "errata", lambda: points(misprints))
tab("All tables and figures", "all", view.overview)
