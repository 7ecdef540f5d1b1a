"""Papers: every table and figure of the four papers, printed against recomputed."""

import streamlit as st

from dpmc_core.experiments.papers import ENTRIES, PAPERS, rows_of, stored
from dpmc_core.experiments.papers.entries import errata
from pages.parts.frame.page import control, head, tab
from pages.parts.papers import view
from pages.parts.papers import view as papers_view
from pages.parts.ui import controls
from pages.parts.ui.bullet_list import points

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
head("papers")
with control():
    paper = controls.choice("Paper", "p_paper", PAPERS, "huber")
    of_paper = {e.id: TITLES[e.id] for e in ENTRIES if e.paper == paper}
    first = next(e.id for e in ENTRIES if e.paper == paper and rows_of(e.source))
    name = controls.choice("Table or figure", f"p_entry_{paper}", of_paper, first)
entry = next(e for e in ENTRIES if e.id == name)
problems = st.container()
source = entry.source
rows = rows_of(source)
if rows:
    papers_view.table(entry, rows, stored(source))
    if stored(source) is not None and any(row.computable for row in rows):
        tab("Run a row again", "again", lambda: view.once_more(source, rows))
else:
    papers_view.without_rows(entry)
if misprints := errata(paper):
    tab("Misprints", "errata", lambda: points(misprints))
tab("All tables and figures", "all", lambda: papers_view.overview(paper))

with problems:
    controls.link_problems()
