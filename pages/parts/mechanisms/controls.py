"""The controls of the *Mechanisms* page, and the mechanisms that they ask for."""

from dataclasses import dataclass, replace
from typing import Any

from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES, Mechanism
from pages.parts.frame import presenter
from pages.parts.ui import controls, declared
from pages.parts.ui.densities import at_equal
from pages.parts.ui.looks import IDENTITY

TITLES = {name: look.title for name, look in IDENTITY.items()}
MODES = {"variance": "variance", "epsilon": "ε", "free": "free"}
VIEWS = {"density": "Densities", "log-density": "Log densities", "cdf": "CDFs"}
_PLAYED = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
# most of the track is where noise changes from Laplace's to Gaussian's
_ALPHAS = (0.01, 0.02, 0.05, *(round(0.05 * k, 2) for k in range(2, 61)), 3.5, 4.0, 6.0, 10.0, 20.0)
_VARIANCES = (
    *(0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
    *(2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 15.0, 20.0),
)
_EPSILONS = (
    *(0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5),
    *(1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0),
)
# what the sliders move, each with its values and the name of its range
DRAGGED = {
    "alpha": ("m_alpha", _ALPHAS, "alpha"),
    "variance": ("m_variance", _VARIANCES, "variance"),
    "epsilon": ("m_epsilon", _EPSILONS, "epsilon"),
}
LINK_TITLES = {"m_by": MODES, "m_view": VIEWS}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the controls ask for.

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

    def at(self, name: str, value: float) -> "Asked":
        """The same with another ``value`` of the slider that moves ``name``."""
        moved: dict[str, Any] = {name: value}
        return replace(self, **moved)

    def build(self) -> list[Mechanism]:
        """Build the mechanisms, one of each family. Raises ``DPMCError``."""
        names = [name for name in FAMILIES if name in self.scales or self.with_staircase]
        if self.compare == "free":
            return [self._free(FAMILIES[name]) for name in names]
        fixed = {"sensitivity": self.sensitivity, "delta": self.delta, "alpha": self.alpha}
        return at_equal(self.compare, getattr(self, self.compare), names=names, **fixed)

    def _free(self, kind: Any) -> Any:
        if not kind.in_runs:
            return kind(epsilon=1.0, sensitivity=self.sensitivity)
        shape = {"alpha": self.alpha} if "alpha" in kind.shape else {}
        return kind(scale=self.scales[kind.name], **shape)


def form() -> Asked:
    """Draw the bar above the figures, and the settings in the sidebar."""
    compare = controls.segments("Compare at equal", "m_by", MODES, "variance")
    alpha = controls.steps_slider("Huber's α", "m_alpha", _ALPHAS, 1.5, limit="alpha")
    variance = epsilon = 1.0
    scales = dict.fromkeys(RUN_FAMILIES, 1.0)
    with controls.place():
        if compare == "variance":
            variance = controls.steps_slider(
                "Variance", "m_variance", _VARIANCES, 2.0, limit="variance"
            )
        elif compare == "epsilon":
            epsilon = controls.steps_slider("ε", "m_epsilon", _EPSILONS, 1.0, limit="epsilon")
    presenter.steps("m_alpha", _PLAYED)
    with controls.settings():
        if compare == "free":
            scales = {
                name: controls.slider(
                    f"{TITLES[name]} scale",
                    f"m_scale_{name}",
                    "scale",
                    1.0,
                    low=0.05,
                    high=10.0,
                    step=0.05,
                )
                for name in scales
            }
        sensitivity = controls.slider(
            "Sensitivity Δ", "m_sensitivity", "sensitivity", 1.0, low=0.1, high=10.0, step=0.1
        )
        with_staircase = controls.switch(
            "Show staircase noise",
            "m_staircase",
            meaning="The ε-DP noise of least variance (Geng & Viswanath 2016).",
        )
        view = controls.segments("Figure", "m_view", VIEWS, "density")
        delta = declared.box("delta", "m_delta")
        draws = [1_000, 10_000, 100_000, 1_000_000]
        samples = controls.steps_slider("Samples in the histogram", "m_samples", draws, 100_000)
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
        samples=int(samples),
        seed=seed,
        view=view,
    )
