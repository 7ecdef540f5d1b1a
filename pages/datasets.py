"""Datasets: what is here, what can be fetched, shape, sparsity, popularity and terms."""

from dpmc_core.datasets import catalogue, entry, user_datasets
from dpmc_core.errors import DPMCError
from pages.parts.datasets import controls as own_view
from pages.parts.datasets import known_sets, ratings_view, sample_view
from pages.parts.datasets.controls import LINK_TITLES, form, own_name
from pages.parts.frame.page import control, head, tab, verdict
from pages.parts.ui import controls

head("datasets", LINK_TITLES)
view, name, zeros = form(control())
controls.link_problems()


def look(name: str) -> None:
    """What is in the chosen set, or how to get it."""
    chosen = entry(name)
    if not chosen.present():
        verdict(f"{chosen.title} is not on this machine yet.")
        known_sets.fetch_form(chosen)
    elif chosen.holds != "ratings":
        try:
            sample_view.samples_of_entry(chosen)
        except DPMCError as error:
            controls.show_error(error)
    else:
        ratings_view.ratings_of_entry(chosen, zeros)
    if not user_datasets.is_own(name):
        tab("Terms and citation", "terms", lambda: known_sets.terms_of(chosen))


if view == "own":
    own_view.own_form()
    name = own_name()  # it may just have been brought
    if not name:
        verdict("Bring ratings, documents or images: they stay in this visit.")
if name:
    look(name)
if view == "known":
    tab("All datasets", "all", lambda: known_sets.table_of_sets(catalogue().values()))
