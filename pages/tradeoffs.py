"""Tradeoffs: what privacy costs, which mechanism costs least, and how many people it takes."""

import streamlit as st

from pages.parts.frame.page import control, head, tab
from pages.parts.tradeoffs.controls import TRADEOFF_TITLES, form, view_choice
from pages.parts.tradeoffs.view import SLIDES, Live, present
from pages.parts.ui import controls, on_screen

controls.on_page("tradeoffs.py", {**TRADEOFF_TITLES, "t_slide": SLIDES})


def live() -> None:
    """The page with its controls."""
    head("tradeoffs")
    row = control()
    request = form(row)
    problems = st.container()
    with row:
        shown = view_choice(request.vary)
    Live(request, shown).panel(row)
    tab("What is compared", "introduction", request.introduction)
    with problems:
        controls.link_problems()


if on_screen.presenting():
    present()
    controls.link_problems()
else:
    live()
