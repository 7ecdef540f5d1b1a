"""The controls of the *Plan* page, and the plan that they ask for."""

from typing import Any

import streamlit as st

from dpmc_core.errors import ParameterError
from dpmc_core.planning import PlanSpec
from dpmc_core.planning.spec import QUERIES
from pages.parts.frame import presenter
from pages.parts.ui import controls, declared

KINDS = {"numbers": "Numbers", "model": "A model", "project": "A project"}
ASKED = {"epsilon": "least ε", "people": "fewest people", "margin": "best mechanism"}
LINK_TITLES = {"n_query": QUERIES, "n_asked": ASKED}
USUAL: dict[str, Any] = {"epsilon": 1.0, "people": 5000, "margin": 1.0, "releases": 10}
USUAL_MARGIN = {"mean": 1.0, "sum": 1000.0, "count": 50.0, "histogram": 50.0}
_UNITS = {"mean": "of the mean", "sum": "of the sum"} | dict.fromkeys(
    ("count", "histogram"), "people"
)
_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def _picked(key: str, titles: dict[str, str], usual: str) -> str:
    """What a box that is drawn later says."""
    linked = st.query_params.get(key, "")
    name = next((name for name, title in titles.items() if linked in (name, title)), usual)
    return str(st.session_state.get(key) or name)


def asked() -> str:
    """What is asked of the query, which the sidebar says."""
    of = _picked("n_asked", ASKED, "epsilon")
    return "epsilon" if of == "people" and _picked("n_query", QUERIES, "mean") != "mean" else of


def kind() -> str:
    """Draw what is planned."""
    return controls.segments(
        "What is planned", "n_kind", KINDS, "numbers", label_visibility="collapsed"
    )


def goal() -> dict[str, float]:
    """Draw the goal, above the figure: a margin, or, where it is asked, ε."""
    if asked() == "margin":
        epsilon = declared.box(
            "plan.epsilon", needed=True, key="n_epsilon", default=USUAL["epsilon"]
        )
        presenter.steps("n_epsilon", _EPSILONS)
        presenter.play("Moves ε from 0.1 to 10.")
        return {"epsilon": epsilon}
    query = _picked("n_query", QUERIES, "mean")
    usual = USUAL_MARGIN[query]
    margin = declared.box(
        "plan.margin",
        needed=True,
        key=f"n_margin_{query}",
        default=usual,
        label=f"Margin, 95 % ({_UNITS[query]})",
    )
    steps = tuple(usual * factor for factor in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0))
    presenter.steps(f"n_margin_{query}", steps)
    presenter.play("Moves the margin from a tenth to ten times the usual one.")
    return {"margin": margin}


def form(target: dict[str, float]) -> PlanSpec:
    """Draw the sidebar's widgets. Raises ``ParameterError`` for what contradicts itself."""
    st.subheader("What is released")
    query = controls.choice(
        "What is released", "n_query", QUERIES, "mean", label_visibility="collapsed"
    )
    given: dict[str, Any] = {"query": query, **target}
    with controls.place():
        if query in ("mean", "sum"):
            given["low"] = declared.box("plan.low", "n_low")
            given["high"] = declared.box("plan.high", "n_high")
        if query == "histogram":
            given["bins"] = declared.box("plan.bins", "n_bins")
    given["releases"] = declared.box("plan.releases", "n_releases", USUAL["releases"])
    st.subheader("What is asked")
    possible = ASKED if query == "mean" else {n: t for n, t in ASKED.items() if n != "people"}
    with controls.place():
        of = controls.choice(
            "What is asked", "n_asked", possible, "epsilon", label_visibility="collapsed"
        )
    with controls.place():
        if of == "people":
            given["epsilon"] = declared.box(
                "plan.epsilon", needed=True, key="n_epsilon", default=USUAL["epsilon"]
            )
        elif query == "mean":
            given["people"] = declared.box(
                "plan.people", needed=True, key="n_people", default=USUAL["people"]
            )
    with st.expander("More", key="n-more"):
        given["delta"] = declared.box("account_delta", "n_delta", 1e-5)
    try:
        return PlanSpec(**given)
    except ParameterError as error:
        # the page's words for what contradicts itself
        name = {"low": "Least"}.get(error.name, error.name)
        allowed = error.allowed.replace("below high", "below Most")
        raise ParameterError(name, error.value, allowed) from None
