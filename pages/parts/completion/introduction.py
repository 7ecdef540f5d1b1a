"""The sentences that open the *Completion* page: what is asked, who is protected, which model."""

from collections.abc import Sequence

import streamlit as st

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.recommended import recommended_algorithm
from dpmc_core.experiments.studies.spec import STUDIES
from pages.parts.completion.user_controls import QUESTIONS

__all__ = ["chosen_by_rule", "introduction"]


def introduction(protect: str, question: str) -> None:
    """Say what is asked, and what is protected."""
    if question in ("compare", "lists"):
        st.markdown(
            "Fill in a matrix of ratings from the few that are known, with and without noise, "
            "and compare the error on ratings that were held out. The dotted lines are "
            "**baselines**: a run above them has learned nothing useful."
        )
    elif question == "recommend":
        st.markdown(
            "Learn from some people what is liked together, with and without noise, and "
            "recommend to others who were **held out**. The dotted lines are baselines: a run "
            "below *most liked* has learned nothing useful."
        )
    elif question == "skew":
        st.markdown(
            f"**{QUESTIONS[question]}** To bound what one person can change, at most k of their "
            "ratings take part. Which of a person's ratings those are decides how unevenly "
            "items are known. *Uniform*: drawn evenly. *Adaptive*: everybody's rarest. *All, by "
            "weights*: all of them, rare items weighing more."
        )
    else:
        st.markdown(
            f"**{QUESTIONS[question]}** {STUDIES['completion'][question].intro} Many runs, the "
            "same settings along each line, and what a baseline reaches."
        )
    if protect == "user" and question != "skew":
        st.markdown(
            "**Users are protected** wherever there is noise. All of a user's ratings may be in "
            "or out. What is learned about items leaves with noise; then every user's own taste "
            "is worked out from their own ratings, for them alone (*joint* differential "
            "privacy). ε is the total of one run; several runs on the same people add up."
        )


def chosen_by_rule(protect: str, specs: Sequence[RunSpec]) -> None:
    """Say which model the house would take here, and why; no private data is read."""
    noisy = next((s for s in specs if s.noise.epsilon is not None), None)
    if protect != "user" or noisy is None:
        return
    choice = recommended_algorithm(noisy)
    st.caption(
        f":material/rule: **Recommended method: {ALGORITHMS[choice.algorithm].title}.** "
        f"{choice.why[0].upper()}{choice.why[1:]}. A rule by sizes and ε; it reads no rating."
    )
