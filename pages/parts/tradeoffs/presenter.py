"""The presenter mode of the *Tradeoffs* page: stored results in large type, without a sidebar."""

import streamlit as st

from dpmc_core.experiments.sweeps.tradeoff import examples
from pages.parts.frame import presenter
from pages.parts.frame.page import control, head
from pages.parts.tradeoffs import view
from pages.parts.ui import controls

SLIDES = {
    "user": "Privacy and accuracy",
    "people": "How many people?",
    "rating-total_epsilon": "Equal total ε",
    "rating-variance": "Equal variance",
}


def present() -> None:
    """Draw the chosen slide."""
    head("tradeoffs")
    with control():
        slide = controls.segments("Slide", "t_slide", SLIDES, "user", label_visibility="collapsed")
        presenter.steps("t_slide", list(SLIDES))
    spec, points, made = examples()[slide]
    view.views("curves", points, view.axis_of(spec), example=slide)
    st.caption(
        f"{view.standing(points)} Stored results of {made['runs']} runs ({spec.seeds} repetitions "
        f"of each point), made on {made['date']}."
    )
