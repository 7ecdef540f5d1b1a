"""The sidebar of the *Mechanisms* page, and the mechanisms that it asks for."""

from dataclasses import dataclass

import streamlit as st

from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from pages.parts.ui import controls
from pages.parts.ui.figures import IDENTITY

__all__ = ["LINK_TITLES", "TITLES", "Asked", "form", "view"]

TITLES = {name: look.title for name, look in IDENTITY.items()}
MODES = {"variance": "variance", "epsilon": "ε", "free": "free"}
VIEWS = {"density": "Densities", "log-density": "Log-densities", "cdf": "Distribution functions"}
LINK_TITLES = {"m_by": MODES, "m_view": VIEWS}


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What the sidebar asks for.

    The noises are made equal by ``compare``: "variance", "epsilon", or "free" with the scales
    ``huber``, ``laplace`` and ``gaussian``.
    """

    compare: str
    alpha: float
    variance: float
    epsilon: float
    huber: float
    laplace: float
    gaussian: float
    sensitivity: float
    with_staircase: bool
    delta: float
    samples: int
    seed: int

    def build(self) -> list[Mechanism]:
        """Build the mechanisms, one of each family. Raises ``DPMCError``."""
        if self.compare == "variance":
            return self._with_variance()
        if self.compare == "epsilon":
            return self._with_epsilon()
        made: list[Mechanism] = [
            Huber(alpha=self.alpha, scale=self.huber),
            Laplace(scale=self.laplace),
            Gaussian(scale=self.gaussian),
        ]
        if self.with_staircase:
            made.append(Staircase(epsilon=1.0, sensitivity=self.sensitivity))
        return made

    def _with_variance(self) -> list[Mechanism]:
        made: list[Mechanism] = [
            Huber.with_variance(self.variance, alpha=self.alpha),
            Laplace.with_variance(self.variance),
            Gaussian.with_variance(self.variance),
        ]
        if self.with_staircase:
            made.append(Staircase.with_variance(self.variance, sensitivity=self.sensitivity))
        return made

    def _with_epsilon(self) -> list[Mechanism]:
        made: list[Mechanism] = [
            Huber.with_epsilon(self.epsilon, self.sensitivity, alpha=self.alpha),
            Laplace.with_epsilon(self.epsilon, self.sensitivity),
            Gaussian.with_epsilon(self.epsilon, self.sensitivity, delta=self.delta),
        ]
        if self.with_staircase:
            made.append(Staircase.with_epsilon(self.epsilon, self.sensitivity))
        return made


def form() -> Asked:
    """Draw the sidebar's widgets."""
    st.subheader("Compare at equal")
    compare = controls.segments(
        "Compare at equal", "m_by", MODES, "variance", label_visibility="collapsed"
    )
    alpha = controls.slider("Huber's α", "m_alpha", "alpha", 1.5, step=0.01)
    variance = epsilon = 1.0
    scales = {"huber": 1.0, "laplace": 1.0, "gaussian": 1.0}
    if compare == "variance":
        variance = controls.slider(
            "Variance of every noise", "m_variance", "variance", 2.0, low=0.1, high=20.0, step=0.1
        )
    elif compare == "epsilon":
        epsilon = controls.slider(
            "ε of every noise", "m_epsilon", "epsilon", 1.0, low=0.05, high=10.0, step=0.05
        )
    else:
        scales = {name: _scale(name) for name in scales}
    sensitivity = controls.slider(
        "Sensitivity Δ", "m_sensitivity", "sensitivity", 1.0, low=0.1, high=10.0, step=0.1
    )
    with_staircase = controls.switch(
        "Show staircase noise",
        "m_staircase",
        help="The ε-DP noise of least variance (Geng & Viswanath 2016).",
    )
    with st.expander("More"):
        delta = controls.number("δ", "m_delta", "delta", 1e-5, step=1e-6, format="%.1e")
        samples = int(
            controls.steps_slider(
                "Samples in the histogram",
                "m_samples",
                [1_000, 10_000, 100_000, 1_000_000],
                100_000,
            )
        )
        seed = int(controls.number("Seed", "m_seed", "seed", 0))
    return Asked(
        compare=compare,
        alpha=alpha,
        variance=variance,
        epsilon=epsilon,
        **scales,
        sensitivity=sensitivity,
        with_staircase=with_staircase,
        delta=delta,
        samples=samples,
        seed=seed,
    )


def _scale(name: str) -> float:
    return controls.slider(
        f"{TITLES[name]} scale", f"m_scale_{name}", "scale", 1.0, low=0.05, high=10.0, step=0.05
    )


def view() -> str:
    """Draw the choice of what the first figure shows."""
    return controls.segments("View", "m_view", VIEWS, "density", label_visibility="collapsed")
