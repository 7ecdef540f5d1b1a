"""The controls of the *Completion* page.

Its widgets, and from them to fields of ``RunSpec``; those for protected users are in
``user_controls``.
"""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.config import parameters
from dpmc_core.datasets import entry, names
from dpmc_core.datasets.configs import RatingsData, config_of
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.presets import PRESETS, WELL_REGULARISED, preset
from dpmc_core.mechanisms import FAMILIES
from pages.parts.server import user_data as own_data
from pages.parts.ui import controls, declared, glossary
from pages.parts.ui.looks import NOISES

STARTING = {"A": ("als", "none"), "B": ("als", "huber"), "C": ("irls", "huber")}
DATASETS = {
    name: entry(name).title for name in names("ratings")
}  # the catalogue's; menus add the visitor's own
ALGORITHM_TITLES = {name: a.title for name, a in ALGORITHMS.items() if a.unit == "rating"}
SHARED = ("rank", "reg", "iterations")  # the boxes that all algorithms share
ZEROS = {"missing": "missing", "rating": "a rating"}
SPLITS = {"random": "random", "u1": "published u1"}
AMOUNTS = {"variance": "variance", "epsilon": "nominal ε"}
LINK_TITLES = {
    "dataset": DATASETS,
    "zeros": ZEROS,
    "split": SPLITS,
    **{f"{x}_algorithm": ALGORITHM_TITLES for x in "abc"},
    **{f"{x}_noise": NOISES for x in "abc"},
    **{f"{x}_by": AMOUNTS for x in "abc"},
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


def method_controls(
    dataset: str, usual: dict[str, Any], *, rating: bool, splits: bool
) -> dict[str, Any]:
    """Presets, if any, and the knobs that all configurations share, which start from ``usual`` or
    else from the usual preset; presets, and what only the algorithms for one ``rating`` read, where
    they are about that; a choice of ``splits`` where there is one.
    """
    usual = {**preset(WELL_REGULARISED, dataset), **usual}
    with controls.place():
        for name, meaning in PRESETS.items() if rating else ():  # they are for ALS and IRLS
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
    fields: dict[str, Any] = {n: declared.box(f"als.{n}", n, usual[n]) for n in SHARED}
    with controls.place():
        if rating:
            fields |= declared.boxes(ALGORITHM_TITLES, usual, SHARED)
        if dataset == "ml-100k" and splits:
            fields["split"] = controls.segments("Split", "split", SPLITS, "random")
    fields["test_fraction"] = declared.box("test_fraction", "test_fraction", 0.2)
    fields["delta"] = declared.box("account_delta", "delta")
    return fields


def how_many(most: int) -> int:
    """The number of configurations."""
    titles = {str(k): str(k) for k in range(1, most + 1)}
    return int(controls.segments("Configurations", "n", titles, "2"))


def line_of(letter: str) -> DeltaGenerator:
    """The line of one configuration, which begins with its letter."""
    line = st.container(
        key=f"configuration-{letter.lower()}", horizontal=True, vertical_alignment="center"
    )
    line.markdown(f"**{letter}**", width="content")
    return line


def algorithm_choice(letter: str, key: str, titles: Mapping[str, str], first: str) -> str:
    """The algorithm of one configuration, in its line."""
    cards = (ALGORITHMS[name] for name in titles)
    about = "  \n".join(f"**{card.title}** {card.summary} ({card.origin})" for card in cards)
    hidden: dict[str, Any] = {"label_visibility": "collapsed", "help": about}
    return controls.choice(f"{letter}: algorithm", key, titles, first, **hidden)


def configuration(letter: str, settings: DeltaGenerator) -> dict[str, Any]:
    """Algorithm and noise of one configuration, in a line; in ``settings`` what else noise has."""
    algorithm, noise = STARTING[letter]
    low = letter.lower()
    with line_of(letter):
        name = algorithm_choice(letter, f"{low}_algorithm", ALGORITHM_TITLES, algorithm)
        mechanism = controls.choice(
            f"{letter}: noise", f"{low}_noise", NOISES, noise, label_visibility="collapsed"
        )
        fields: dict[str, Any] = {"algorithm": name, "mechanism": mechanism}
        with controls.place():
            if fields["mechanism"] != "none":
                fields |= _amount(letter, fields["mechanism"], settings)
    return fields


def _amount(letter: str, noise: str, settings: DeltaGenerator) -> dict[str, Any]:
    """How much noise; in ``settings`` by what, and of which α."""
    low, fields = letter.lower(), dict[str, Any]()
    shaped = "alpha" in FAMILIES[noise].shape
    with settings:
        by = controls.segments(
            f"{letter}: amount by",
            f"{low}_by",
            AMOUNTS,
            "variance",
            help=glossary.meaning("nominal"),
        )
        if shaped and controls.switch(
            f"{letter}: choose α",
            f"{low}_own_alpha",
            help="Otherwise the papers' rule: unit scale, and the α with that variance.",
        ):
            fields["alpha"] = declared.box("alpha", f"{low}_alpha", label=f"{letter}: α")
    name = "variance.variance" if by == "variance" else "nominal.epsilon"
    label = f"{letter}: {'variance' if by == 'variance' else 'nominal ε of one release'}"
    fields[by] = declared.box(name, f"{low}_{by}", label=label, label_visibility="collapsed")
    return fields
