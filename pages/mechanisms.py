"""Mechanisms: densities, variance, samples, privacy loss and profile of each noise family, and Table 1 re-computed."""

import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.limits import LIMITS
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.wording import three
from pages.parts.mechanisms import charts, texts
from pages.parts.ui import controls, densities, glossary
from pages.parts.ui.bullet_list import notice
from pages.parts.ui.figures import IDENTITY, show

TITLES = {name: look.title for name, look in IDENTITY.items()}

MODES = {"variance": "variance", "epsilon": "ε", "free": "free"}
VIEWS = {"density": "Densities", "log-density": "Log-densities", "cdf": "Distribution functions"}

controls.on_page("mechanisms.py", {"m_by": MODES, "m_view": VIEWS})
with st.sidebar:
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
        for name in scales:
            scales[name] = controls.slider(
                f"{TITLES[name]} scale",
                f"m_scale_{name}",
                "scale",
                1.0,
                low=0.05,
                high=10.0,
                step=0.05,
            )
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


def build() -> list[Mechanism]:
    """The mechanisms that the sidebar asks for, one of each family."""
    if compare == "variance":
        made: list[Mechanism] = [
            Huber.with_variance(variance, alpha=alpha),
            Laplace.with_variance(variance),
            Gaussian.with_variance(variance),
        ]
        return (
            [*made, Staircase.with_variance(variance, sensitivity=sensitivity)]
            if with_staircase
            else made
        )
    if compare == "epsilon":
        made = [
            Huber.with_epsilon(epsilon, sensitivity, alpha=alpha),
            Laplace.with_epsilon(epsilon, sensitivity),
            Gaussian.with_epsilon(epsilon, sensitivity, delta=delta),
        ]
        return [*made, Staircase.with_epsilon(epsilon, sensitivity)] if with_staircase else made
    made = [
        Huber(alpha=alpha, scale=scales["huber"]),
        Laplace(scale=scales["laplace"]),
        Gaussian(scale=scales["gaussian"]),
    ]
    return [*made, Staircase(epsilon=1.0, sensitivity=sensitivity)] if with_staircase else made


glossary.title("Which noise, and how much?", "mechanisms")
st.markdown(
    "A curator adds noise to a number before publishing it. Four families compete: **Laplace** and **Huber** give a bound ε that "
    "never fails, **Gaussian** one that may fail with a small probability δ, **staircase** the least variance for one ε."
)
controls.link_problems()
try:
    mechanisms = build()
except DPMCError as error:
    st.error(controls.plain(str(error)))
    st.stop()

view = controls.segments("View", "m_view", VIEWS, "density", label_visibility="collapsed")
figure, numbers = densities.densities(mechanisms, view)
facts = "; ".join(f"{TITLES[m.name]} standard deviation {three(m.std)}" for m in mechanisms)
show(figure, f"mechanisms-{view}", f"{view} of each noise. {facts}.", numbers)

notice(texts.notice_mechanisms(mechanisms, sensitivity, delta))

cells = st.columns(len(mechanisms))
for cell, m in zip(cells, mechanisms, strict=True):
    pure = m.epsilon(sensitivity)
    with cell.container(border=True):
        st.markdown(f"**{TITLES[m.name]}**")
        st.caption(
            f"variance {three(m.variance)} · pure ε {three(pure)} · ε at δ = {delta:g}: "
            f"{three(m.epsilon_at_delta(delta, sensitivity))} · Fisher information {three(m.fisher_information)} (how sharply many draws locate the value)"
        )
        st.caption(
            f"The best attacker guesses right {100 * m.best_guess(sensitivity):.1f} times in 100 (exact, one release; 50 is chance)."
        )
st.caption(
    "All for one release of one number that one person can move by at most Δ: exact, no composition. Pure ε bounds the worst "
    "outcome, the guess counts them all, δ(ε) below is the whole story."
)

st.page_link(
    "budget.py", label="What many releases add up to", icon=":material/account_balance_wallet:"
)

huber = next(m for m in mechanisms if isinstance(m, Huber))
left, right = st.columns(2)
with left:
    st.subheader("Variance against α", anchor=False)
    figure, numbers = charts.variance_curve(huber)
    show(
        figure,
        "variance-alpha",
        f"The variance of unit-scale Huber noise falls from the Laplace limit 2/α² to the Gaussian limit 1; at α = {alpha:g} it "
        f"is {three(Huber(alpha=alpha).variance)}.",
        numbers,
    )
    st.caption(
        "huber-thesis eq. 4.5 and figure 4.4. No unit-scale Huber noise has variance 1 or less; scaling it removes that limit."
    )
with right:
    st.subheader("Samples over the density", anchor=False)
    figure, numbers, spread = charts.sampled(huber, samples, seed)
    show(
        figure,
        "samples",
        f"{samples:,} samples of Huber noise follow its density; sample variance {three(spread)} against "
        f"{three(huber.variance)}.",
        numbers,
    )
    st.caption(
        f"{samples:,} draws of the teaching sampler, seed {seed}; bars ± 95 %. Sample variance {three(spread)}, "
        f"exact {three(huber.variance)} (huber-thesis figure 4.3)."
    )

left, right = st.columns(2)
with left:
    st.subheader("Privacy loss of each outcome", anchor=False)
    figure, numbers = charts.privacy_loss(mechanisms, sensitivity)
    bound = huber.epsilon(sensitivity)
    show(
        figure,
        "privacy-loss",
        f"The privacy loss of Huber noise stays within ±αΔ/s = ±{three(bound)}; Gaussian noise's grows without bound.",
        numbers,
    )
    st.caption(
        "How strongly one noise value speaks for one dataset over its neighbour (huber-paper, appendix A). Bounded loss is pure "
        "differential privacy."
    )
with right:
    st.subheader("Failure probability δ against ε", anchor=False)
    figure, numbers = charts.privacy_profile(mechanisms, sensitivity)
    at = huber.epsilon_at_delta(delta, sensitivity)
    show(
        figure,
        "privacy-profile",
        f"Exact δ(ε) of one release; at δ = {delta:g} Huber noise has ε = {three(at)}.",
        numbers,
    )
    st.caption(
        "Exact for one scalar release. Huber and Laplace reach δ = 0 at their pure ε; Gaussian never does."
    )

st.subheader("Table 1 of the Huber paper, re-computed", anchor=False)
table = charts.table_1()
st.dataframe(
    table,
    hide_index=True,
    width="stretch",
    column_config={
        name: st.column_config.NumberColumn(format="%.3f") for name in table.columns[1:]
    },
    alt="Table 1: printed, textbook and exact epsilon for Gaussian, Laplace and Huber noise of variance 1 to 4.",
)
st.markdown(
    "ε at equal variance, Δ = 5, δ = 10⁻⁵. The printed Gaussian column uses a base-10 logarithm where the textbook formula has "
    "the natural one, and that formula is proved only for ε < 1; the exact values (Balle & Wang 2018) are higher than both in every "
    "row. The Huber column is right to rounding except at variance 3, where 4.235 is printed and 4.216 is the value; its "
    '"variance 1" row has variance 1.0036.'
)
with st.expander("The formulas"):
    st.latex(
        r"\rho_\alpha(t)=\begin{cases}t^2/2&|t|\le\alpha\\ \alpha|t|-\alpha^2/2&|t|>\alpha\end{cases}\qquad p(x)=\frac{e^{-\rho_\alpha(x/s)}}{s\,Z(\alpha)},\quad \varepsilon=\frac{\alpha\Delta}{s}"
    )
    st.latex(
        r"Z(\alpha)=\tfrac{2}{\alpha}e^{-\alpha^2/2}+\sqrt{2\pi}\,\mathrm{erf}(\alpha/\sqrt2)\qquad \delta(\varepsilon)=\int p(x)\,\max\!\left(0,1-e^{\varepsilon-g(x)}\right)dx"
    )
    st.caption(
        f"huber-paper eq. 2–3 and Theorem 2.1, with scale s. α may be {LIMITS['alpha'].allowed}."
    )
