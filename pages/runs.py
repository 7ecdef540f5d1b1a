"""Runs: what was run and kept, to filter, compare side by side, export and delete."""

import streamlit as st

from dpmc_core.experiments.store.store import StoreError
from pages.parts.frame.page import head, tab
from pages.parts.runs import session, view
from pages.parts.server import run_store, user_data
from pages.parts.server.layers import edge
from pages.parts.ui import controls

AT_ONCE = 200

head("runs", {f"r_{column}": names for column, names in view.titles().items()})


def main() -> None:
    """The page, given a store and a tab of its own."""
    if edge.in_another_site():
        view.only_in_a_tab()
        return
    try:
        store = run_store.store()
        opened, problem = session.opened()
        where = view.filters(store)
        brought, of_file = session.rows(opened, where)
        total = store.count(where) + len(of_file)
        there = {row["key"] for row in brought}
        mine = session.mine() | dict.fromkeys(there, "yes")
        stored = store.rows(where, limit=AT_ONCE)
        rows = brought + [row for row in stored if row["key"] not in there]
        rows = sorted(rows, key=lambda row: (row["key"] in mine, row["created"]), reverse=True)[
            :AT_ONCE
        ]
    except StoreError as error:
        view.without_store(error)
        return
    note = st.session_state.pop("runs-note", "")
    if note:
        st.success(note, icon=":material/check:")
    if not total:
        view.nothing_kept(filtered=bool(where))
    view.picture(rows)
    named = [key for key in st.query_params.get("runs", "").split(",") if key]
    ticked = view.picked(rows, total, mine, of_file) if rows else []
    shown = user_data.shown_runs("")
    records = view.to_compare(shown, ticked, named[: view.MOST_COMPARED])
    if records:
        user_data.say_from_file(shown)
        view.compare(records)
        view.of_compared(records, shown.used)
    tab("What is kept here", "about", about)
    tab("Session", "session", lambda: session.offer(opened, problem))
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
