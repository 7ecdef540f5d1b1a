"""The sections of the *Home* page, one function each."""

import streamlit as st

from dpmc_core.mechanisms import Gaussian, Huber, Laplace
from dpmc_core.privacy import guess_bound, odds_sentence
from dpmc_core.wording import three
from pages.parts.home import charts
from pages.parts.home.controls import Asked
from pages.parts.home.picture import panels, picture
from pages.parts.ui import densities, glossary
from pages.parts.ui.figures import IDENTITY, draw, show

__all__ = ["invitations", "noises", "odds", "picture_that_degrades"]


def odds(epsilon: float) -> None:
    """Say how well the best attacker guesses, before and after a release."""
    chance = guess_bound(epsilon)
    st.subheader(odds_sentence(epsilon), anchor=False)
    left, right = st.columns(2)
    with left:
        draw(
            charts.icon_array(0.5, "Without any release: right 50 times in 100"),
            "icons-before",
            "Without a release an attacker guesses right 50 times in 100.",
            toolbar=False,
        )
    with right:
        draw(
            charts.icon_array(
                chance, f"After the release: right at most about {100 * chance:.0f} times in 100"
            ),
            "icons-after",
            f"After a release with ε = {epsilon:g} an attacker guesses right at most "
            f"{100 * chance:.0f} times in 100.",
            toolbar=False,
        )

    st.caption(
        f"True of any release that really has ε = {epsilon:g}: no attacker can do better, "
        "whatever else they know about the other people, and most noises allow less (the "
        "Mechanisms page gives exact figures)."
    )


def picture_that_degrades(asked: Asked) -> None:
    """Draw the matrix of ratings that noise makes worse."""
    epsilon, mechanism, seed = asked.epsilon, asked.mechanism, asked.seed
    clean, noisy = picture("none", 1.0, seed), picture(mechanism, epsilon, seed)
    st.subheader(
        f"One picture that degrades (nominal ε = {epsilon:g} per draw: not the odds above)",
        anchor=False,
    )
    figure, numbers = panels(mechanism, epsilon, seed)
    show(
        figure,
        "home-picture",
        "Three matrices of ratings: the truth, completed without noise (RMSE "
        f"{clean.error:.2f}), and completed with noise at nominal ε = {epsilon:g} (RMSE "
        f"{noisy.error:.2f}).",
        numbers,
    )
    verdict = "still beats" if noisy.error < clean.baseline else "no longer beats"
    st.markdown(
        "30 % of a 150 × 150 matrix of ratings is known; the rest is completed. Without noise "
        f"the held-out error (RMSE, clipped to the scale) is **{three(clean.error)}** rating "
        f"units; noise with standard deviation {three(noisy.noise)} makes it "
        f"**{three(noisy.error)}**, which {verdict} the best baseline "
        f"({three(clean.baseline)})."
    )
    st.caption(
        f"Counted: {noisy.label}. *Nominal* means counted as the Huber paper counts: per "
        "rating, at an assumed sensitivity of 5. The odds above are **not** those of this "
        "picture, whose true loss is larger; the Completion page says what the count leaves out."
    )


def noises(epsilon: float) -> None:
    """Draw the three kinds of noise at this ε."""
    st.subheader("The three kinds of noise at this ε", anchor=False)
    trio = [
        Huber.with_epsilon(epsilon, 1.0),
        Laplace.with_epsilon(epsilon, 1.0),
        Gaussian.with_epsilon(epsilon, 1.0, delta=1e-5),
    ]
    figure, numbers = densities.densities(trio)
    sds = ", ".join(f"{IDENTITY[m.name].title} {three(m.std)}" for m in trio)
    show(
        figure,
        "home-densities",
        f"Densities at ε = {epsilon:g} and sensitivity 1. Standard deviations: {sds}.",
        numbers,
    )
    st.caption(
        "One number whose value moves by at most 1 when one person changes. Huber (α = 1.5) and "
        f"Laplace hold ε = {epsilon:g} always; Gaussian only up to a failure probability δ = "
        f"10⁻⁵. Standard deviations: {sds}."
    )


def invitations() -> None:
    """Link to the other pages, four in a row."""
    for k, (page, known) in enumerate(
        (name, known) for name, known in glossary.PAGES.items() if known.invite
    ):
        if k % 4 == 0:
            cells = st.columns(4)
        cells[k % 4].page_link(f"{page}.py", label=known.invite, icon=f":material/{known.icon}:")
