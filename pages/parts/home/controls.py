"""The sidebar of the *Home* page."""

from dataclasses import dataclass

import streamlit as st

from pages.parts.home.picture import EPSILONS, NOISES
from pages.parts.ui import controls, declared, glossary

__all__ = ["LINK_TITLES", "Asked", "form"]

LINK_TITLES = {"home_noise": NOISES}


@dataclass(frozen=True, slots=True)
class Asked:
    """ε, the noise in the picture, and the seed."""

    epsilon: float
    mechanism: str
    seed: int


def form() -> Asked:
    """Draw the sidebar's widgets."""
    st.subheader("Privacy")
    epsilon = controls.steps_slider(
        "ε: more private ← → more accurate",
        "home_epsilon",
        EPSILONS,
        1.0,
        help=glossary.meaning("epsilon"),
    )
    mechanism = controls.choice("Noise in the picture", "home_noise", NOISES, "huber")
    seed = declared.box("seed", "home_seed")
    st.button(
        "Draw again",
        icon=":material/casino:",
        on_click=lambda: st.session_state.update(home_seed=int(st.session_state.home_seed) + 1),
        help="New noise: the next seed.",
    )
    return Asked(epsilon, mechanism, seed)
