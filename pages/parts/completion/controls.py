"""The sidebar of the *Completion* page.

Its widgets, and from them to fields of ``RunSpec``; those for protected users are in
``user_controls``.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

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


def data_controls(usual: dict[str, Any], then: Callable[[], None]) -> dict[str, Any]:
    """Dataset and split; ``usual`` says where they start, ``then`` is called when another dataset
    is picked.
    """
    fields: dict[str, Any] = {}
    name = controls.choice(
        "Dataset", "dataset", own_data.menu("ratings"), usual.get("dataset", "low-rank"), then=then
    )
    fields["dataset"] = name
    with controls.place():
        if name == "sweetrs":
            fields["zeros"] = controls.segments("A 0 in the file is", "zeros", ZEROS, "missing")
    if entry(name).synthetic:
        with st.expander("Shape of the synthetic data", key="data-more"):
            every = parameters(RatingsData)
            shape = [n for n in parameters(config_of(name)) if n not in every]
            with controls.place():
                for one in (one for one in shape if "seed" not in one):
                    fields[one] = declared.box(one, one, usual.get(one))
            for one in (one for one in shape if "seed" in one):
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
    with st.expander("More", key="c-more"):
        with controls.place():
            if rating:
                fields |= declared.boxes(ALGORITHM_TITLES, usual, SHARED)
            if dataset == "ml-100k" and splits:
                fields["split"] = controls.segments("Split", "split", SPLITS, "random")
        fields["test_fraction"] = declared.box("test_fraction", "test_fraction", 0.2)
        fields["delta"] = declared.box("account_delta", "delta")
    return fields


def configuration(letter: str) -> dict[str, Any]:
    """Algorithm and noise of one configuration."""
    algorithm, noise = STARTING[letter]
    low = letter.lower()
    with controls.place():
        fields: dict[str, Any] = {
            "algorithm": controls.choice(
                f"{letter}: algorithm",
                f"{low}_algorithm",
                ALGORITHM_TITLES,
                algorithm,
                help="  \n".join(
                    f"**{a.title}** {a.summary} ({a.origin})"
                    for a in ALGORITHMS.values()
                    if a.unit == "rating"
                ),
            ),
            "mechanism": controls.choice(f"{letter}: noise", f"{low}_noise", NOISES, noise),
        }
        if fields["mechanism"] != "none":
            fields |= _amount(letter, fields["mechanism"])
    return fields


def _amount(letter: str, noise: str) -> dict[str, Any]:
    """How much noise, and of which α."""
    low, fields = letter.lower(), dict[str, Any]()
    by = controls.segments(
        f"{letter}: amount by", f"{low}_by", AMOUNTS, "variance", help=glossary.meaning("nominal")
    )
    if by == "variance":
        fields["variance"] = declared.box(
            "variance.variance", f"{low}_variance", label=f"{letter}: variance"
        )
    else:
        fields["epsilon"] = declared.box(
            "nominal.epsilon", f"{low}_epsilon", label=f"{letter}: nominal ε of one release"
        )
    if "alpha" in FAMILIES[noise].shape and controls.switch(
        f"{letter}: choose α",
        f"{low}_own_alpha",
        help="Otherwise the papers' rule: unit scale, and the α with that variance.",
    ):
        fields["alpha"] = declared.box("alpha", f"{low}_alpha", label=f"{letter}: α")
    return fields
