"""Datasets: what is here, what can be fetched, shape, sparsity, popularity and terms."""

from dataclasses import replace

import streamlit as st

from dpmc_core.datasets import catalogue, entry, user_datasets
from dpmc_core.errors import DPMCError
from pages.parts.datasets import controls as own_view
from pages.parts.datasets import known_sets, ratings_view, sample_view
from pages.parts.datasets.controls import LINK_TITLES, Asked, form, own_name
from pages.parts.frame.page import control, head, tab, verdict
from pages.parts.ui import controls

controls.on_page("datasets.py", LINK_TITLES)
head("datasets")
request = form(control())
controls.link_problems()


def look(request: Asked) -> None:
    """What is in the chosen set, or how to get it."""
    chosen = entry(request.name)
    if not chosen.present():
        verdict(f"{chosen.title} is not on this machine yet.")
        known_sets.fetch_form(chosen)
    elif chosen.holds != "ratings":
        try:
            sample_view.samples_of_entry(chosen)
        except DPMCError as error:
            st.error(controls.plain(error))
    else:
        ratings_view.ratings_of_entry(chosen, request.zeros)
    if not user_datasets.is_own(request.name):
        tab("Terms and citation", "terms", lambda: known_sets.terms_of(chosen))


if request.view == "own":
    own_view.own_form()
    request = replace(request, name=own_name())  # it may just have been brought
    if not request.name:
        verdict("Bring ratings, documents or images: they stay in this visit.")
if request.name:
    look(request)
if request.view == "known":
    tab("All datasets", "all", lambda: known_sets.table_of_sets(catalogue().values()))
