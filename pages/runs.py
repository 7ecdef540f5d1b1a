"""Runs: what was run and kept, to filter, compare side by side, export and delete."""

import streamlit as st

from dpmc_core.experiments.store.store import StoreError
from pages.parts.frame.page import head, tab
from pages.parts.runs import view
from pages.parts.runs import view as runs_view
from pages.parts.runs.view import titles
from pages.parts.server import jobs, run_store
from pages.parts.server.layers import edge
from pages.parts.ui import controls

AT_ONCE = 200

controls.on_page("runs.py", {f"r_{column}": names for column, names in titles().items()})
head("runs")


def main() -> None:
    """The page, given a store and a tab of its own."""
    if edge.in_another_site():
        runs_view.only_in_a_tab()
        return
    try:
        store = run_store.store()
        where = view.filters(store)
        total = store.count(where)
        mine = jobs.runs()
        rows = sorted(store.rows(where, limit=AT_ONCE), key=lambda row: row["key"] not in mine)
    except StoreError as error:
        runs_view.without_store(error)
        return
    note = st.session_state.pop("runs-note", "")
    if note:
        st.success(note, icon=":material/check:")
    if not total:
        runs_view.nothing_kept(filtered=bool(where))
    runs_view.picture(rows)
    named = [key for key in st.query_params.get("runs", "").split(",") if key]
    ticked = view.picked(rows, total) if rows else []
    records = view.to_compare(store, ticked, named[: view.MOST_COMPARED])
    if records:
        runs_view.compare(records)
        view.of_compared(records)
    tab("What is kept here", "about", about)
    if total:
        tab(
            f"Export {total:,} run{'s' * (total != 1)}",
            "export",
            lambda: view.take_all(store, where),
        )


def about() -> None:
    """Say which runs are kept."""
    st.markdown(
        "Every run that finishes is kept here with its settings, seed, errors, ledger and "
        "statement: runs of the *Completion*, *Factorization* and *Tradeoffs* pages and of sweeps "
        "on the command line, but none on your own data. Runs without noise, and those whose ε is "
        "not finite, are drawn at *no ε*. Do not compare heights "
        "across datasets, nor ε across units (a rating, a user, an image)."
    )


main()
controls.link_problems()
