"""Datasets: what is here, what can be fetched, shape, sparsity, popularity and terms."""

import numpy as np
import pandas as pd
import streamlit as st

from dpmc_core.datasets import Entry, catalogue, download, entry
from dpmc_core.datasets import user_datasets as shelf
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.data import dataset_of, forget
from dpmc_core.experiments.tasks.factorize import forget_samples
from dpmc_core.wording import three
from pages.parts.datasets import popularity, sample_view
from pages.parts.datasets import user_data_form as own_view
from pages.parts.server import jobs, settings
from pages.parts.server import user_data as own_data
from pages.parts.ui import controls, glossary
from pages.parts.ui.figures import show

known = catalogue()
DATASETS = {k: v.title for k, v in known.items()}
ZEROS = {"missing": "missing", "rating": "a rating"}

VIEWS = {"known": "Known sets", "own": "Your own data"}

controls.on_page(
    "datasets.py",
    {"d_name": DATASETS, "d_zeros": ZEROS, "d_view": VIEWS, "d_holds": own_view.TITLES},
)
glossary.title("What data is here, and what may it be used for?", "datasets")
st.markdown(
    "Synthetic sets are made here, and two small ones ship with the app: neither needs a network. The others are fetched from their publishers, only when you ask, after you saw their terms. "
    "Or bring your own: it stays in this visit."
)
view = controls.segments("Which data", "d_view", VIEWS, "known", label_visibility="collapsed")
if view == "own":
    own_view.own_form()

with st.sidebar:
    if view == "known":
        name = controls.choice("Dataset", "d_name", DATASETS, "low-rank")
    else:
        mine = own_data.name_of(str(st.session_state.get("d_holds", "ratings")))
        name = mine if mine in shelf.current() else ""
    zeros = (
        controls.segments("A 0 in the file is", "d_zeros", ZEROS, "missing")
        if name == "sweetrs"
        else "missing"
    )
controls.link_problems()


def size(e: Entry) -> str:
    """How large a set is, in its own units."""
    if e.synthetic:
        return "you choose"
    if e.holds == "ratings":
        return f"{e.ratings:,} by {e.users:,} users of {e.items:,} items"
    across = (
        f" of {e.dimension:,} {'pixels' if e.holds == 'images' else 'terms'}" if e.dimension else ""
    )
    return f"{e.samples:,}{across}"


if view == "known":
    st.dataframe(
        pd.DataFrame(
            [
                {
                    "dataset": e.title,
                    "holds": e.holds,
                    "here": "yes"
                    if e.present()
                    else "to fetch"
                    if e.fetchable
                    else "to place by hand",
                    "size": size(e),
                    "MB to fetch": f"{e.megabytes:g}" if e.megabytes else "none",
                    "terms": e.terms,
                }
                for e in known.values()
            ]
        ),
        hide_index=True,
        width="stretch",
        alt="The datasets, whether they are on this machine, their sizes and terms.",
    )


def fetching(wanted: Entry) -> None:
    """The fetch button with terms before it, and the progress of a download."""

    def work(job: jobs.Job) -> None:
        def progress(done: int, total: int) -> None:
            job.progress = (done, total)

        download.fetch(wanted.name, progress, lambda: job.stopped)
        forget()
        forget_samples()
        popularity.pictures.clear()

    st.info(f"{wanted.title} is not on this machine yet.", icon=":material/cloud_download:")
    if not settings.of("DPMC_FETCH"):
        st.markdown(
            "Whoever runs this app has turned fetching off; ask them for it, or use another set."
        )
        return
    if not wanted.fetchable:
        st.markdown(
            f"No address with a known checksum is on record, so the app does not fetch it. Get it from <{wanted.page}>, put `{wanted.files[0]}` into the folder `{wanted.folder}` of the data folder, and "
            "reload this page."
        )
        return
    job = st.session_state.get("d_job")
    mine = st.session_state.get("d_job_name") == wanted.name
    if job is not None and job.active and not mine:
        st.info("Another download is going on; this one can start when it has ended.")
        return
    if job is not None and job.active:

        @st.fragment(run_every=0.5)
        def watch() -> None:
            done, total = job.progress
            st.progress(
                min(done / total, 1.0) if total else 0.0,
                text=f"{done / 1e6:.1f} of {total / 1e6:.1f} MB",
            )
            if st.button("Cancel the download", icon=":material/stop_circle:"):
                job.cancel()
            if not job.active:
                st.rerun()

        watch()
        return
    if job is not None and job.state in ("failed", "cancelled") and mine:
        st.error(controls.plain(job.error) or "The download was cancelled; nothing was changed.")
    accepted = st.checkbox(f"I have read the terms: {wanted.terms}", key=f"d_terms_{wanted.name}")
    if st.button(f"Fetch {wanted.title} ({wanted.megabytes:g} MB)", disabled=not accepted):
        try:
            st.session_state["d_job"] = jobs.start_task(work)
            st.session_state["d_job_name"] = wanted.name
            st.rerun()
        except DPMCError as error:
            st.error(controls.plain(str(error)))
    st.caption(f"From {wanted.url}, checked by {wanted.checksum}.")


def look(name: str) -> None:
    """What is in the set called ``name``, or how to get it."""
    chosen = entry(name)
    st.subheader(chosen.title, anchor=False)
    if not shelf.is_own(name):
        st.markdown(chosen.summary)
    if not chosen.present():
        fetching(chosen)
    elif chosen.holds != "ratings":
        try:
            sample_view.samples_of_entry(chosen)
        except DPMCError as error:
            st.error(controls.plain(str(error)))
    else:
        try:
            with st.spinner("Reading…"):
                ratings = dataset_of(RunSpec(dataset=name, zeros=zeros))
        except DPMCError as error:
            st.error(controls.plain(str(error)))
            ratings = None
        if ratings is not None:
            per_item = np.bincount(ratings.items, minlength=ratings.n_items)
            per_user = np.bincount(ratings.users, minlength=ratings.n_users)
            for cell, (title, value) in zip(
                st.columns(5),
                {
                    "users": f"{ratings.n_users:,}",
                    "items": f"{ratings.n_items:,}",
                    "ratings": f"{len(ratings):,}",
                    "of the matrix seen": f"{100 * ratings.density:.2f} %",
                    f"mean rating ({ratings.low:.3g} to {ratings.high:.3g})": f"{ratings.values.mean():.3g}",
                }.items(),
                strict=True,
            ):
                cell.metric(title, value)
            if not shelf.is_own(name) and chosen.ratings and len(ratings) != chosen.ratings:
                st.caption(
                    f"The file has {chosen.ratings:,} rows; {len(ratings):,} count as ratings here (zeros as chosen in the sidebar, and a "
                    "pair that occurs twice counts once)."
                )
            left, right = st.columns(2)
            with left:
                st.markdown("**How popular are items, how active are users?**")
                (figure, numbers), (picture, cells) = (
                    popularity.drawn(ratings)
                    if shelf.is_own(name)
                    else popularity.pictures(name, zeros)
                )
                top = (
                    100
                    * np.sort(per_item)[::-1][: max(1, ratings.n_items // 10)].sum()
                    / len(ratings)
                )
                show(
                    figure,
                    f"popularity-{chosen.kind}-{chosen.holds}"
                    if shelf.is_own(name)
                    else f"popularity-{name}",
                    f"The most rated tenth of the items holds {top:.0f} % of the ratings.",
                    numbers,
                )
            with right:
                st.markdown("**Which part of the matrix is seen?**")
                show(
                    picture,
                    f"sparsity-{chosen.kind}-{chosen.holds}"
                    if shelf.is_own(name)
                    else f"sparsity-{name}",
                    f"{100 * ratings.density:.2f} % of the matrix is observed, most of it for popular items and active users.",
                    cells,
                )
            st.markdown("**What to notice**")
            st.markdown(
                f"- The most rated tenth of the items holds {top:.0f} % of the ratings; the median item has {np.median(per_item):.0f}, "
                f"the median user {np.median(per_user):.0f}.\n"
                f"- Guessing everybody's mean errs by {three(float(ratings.values.std()))} (the standard deviation): any model must beat that."
            )
            if ratings.truth is not None and ratings.truth.noise_floor:
                st.markdown(
                    f"- No model can be expected to do better than the noise floor: {three(ratings.truth.noise_floor)}."
                )
    if not shelf.is_own(name):
        st.caption(f"Terms: {chosen.terms} Cite: {chosen.citation}")


if name:
    look(name)
