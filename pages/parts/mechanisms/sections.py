"""The sections of the *Mechanisms* page, one function each."""

from functools import partial

import streamlit as st

from dpmc_core.facts import facts
from dpmc_core.limits import LIMITS
from dpmc_core.mechanisms import Huber, Mechanism
from dpmc_core.privacy import Ledger, Release
from dpmc_core.wording import power, three
from pages.parts.frame import drag, page, python_lines
from pages.parts.mechanisms import charts, texts
from pages.parts.mechanisms.controls import DRAGGED, TITLES, Asked
from pages.parts.ui import controls, densities, on_screen
from pages.parts.ui.figures import show
from pages.parts.ui.on_screen import show_table


def shapes(mechanisms: list[Mechanism], view: str) -> None:
    """Draw the density of every noise, or what ``view`` asks for."""
    facts = "; ".join(f"{TITLES[m.name]} standard deviation {three(m.std)}" for m in mechanisms)
    show(
        densities.densities(mechanisms, view),
        f"mechanisms-{view}",
        f"{view} of each noise. {facts}.",
    )


def follow(request: Asked) -> None:
    """Have the figures follow each slider of the bar."""

    def frame(name: str, value: float) -> drag.Frame:
        moved = request.at(name, value)
        mechanisms = moved.build()
        huber = next(m for m in mechanisms if isinstance(m, Huber))
        figures = {
            f"mechanisms-{moved.view}": densities.densities(mechanisms, moved.view)[0],
            "variance-alpha": densities.variance_curve(huber)[0],
        }
        return drag.Frame(texts.verdict(mechanisms, moved), figures)

    for name, (key, values, limit) in DRAGGED.items():
        if name in ("alpha", request.compare):
            drag.follow(
                key,
                controls.with_linked(key, values, limit),
                partial(frame, name),
                request.at(name, 1.0),
                playing="Play" if name == "alpha" else "",
            )


def lines(mechanisms: list[Mechanism], sensitivity: float, delta: float) -> None:
    """Remember the Python of what one release with each noise costs."""
    on_screen.add_lines(
        "One release",
        f"{python_lines.imports_of(mechanisms)}\n"
        f"sensitivity, delta = {sensitivity!r}, {delta!r}\n"
        f"for noise in {mechanisms!r}:\n"
        '    print(noise, "variance", noise.variance, "pure ε", noise.epsilon(sensitivity))\n'
        '    print("  ε at δ", noise.epsilon_at_delta(delta, sensitivity))\n'
        '    print("  right guesses of the best attacker", noise.best_guess(sensitivity))\n',
    )


def cards(mechanisms: list[Mechanism], sensitivity: float, delta: float) -> None:
    """Say what one release with each noise costs."""
    for m in page.cards(mechanisms):
        st.markdown(f"**{TITLES[m.name]}**")
        st.caption(
            f"variance {three(m.variance)} · pure ε {three(m.epsilon(sensitivity))} · ε at "
            f"δ = {power(delta)}: {three(m.epsilon_at_delta(delta, sensitivity))} · Fisher "
            f"information {three(m.fisher_information)} (how sharply many draws locate the value)"
        )
        st.caption(
            f"The best attacker guesses right {100 * m.best_guess(sensitivity):.1f} times "
            "in 100 (exact, one release; 50 is chance)."
        )
    st.caption(
        "Exact, for one release of one number that one person can move by at most Δ. Pure ε bounds "
        "the worst outcome; the attacker's guess averages over all outcomes."
    )


def attackers(mechanisms: list[Mechanism], sensitivity: float) -> None:
    """Draw what an attacker finds who sees one release with each noise."""
    releases = [
        Release(
            what="one number",
            mechanism=noise,
            l1_sensitivity=sensitivity,
            l2_sensitivity=sensitivity,
            unit="record",
            neighbours="add/remove-one",
            coordinates=1,
            count=1,
            sound=True,
            source="chosen on the page",
        )
        for noise in mechanisms
    ]
    densities.show_attackers(
        [Ledger((one,)) for one in releases],
        "Exact for one release: no rule that an attacker may use to tell “in” from “out” lies "
        "above its noise's line (the trade-off function, f-DP). Nearer to chance is more private.",
    )


def variance(huber: Huber) -> None:
    """Draw Huber noise's variance against α, with the point that is shown."""
    show(
        densities.variance_curve(huber),
        "variance-alpha",
        f"At scale {three(huber.scale)} the variance of Huber noise falls with α from Laplace's "
        f"2s²/α² to Gaussian's s²; at α = {huber.alpha:g} it is {three(huber.variance)}.",
    )


def sampled(huber: Huber, samples: int, seed: int) -> None:
    """Draw samples of Huber noise over its density."""
    figure, numbers, spread = densities.sampled(huber, samples, seed)
    show(
        figure,
        "samples",
        f"{samples:,} samples of Huber noise follow its density; sample variance "
        f"{three(spread)} against {three(huber.variance)}.",
        numbers,
    )
    st.caption(
        f"{samples:,} draws of the teaching sampler, seed {seed}; bars ± 95 %. Sample variance "
        f"{three(spread)}, exact {three(huber.variance)} (huber-thesis figure 4.3)."
    )


def losses(mechanisms: list[Mechanism], huber: Huber, sensitivity: float, delta: float) -> None:
    """Draw the privacy loss of each outcome, and δ against ε."""
    left, right = st.columns(2)
    with left:
        st.subheader("Privacy loss of each outcome", anchor=False)
        bound = huber.epsilon(sensitivity)
        show(
            charts.privacy_loss(mechanisms, sensitivity),
            "privacy-loss",
            f"The privacy loss of Huber noise stays within ±αΔ/s = ±{three(bound)}; Gaussian "
            "noise's grows without bound.",
        )
        st.caption(
            "How strongly one noise value speaks for one dataset over its neighbour (huber-paper, "
            "appendix A). Bounded loss is pure differential privacy."
        )
    with right:
        st.subheader("Failure probability δ against ε", anchor=False)
        at = huber.epsilon_at_delta(delta, sensitivity)
        show(
            charts.privacy_profile(mechanisms, sensitivity),
            "privacy-profile",
            f"Exact δ(ε) of one release; at δ = {power(delta)} Huber noise has ε = {three(at)}.",
        )
        st.caption(
            "Exact for one scalar release. Huber and Laplace reach δ = 0 at their pure ε; Gaussian "
            "never does."
        )


def table_1() -> None:
    """Show Table 1 of the Huber paper, re-computed."""
    table = charts.table_1()
    show_table(
        table,
        "Table 1: printed, textbook and exact epsilon for Gaussian, Laplace and Huber noise "
        "of variance 1 to 4.",
        column_config={
            name: st.column_config.NumberColumn(format="%.3f") for name in table.columns[1:]
        },
    )
    st.markdown(
        "ε at equal variance, Δ = 5, δ = 10⁻⁵. The printed Gaussian column uses a base-10 "
        "logarithm where the textbook formula has the natural one, and that formula is proved "
        "only for ε < 1; the exact values (Balle & Wang 2018) are higher than both in every "
        "row. The Huber column is right to 0.1 % except at variance 3, where 4.235 is "
        "printed and 4.216 is the value; its "
        '"variance 1" row has variance 1.0036.'
    )


def formulas() -> None:
    """Show the formulas of the page."""
    for one in facts("formulas")["formula"]:
        pieces = [f"- ${piece}$ for ${where}$" for piece, where in one.get("pieces", ())]
        st.markdown("\n".join([f"**{one['heading']}**", "", *pieces]))
        for formula in one.get("whole", ()):
            st.latex(formula)
    st.caption(
        "huber-paper eq. 2–4, Theorem 2.1 and appendix A; huber-thesis eq. 4.3–4.5, whose printed "
        "inverse has the wrong sign before its last logarithm, and A.43 another third piece of g: "
        "*Papers* has both checks. At scale s, x and Δ are divided by s. α may be "
        f"{LIMITS['alpha'].allowed}."
    )
