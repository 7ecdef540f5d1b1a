"""The sidebar of the *Factorization* page.

Lives here: its widgets, and from them to fields of ``RunSpec``. Does not live here: validation
(``RunSpec``) or running.
"""

from typing import Any

import streamlit as st

from dpmc_core.config import parameters
from dpmc_core.datasets import entry, names
from dpmc_core.experiments.studies.spec import STUDIES
from dpmc_core.factorization.robust import RobustConfig
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.privacy import odds_sentence, subject
from pages.parts.server import user_data as own_data
from pages.parts.ui import controls, glossary
from pages.parts.ui.names import NOISES, TOTALS

__all__ = [
    "FACTOR_TITLES",
    "QUESTIONS",
    "data_controls",
    "method_controls",
    "privacy_controls",
    "side_by_side",
]

QUESTIONS = {
    "compare": "What is learned?",
    **{name: study.title for name, study in STUDIES["factorization"].items()},
}
DATASETS = {name: entry(name).title for name in names("images", "documents")}
STOP_WORDS = {"left-out": "left out", "kept": "kept"}
FACTOR_NOISES = {name: title for name, title in NOISES.items() if name != "none"}
STARTS = {"mean": "the released average", "random": "random"}
NEIGHBOUR_TITLES = {
    "add/remove-one": "one added or removed",
    "replace-one": "one replaced by another",
}
FACTOR_TITLES = {
    "f_question": QUESTIONS,
    "f_data": DATASETS,
    "f_stop": STOP_WORDS,
    "f_noise": FACTOR_NOISES,
    "f_start": STARTS,
    "f_neighbours": NEIGHBOUR_TITLES,
}
# parts or topics that suit a set: as published where the paper names them (its Table 2), else a
# number that reads well
USUAL_PARTS = {
    "lfw": 16,
    "cartoon": 20,
    "olivetti": 25,
    "cbcl": 49,
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
USUAL_MADE = {"cartoon": 5000, "topics": 2000}


def _use_data() -> None:
    """The usual numbers of a set, when another is picked."""
    name = st.session_state["f_data"]
    st.session_state["f_k"] = USUAL_PARTS.get(name, OWN_PARTS)
    if name in USUAL_MADE:
        st.session_state["f_n"] = USUAL_MADE[name]


def data_controls(question: str) -> dict[str, Any]:
    """Which images or documents, spoiled or not, and which words count."""
    study = STUDIES["factorization"].get(question)
    fit = {
        n: t
        for n, t in own_data.menu("images", "documents").items()
        if study is None
        or (entry(n).holds in study.holds and (entry(n).synthetic or not study.made))
    }
    usual = "cartoon" if study is not None and study.made else "lfw"
    if st.session_state.get("f_data", usual) not in fit:
        st.session_state["f_data"] = usual
        _use_data()
    fields: dict[str, Any] = {
        "dataset": controls.choice("Images or documents", "f_data", fit, usual, then=_use_data)
    }
    known = entry(fields["dataset"])
    if known.synthetic:
        if question != "people":
            fields["n_samples"] = controls.number(
                f"How many {'faces' if known.holds == 'images' else 'documents'} N",
                "f_n",
                "n_samples",
                USUAL_MADE[known.name],
                step=1000,
            )
        fields["data_seed"] = controls.number("Data seed", "f_data_seed", "data_seed", 0)
    if known.holds == "images":
        if question == "compare" and controls.switch(
            "Spoil some images",
            "f_spoil",
            help=(
                "A share of the images gets noise on most pixels; errors are still taken on the "
                "clean images (nmf-paper, section 4.3)."
            ),
        ):
            fields["contaminated"] = controls.number(
                "Share spoiled", "f_spoiled", "contaminated", 0.1, step=0.05
            )
        return fields
    with st.expander("Words and documents", key="f-words"):
        fields["min_documents"] = controls.number(
            "In at least so many documents", "f_min_df", "min_documents", 3
        )
        fields["max_share"] = controls.number(
            "In at most this share of them", "f_max_df", "max_share", 0.5, step=0.05
        )
        fields["most_words"] = controls.number(
            "Words kept, most frequent first", "f_words", "most_words", 5000, step=500
        )
        fields["stop_words"] = controls.segments(
            "Stop words (and, the …)", "f_stop", STOP_WORDS, "left-out"
        )
        if known.name in ("tdt2", "rcv1"):
            fields["term_share"] = controls.number(
                "Share of terms drawn",
                "f_terms",
                "term_share",
                1.0,
                step=0.1,
                help="The paper draws a tenth.",
            )
    return fields


def method_controls(dataset: str, question: str) -> dict[str, Any]:
    """How many parts, and the steps of each form."""
    fields: dict[str, Any] = {}
    word = "parts" if entry(dataset).holds == "images" else "topics"
    if question == "parts":
        fields["rank"] = 2  # the study sets its own, from 2 on
    else:
        fields["rank"] = controls.number(
            f"How many {word} K", "f_k", "nmf.rank", USUAL_PARTS.get(dataset, OWN_PARTS)
        )
    return fields


def privacy_controls(dataset: str, question: str) -> dict[str, Any]:
    """Noise, total ε, ε of a round, and what belongs to each private form."""
    known = entry(dataset)
    unit = "image" if known.holds == "images" else "document"
    fields: dict[str, Any] = {}
    own = question != "compare" and STUDIES["factorization"][question].own_epsilon
    fields["mechanism"] = (
        controls.choice("Noise of the sound forms", "f_noise", FACTOR_NOISES, "gaussian")
        if question != "rounds"
        else "gaussian"
    )
    if "alpha" in FAMILIES[fields["mechanism"]].shape:
        fields["alpha"] = controls.number("α of Huber noise", "f_alpha", "alpha", 1.5, step=0.1)
    delta = 1e-5
    if not own:
        fields["epsilon"] = controls.steps_slider(
            "Total ε of each sound run (log scale)",
            "f_epsilon",
            TOTALS,
            10.0,
            help=glossary.meaning("epsilon"),
        )
    with st.expander("More", key="f-more"):
        delta = fields["delta"] = controls.number(
            "δ", "f_delta", "account_delta", 1e-5, step=1e-6, format="%.1e"
        )
        if question in ("compare", "rounds"):
            fields["published_rounds"] = controls.number(
                "As published: rounds", "f_published_rounds", "nmf.rounds", 100, step=10
            )
        if question == "compare":
            fields["round_epsilon"] = controls.number(
                "As published: nominal ε of a round",
                "f_round_epsilon",
                "round.epsilon",
                0.5,
                step=0.1,
            )
            fields["sound_rounds"] = controls.number(
                "Corrected: rounds", "f_sound_rounds", "nmf.rounds", 20
            )
            fields["sound_inner"] = controls.number(
                "Corrected: steps per round", "f_sound_inner", "nmf.inner", 10
            )
        fields["averaging"] = controls.number(
            "Corrected: averaging", "f_averaging", "private-nmf.averaging", 0.9, step=0.1
        )
        fields["start"] = controls.choice("Corrected: start", "f_start", STARTS, "mean")
        fields["neighbours"] = controls.choice(
            "Sound forms: neighbours",
            "f_neighbours",
            NEIGHBOUR_TITLES,
            "add/remove-one",
            help=(
                "What an attacker may not tell: whether one is there at all, or which of two it "
                "is. The second asks for noise twice as large."
            ),
        )
    if not own:
        st.caption(odds_sentence(fields["epsilon"], delta, subject(unit)))
    return fields


def side_by_side(shared: dict[str, Any], privacy: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of the four (with spoiled images five) runs that are compared."""
    spoiled = shared.get("contaminated", 0.0) > 0
    usual = parameters(RobustConfig)
    outliers = {"outlier_penalty": usual["outlier_penalty"].default} if spoiled else {}
    shared = {**shared, "delta": privacy["delta"]}
    noise: dict[str, Any] = {
        name: privacy[name]
        for name in ("mechanism", "alpha", "epsilon", "neighbours")
        if name in privacy
    }
    published = {
        "mechanism": "gaussian",
        "epsilon": privacy["round_epsilon"],
        "rounds": privacy["published_rounds"],
    }
    sound = {
        "rounds": privacy["sound_rounds"],
        "inner": privacy["sound_inner"],
        "averaging": privacy["averaging"],
        "start": privacy["start"],
    }
    runs: list[dict[str, Any]] = [
        {"algorithm": "nmf", **({"inner": usual["inner"].default} if spoiled else {})}
    ]  # beside robust NMF: as many steps
    if spoiled:
        runs.append({"algorithm": "robust-nmf", **outliers})
    runs += [
        {"algorithm": "private-nmf-published", **published, **outliers},
        {"algorithm": "private-nmf", **noise, **sound, **outliers},
        {"algorithm": "moment-nmf", **noise},
    ]
    return [{**shared, **run} for run in runs]
