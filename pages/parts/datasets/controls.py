"""The choices of the *Datasets* page: which set, and how to read it."""

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.datasets import user_datasets
from pages.parts.datasets import user_data_form
from pages.parts.server import user_data
from pages.parts.ui import controls, links

ZEROS = {"missing": "missing", "rating": "a rating"}
VIEWS = {"known": "Known datasets", "own": "Your own data"}
LINK_TITLES: links.LinkTitles = {
    "d_name": user_data.linked,
    "d_zeros": ZEROS,
    "d_view": VIEWS,
    "d_holds": user_data_form.TITLES,
}


@dataclass(frozen=True)
class Asked:
    """The ``view``, the chosen set ("" for none), and whether a 0 is "missing" or a "rating"."""

    view: str
    name: str
    zeros: str


def own_name() -> str:
    """The visitor's own set of the chosen kind; "" where there is none yet."""
    mine = user_data.name_of(str(st.session_state.get("d_holds", "ratings")))
    return mine if mine in user_datasets.current() else ""


def form(row: DeltaGenerator) -> Asked:
    """Draw the choice between known sets and the visitor's own, and of a known set, in ``row``."""
    with row:
        view = controls.segments(
            "Which data", "d_view", VIEWS, "known", label_visibility="collapsed"
        )
        if view == "known":
            name = controls.choice("Dataset", "d_name", user_data.catalogue(), "low-rank")
        else:
            name = own_name()
        zeros = (
            controls.segments("A 0 in the file is", "d_zeros", ZEROS, "missing")
            if name == "sweetrs"
            else "missing"
        )
    return Asked(view, name, zeros)
