"""What the *Completion* page is asked, and the runs or the study that it means."""

from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.datasets import Entry, entry
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.studies.spec import STUDIES, StudySpec
from pages.parts.completion.controls import (
    configuration,
    dataset_choice,
    how_many,
    method_controls,
    shape_controls,
)
from pages.parts.completion.user_controls import (
    PROTECTED,
    QUESTIONS,
    first_numbers,
    one_configuration,
    use_numbers,
    use_protection,
    use_question,
    user_configuration,
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
    (``settings``, empty for ratings), the seeds of each point of a study, and whether errors are of
    predictions that are clipped (``clip``).
    """

    protect: str
    question: str
    shared: dict[str, Any]
    configurations: list[dict[str, Any]]
    settings: dict[str, Any]
    seeds: int
    clip: bool

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
    """Draw the widgets: in ``row`` who is protected, what is asked, the data and ε; below it a line
    for each configuration; everything else in the sidebar.
    """
    question, seeds, lines = "compare", 1, st.container(key="configurations", horizontal=True)
    settings = controls.settings()
    with row:
        protect = controls.choice(
            "Who is protected", "protect", PROTECTED, "rating", then=use_protection
        )
        with controls.place():
            if protect == "user":
                question = controls.choice(
                    "Question", "question", QUESTIONS, "compare", then=use_question
                )
        first = first_numbers(protect)
        shared: dict[str, Any] = {"dataset": dataset_choice(first, use_numbers)}
    with settings:
        shared |= shape_controls(shared["dataset"], first)
        with controls.place():
            shared |= _method(shared["dataset"], protect, question)
        of_users: dict[str, Any] = {}
        with controls.place():
            if protect == "user":
                of_users = user_controls(row, shared["dataset"], question)
        noise = controls.place()
        shared |= declared.chance(shared["dataset"], "seed", guaranteed=protect == "user")
        if question in STUDIES["completion"]:
            seeds = declared.box("study_seeds", "seeds")
        clip = question != "compare" or controls.switch(
            "Clip predictions to the rating scale",
            "clip",
            True,
            help="A prediction of 6 stars becomes 5; the papers probably do this.",
        )
    several = question in ("compare", "recommend")
    with row:
        count = how_many(3) if several else 1
    with lines:
        if not several:
            with noise:
                configurations = [one_configuration(question, of_users)]
        elif protect == "user":
            configurations = [user_configuration(x, question, of_users) for x in LETTERS[:count]]
        else:
            configurations = [configuration(x, noise) for x in LETTERS[:count]]
    if question == "recommend":
        configurations = [{**one, "task": "recommend"} for one in configurations]
    return Asked(
        protect=protect,
        question=question,
        shared=shared,
        configurations=configurations,
        settings=of_users,
        seeds=seeds,
        clip=clip,
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
