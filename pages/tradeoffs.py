"""Tradeoffs: what privacy costs, which noise costs least, and how many people it takes."""

import streamlit as st

from pages.parts.tradeoffs.controls import (
    TRADEOFF_TITLES,
    form,
    presenter_switch,
    presenting,
    view_choice,
)
from pages.parts.tradeoffs.live import Live
from pages.parts.tradeoffs.presenter import SLIDES, present
from pages.parts.ui import controls, glossary

controls.on_page("tradeoffs.py", {**TRADEOFF_TITLES, "t_slide": SLIDES})


def live() -> None:
    """The page with its controls."""
    with st.sidebar:
        asked = form()
        presenter_switch(help="Large type, no sidebar, stored results only.")
    glossary.title("What does privacy cost, and which noise costs least?", "tradeoffs")
    st.markdown(
        "Every point is the mean of several runs, with a band that says how far chance alone "
        "could move it. **Protected** is "
        + (
            "one user with all their ratings: a guarantee."
            if asked.protect == "user"
            else "one rating, *nominally*: counted as the papers count, not a guarantee."
        )
        + " The dotted line is what needs no model at all."
    )
    problems = st.container()
    built = asked.build()
    Live(asked, built, view_choice(asked.vary)).panel()
    with problems:
        controls.link_problems()


if presenting():
    present()
    controls.link_problems()
else:
    live()
