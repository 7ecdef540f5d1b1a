"""Known sets: the table of all, their terms, and fetching one from its publisher."""

from collections.abc import Iterable

import streamlit as st

from dpmc_core.datasets import Entry, download
from dpmc_core.datasets.data import forget
from dpmc_core.errors import DPMCError
from pages.parts.datasets import ratings_view
from pages.parts.server import jobs, settings
from pages.parts.ui import controls, run_panel
from pages.parts.ui.links import plain
from pages.parts.ui.on_screen import show_table


def table_of_sets(entries: Iterable[Entry]) -> None:
    """Say where datasets come from, and draw one row for each set."""
    st.markdown(
        "Synthetic sets are made here, and two small ones ship with the app: neither needs a "
        "network. The others are fetched from their publishers, only when you ask, after you saw "
        "their terms. Your own data stays in this visit."
    )
    rows = [
        {
            "dataset": entry.title,
            "holds": entry.holds,
            "here": "yes"
            if entry.present()
            else "to fetch"
            if entry.fetchable
            else "to place by hand",
            "size": _size(entry),
            "MB to fetch": f"{entry.megabytes:g}" if entry.megabytes else "none",
            "terms": entry.terms,
        }
        for entry in entries
    ]
    show_table(
        rows,
        "The datasets, whether they are on this machine, their sizes and terms.",
        width="stretch",
    )


def _size(entry: Entry) -> str:
    """Say how large a set is, in its own units."""
    if entry.synthetic:
        return "you choose"
    if entry.holds == "ratings":
        return f"{entry.ratings:,} by {entry.users:,} users of {entry.items:,} items"
    unit = "pixels" if entry.holds == "images" else "terms"
    return f"{entry.samples:,}" + (f" of {entry.dimension:,} {unit}" if entry.dimension else "")


def terms_of(chosen: Entry) -> None:
    """Say what a set is, under which terms, and how to cite it."""
    st.markdown(plain(chosen.summary))
    st.markdown(f"**Terms.** {plain(chosen.terms)}")
    st.markdown(f"**Cite.** {plain(chosen.citation)}")


def fetch_form(wanted: Entry) -> None:
    """Draw the fetch button with terms before it, and the progress of a download."""
    st.info(f"{wanted.title} is not on this machine yet.", icon=":material/cloud_download:")
    if not settings.of("DPMC_FETCH"):
        st.markdown(
            "Fetching is turned off on this server; ask its operator for it, or use another set."
        )
        return
    if not wanted.fetchable:
        st.markdown(
            "No address with a known checksum is on record, so the app does not fetch it. Get "
            f"it from <{wanted.page}>, put `{wanted.files[0]}` into the folder "
            f"`{wanted.folder}` of the data folder, and reload this page."
        )
        return
    job = st.session_state.get("d_job")
    mine = st.session_state.get("d_job_name") == wanted.name
    if job is not None and job.active:
        if mine:
            run_panel.watch(job, "megabyte", lambda: None)
        else:
            st.info("Another download is going on; this one can start when it has ended.")
        return
    if job is not None and mine and job.state in ("failed", "cancelled"):
        controls.show_error(job.error or "The download was cancelled; nothing was changed.")
    _offer(wanted)


def _offer(wanted: Entry) -> None:
    def work(job: jobs.Job) -> None:
        def progress(done: int, total: int) -> None:
            job.progress = (min(done, total) // 1_000_000, total // 1_000_000)

        download.fetch(wanted.name, progress, lambda: job.stopped)
        forget()
        ratings_view.pictures.clear()

    accepted = st.checkbox(f"I have read the terms: {wanted.terms}", key=f"d_terms_{wanted.name}")
    if st.button(f"Fetch {wanted.title} ({wanted.megabytes:g} MB)", disabled=not accepted):
        try:
            st.session_state["d_job"] = jobs.start_task(work)
            st.session_state["d_job_name"] = wanted.name
            st.rerun()
        except DPMCError as error:
            controls.show_error(error)
    st.caption(f"From {wanted.url}, checked by {wanted.checksum}.")
