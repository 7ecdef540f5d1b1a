"""What the *Completion* page is asked, and the runs or the study that it means."""

from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.datasets import Entry, entry
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.studies.spec import STUDIES, StudySpec
from pages.parts.completion.controls import (
    AMOUNTS,
    SPLITS,
    configuration,
    dataset_choice,
    how_many,
    offer_papers_pair,
    rating_controls,
    shape_controls,
)
from pages.parts.completion.user_controls import (
    FIRST,
    OWN_EPSILON,
    QUESTIONS,
    epsilon_slider,
    one_configuration,
    use_numbers,
    use_question,
    user_controls,
)
from pages.parts.frame.study import Built
from pages.parts.ui import controls, declared
from pages.parts.ui.looks import LETTERS


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, and the fields of its runs.

    Those that all runs share, those of each configuration, how many of a user's ratings take part
    (``items_per_user``, where that is the question), the seeds of each point of a study, and
    whether errors are of predictions that are clipped (``clip``).
    """

    question: str
    shared: dict[str, Any]
    configurations: list[dict[str, Any]]
    items_per_user: int
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
    """Draw the widgets: in ``row`` what is asked, the data and ε; below it a line for each
    configuration; everything else in the sidebar.
    """
    seeds, lines = 1, st.container(key="configurations", horizontal=True)
    settings = controls.settings()
    with row:
        question = controls.choice("Question", "question", QUESTIONS, "compare", then=use_question)
        shared: dict[str, Any] = {"dataset": dataset_choice(FIRST, use_numbers)}
        count = how_many(question) if question in ("compare", "recommend") else 1
    dataset = shared["dataset"]
    with settings:
        shared |= shape_controls(dataset, FIRST)
        of: dict[str, dict[str, Any]] = {"rating": {}, "user": {}}
        with controls.place():
            if question == "compare":
                of["rating"] = rating_controls(dataset)
        with controls.place():
            of["user"] = user_controls(dataset, question)
        # methods without privacy: as many factors and as much regularisation as ALS
        of[""] = {name: of["rating"][name] for name in ("rank", "reg") if of["rating"]}
        noise = controls.place()
        shared |= _data_and_delta(dataset, question)
        chance = controls.place()
        with controls.place():
            if question in STUDIES["completion"]:
                seeds = declared.box("study_seeds", "seeds")
        clip = question != "compare" or controls.switch(
            "Clip predictions to the rating scale",
            "clip",
            True,
            help="A prediction of 6 stars becomes 5; the papers probably do this.",
        )
    if question in ("compare", "recommend"):
        with lines:
            configurations = [configuration(x, question, noise) for x in LETTERS[:count]]
            if question == "compare":
                offer_papers_pair(dataset)
    else:
        with noise:
            configurations = [one_configuration(question)]
    noisy = [one for one in configurations if one["mechanism"] != "none"]
    guaranteed = [one for one in noisy if ALGORITHMS[one["algorithm"]].unit == "user"]
    by_total = [one for one in noisy if not one.keys() & AMOUNTS.keys()]
    if by_total and question not in OWN_EPSILON:
        total = epsilon_slider(row)
        for one in by_total:
            one["epsilon" if one in guaranteed else "total_epsilon"] = total
    with chance:
        drawn = declared.chance(dataset, "seed", guaranteed=bool(guaranteed))
    repeatable = {"seed": drawn.get("split_seed", drawn.get("seed"))}  # the same ratings held out
    for one in configurations:
        one |= of[ALGORITHMS[one["algorithm"]].unit] | (drawn if one in guaranteed else repeatable)
    if question == "recommend":
        shared["task"] = "recommend"
    return Asked(
        question=question,
        shared=shared,
        configurations=configurations,
        items_per_user=of["user"].get("items_per_user", 1),
        seeds=seeds,
        clip=clip,
    )


def _data_and_delta(dataset: str, question: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    with controls.place():
        if dataset == "ml-100k" and question in ("compare", "lists"):
            fields["split"] = controls.segments("Split", "split", SPLITS, "random")
    fields["test_fraction"] = declared.box("test_fraction", "test_fraction", 0.2)
    with controls.place():
        if question != "skew":
            fields["delta"] = declared.box("account_delta", "delta")
    return fields
