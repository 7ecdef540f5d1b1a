"""What the *Factorization* page is asked, and the runs or the study that it means."""

from dataclasses import dataclass
from typing import Any

from streamlit.delta_generator import DeltaGenerator

from dpmc_core.datasets import Entry, entry
from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.studies.spec import StudySpec
from pages.parts.factorization.controls import (
    QUESTIONS,
    data_controls,
    dataset_choice,
    method_controls,
    privacy_controls,
    side_by_side,
)
from pages.parts.frame.study import Built
from pages.parts.ui import controls, declared

# what all runs of a study share
_SHARED = ("mechanism", "alpha", "epsilon", "delta", "averaging", "start", "neighbours")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, the fields its runs share, those about privacy, and how many seeds."""

    question: str
    shared: dict[str, Any]
    privacy: dict[str, Any]
    seeds: int

    @property
    def known(self) -> Entry:
        """The chosen set."""
        return entry(self.shared["dataset"])

    @property
    def images(self) -> bool:
        """Whether the set holds images: else documents."""
        return self.known.holds == "images"

    def build(self) -> Built:
        """Build the runs or the study, or a sentence about what is wrong."""
        built = Built()
        try:
            built = self._comparison() if self.question == "compare" else self._study()
            problem = "" if self.known.present() else self._absent()
        except ParameterError as error:
            problem = str(ParameterError(self._named(error.name), error.value, error.allowed))
        except DPMCError as error:
            problem = str(error)
        return Built(built.specs, built.study, problem)

    def _comparison(self) -> Built:
        fields = side_by_side(self.shared, self.privacy)
        return Built(specs=tuple(RunSpec.fitting(one) for one in fields))

    def _study(self) -> Built:
        settings = {**self.shared, **{n: v for n, v in self.privacy.items() if n in _SHARED}}
        if self.question == "rounds":
            settings |= {"rounds": self.privacy["published_rounds"]}
        return Built(study=StudySpec.of("factorization", self.question, settings, self.seeds))

    def _absent(self) -> str:
        where = (
            "fetch it on the Datasets page"
            if self.known.fetchable
            else "the Datasets page says where to get it"
        )
        return (
            f"{self.known.title} is not on this machine yet: {where}, or choose a set that "
            "ships with the app."
        )

    def _named(self, name: str) -> str:
        return f"How many {'parts' if self.images else 'topics'} K" if name == "rank" else name


def form(row: DeltaGenerator) -> Asked:
    """Draw the widgets: in ``row`` the question, the data and the total ε; everything else in the
    sidebar.
    """
    seeds = 1
    with row:
        question = controls.choice("Question", "f_question", QUESTIONS, "compare")
        shared: dict[str, Any] = {"dataset": dataset_choice(question)}
    name = entry(shared["dataset"]).name
    with controls.settings():
        with controls.place():
            shared |= method_controls(name, question)
        with controls.place():
            shared |= data_controls(name, question)
        privacy = privacy_controls(row, name, question)
        shared |= declared.chance(name, "f_seed", guaranteed=True)
        if question != "compare":
            seeds = declared.box("study_seeds", "f_seeds")
    return Asked(question=question, shared=shared, privacy=privacy, seeds=seeds)
