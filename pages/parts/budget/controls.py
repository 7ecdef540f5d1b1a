"""The controls of the *Budget* page, and the question that they ask."""

import streamlit as st

from pages.parts.budget.counts import MANY, USUAL, Question
from pages.parts.frame import presenter
from pages.parts.ui import controls, declared

RUNS = {
    "own": "your own",
    "irls": "Huber paper: IRLS, T = 50 × K = 20",
    "als": "Huber paper: ALS, T = 50",
}
# your own: small shifts; the papers': what they use
USUAL_VARIANCE = {"own": USUAL.amount, "irls": 2.0, "als": 2.0}
MODES = {"variance": "variance", "epsilon": "ε of one release"}
_PAPER_COUNTS = {"irls": 1000, "als": 50}
LINK_TITLES = {"u_run": RUNS, "u_by": MODES}


def form() -> Question:
    """Draw the bar above the figure, and the settings in the sidebar."""
    run = controls.choice("A run like", "u_run", RUNS, USUAL.run, then=_usual_variance)
    sensitivity, spread, count = 5.0, 1, _PAPER_COUNTS.get(run, USUAL.count)
    with controls.place():
        if run == "own":
            count = int(
                controls.steps_slider(
                    "Releases T", "u_count", MANY, USUAL.count, limit="releases_shown"
                )
            )
    by = controls.segments("Compare at equal", "u_by", MODES, USUAL.by)
    if run == "own":
        presenter.steps("u_count", MANY)
    with controls.settings():
        with controls.place():
            if run == "own":
                sensitivity, spread = _own_run()
        amount = _amount(by, USUAL_VARIANCE[run])
        alpha = controls.slider(
            "Huber's α", "u_alpha", "alpha", USUAL.alpha, low=0.05, high=6.0, step=0.01
        )
        target = declared.box(
            "nominal.epsilon", "u_target", USUAL.target, label="Total ε of the budget"
        )
        delta = declared.box("account_delta", "u_delta", USUAL.delta)
    return Question(
        run=run,
        count=count,
        sensitivity=sensitivity,
        spread=spread,
        by=by,
        amount=amount,
        alpha=alpha,
        target=target,
        delta=delta,
    )


def _usual_variance() -> None:
    """Set the usual variance of the run that was picked."""
    st.session_state["u_variance"] = USUAL_VARIANCE[st.session_state["u_run"]]


def _own_run() -> tuple[float, int]:
    """Ask for the sensitivity, and how many coordinates one person affects."""
    sensitivity = declared.box(
        "als.sensitivity", "u_sensitivity", USUAL.sensitivity, label="Sensitivity Δ (ℓ1)"
    )
    spread = declared.box(
        "moved",
        "u_moved",
        USUAL.spread,
        help="With ℓ1 sensitivity Δ spread evenly over m numbers, the ℓ2 sensitivity is Δ/√m.",
    )
    return sensitivity, spread


def _amount(by: str, usual_variance: float) -> float:
    if by == "variance":
        return controls.slider(
            "Variance of every noise",
            "u_variance",
            "variance",
            usual_variance,
            low=0.5,
            high=200.0,
            step=0.5,
        )
    return controls.slider(
        "ε of one release", "u_epsilon", "epsilon", 0.1, low=0.01, high=5.0, step=0.01
    )
