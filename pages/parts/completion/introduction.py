"""What the *Completion* page compares, who is protected, and the recommended method."""

from collections.abc import Sequence

import streamlit as st

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.recommended import recommended_algorithm
from dpmc_core.experiments.studies.spec import STUDIES
from dpmc_core.privacy import odds_sentence, subject
from pages.parts.completion.user_controls import QUESTIONS

_QUESTIONS = {
    "compare": (
        "A matrix of ratings is completed from the few that are known, with and without noise. "
        "The error is measured on held-out ratings. The dotted lines are **baselines**: a model "
        "above them has learned nothing useful."
    ),
    "recommend": (
        "The model learns which items people like together, with and without noise, and "
        "recommends items to **held-out** users. The dotted lines are baselines: a model below "
        "*most liked* has learned nothing useful."
    ),
    "skew": (
        "To bound what one user can change, at most k of their ratings take part. Three ways to "
        "choose them: *uniform* (at random), *adaptive* (the items that fewest people rated) "
        "and *all, by weights* (all ratings, rare items with more weight)."
    ),
}


def introduction(question: str, specs: Sequence[RunSpec]) -> None:
    """Say what is compared, what is protected, and which method is recommended."""
    known = (
        _QUESTIONS["compare" if question == "lists" else question]
        if (question in (*_QUESTIONS, "lists"))
        else (
            f"{STUDIES['completion'][question].intro} Many runs, the same settings along each "
            "line, and the baseline."
        )
    )
    st.markdown(f"**{QUESTIONS[question]}** {known}")
    noisy = [s for s in specs if s.card.guarantee and s.noise.kind != "none"]
    if any(s.card.unit == "rating" and s.noise.kind != "none" for s in specs):
        st.markdown(
            "**Where one rating is protected, as published**, neighbouring datasets differ in the "
            "value of one rating. Users' factors are computed without noise, and sensitivities are "
            "assumed: ε is nominal, and no guarantee."
        )
    if noisy and question != "skew":
        st.markdown(
            "**Where one user is protected, neighbouring datasets differ in all their ratings.** "
            "Only noisy statistics about items are released; each user's own factors are computed "
            "from their own ratings (*joint* differential privacy). ε is the total of one run; "
            "several runs on the same people compose."
        )
        if (epsilon := noisy[0].noise.epsilon) is not None:
            st.markdown(odds_sentence(epsilon, noisy[0].noise.delta, subject("user")))
        if question not in STUDIES["completion"]:
            _recommended(noisy[0])


def _recommended(noisy: RunSpec) -> None:
    choice = recommended_algorithm(noisy)
    st.markdown(
        f"**Recommended method: {ALGORITHMS[choice.algorithm].title}.** "
        f"{choice.why[0].upper()}{choice.why[1:]}. This rule uses sizes and ε only; it reads no "
        "rating."
    )
