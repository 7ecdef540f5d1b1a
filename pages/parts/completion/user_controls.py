"""The controls of the *Completion* page where users are protected.

Its questions and widgets, and from them to fields of ``RunSpec``.
"""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.datasets import entry
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.presets import LIKING, PEOPLE, WELL_REGULARISED, fitted
from dpmc_core.experiments.studies.spec import STUDIES
from pages.parts.completion.controls import SHARED, algorithm_choice, line_of, use_preset
from pages.parts.frame import presenter
from pages.parts.ui import controls, declared, glossary
from pages.parts.ui.looks import NOISES, TOTALS

PROTECTED = {"rating": "one rating, as published", "user": "one user, all their ratings"}
QUESTIONS = {
    "compare": "Are ratings predicted well?",
    "recommend": "Are items recommended well?",
    "lists": "What does one person see?",
    **{name: study.title for name, study in STUDIES["completion"].items()},
    "skew": "Whose ratings take part?",
}
OWN_EPSILON = (
    "lists",
    "epsilon",
    "items",
    "rank",
    "projection",
    "skew",
)  # questions that set ε themselves, or need none
USERS = tuple(name for name, a in ALGORITHMS.items() if a.unit == "user")
RATING_TITLES = {
    name: a.title for name, a in ALGORITHMS.items() if a.rate is not None and a.unit != "rating"
}
LIKING_TITLES = {name: a.title for name, a in ALGORITHMS.items() if a.recommend is not None}
LIST_TITLES = {
    name: a.title for name, a in ALGORITHMS.items() if a.unit == "user" and a.rate is not None
}
STUDY_NOISES = {name: title for name, title in NOISES.items() if name != "none"}
USER_TITLES = {
    "protect": PROTECTED,
    "question": QUESTIONS,
    **declared.titles(USERS),
    "list_algorithm": LIST_TITLES,
    "study_noise": STUDY_NOISES,
    **{f"{x}_user_algorithm": RATING_TITLES for x in "abc"},
    **{f"{x}_like_algorithm": LIKING_TITLES for x in "abc"},
    **{f"{x}_user_noise": NOISES for x in "abc"},
}
STARTING_RATINGS = {"A": "moments", "B": "dpals", "C": "private-means"}
STARTING_LIKES = {"A": "moments", "B": "dpals", "C": "popular"}
# where a visitor starts
FIRST: dict[str, Any] = {
    name: PEOPLE[name] for name in ("dataset", "n_users", "n_items", "n_ratings")
}
RATING_FIRST: dict[str, Any] = {
    "dataset": "low-rank",
    "n_users": 300,
    "n_items": 300,
    "n_ratings": 20_000,
}
# fields whose widget goes by another name
KEYS = {"items_per_user": "k", "item_share": "beta", "global_penalty": "penalty"}
FIRST_METHOD = {"k": 50, "nuclear": 1.0}  # where the other boxes start: smaller sets than usual
NUMBERS = ("rank", "reg", "iterations", "item_share", "clip_norm")


def first_numbers(protect: str) -> dict[str, Any]:
    """Dataset and its shape, before anything is chosen."""
    return FIRST if protect == "user" else RATING_FIRST


def usual_numbers(dataset: str, question: str) -> dict[str, Any]:
    """The usual numbers of the method for a dataset and what is asked."""
    synthetic = entry(dataset).synthetic
    usual = (
        {name: PEOPLE[name] for name in NUMBERS if synthetic or name != "item_share"}
        | {"sampling": "adaptive", "gram_ratio": 2.0}
        | ({} if synthetic else {"rank": 12})  # of DPALS on MovieLens 1M
    )
    if question == "recommend":
        usual |= LIKING | ({"item_share": PEOPLE["item_share"]} if synthetic else {})
    return {KEYS.get(name, name): value for name, value in fitted(usual, dataset).items()}


def use_protection() -> None:
    """The usual data and numbers for what is protected, when that is changed."""
    state = st.session_state
    if entry(
        state["dataset"]
    ).synthetic:  # each has its own usual set: what protects users needs more people
        state.update(FIRST if state.get("protect") == "user" else RATING_FIRST)
    use_numbers()


def use_numbers() -> None:
    """The usual numbers of the method, when the dataset is changed."""
    state = st.session_state
    if state.get("protect") == "user":
        state.update(usual_numbers(state["dataset"], state.get("question", "compare")))
    else:
        use_preset(WELL_REGULARISED)


def use_question() -> None:
    """Likes have usual numbers of their own; other questions leave the numbers as they are."""
    state = st.session_state
    liking = state["question"] == "recommend"
    if liking != state.get("numbers-for-likes", False):
        use_numbers()
    state["numbers-for-likes"] = liking


def user_controls(row: DeltaGenerator, dataset: str, question: str) -> dict[str, Any]:
    """Total ε, in ``row``, and DPALS's own knobs, shared by all runs that protect users."""
    usual = usual_numbers(dataset, question)
    fields: dict[str, Any] = {}
    if question == "skew":
        return {"items_per_user": declared.box("dpals.items_per_user", "k", FIRST_METHOD["k"])}
    if question not in OWN_EPSILON:
        with row:
            fields["epsilon"] = controls.steps_slider(
                "Total ε of each run",
                "total_epsilon",
                TOTALS,
                5.0,
                help=glossary.meaning("epsilon"),
            )
        presenter.steps("total_epsilon", TOTALS)
    st.markdown("**DPALS and Frank–Wolfe**")
    # likes are 1 or nothing; a penalty on what was not liked is theirs alone
    other = "centring" if question == "recommend" else "global_penalty"
    fields |= declared.boxes(USERS, FIRST_METHOD | usual, {*SHARED, other}, KEYS)
    return fields


def one_configuration(question: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Algorithm and noise where all runs of a question share them.

    A study, or one person's lists.
    """
    fields = dict(settings)
    with controls.place():
        if question == "lists":
            fields["algorithm"] = controls.choice(
                "Algorithm", "list_algorithm", LIST_TITLES, "moments"
            )
        else:
            fields["algorithm"] = (
                "dpals" if question in ("items", "projection", "exponents") else "moments"
            )
    fields["mechanism"] = (
        "gaussian"
        if question == "skew"
        else controls.choice("Noise", "study_noise", STUDY_NOISES, "gaussian")
    )
    return fields


def user_configuration(letter: str, question: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Algorithm and noise family of a configuration that protects users, in a line."""
    low, liking = letter.lower(), question == "recommend"
    titles = LIKING_TITLES if liking else RATING_TITLES
    key = f"{low}_like_algorithm" if liking else f"{low}_user_algorithm"
    first = (STARTING_LIKES if liking else STARTING_RATINGS)[letter]
    with line_of(letter):
        name = algorithm_choice(letter, key, titles, first)
        fields: dict[str, Any] = {"algorithm": name, "mechanism": "none"}
        with controls.place():
            if ALGORITHMS[name].unit == "user":
                fields["mechanism"] = controls.choice(
                    f"{letter}: noise",
                    f"{low}_user_noise",
                    NOISES,
                    "gaussian",
                    label_visibility="collapsed",
                )
    if fields["mechanism"] == "none":
        return fields | {name: value for name, value in settings.items() if name != "epsilon"}
    return fields | settings
