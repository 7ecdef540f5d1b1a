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
from dpmc_core.metrics import Comparison
from dpmc_core.privacy import guess_bound
from dpmc_core.wording import power, three
from pages.parts.frame import drag, presenter
from pages.parts.frame.page import pair
from pages.parts.ui import controls, declared, densities, glossary, on_screen, pictures
from pages.parts.ui.figures import draw, of_values, show
from pages.parts.ui.looks import IDENTITY, SOME_NOISE

EPSILONS = (
    *(0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0),
    *(1.2, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.5, 10.0),
)
DELTA = 1e-5
LINK_TITLES = {"home_noise": SOME_NOISE}


def form() -> tuple[str, int]:
    """Draw the settings of the picture; returns the mechanism and the seed."""
    mechanism = controls.choice("Mechanism", "home_noise", SOME_NOISE, "gaussian")
    seed = declared.box("seed", "home_seed")
    st.button(
        "Draw again",
        icon=":material/casino:",
        on_click=lambda: st.session_state.update(home_seed=int(st.session_state.home_seed) + 1),
        help="New noise: the next seed.",
    )
    return mechanism, seed


def epsilon_slider() -> float:
    """Draw the slider of ε."""
    epsilon = controls.steps_slider(
        "ε",
        "home_epsilon",
        EPSILONS,
        1.0,
        ends="more private ← → more accurate",
        help=glossary.meaning("epsilon"),
    )
    presenter.steps("home_epsilon", EPSILONS)
    return epsilon


def frame(epsilon: float, mechanism: str, seed: int) -> drag.Frame:
    """What follows the slider."""
    figures = {
        "attackers": attackers(guess_bound(epsilon, DELTA)),
        "home-picture": panels(mechanism, epsilon, seed)[0],
    }
    return drag.Frame(verdict(epsilon, mechanism, seed), figures)


_SIDE = 10  # dots in a row
_SURE_CHANCE = 0.995  # a chance that would be written as 100 in 100


def _odds(chance: float, most: str) -> str:
    if chance >= _SURE_CHANCE:
        return "right nearly always"
    return f"right {most}{100 * chance:.0f} times in 100"


@of_values
def attackers(chance: float) -> go.Figure:
    """Two blocks of 100 dots, as many filled as the attacker is right in 100 tries: without any
    release, and after one that leaves this ``chance``.
    """
    k = np.arange(_SIDE * _SIDE)
    blocks = (("Without a release", "", 0.5, 0.0), ("After a release", "≤ ", chance, 11.5))
    fig = go.Figure(
        layout={
            "height": 300,
            "margin": {"l": 4, "r": 4, "t": 52, "b": 4},
            "xaxis": {"visible": False, "range": [-0.7, 21.7], "fixedrange": True},
            "yaxis": {"visible": False, "range": [9.7, -0.7], "fixedrange": True},
            "hovermode": "closest",
            "annotations": [
                {
                    "text": f"<b>{title}</b><br>{_odds(chance, most)}",
                    "x": left + 4.5,
                    "y": 1.0,
                    "yref": "paper",
                    "yanchor": "bottom",
                    "font": {"size": 14},
                }
                for title, most, chance, left in blocks
            ],
        }
    )
    for _, _, chance, left in blocks:
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
                hovertemplate="%{fullData.name}<extra></extra>",
                marker={"size": 11, "color": colour, "symbol": symbol},
            )
    return fig


_SIZE = 40  # people and films that are shown
_PAUSE = 0.3  # seconds between two pictures made ahead: visitors come first


@dataclass(frozen=True, eq=False)
class Picture:
    """A corner of the true matrix and of the completed one, and what the run came to.

    The held-out RMSE (clipped) of it and of the best baseline, how far ``beyond`` that it is with
    half of the 95 % interval, and the label of the statement.
    """

    truth: FloatArray
    completed: FloatArray
    error: float
    baseline: float
    beyond: Comparison
    label: str


def spec_of(mechanism: str, epsilon: float, seed: int) -> RunSpec:
    """The run behind a picture: a recommender with a guarantee for each person."""
    spec = RunSpec.of(
        algorithm="moments",
        n_users=500,
        n_items=_SIZE,
        true_rank=3,
        observed=0.5,
        rank=3,
        seed=seed,
    )
    noise = {"delta": DELTA, "mechanism": mechanism, "epsilon": epsilon}
    return spec if mechanism == "none" else spec.replace(**noise)


@lru_cache(maxsize=256)
def picture(mechanism: str, epsilon: float, seed: int) -> Picture:
    """Run with ``mechanism`` ("none": no noise) at a total ``epsilon``."""
    result = run(spec_of(mechanism, epsilon, seed))
    truth = result.split.test.truth
    assert truth is not None  # the data are made
    whole = truth.left[:_SIZE] @ truth.right[:_SIZE].T
    by_person, _, by_film = np.linalg.svd(whole - whole.mean())
    shown = np.ix_(np.argsort(by_person[:, 0]), np.argsort(by_film[0]))  # like beside like
    model = result.model
    return Picture(
        truth=whole[shown],
        completed=(model.user_factors[:_SIZE] @ model.item_factors[:_SIZE].T)[shown],
        error=result.final.test_rmse_clipped,
        baseline=min(result.baselines.values()),
        beyond=result.against_baseline,
        label=result.statement.label,
    )


def both_pictures(mechanism: str, epsilon: float, seed: int) -> tuple[Picture, Picture]:
    """The run without noise and the one with it."""
    return picture("none", 1.0, seed), picture(mechanism, epsilon, seed)


@of_values
def panels(mechanism: str, epsilon: float, seed: int) -> tuple[go.Figure, pd.DataFrame]:
    """Draw the truth and the matrix completed without and with noise; and numbers."""
    clean, noisy = both_pictures(mechanism, epsilon, seed)
    three = [
        ("truth", clean.truth),
        ("no noise", clean.completed),
        (f"ε = {epsilon:g}", noisy.completed),
    ]
    low, high = float(clean.truth.min()), float(clean.truth.max())
    return pictures.heat_map(three, low, high, rows="people", columns="films")


def make_ahead(seed: int = 0) -> None:
    """Every picture of ``seed``, one after the other and not in a hurry."""
    for epsilon in EPSILONS:
        panels("gaussian", epsilon, seed)
        time.sleep(_PAUSE)


def verdict(epsilon: float, mechanism: str, seed: int) -> str:
    """Say how well the best attacker guesses, and how well ratings are predicted."""
    chance, noisy = guess_bound(epsilon, DELTA), picture(mechanism, epsilon, seed)
    beyond = noisy.beyond.than("averages")
    if chance >= _SURE_CHANCE:
        clause = "an attacker may be all but certain that you are in the data"
    else:
        clause = f"an attacker guesses right at most {100 * chance:.0f} times in 100"
    return f"At ε = {epsilon:g}, {clause}; predictions are {beyond} (one draw)."


def privacy_and_cost(epsilon: float, mechanism: str, seed: int) -> None:
    """Draw the attacker's dots beside the matrix of ratings that noise makes worse."""
    chance = guess_bound(epsilon, DELTA)
    clean, noisy = both_pictures(mechanism, epsilon, seed)
    left, right = pair()
    with left:
        st.markdown("**Privacy**: the attacker's guesses")
        draw(
            attackers(chance),
            "attackers",
            f"Without a release an attacker guesses right 50 times in 100; with ε = {epsilon:g} "
            f"at most {100 * chance:.0f} times.",
            toolbar=False,
        )
    with right:
        st.markdown("**Accuracy**: what a film service learns from 500 people")
        show(
            panels(mechanism, epsilon, seed),
            "home-picture",
            f"Three matrices of ratings, 40 people by 40 films: true tastes, learned without noise "
            f"(RMSE {clean.error:.2f}), and learned with noise at a total ε = {epsilon:g} (RMSE "
            f"{noisy.error:.2f}).",
        )


def lines(epsilon: float, mechanism: str, seed: int) -> None:
    """Remember the Python of the odds and of the picture."""
    on_screen.add_lines(
        "How often an attacker guesses right, at most",
        f"from dpmc_core.privacy import guess_bound\n\nprint(guess_bound({epsilon!r}, {DELTA!r}))",
    )
    noisy = f"Learned with noise, ε = {epsilon:g}"
    for label, name in (("Learned without noise", "none"), (noisy, mechanism)):
        on_screen.add_lines(label, spec_of(name, epsilon, seed).python())


def observations(epsilon: float, mechanism: str, seed: int) -> list[str]:
    """Say what the noise costs, and what the guarantee protects."""
    clean, noisy = both_pictures(mechanism, epsilon, seed)
    compared = noisy.beyond.than("the best baseline")
    return [
        f"**Typical error** (RMSE): {three(clean.error)} without noise, **{three(noisy.error)}** "
        f"with it, {compared} ({three(clean.baseline)}). Each person's device predicts, with "
        "their own ratings.",
        f"Odds and picture have the same ε: {noisy.label}. It protects all ratings of one person.",
    ]


def method(epsilon: float) -> None:
    """Say how the odds and the picture were computed."""
    st.markdown(
        "People rate films; a service learns from the ratings and publishes what it learned. "
        "**Differential privacy** adds noise, so that what is published says little about "
        "whether one person is in the data."
    )
    st.markdown(
        f"**The odds** hold for every release that has ε = {epsilon:g} at δ = {power(DELTA)}: no "
        "attacker can do better, whatever else they know about the other people, and most "
        "mechanisms allow less (the Mechanisms page gives exact figures)."
    )
    st.markdown(
        "**The picture**: 500 synthetic people have rated half of 40 films; a fifth of that is "
        "held out. Noise goes once on sums over all people (one-shot moments), and factors are "
        "learned from the noisy sums. Each person's own ratings are put together with them on "
        "that person's side. The same run is on the Completion page, with *one user* protected."
    )
    st.markdown(
        "**Try this**: move ε from 10 down to 0.1, or press *Play*. At which ε are the "
        "predictions worse than the baseline? Press *Draw again* in the settings: how much of "
        "what you see is chance?"
    )
    st.caption(
        "The noise comes from a teaching sampler: exact in theory, but floating-point numbers "
        "can leak through their last digits (Mironov 2012). Do not publish numbers about real "
        "people with it."
    )


def noises(epsilon: float) -> None:
    """Draw the three kinds of noise at this ε."""
    trio = densities.at_equal("epsilon", epsilon, delta=DELTA)
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
    """Link to the lessons and the other pages."""
    st.page_link(
        "lessons.py", label="New here? Take a lesson of ten minutes", icon=":material/school:"
    )
    with st.container(key="invitations", horizontal=True):
        for name, entry in glossary.PAGES.items():
            if entry.invite:
                st.page_link(f"{name}.py", label=entry.invite, icon=f":material/{entry.icon}:")
