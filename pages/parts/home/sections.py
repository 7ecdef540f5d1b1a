"""The sections of the *Home* page, one function each."""

import streamlit as st

from dpmc_core.mechanisms import Gaussian, Huber, Laplace
from dpmc_core.privacy import guess_bound
from dpmc_core.wording import three
from pages.parts.home import charts
from pages.parts.home.picture import panels, picture, spec_of
from pages.parts.ui import densities, glossary, on_screen
from pages.parts.ui.figures import draw, show
from pages.parts.ui.looks import IDENTITY

_SURE = 99.5  # right guesses in 100 that would be written as 100


def verdict(epsilon: float) -> str:
    """Say how well the best attacker guesses."""
    chance = 100 * guess_bound(epsilon)
    if chance >= _SURE:
        return (
            f"At ε = {epsilon:g}, an attacker may be all but certain whether you are in the data."
        )
    return (
        f"At ε = {epsilon:g}, an attacker guesses whether you are in the data right at most "
        f"about {chance:.0f} times in 100."
    )


def privacy_and_cost(epsilon: float, mechanism: str, seed: int) -> None:
    """Draw the attacker's dots beside the matrix of ratings that noise makes worse."""
    chance = guess_bound(epsilon)
    clean, noisy = picture("none", 1.0, seed), picture(mechanism, epsilon, seed)
    left, right = st.columns([2, 3])
    with left:
        st.markdown("**Privacy**: the attacker's guesses")
        draw(
            charts.attackers(0.5, chance),
            "attackers",
            f"Without a release an attacker guesses right 50 times in 100; with ε = {epsilon:g} "
            f"at most {100 * chance:.0f} times.",
            toolbar=False,
        )
    with right:
        st.markdown("**Accuracy**: ratings completed from 30 % of them")
        show(
            panels(mechanism, epsilon, seed),
            "home-picture",
            "Three matrices of ratings: the truth, completed without noise (RMSE "
            f"{clean.error:.2f}), and completed with noise at nominal ε = {epsilon:g} (RMSE "
            f"{noisy.error:.2f}).",
        )


def lines(epsilon: float, mechanism: str, seed: int) -> None:
    """Remember the Python of the odds and of the picture."""
    on_screen.add_lines(
        "How often an attacker guesses right, at most",
        f"from dpmc_core.privacy import guess_bound\n\nprint(guess_bound({epsilon!r}))",
    )
    noisy = f"With noise, nominal ε = {epsilon:g}"
    for label, name in (("Completed without noise", "none"), (noisy, mechanism)):
        on_screen.add_lines(label, spec_of(name, epsilon, seed).python())


def observations(epsilon: float, mechanism: str, seed: int) -> list[str]:
    """Say what the noise costs, and what the ε of the picture is."""
    clean, noisy = picture("none", 1.0, seed), picture(mechanism, epsilon, seed)
    compared = noisy.beyond.than("the best baseline")
    return [
        f"**What it costs**: a typical error (RMSE) of {three(clean.error)} without noise, "
        f"**{three(noisy.error)}** with it, {compared} "
        f"({three(clean.baseline)}; lower is better).",
        "The picture's ε is nominal, of one release: not a guarantee, so the odds do not hold "
        "for it.",
    ]


def method(epsilon: float) -> None:
    """Say how the odds and the picture were computed."""
    st.markdown(
        "People rate films; a service learns from the ratings and publishes what it learned. "
        "**Differential privacy** adds noise, so that what is published says little about "
        "whether one person is in the data."
    )
    st.markdown(
        f"**The odds** hold for every release that really has ε = {epsilon:g}: no attacker can "
        "do better, whatever else they know about the other people, and most mechanisms allow "
        "less (the Mechanisms page gives exact figures)."
    )
    st.markdown(
        "**The picture**: 30 % of a 150 × 150 matrix of synthetic ratings is known; the rest is "
        "completed. Privacy is accounted for per rating, at an assumed sensitivity of 5, as in "
        "the Huber paper. The Completion page says what that leaves out."
    )
    st.markdown(
        "**Try this**: move ε from 10 down to 0.1, or press *Play*. At which ε is the completed "
        "matrix worse than the baseline? Press *Draw again* in the sidebar: how much of what you "
        "see is chance?"
    )
    st.caption(
        "The noise comes from a teaching sampler: exact in theory, but floating-point numbers "
        "can leak through their last digits (Mironov 2012). Do not publish numbers about real "
        "people with it."
    )


def noises(epsilon: float) -> None:
    """Draw the three kinds of noise at this ε."""
    trio = [
        Huber.with_epsilon(epsilon, 1.0),
        Laplace.with_epsilon(epsilon, 1.0),
        Gaussian.with_epsilon(epsilon, 1.0, delta=1e-5),
    ]
    sds = ", ".join(f"{IDENTITY[m.name].title} {three(m.std)}" for m in trio)
    show(
        densities.densities(trio),
        "home-densities",
        f"Densities at ε = {epsilon:g} and sensitivity 1. Standard deviations: {sds}.",
    )
    st.caption(
        "One number whose value moves by at most 1 when one person changes. Huber (α = 1.5) and "
        f"Laplace hold ε = {epsilon:g} always; Gaussian only up to a failure probability δ = "
        f"10⁻⁵. Standard deviations: {sds}."
    )


def invitations() -> None:
    """Link to the lessons and the other pages, four in a row."""
    st.page_link(
        "lessons.py", label="New here? Take a lesson of ten minutes", icon=":material/school:"
    )
    for k, (page, known) in enumerate(
        (name, known) for name, known in glossary.PAGES.items() if known.invite
    ):
        if k % 4 == 0:
            cells = st.columns(4)
        cells[k % 4].page_link(f"{page}.py", label=known.invite, icon=f":material/{known.icon}:")
