"""Datasets: what is here, what can be fetched, shape, sparsity, popularity and terms."""

import streamlit as st

from dpmc_core.datasets import catalogue, entry, user_datasets
from dpmc_core.errors import DPMCError
from pages.parts.datasets import download_view, overview, ratings_view, sample_view
from pages.parts.datasets import user_data_form as own_view
from pages.parts.datasets.controls import LINK_TITLES, Asked, form, view
from pages.parts.ui import controls, glossary

controls.on_page("datasets.py", LINK_TITLES)
glossary.title("What data is here, and what may it be used for?", "datasets")
st.markdown(
    "Synthetic sets are made here, and two small ones ship with the app: neither needs a "
    "network. The others are fetched from their publishers, only when you ask, after you saw "
    "their terms. Or bring your own: it stays in this visit."
)
which = view()
if which == "own":
    own_view.own_form()
with st.sidebar:
    asked = form(which)
controls.link_problems()


def look(asked: Asked) -> None:
    """What is in the chosen set, or how to get it."""
    chosen, own = entry(asked.name), user_datasets.is_own(asked.name)
    st.subheader(chosen.title, anchor=False)
    if not own:
        st.markdown(controls.plain(chosen.summary))
    if not chosen.present():
        download_view.fetching(chosen)
    elif chosen.holds != "ratings":
        try:
            sample_view.samples_of_entry(chosen)
        except DPMCError as error:
            st.error(controls.plain(str(error)))
    else:
        ratings_view.ratings_of_entry(chosen, asked.zeros)
    if not own:
        st.caption(f"Terms: {chosen.terms} Cite: {chosen.citation}")


if which == "known":
    overview.table(catalogue().values())
if asked.name:
    look(asked)
