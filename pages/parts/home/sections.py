"""The sections of the *Home* page, one function each."""

import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpmc_core.arrays import FloatArray
from dpmc_core.experiments import RunSpec, run
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES, Gaussian, Huber, Laplace
from dpmc_core.metrics import Comparison
from dpmc_core.privacy import guess_bound
from dpmc_core.wording import three
from pages.parts.frame import presenter
from pages.parts.ui import controls, declared, densities, glossary, on_screen, pictures
from pages.parts.ui import figure_cache as drawn_once
from pages.parts.ui.figures import draw, show
from pages.parts.ui.looks import IDENTITY

EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
NOISES = {name: FAMILIES[name].title for name in RUN_FAMILIES}
LINK_TITLES = {"home_noise": NOISES}


def form() -> tuple[str, int]:
    """Draw the settings of the picture; returns the mechanism and the seed."""
    mechanism = controls.choice("Mechanism", "home_noise", NOISES, "huber")
    seed = declared.box("seed", "home_seed")
    st.button(
        "Draw again",
        icon=":material/casino:",
        on_click=lambda: st.session_state.update(home_seed=int(st.session_state.home_seed) + 1),
        help="New noise: the next seed.",
    )
    return mechanism, seed


def epsilon_slider() -> float:
    """Draw the slider of ε, and the button that plays it from 10 to 0.1."""
    epsilon = controls.steps_slider(
        "ε: more private ← → more accurate",
        "home_epsilon",
        EPSILONS,
        1.0,
        help=glossary.meaning("epsilon"),
    )
    presenter.steps("home_epsilon", EPSILONS, playing=EPSILONS[::-1])
    presenter.play("Moves ε from 10 down to 0.1.")
    return epsilon


_SIDE = 10  # dots in a row
_SURE_CHANCE = 0.995  # a chance that would be written as 100 in 100


def _odds(chance: float, most: str) -> str:
    if chance >= _SURE_CHANCE:
        return "right nearly always"
    return f"right {most}{100 * chance:.0f} times in 100"


@drawn_once.of_values
def attackers(before: float, after: float) -> go.Figure:
    """Two blocks of 100 dots, as many filled as the attacker is right in 100 tries.

    The chances are those without any release (``before``) and with one (``after``).
    """
    k = np.arange(_SIDE * _SIDE)
    fig = go.Figure(
        layout={
            "height": 300,
            "margin": {"l": 4, "r": 4, "t": 52, "b": 4},
            "xaxis": {"visible": False, "range": [-0.7, 21.7], "fixedrange": True},
            "yaxis": {"visible": False, "range": [9.7, -0.7], "fixedrange": True},
            "showlegend": False,
            "annotations": [
                {
                    "text": f"<b>{said}</b><br>{_odds(chance, most)}",
                    "x": left + 4.5,
                    "y": 1.0,
                    "yref": "paper",
                    "yanchor": "bottom",
                    "showarrow": False,
                    "font": {"size": 14},
                }
                for said, most, chance, left in (
                    ("Without a release", "", before, 0),
                    ("After a release", "≤ ", after, 11.5),
                )
            ],
        }
    )
    for chance, left in ((before, 0.0), (after, 11.5)):
        right = k < round(100 * chance)
        for name, chosen, colour, symbol in (
            ("guesses right", right, "#0072B2", "circle"),
            ("guesses wrong", ~right, "rgb(128,128,128)", "circle-open"),
        ):
            fig.add_scatter(
                x=left + (k % _SIDE)[chosen],
                y=(k // _SIDE)[chosen],
                mode="markers",
                name=name,
                hoverinfo="name",
                marker={"size": 11, "color": colour, "symbol": symbol},
            )
    return fig


_SIZE = 40  # people and films that are shown
_PAUSE = 0.3  # seconds between two pictures made ahead: visitors come first


@dataclass(frozen=True, eq=False)
class Picture:
    """A corner of the true matrix and of the completed one, and what the run came to.

    The held-out RMSE (clipped) of it and of the best baseline, how far ``beyond`` that it is with
    half of the 95 % interval, the standard deviation of the noise, and the label of the statement.
    """

    truth: FloatArray
    completed: FloatArray
    error: float
    baseline: float
    beyond: Comparison
    noise: float
    label: str


def spec_of(mechanism: str, epsilon: float, seed: int) -> RunSpec:
    """The run behind a picture."""
    spec = RunSpec.of(
        n_users=150,
        n_items=150,
        true_rank=4,
        observed=0.3,
        rank=4,
        reg=0.5,
        iterations=15,
        seed=seed,
    )
    return spec if mechanism == "none" else spec.replace(mechanism=mechanism, epsilon=epsilon)


@lru_cache(maxsize=256)
def picture(mechanism: str, epsilon: float, seed: int) -> Picture:
    """Run ``mechanism`` ("none": no noise) at nominal ``epsilon`` for each draw."""
    result = run(spec_of(mechanism, epsilon, seed))
    truth = result.split.test.truth
    assert truth is not None  # the data are made
    return Picture(
        truth=truth.left[:_SIZE] @ truth.right[:_SIZE].T,
        completed=result.model.user_factors[:_SIZE] @ result.model.item_factors[:_SIZE].T,
        error=result.final.test_rmse_clipped,
        baseline=min(result.baselines.values()),
        beyond=result.against_baseline,
        noise=result.ledger.releases[0].mechanism.std if result.ledger.private else 0.0,
        label=result.statement.label,
    )


@drawn_once.of_values
def panels(mechanism: str, epsilon: float, seed: int) -> tuple[go.Figure, pd.DataFrame]:
    """Draw the truth and the matrix completed without and with noise; and numbers."""
    clean, noisy = picture("none", 1.0, seed), picture(mechanism, epsilon, seed)
    three = [
        ("truth", clean.truth),
        ("no noise", clean.completed),
        ("noise, with nominal ε", noisy.completed),
    ]
    return pictures.heat_map(three, float(clean.truth.min()), float(clean.truth.max()))


def make_ahead(seed: int = 0) -> None:
    """Every picture of ``seed``, one after the other and not in a hurry."""
    for mechanism in NOISES:
        for epsilon in EPSILONS:
            panels(mechanism, epsilon, seed)
            time.sleep(_PAUSE)


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
            attackers(0.5, chance),
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
        "matrix worse than the baseline? Press *Draw again* in the settings: how much of what you "
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
