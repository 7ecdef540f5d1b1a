"""The controls of the *Completion* page: data, configurations, and the settings they share.

Its questions, and what only algorithms for protected users read, are in ``user_controls``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.config import parameters
from dpmc_core.datasets import entry
from dpmc_core.datasets.configs import RatingsData, config_of
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.presets import PRESETS, WELL_REGULARISED, preset
from dpmc_core.mechanisms import FAMILIES
from pages.parts.server import user_data as own_data
from pages.parts.ui import controls, declared, glossary, links
from pages.parts.ui.looks import LETTERS, NOISES
from pages.parts.ui.run_panel import run_next

# what the configurations start as, by question: keys of their boxes, then algorithm and noise
STARTING = {
    "compare": (
        ("", "als", "none"),
        ("", "als", "huber"),
        ("", "moments", "gaussian"),
        ("", "dpals", "gaussian"),
        ("", "irls", "huber"),
        ("", "svt", "none"),
    ),
    "recommend": (
        ("like_", "moments", "gaussian"),
        ("like_", "dpals", "gaussian"),
        ("like_", "popular", "gaussian"),
    ),
}
TITLES = {
    "compare": {name: a.title for name, a in ALGORITHMS.items() if a.rate is not None},
    "recommend": {name: a.title for name, a in ALGORITHMS.items() if a.recommend is not None},
}
FOR_RATINGS = tuple(name for name, a in ALGORITHMS.items() if a.unit == "rating")
SHARED = ("rank", "reg", "iterations")  # of these, algorithms for users have boxes of their own
# what the noise of a configuration protects, if any
PROTECTS = {
    "user": ":material/shield: one user",
    "rating": ":material/gpp_maybe: rating, nominal",
    "": ":material/lock_open: nobody",
}
ZEROS = {"missing": "missing", "rating": "a rating"}
SPLITS = {"random": "random", "u1": "published u1"}
AMOUNTS = {"total_epsilon": "total ε", "variance": "variance", "nominal_epsilon": "ε of a release"}
_PAPERS_PAIR = {
    "n": 2,
    "a_algorithm": "als",
    "b_algorithm": "irls",
    **{f"{x}_noise": "huber" for x in "ab"},
    **{f"{x}_by": "total_epsilon" for x in "ab"},
    **{f"{x}_own_alpha": False for x in "ab"},
}
LINK_TITLES: links.LinkTitles = {
    "dataset": partial(own_data.linked, "ratings"),
    "zeros": ZEROS,
    "split": SPLITS,
    **{f"{x}_algorithm": TITLES["compare"] for x in "abcdef"},
    **{f"{x}_like_algorithm": TITLES["recommend"] for x in "abc"},
    **{f"{x}_noise": NOISES for x in "abcdef"},
    **{f"{x}_like_noise": NOISES for x in "abc"},
    **{f"{x}_by": AMOUNTS for x in "abcdef"},
}


def use_preset(name: str) -> None:
    """Put a preset's numbers for the chosen dataset into the widgets."""
    st.session_state.update(preset(name, st.session_state["dataset"]))


def dataset_choice(usual: dict[str, Any], then: Callable[[], None]) -> str:
    """The dataset; ``usual`` says where it starts, ``then`` is called when another is picked."""
    first = usual.get("dataset", "low-rank")
    return controls.choice("Dataset", "dataset", own_data.menu("ratings"), first, then=then)


def shape_controls(name: str, usual: dict[str, Any]) -> dict[str, Any]:
    """How the dataset ``name`` is read or made, from ``usual`` numbers."""
    fields: dict[str, Any] = {}
    with controls.place():
        if name == "sweetrs":
            fields["zeros"] = controls.segments("A 0 in the file is", "zeros", ZEROS, "missing")
    with controls.place():
        if entry(name).synthetic:
            every = parameters(RatingsData)
            shape = [n for n in parameters(config_of(name)) if n not in every]
            for one in sorted(shape, key=lambda one: "seed" in one):
                fields[one] = declared.box(one, one, usual.get(one))
    return fields


def preset_buttons(dataset: str) -> None:
    """Buttons for the settings that ALS and IRLS were published with, or do well with."""
    for name, meaning in PRESETS.items():
        published = bool(preset(name, dataset))
        st.button(
            name.capitalize(),
            on_click=use_preset,
            args=(name,),
            help=meaning if published else "The papers report nothing on this dataset.",
            disabled=not published,
            width="stretch",
            key=f"preset-{name}",
        )


def rating_controls(dataset: str) -> dict[str, Any]:
    """What algorithms read that protect one rating, from the usual preset."""
    preset_buttons(dataset)
    usual = preset(WELL_REGULARISED, dataset)
    fields: dict[str, Any] = {n: declared.box(f"als.{n}", n, usual[n]) for n in SHARED}
    return fields | declared.boxes(FOR_RATINGS, usual, SHARED)


def offer_papers_pair(dataset: str) -> None:
    """Draw a button that runs ALS and IRLS at the same total ε, unless they are what is asked."""

    def ask() -> None:
        st.session_state.update(_PAPERS_PAIR)
        run_next("seed")

    if any(st.session_state.get(key) != value for key, value in _PAPERS_PAIR.items()):
        st.button(
            "Compare ALS with IRLS",
            on_click=ask,
            icon=":material/play_arrow:",
            disabled=not entry(dataset).present(),
            help="Both with Huber noise at the same total ε, on the same data; runs at once. IRLS "
            "releases more often, so that each of its releases has more noise.",
        )


def how_many(question: str) -> int:
    """The number of configurations."""
    return controls.whole("Configurations", "n", 1, len(STARTING[question]), 3)


def configuration(letter: str, question: str, settings: DeltaGenerator) -> dict[str, Any]:
    """Algorithm and noise of one configuration in a line, which ends with what they protect; in
    ``settings`` what else its noise has.
    """
    more, algorithm, noise = STARTING[question][LETTERS.index(letter)]
    low, titles = f"{letter.lower()}_{more}", TITLES[question]
    about = "  \n".join(
        f"**{card.title}** {card.summary} ({card.origin})"
        for card in (ALGORITHMS[name] for name in titles)
    )
    hidden: dict[str, Any] = {"label_visibility": "collapsed"}
    with st.container(
        key=f"configuration-{letter.lower()}", horizontal=True, vertical_alignment="center"
    ):
        st.markdown(f"**{letter}**", width="content")
        name = controls.choice(
            f"{letter}: algorithm", f"{low}algorithm", titles, algorithm, help=about, **hidden
        )
        unit = ALGORITHMS[name].unit
        fields: dict[str, Any] = {"algorithm": name, "mechanism": "none"}
        with controls.place():
            if unit:
                fields["mechanism"] = controls.choice(
                    f"{letter}: noise", f"{low}noise", NOISES, noise, **hidden
                )
        private = fields["mechanism"] != "none"
        with controls.place():
            if private and unit == "rating":
                fields |= _amount(letter, name, fields["mechanism"], settings)
        st.caption(PROTECTS[unit if private else ""], width="content")
    return fields


def _amount(letter: str, algorithm: str, noise: str, settings: DeltaGenerator) -> dict[str, Any]:
    """How much noise, empty for the total ε of all; in ``settings`` by what, and of which α."""
    low, fields = letter.lower(), dict[str, Any]()
    taken = {kind.amount() for kind in ALGORITHMS[algorithm].noise}
    with settings:
        by = controls.segments(
            f"{letter}: amount by",
            f"{low}_by",
            titles := {name: title for name, title in AMOUNTS.items() if name in taken},
            # an address may name the amount alone
            next((t for t in titles if f"{low}_{t}" in st.query_params), next(iter(titles))),
            help=glossary.meaning("nominal"),
        )
        if "alpha" in FAMILIES[noise].shape and controls.switch(
            f"{letter}: choose α",
            f"{low}_own_alpha",
            help="Otherwise 1.5 for a total ε, else the papers' rule: unit scale, and the α with "
            "that variance.",
        ):
            fields["alpha"] = declared.box("alpha", f"{low}_alpha", label=f"{letter}: α")
    if by == "total_epsilon":
        return fields
    name = "variance.variance" if by == "variance" else "nominal.epsilon"
    label = f"{letter}: {'variance' if by == 'variance' else 'nominal ε of one release'}"
    fields[by] = declared.box(name, f"{low}_{by}", label=label, label_visibility="collapsed")
    return fields
