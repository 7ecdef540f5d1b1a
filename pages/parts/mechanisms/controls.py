"""The sidebar of the *Mechanisms* page, and the mechanisms that it asks for."""

from dataclasses import dataclass
from typing import Any, cast

import streamlit as st

from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES, Mechanism
from pages.parts.frame import presenter
from pages.parts.ui import controls, declared
from pages.parts.ui.looks import IDENTITY

TITLES = {name: look.title for name, look in IDENTITY.items()}
MODES = {"variance": "variance", "epsilon": "ε", "free": "free"}
VIEWS = {"density": "Densities", "log-density": "Log densities", "cdf": "CDFs"}
_PLAYED = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
LINK_TITLES = {"m_by": MODES, "m_view": VIEWS}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the sidebar asks for.

    The noises are made equal by ``compare``: "variance", "epsilon", or "free" with ``scales`` by
    family.
    """

    compare: str
    alpha: float
    variance: float
    epsilon: float
    scales: dict[str, float]
    sensitivity: float
    with_staircase: bool
    delta: float
    samples: int
    seed: int
    view: str

    def build(self) -> list[Mechanism]:
        """Build the mechanisms, one of each family. Raises ``DPMCError``."""
        names = [name for name in FAMILIES if name in self.scales or self.with_staircase]
        return [self._made(FAMILIES[name]) for name in names]

    def _made(self, kind: Any) -> Mechanism:
        shape = {"alpha": self.alpha} if "alpha" in kind.shape else {}
        if self.compare == "epsilon":
            slack = {} if kind.pure else {"delta": self.delta}
            made = kind.with_epsilon(self.epsilon, self.sensitivity, **shape, **slack)
        elif self.compare == "variance":
            design = {} if kind.in_runs else {"sensitivity": self.sensitivity}
            made = kind.with_variance(self.variance, **shape, **design)
        elif kind.in_runs:
            made = kind(scale=self.scales[kind.name], **shape)
        else:
            made = kind(epsilon=1.0, sensitivity=self.sensitivity)
        return cast(Mechanism, made)


def alpha_slider() -> float:
    """Draw the slider of α, and the button that plays it."""
    alpha = controls.slider("Huber's α", "m_alpha", "alpha", 1.5, step=0.01)
    presenter.steps("m_alpha", _PLAYED)
    presenter.play("Moves α from nearly Laplace to nearly Gaussian.")
    return alpha


def form(alpha: float) -> Asked:
    """Draw the sidebar's widgets."""
    st.subheader("Compare at equal")
    compare = controls.segments(
        "Compare at equal", "m_by", MODES, "variance", label_visibility="collapsed"
    )
    variance = epsilon = 1.0
    scales = dict.fromkeys(RUN_FAMILIES, 1.0)
    with controls.place():
        if compare == "variance":
            variance = controls.slider(
                "Variance of every noise",
                "m_variance",
                "variance",
                2.0,
                low=0.1,
                high=20.0,
                step=0.1,
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
    view = controls.segments("Figure", "m_view", VIEWS, "density")
    with st.expander("More", key="m-more"):
        delta = declared.box("delta", "m_delta")
        samples = int(
            controls.steps_slider(
                "Samples in the histogram",
                "m_samples",
                [1_000, 10_000, 100_000, 1_000_000],
                100_000,
            )
        )
        seed = declared.box("seed", "m_seed")
    return Asked(
        compare=compare,
        alpha=alpha,
        variance=variance,
        epsilon=epsilon,
        scales=scales,
        sensitivity=sensitivity,
        with_staircase=with_staircase,
        delta=delta,
        samples=samples,
        seed=seed,
        view=view,
    )


def _scale(name: str) -> float:
    return controls.slider(
        f"{TITLES[name]} scale", f"m_scale_{name}", "scale", 1.0, low=0.05, high=10.0, step=0.05
    )
