"""The presenter mode of the *Tradeoffs* page: stored results in large type, without a sidebar."""

import streamlit as st

from dpmc_core.experiments.sweeps import stored
from pages.parts.tradeoffs import view
from pages.parts.tradeoffs.controls import presenter_switch, view_choice
from pages.parts.ui import controls, glossary

__all__ = ["SLIDES", "present"]

SLIDES = {
    "user": "What does privacy cost?",
    "people": "How many people does it take?",
    "rating-total_epsilon": "Which noise, at equal total ε?",
    "rating-variance": "Which noise, at equal variance?",
}
_STYLE = (
    "<style>[data-testid='stSidebar'],[data-testid='stSidebarCollapsedControl'],"
    "[data-testid='stExpandSidebarButton']{display:none}"
    "[data-testid='stMainBlockContainer']{padding-top:5rem;max-width:1800px}"
    "[data-testid='stMarkdownContainer'] p,"
    "[data-testid='stMarkdownContainer'] li{font-size:1.5rem;line-height:1.45}"
    "[data-testid='stCaptionContainer'] p{font-size:1.1rem}h1{font-size:3rem !important}</style>"
)


def present() -> None:
    """Draw the chosen slide."""
    st.html(_STYLE)
    slide = controls.segments("Slide", "t_slide", SLIDES, "user", label_visibility="collapsed")
    glossary.title(SLIDES[slide], "tradeoffs")
    spec, points, made = stored.examples()[slide]
    vary = "people" if slide == "people" else "noise"
    by = slide.removeprefix("rating-") if slide.startswith("rating-") else "total_epsilon"
    shown = view_choice(vary, label_visibility="collapsed")
    view.views(shown, points, view.axis_of(vary, by), large=True, example=slide)
    view.counted(points, spec, vary, by)
    st.caption(f"Stored results of {made['runs']} runs, made on {made['date']}.")
    presenter_switch()
