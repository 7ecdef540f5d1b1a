"""The sidebar of the *Completion* page where users are protected.

Lives here: its questions and widgets, and from them to fields of ``RunSpec``. Does not live here:
the widgets of single ratings, data and method (``completion_controls``), or running.
"""

from typing import Any

import streamlit as st

from dpmc_core.datasets import entry
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.presets import LIKING, PEOPLE, WELL_REGULARISED, fitted
from dpmc_core.experiments.studies.spec import STUDIES
from dpmc_core.privacy import odds_sentence, subject
from pages.parts.completion.controls import use_preset
from pages.parts.ui import controls, glossary
from pages.parts.ui.names import LETTERS, NOISES, TOTALS

__all__ = [
    "PROTECTED",
    "QUESTIONS",
    "USER_TITLES",
    "first_numbers",
    "one_configuration",
    "use_numbers",
    "use_protection",
    "use_question",
    "user_configurations",
    "user_controls",
    "usual_numbers",
]

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
SAMPLING_TITLES = {"adaptive": "adaptive", "uniform": "uniform", "weights": "all, by weights"}
PROJECTION_TITLES = {"inner": "before λ is added", "printed": "as printed", "off": "off"}
START_TITLES = {"random": "random", "power": "noisy power iteration"}
CENTRING_TITLES = {
    "user": "each user's own mean",
    "mean": "the private mean",
    "none": "the middle of the scale",
}
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
    "sampling": SAMPLING_TITLES,
    "projection": PROJECTION_TITLES,
    "start": START_TITLES,
    "centring": CENTRING_TITLES,
    "list_algorithm": LIST_TITLES,
    "study_noise": STUDY_NOISES,
    **{f"{x}_user_algorithm": RATING_TITLES for x in "abc"},
    **{f"{x}_like_algorithm": LIKING_TITLES for x in "abc"},
    **{f"{x}_user_noise": NOISES for x in "abc"},
}
STARTING = {"A": "moments", "B": "dpals", "C": "private-means"}
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
KEYS = {
    "item_share": "beta",
    "global_penalty": "penalty",
}  # fields whose widget goes by another name
NUMBERS = ("rank", "reg", "iterations", "item_share", "clip_norm")
# DPALS settings that did well on MovieLens 1M at ε = 5 to 20 (another split)
REAL: dict[str, Any] = {"rank": 12, "item_share": 0.15}


def first_numbers(protect: str) -> dict[str, Any]:
    """Dataset and its shape, before anything is chosen."""
    return FIRST if protect == "user" else RATING_FIRST


def usual_numbers(dataset: str, question: str) -> dict[str, Any]:
    """The usual numbers of the method for a dataset and what is asked."""
    synthetic = entry(dataset).synthetic
    usual = (
        {name: PEOPLE[name] for name in NUMBERS}
        | {"sampling": "adaptive", "gram_ratio": 2.0}
        | ({} if synthetic else REAL)
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


def user_controls(dataset: str, question: str, delta: float) -> dict[str, Any]:
    """Total ε, and DPALS's own knobs, shared by all configurations that protect users."""
    usual = usual_numbers(dataset, question)
    fields: dict[str, Any] = {}
    if question == "skew":
        return {
            "items_per_user": int(
                controls.number("Items per user k", "k", "dpals.items_per_user", 50)
            )
        }
    if question not in OWN_EPSILON:
        fields["epsilon"] = controls.steps_slider(
            "Total ε of each run (log scale)",
            "total_epsilon",
            TOTALS,
            5.0,
            help=glossary.meaning("epsilon"),
        )
        st.caption(odds_sentence(fields["epsilon"], delta, subject("user")))
    with st.expander("DPALS and Frank–Wolfe", key="dpals-more"):
        fields["items_per_user"] = int(
            controls.number("Items per user k", "k", "dpals.items_per_user", 50)
        )
        fields["item_share"] = controls.number(
            "Share β of items learned", "beta", "dpals.item_share", usual["beta"], step=0.05
        )
        fields["sampling"] = controls.choice(
            "Which ratings take part",
            "sampling",
            SAMPLING_TITLES,
            usual["sampling"],
            help=(
                "Adaptive: a user's k least-rated items. Uniform: any k. Weights: all, rarer "
                "items weighing more (Krichene et al. 2023)."
            ),
        )
        fields["projection"] = controls.choice(
            "Positive semi-definite projection",
            "projection",
            PROJECTION_TITLES,
            "inner",
            help=(
                "Noise can give a Gram matrix negative eigenvalues; without projection the "
                "solution then runs away."
            ),
        )
        fields["start"] = controls.choice("Start", "start", START_TITLES, "random")
        if question != "recommend":  # likes are 1 or nothing
            fields["centring"] = controls.choice(
                "Ratings are centred by", "centring", CENTRING_TITLES, "user"
            )
        fields["clip_norm"] = controls.number(
            "Length Γᵤ of user vectors",
            "clip_norm",
            "dpals.clip_norm",
            usual["clip_norm"],
            step=0.1,
        )
        if controls.switch(
            "Choose how far ratings are clipped",
            "own_value_clip",
            help=(
                "Γ of the ratings: how far one may lie from the middle of the scale; otherwise "
                "half the scale."
            ),
        ):
            fields["value_clip"] = controls.number(
                "Γ of ratings (rating units)", "value_clip", "dpals.value_clip", 2.0, step=0.5
            )
        fields["gram_ratio"] = controls.number(
            "Noise on Gram matrices : right-hand sides",
            "gram_ratio",
            "dpals.gram_ratio",
            usual["gram_ratio"],
            step=0.5,
        )
        fields["item_exponent"] = controls.number(
            "Item exponent μ", "item_exponent", "dpals.item_exponent", 0.5, step=0.5
        )
        fields["user_exponent"] = controls.number(
            "User exponent ν", "user_exponent", "dpals.user_exponent", 1.0, step=0.5
        )
        if question == "recommend":
            fields["global_penalty"] = controls.number(
                "Penalty λ₀ on what was not liked",
                "penalty",
                "dpals.global_penalty",
                usual["penalty"],
                step=0.1,
            )
        fields["nuclear"] = controls.number(
            "Frank–Wolfe's nuclear norm", "nuclear", "private-fw.nuclear", 1.0, step=0.5
        )
    return fields


def one_configuration(question: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Algorithm and noise where all runs of a question share them.

    A study, or one person's lists.
    """
    fields = dict(settings)
    if question == "lists":
        fields["algorithm"] = controls.choice("Algorithm", "list_algorithm", LIST_TITLES, "moments")
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


def user_configurations(question: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Algorithm and noise family of up to three configurations that protect users."""
    count = int(controls.segments("Configurations", "n", {"1": "1", "2": "2", "3": "3"}, "2"))
    return [_configuration(letter, question, settings) for letter in LETTERS[:count]]


def _configuration(letter: str, question: str, settings: dict[str, Any]) -> dict[str, Any]:
    low, liking = letter.lower(), question == "recommend"
    titles = LIKING_TITLES if liking else RATING_TITLES
    fields: dict[str, Any] = {
        "algorithm": controls.choice(
            f"{letter}: algorithm",
            f"{low}_like_algorithm" if liking else f"{low}_user_algorithm",
            titles,
            (STARTING_LIKES if liking else STARTING)[letter],
            help="  \n".join(
                f"**{t}** {ALGORITHMS[n].summary} ({ALGORITHMS[n].origin})"
                for n, t in titles.items()
            ),
        ),
        "mechanism": "none",
    }
    if ALGORITHMS[fields["algorithm"]].unit == "user":
        fields["mechanism"] = controls.choice(
            f"{letter}: noise", f"{low}_user_noise", NOISES, "gaussian"
        )
    if fields["mechanism"] == "none":
        return fields | {name: value for name, value in settings.items() if name != "epsilon"}
    return fields | settings
