"""The questions of the *Completion* page, and what only algorithms for protected users read."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.datasets import entry
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.presets import LIKING, PEOPLE, WELL_REGULARISED, fitted
from dpmc_core.experiments.studies.spec import STUDIES
from pages.parts.completion.controls import SHARED, use_preset
from pages.parts.frame import presenter
from pages.parts.ui import controls, declared, glossary
from pages.parts.ui.looks import NOISES, TOTALS

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
LIST_TITLES = {
    name: a.title for name, a in ALGORITHMS.items() if a.unit == "user" and a.rate is not None
}
STUDY_NOISES = {name: title for name, title in NOISES.items() if name != "none"}
USER_TITLES = {
    "question": QUESTIONS,
    **declared.titles(USERS),
    "list_algorithm": LIST_TITLES,
    "study_noise": STUDY_NOISES,
}
# where a visitor starts
FIRST: dict[str, Any] = {
    name: PEOPLE[name] for name in ("dataset", "n_users", "n_items", "n_ratings")
}
# fields whose widget goes by another name
KEYS = {
    "items_per_user": "k",
    "item_share": "beta",
    "global_penalty": "penalty",
    **{name: f"user_{name}" for name in SHARED},
}
FIRST_METHOD = {"k": 50, "nuclear": 1.0}  # where the other boxes start: smaller sets than usual
NUMBERS = (*SHARED, "item_share", "clip_norm")


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


def use_numbers() -> None:
    """The usual numbers of all methods, when the dataset is changed."""
    state = st.session_state
    state.update(usual_numbers(state["dataset"], state.get("question", "compare")))
    use_preset(WELL_REGULARISED)


def use_question() -> None:
    """Likes have usual numbers of their own; other questions leave the numbers as they are."""
    state = st.session_state
    liking = state["question"] == "recommend"
    if liking != state.get("numbers-for-likes", False):
        use_numbers()
    state["numbers-for-likes"] = liking


def ask(question: str) -> None:
    """Ask another question, as if it were chosen."""
    st.session_state["question"] = question
    use_question()


def epsilon_slider(row: DeltaGenerator) -> float:
    """Total ε of each run that protects users, in ``row``."""
    with row:
        epsilon = controls.steps_slider(
            "Total ε", "total_epsilon", TOTALS, 5.0, help=glossary.meaning("epsilon")
        )
    presenter.steps("total_epsilon", TOTALS)
    return epsilon


def user_controls(dataset: str, question: str) -> dict[str, Any]:
    """The knobs of all algorithms that protect users."""
    usual = usual_numbers(dataset, question)
    if question == "skew":
        return {"items_per_user": declared.box("dpals.items_per_user", "k", FIRST_METHOD["k"])}
    st.markdown("**Where users are protected**")
    fields: dict[str, Any] = {
        n: declared.box(f"dpals.{n}", KEYS[n], usual[KEYS[n]], why="Users") for n in SHARED
    }
    # likes are 1 or nothing; a penalty on what was not liked is theirs alone
    other = "centring" if question == "recommend" else "global_penalty"
    return fields | declared.boxes(USERS, FIRST_METHOD | usual, {*SHARED, other}, KEYS)


def one_configuration(question: str) -> dict[str, Any]:
    """Algorithm and noise where all runs of a question share them: a study, or one person's
    lists.
    """
    if question == "skew":
        return {"algorithm": "moments", "mechanism": "gaussian"}
    algorithm = "dpals" if question in ("items", "projection", "exponents") else "moments"
    with controls.place():
        if question == "lists":
            algorithm = controls.choice("Algorithm", "list_algorithm", LIST_TITLES, algorithm)
    noise = controls.choice("Noise", "study_noise", STUDY_NOISES, "gaussian")
    return {"algorithm": algorithm, "mechanism": noise}
