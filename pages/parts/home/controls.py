"""The controls of the *Home* page."""

import streamlit as st

from pages.parts.frame import presenter
from pages.parts.home.picture import EPSILONS, NOISES
from pages.parts.ui import controls, declared, glossary

LINK_TITLES = {"home_noise": NOISES}


def form() -> tuple[str, int]:
    """Draw the sidebar's widgets; returns the mechanism and the seed."""
    st.subheader("Picture")
    mechanism = controls.choice("Mechanism", "home_noise", NOISES, "huber")
    seed = declared.box("seed", "home_seed")
    st.button(
        "Draw again",
        icon=":material/casino:",
        on_click=lambda: st.session_state.update(home_seed=int(st.session_state.home_seed) + 1),
        help="New noise: the next seed.",
    )
    return mechanism, seed


def epsilon_slider() -> float:
    """Draw the slider of ε, and the button that plays it from 10 to 0.1."""
    epsilon = controls.steps_slider(
        "ε: more private ← → more accurate",
        "home_epsilon",
        EPSILONS,
        1.0,
        help=glossary.meaning("epsilon"),
    )
    presenter.steps("home_epsilon", EPSILONS, playing=EPSILONS[::-1])
    presenter.play("Moves ε from 10 down to 0.1.")
    return epsilon
