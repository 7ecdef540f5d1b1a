"""What the *Completion* page is asked, and the runs or the study that it means."""

from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.datasets import Entry, entry
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.studies.spec import STUDIES, StudySpec
from pages.parts.completion.controls import configuration, data_controls, method_controls
from pages.parts.completion.user_controls import (
    PROTECTED,
    QUESTIONS,
    first_numbers,
    one_configuration,
    use_numbers,
    use_protection,
    use_question,
    user_configurations,
    user_controls,
    usual_numbers,
)
from pages.parts.frame.study import Built
from pages.parts.ui import controls, declared
from pages.parts.ui.looks import LETTERS


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question about "rating" or "user" (``protect``), and the fields of its runs.

    Those that all runs share, those of each configuration, what the users' controls said
    (``settings``, empty for ratings), and the seeds of each point of a study.
    """

    protect: str
    question: str
    shared: dict[str, Any]
    configurations: list[dict[str, Any]]
    settings: dict[str, Any]
    seeds: int

    @property
    def known(self) -> Entry:
        """The chosen set."""
        return entry(self.shared["dataset"])

    @property
    def is_study(self) -> bool:
        """Whether many runs answer the question."""
        return self.question in STUDIES["completion"]

    def build(self) -> Built:
        """Build the runs and the study, or a sentence about what is wrong."""
        specs: tuple[RunSpec, ...] = ()
        study: StudySpec | None = None
        problem = ""
        try:
            specs = tuple(RunSpec.fitting({**self.shared, **one}) for one in self.configurations)
            if self.is_study:
                fields = {**self.shared, **self.configurations[0]}
                study = StudySpec.of("completion", self.question, fields, self.seeds)
            if not self.known.present():
                problem = (
                    f"{self.known.title} is not on this machine yet: fetch it on the Datasets "
                    "page, or choose a synthetic set."
                )
        except DPMCError as error:
            problem = str(error)
        return Built(specs, study, problem)


def form(row: DeltaGenerator) -> Asked:
    """Draw the widgets: in ``row`` who is protected and ε; in the sidebar everything else."""
    question, seeds = "compare", 1
    with row:
        protect = controls.choice(
            "Who is protected", "protect", PROTECTED, "rating", then=use_protection
        )
    with st.sidebar:
        st.subheader("Question")
        with controls.place():
            if protect == "user":
                question = controls.choice(
                    "Question", "question", QUESTIONS, "compare", then=use_question
                )
            else:
                st.caption("Are ratings predicted well? Other questions need protected users.")
        st.subheader("Data")
        with controls.place():
            shared = data_controls(first_numbers(protect), use_numbers)
        st.subheader("Method")
        with controls.place():
            shared |= _method(shared["dataset"], protect, question)
        st.subheader("Privacy")
        settings: dict[str, Any] = {}
        with controls.place():
            if protect == "user":
                settings = user_controls(row, shared["dataset"], question)
        with controls.place():
            configurations = _of_users(question, settings) if protect == "user" else _of_ratings()
        st.subheader("Seed")
        shared |= declared.chance(shared["dataset"], "seed", guaranteed=protect == "user")
        if question in STUDIES["completion"]:
            seeds = declared.box("study_seeds", "seeds")
    return Asked(
        protect=protect,
        question=question,
        shared=shared,
        configurations=configurations,
        settings=settings,
        seeds=seeds,
    )


def _method(dataset: str, protect: str, question: str) -> dict[str, Any]:
    if question == "skew":
        st.caption("Nothing is learned here.")
        return {}
    return method_controls(
        dataset,
        usual_numbers(dataset, question) if protect == "user" else {},
        rating=protect == "rating",
        splits=question in ("compare", "lists"),
    )


def _of_ratings() -> list[dict[str, Any]]:
    count = int(controls.segments("Configurations", "n", {"1": "1", "2": "2", "3": "3"}, "2"))
    return [configuration(letter) for letter in LETTERS[:count]]


def _of_users(question: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    if question == "compare":
        return user_configurations(question, settings)
    if question == "recommend":
        return [{**c, "task": "recommend"} for c in user_configurations(question, settings)]
    return [one_configuration(question, settings)]
