"""The controls of the *Factorization* page, and the runs or the study that they mean.

Its widgets, from them to fields of ``RunSpec``, and all of them as what is ``Asked``.
"""

from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.config import Choice, Settings, parameters
from dpmc_core.datasets import Entry, entry
from dpmc_core.datasets.configs import DocumentData, ImageData, TermCountData, config_of
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.studies.spec import STUDIES, StudySpec
from dpmc_core.factorization.robust import RobustConfig
from dpmc_core.mechanisms import FAMILIES
from pages.parts.frame import presenter
from pages.parts.frame.study import Built
from pages.parts.server import user_data
from pages.parts.ui import controls, declared, glossary, links
from pages.parts.ui.looks import SOME_NOISE, TOTALS

QUESTIONS = {
    "compare": "What is learned?",
    **{name: study.title for name, study in STUDIES["factorization"].items()},
}
STOP_WORDS = {"left-out": "left out", "kept": "kept"}
_OWNERS = ("nmf", "private-nmf-published", "private-nmf")


def _rule(config: type, name: str = "word_list") -> Choice:
    rule = parameters(config)[name].rule
    assert isinstance(rule, Choice)
    return rule


FACTOR_TITLES: links.LinkTitles = {
    "f_question": QUESTIONS,
    "f_data": partial(user_data.linked, "images", "documents"),
    "f_stop": STOP_WORDS,
    "f_noise": SOME_NOISE,
    **{f"f_{name}": titles for name, titles in declared.titles(_OWNERS).items()},
    **{f"f_{name}": _rule(ImageData, name).titled for name in ("corruption", "normalisation")},
    "f_word_list": _rule(DocumentData).titled,
    "f_terms_list": _rule(TermCountData).titled,
}
# parameters of the published form, and of the corrected one
_STEPS = ("dictionary_step", "dictionary_steps", "dictionary_start")
_OF_THE_CORRECTED = ("averaging", "start", "sampling_rate")
# parts or topics that suit a set: as published where the paper names them (its Table 2), else a
# number that reads well
USUAL_PARTS = {
    "lfw": 16,
    "cartoon": 20,
    "olivetti": 25,
    "cbcl": 50,
    "yaleb": 38,
    "lee": 8,
    "topics": 12,
    "bbc": 5,
    "uci-news": 7,
    "guardian": 8,
    "20newsgroups": 20,
    "tdt2": 30,
    "rcv1": 4,
}
OWN_PARTS = 8
PUBLISHED_ROUNDS = 200  # a second or two; by default runs have as many as the paper's curves need
USUAL_MADE = {"cartoon": 2000, "topics": 2000}


def _use_data() -> None:
    """The usual numbers of a set, when another is picked."""
    name = st.session_state["f_data"]
    st.session_state["f_k"] = USUAL_PARTS.get(name, OWN_PARTS)
    if name in USUAL_MADE:
        st.session_state["f_n"] = USUAL_MADE[name]


def dataset_choice(question: str) -> str:
    """Which images or documents: those that the question can be asked of."""
    study = STUDIES["factorization"].get(question)
    fit = {
        n: t
        for n, t in user_data.menu("images", "documents").items()
        if study is None
        or (entry(n).holds in study.holds and (entry(n).synthetic or not study.made))
    }
    usual = "cartoon"
    if st.session_state.get("f_data", usual) not in fit:
        st.session_state["f_data"] = usual
        _use_data()
    return controls.choice("Data", "f_data", fit, usual, then=_use_data)


def data_controls(name: str, question: str) -> Settings:
    """How many images or documents, spoiled or not, and which words count."""
    fields: Settings = {}
    dataset_entry = entry(name)
    with controls.place():
        if dataset_entry.synthetic:
            with controls.place():
                if question != "people":
                    what = "faces" if dataset_entry.holds == "images" else "documents"
                    fields["n_samples"] = declared.box(
                        "n_samples", "f_n", USUAL_MADE[name], label=f"How many {what} N"
                    )
            fields["data_seed"] = declared.box("data_seed", "f_data_seed")
    fields["normalisation"] = declared.box("images.normalisation", "f_normalisation")
    if dataset_entry.holds == "images":
        corrupted = question == "compare" and controls.switch(
            "Corrupt some images",
            "f_spoil",
            meaning=(
                "A share of the images gets noise on most pixels; errors are still taken on the "
                "clean images (private-NMF paper, section 4.3)."
            ),
        )
        if corrupted:
            fields["contaminated"] = declared.box("contaminated", "f_spoiled")
        if corrupted or question == "outliers":
            fields["corruption"] = declared.box("images.corruption", "f_corruption")
        return fields
    st.markdown("**Words and documents**")
    with controls.place():
        if dataset_entry.name != "topics":
            fields["word_list"] = _word_list(dataset_entry)
    with controls.place():
        if fields.get("word_list") == "documents":
            fields["min_documents"] = declared.box("min_documents", "f_min_df")
            fields["max_share"] = declared.box("max_share", "f_max_df")
    fields["most_words"] = declared.box("most_words", "f_words")
    fields["stop_words"] = controls.segments(
        "Stop words (and, the …)", "f_stop", STOP_WORDS, "left-out"
    )
    if dataset_entry.name in ("tdt2", "rcv1"):
        fields["term_share"] = declared.box(
            "term_share", "f_terms", help="The paper draws a tenth."
        )
    return fields


def _word_list(dataset_entry: Entry) -> str:
    """Ask where the words come from: the set's own terms have lists of their own."""
    rule = _rule(config_of(dataset_entry.name))
    key = "f_terms_list" if "published" in rule.names else "f_word_list"
    # each run would choose a list of its own, and here they are compared over one
    offered = {name: title for name, title in rule.titled.items() if name != "private"}
    meaning = f"{controls.capitalized(rule.meaning)}."
    return controls.choice(rule.label, key, offered, rule.names[0], help=meaning)


def method_controls(dataset: str, question: str) -> Settings:
    """How many parts, and the steps of each form."""
    if question == "parts":
        return {"rank": 2}  # the study sets its own, from 2 on
    word = "parts" if entry(dataset).holds == "images" else "topics"
    usual = USUAL_PARTS.get(dataset, OWN_PARTS)
    fields = {"rank": declared.box("nmf.rank", "f_k", usual, label=f"How many {word} K")}
    if question == "compare":
        fields["solver"] = declared.box("nmf.solver", "f_solver", why="Not private")
    return fields


def privacy_controls(row: DeltaGenerator, dataset: str, question: str) -> Settings:
    """Total ε, in ``row``; noise, ε of a round, and what belongs to each private form."""
    fields: Settings = {}
    own = question != "compare" and STUDIES["factorization"][question].own_epsilon
    with controls.place():
        fields["mechanism"] = (
            controls.choice("Noise distribution", "f_noise", SOME_NOISE, "gaussian")
            if question not in ("rounds", "start")
            else "gaussian"
        )
        if "alpha" in FAMILIES[fields["mechanism"]].shape:
            fields["alpha"] = declared.box("alpha", "f_alpha", label="α of Huber noise")
    if not own:
        with row:
            fields["epsilon"] = controls.steps_slider(
                "Total ε", "f_epsilon", TOTALS, 2.0, help=glossary.meaning("epsilon")
            )
        presenter.steps("f_epsilon", TOTALS)
    fields["delta"] = declared.box("account_delta", "f_delta")
    with controls.place():
        if question in ("compare", "rounds"):
            fields["published_rounds"] = declared.box(
                "nmf.rounds", "f_published_rounds", PUBLISHED_ROUNDS, why="As published", step=10
            )
        if question == "compare":
            fields["round_epsilon"] = declared.box(
                "round.epsilon", "f_round_epsilon", why="As published"
            )
            for name in _STEPS:
                owner = "private-nmf-published"
                fields[name] = declared.box(f"{owner}.{name}", f"f_{name}", why="As published")
            fields["quiet"] = controls.switch(
                "As published, without noise too",
                "f_quiet",
                meaning="The same rounds without noise, which protect nobody: the paper draws its "
                "private objective beside theirs.",
            )
            fields["sound_rounds"] = declared.box(
                "nmf.rounds", "f_sound_rounds", 20, why="Corrected"
            )
            fields["sound_inner"] = declared.box("nmf.inner", "f_sound_inner", 10, why="Corrected")
    for name in _OF_THE_CORRECTED:
        fields[name] = declared.box(f"private-nmf.{name}", f"f_{name}", why="Corrected")
    fields["neighbours"] = declared.box(
        "private-nmf.neighbours", "f_neighbours", why="With a guarantee"
    )
    return fields


def side_by_side(shared: Settings, privacy: Settings) -> list[Settings]:
    """The fields of the four runs that are compared: one more with spoiled images, and one where
    the published form is to run without noise too.
    """
    spoiled = shared.get("contaminated", 0.0) > 0
    usual = parameters(RobustConfig)
    outliers = {"outlier_penalty": usual["outlier_penalty"].default} if spoiled else {}
    shared = {**shared, "delta": privacy["delta"]}
    noise: Settings = {
        name: privacy[name]
        for name in ("mechanism", "alpha", "epsilon", "neighbours")
        if name in privacy
    }
    published = {
        "algorithm": "private-nmf-published",
        "rounds": privacy["published_rounds"],
        **{name: privacy[name] for name in _STEPS},
        **outliers,
    }
    sound = {
        "rounds": privacy["sound_rounds"],
        "inner": privacy["sound_inner"],
        **{name: privacy[name] for name in _OF_THE_CORRECTED},
    }
    runs: list[Settings] = [
        {"algorithm": "nmf", **({"inner": usual["inner"].default} if spoiled else {})}
    ]  # beside robust NMF: as many steps
    if spoiled:
        runs.append({"algorithm": "robust-nmf", **outliers})
    runs += [
        *([published] if privacy["quiet"] else []),
        {**published, "mechanism": "gaussian", "epsilon": privacy["round_epsilon"]},
        {"algorithm": "private-nmf", **noise, **sound, **outliers},
        {"algorithm": "moment-nmf", **noise},
    ]
    return [{**shared, **run} for run in runs]


# what all runs of a study share
_SHARED = ("mechanism", "alpha", "epsilon", "delta", "averaging", "start", "neighbours")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, the fields its runs share, those about privacy, and how many seeds."""

    question: str
    shared: Settings
    privacy: Settings
    seeds: int

    @property
    def dataset_entry(self) -> Entry:
        """The chosen set."""
        return entry(self.shared["dataset"])

    @property
    def images(self) -> bool:
        """Whether the set holds images: else documents."""
        return self.dataset_entry.holds == "images"

    def build(self) -> Built:
        """Build the runs or the study, or a sentence about what is wrong."""
        specs, study = tuple[RunSpec, ...](), None
        try:
            if self.question == "compare":
                fields = side_by_side(self.shared, self.privacy)
                specs = tuple(RunSpec.fitting(one) for one in fields)
            else:
                settings = self.shared | {n: v for n, v in self.privacy.items() if n in _SHARED}
                if self.question == "rounds":
                    settings["rounds"] = self.privacy["published_rounds"]
                study = StudySpec.of("factorization", self.question, settings, self.seeds)
            problem = user_data.absent(self.dataset_entry)
        except DPMCError as error:
            problem = str(error)
        return Built(specs, study, problem)


def form(row: DeltaGenerator) -> Asked:
    """Draw the widgets: in ``row`` the question, the data and the total ε; everything else in the
    sidebar.
    """
    seeds = 1
    with row:
        question = controls.choice("Question", "f_question", QUESTIONS, "compare")
        shared: Settings = {"dataset": dataset_choice(question)}
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
