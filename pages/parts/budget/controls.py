"""The question of the *Budget* page: its controls, and what it counts.

The usual question, its releases and their counts, and the controls that ask another.
"""

import math
from dataclasses import dataclass, replace

import streamlit as st

from dpmc_core.config import Settings
from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy import Ledger, Release, Statement, least_noise, state
from dpmc_core.privacy.compare import epsilon_curve, variance_curve
from pages.parts.budget.charts import COUNTS, NEEDED_COUNTS
from pages.parts.frame import presenter
from pages.parts.ui import controls, declared
from pages.parts.ui.densities import at_equal


@dataclass(frozen=True, kw_only=True)
class Question:
    """``count`` releases like those of ``run``, which one person moves by ``sensitivity`` (ℓ1) over
    ``spread`` numbers, evenly as far as ``bounded`` says, with noises of equal ``by`` ("variance"
    or "epsilon": ``amount``); and noise for ``target`` ε of all together at ``delta``.
    """

    run: str = "own"
    count: int = 1000
    sensitivity: float = 1.0
    spread: int = 1
    bounded: str = "l2"
    by: str = "variance"
    amount: float = 100.0
    alpha: float = 1.5
    target: float = 1.0
    delta: float = 1e-5

    @property
    def loose(self) -> bool:
        """Whether Huber and Laplace noise have upper bounds that nothing reaches."""
        return self.spread > 1 and self.bounded == "l2"

    def mechanisms(self) -> list[Mechanism]:
        """The noises at equal ``by``."""
        return self._at_equal(self.by, self.amount)

    def _at_equal(self, by: str, value: float) -> list[Mechanism]:
        return at_equal(by, value, sensitivity=self.sensitivity, delta=self.delta, alpha=self.alpha)

    def release(self, noise: Mechanism) -> Release:
        """One release of the chosen run with this noise."""
        own = self.run == "own"
        return Release(
            what="a vector" if own else "right-hand sides of all items",
            mechanism=noise,
            l1_sensitivity=self.sensitivity,
            l2_sensitivity=self.sensitivity
            / (1 if self.bounded == "l1" else math.sqrt(self.spread)),
            linf_sensitivity=self.sensitivity / self.spread if self.bounded == "linf" else None,
            unit="record" if own else "rating",
            neighbours="add/remove-one" if own else "replace-one",
            coordinates=self.spread,
            count=1,
            sound=False,
            source="typed on the Budget page"
            if own
            else "huber-paper, Theorem 2.1 with Δ = 5 (assumed)",
            kind="" if own else "huber-paper",
        )

    def shapes(self) -> list[Release]:
        """One release of each noise at one scale.

        What a budget needs does not depend on the noise one started from, so that these are
        searched once.
        """
        return [
            self.release(noise) for noise in self._at_equal("variance", 100 * self.sensitivity**2)
        ]

    def curve(self, noise: Mechanism) -> tuple[float, ...]:
        """ε at δ after each of ``COUNTS`` releases."""
        return epsilon_curve(self.release(noise), COUNTS, self.delta)

    def ledger(self, noise: Mechanism) -> Ledger:
        """All releases together."""
        return Ledger((replace(self.release(noise), count=self.count),))

    def statement(self, noise: Mechanism) -> Statement:
        """What all releases together spend."""
        return state(self.ledger(noise), self.delta)

    def needed(self, shape: Release) -> tuple[float, ...]:
        """The least variance for the target, for each of ``NEEDED_COUNTS`` releases."""
        return variance_curve(shape, NEEDED_COUNTS, self.target, self.delta)

    def least(self, shape: Release) -> Mechanism:
        """The least noise with which all releases together keep to the target."""
        whole = Ledger((replace(shape, count=self.count),))
        least = least_noise(whole, self.target, self.delta, tolerance=1e-4, quick=True)
        return least.releases[0].mechanism


USUAL = Question()
# how many releases the slider offers
MANY = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000)


RUNS = {
    "own": "your own",
    "irls": "Huber paper: IRLS, T = 50 × K = 20",
    "als": "Huber paper: ALS, T = 50",
}
# your own: small shifts; the papers': what they use
USUAL_VARIANCE = {"own": USUAL.amount, "irls": 2.0, "als": 2.0}
MODES = {"variance": "variance", "epsilon": "ε of one release"}
# definitions of sensitivity: what is known of how evenly a movement is spread
DEFINITIONS = {"l1": "ℓ1 alone", "l2": "ℓ1 and ℓ2", "linf": "ℓ1 and ℓ∞"}
_PAPER_COUNTS = {"irls": 1000, "als": 50}
LINK_TITLES = {"u_run": RUNS, "u_by": MODES, "u_bounded": DEFINITIONS}


def form() -> Question:
    """Draw the bar above the figure, and the settings in the sidebar."""
    run = controls.choice("A run like", "u_run", RUNS, USUAL.run, then=_usual_variance)
    moves: Settings = {"sensitivity": 5.0}
    count = _PAPER_COUNTS.get(run, USUAL.count)
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
                moves = _own_run()
        amount = _amount(by, USUAL_VARIANCE[run])
        alpha = controls.slider(
            "Huber's α", "u_alpha", "alpha", USUAL.alpha, low=0.05, high=6.0, step=0.01
        )
        target = declared.box(
            "nominal.epsilon", "u_target", USUAL.target, label="Total ε of the budget"
        )
        delta = declared.box("account_delta", "u_delta", USUAL.delta)
    return Question(
        run=run, count=count, **moves, by=by, amount=amount, alpha=alpha, target=target, delta=delta
    )


def _usual_variance() -> None:
    """Set the usual variance of the run that was picked."""
    st.session_state["u_variance"] = USUAL_VARIANCE[st.session_state["u_run"]]


def _own_run() -> Settings:
    """Ask for the sensitivity, how many coordinates one person affects, and how evenly."""
    sensitivity = declared.box(
        "als.sensitivity", "u_sensitivity", USUAL.sensitivity, label="Sensitivity Δ (ℓ1)"
    )
    spread = declared.box(
        "moved",
        "u_moved",
        USUAL.spread,
        help="With ℓ1 sensitivity Δ spread evenly over m numbers, the ℓ2 sensitivity is Δ/√m.",
    )
    bounded = controls.segments(
        "Sensitivity by",
        "u_bounded",
        DEFINITIONS,
        USUAL.bounded,
        help="What is known of the movement of the m numbers: Σ|s| ≤ Δ alone, also √Σs² ≤ Δ/√m, or "
        "also |s| ≤ Δ/m of each. They differ from two numbers on.",
        disabled=spread == 1,
    )
    return {"sensitivity": sensitivity, "spread": spread, "bounded": bounded}


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
