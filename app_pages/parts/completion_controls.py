"""The sidebar of the *Completion* page.

Lives here: its widgets, and from them to fields of ``RunSpec``. Does not live here: validation (``RunSpec``) or running.
"""

from typing import Any

import streamlit as st

from app_pages.parts import controls, texts
from app_pages.parts.style import IDENTITY
from dpmc_core.datasets import catalogue, entry
from dpmc_core.experiments.presets import PRESETS, WELL_REGULARISED, preset
from dpmc_core.experiments.registry import ALGORITHMS

__all__ = [
    "LETTERS",
    "LINK_TITLES",
    "NOISES",
    "PROTECTED",
    "configuration",
    "data_controls",
    "method_controls",
    "use_protection",
    "user_configuration",
    "user_controls",
]

LETTERS = ("A", "B", "C")
STARTING = {"A": ("als", "none"), "B": ("als", "huber"), "C": ("irls", "huber")}
NOISES = {name: IDENTITY[name].title for name in ("none", "huber", "laplace", "gaussian")}
DATASETS = {name: known.title for name, known in catalogue().items()}
ALGORITHM_TITLES = {name: a.title for name, a in ALGORITHMS.items() if a.protects == "rating"}
USER_TITLES = {name: a.title for name, a in ALGORITHMS.items() if a.protects != "rating"}
ZEROS = {"missing": "missing", "rating": "a rating"}
SPLITS = {"random": "random", "u1": "published u1"}
SAMPLING_TITLES = {"adaptive": "adaptive", "uniform": "uniform", "weights": "all, by weights"}
PROJECTION_TITLES = {"inner": "before λ is added", "printed": "as printed", "off": "off"}
START_TITLES = {"random": "random", "power": "noisy power iteration"}
CENTRING_TITLES = {"user": "each user's own mean", "mean": "the private mean", "none": "the middle of the scale"}
AMOUNTS = {"variance": "variance", "epsilon": "nominal ε"}
LINK_TITLES = {
    "dataset": DATASETS,
    "zeros": ZEROS,
    "split": SPLITS,
    "protect": {"rating": "one rating, as published", "user": "one user, all their ratings"},
    "sampling": SAMPLING_TITLES,
    "projection": PROJECTION_TITLES,
    "start": START_TITLES,
    "centring": CENTRING_TITLES,
    **{f"{x}_user_algorithm": USER_TITLES for x in "abc"},
    **{f"{x}_user_noise": NOISES for x in "abc"},
    **{f"{x}_algorithm": ALGORITHM_TITLES for x in "abc"},
    **{f"{x}_noise": NOISES for x in "abc"},
    **{f"{x}_by": AMOUNTS for x in "abc"},
}


PROTECTED = LINK_TITLES["protect"]
TOTALS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  # ε of the slider, evenly spaced on a logarithmic scale
USER_STARTING = {"A": ("moments", "gaussian"), "B": ("dpals", "gaussian"), "C": ("private-means", "gaussian")}
# what a visitor of "users are protected" starts from: DPALS settings that did well on MovieLens 1M at ε = 5 to 20 (another split)
USER_USUAL: dict[str, Any] = {"rank": 12, "reg": 30.0, "iterations": 2}


def use_protection() -> None:
    """The usual numbers for what is protected, when that or the dataset changes."""
    if st.session_state.get("protect") == "user":
        st.session_state.update(USER_USUAL)
    else:
        use_preset(WELL_REGULARISED)


def user_controls() -> dict[str, Any]:
    """Total ε, and DPALS's own knobs, shared by all configurations that protect users."""
    fields: dict[str, Any] = {
        "epsilon": controls.steps_slider(
            "Total ε of each run (log scale)", "total_epsilon", TOTALS, 1.0, help=texts.DEFINITIONS["epsilon"]
        )
    }
    with st.expander("DPALS and Frank–Wolfe"):
        fields["items_per_user"] = int(controls.number("Items per user k", "k", "items_per_user", 50))
        fields["item_share"] = controls.number("Share β of items learned", "beta", "item_share", 0.15, step=0.05)
        fields["sampling"] = controls.choice(
            "Which ratings take part",
            "sampling",
            SAMPLING_TITLES,
            "adaptive",
            help="Adaptive: a user's k least-rated items. Uniform: any k. Weights: all, rarer items weighing more (Krichene et al. 2023).",
        )
        fields["projection"] = controls.choice(
            "Positive semi-definite projection",
            "projection",
            PROJECTION_TITLES,
            "inner",
            help="Noise can give a Gram matrix negative eigenvalues; without projection the solution then runs away.",
        )
        fields["start"] = controls.choice("Start", "start", START_TITLES, "random")
        fields["centring"] = controls.choice("Ratings are centred by", "centring", CENTRING_TITLES, "user")
        fields["clip_norm"] = controls.number("Length Γ_u of user vectors", "clip_norm", "clip_norm", 0.5, step=0.1)
        fields["gram_ratio"] = controls.number("Noise ratio σ_G/σ_g", "gram_ratio", "gram_ratio", 2.0, step=0.5)
        fields["item_exponent"] = controls.number("Item exponent μ", "item_exponent", "item_exponent", 0.5, step=0.5)
        fields["user_exponent"] = controls.number("User exponent ν", "user_exponent", "user_exponent", 1.0, step=0.5)
        fields["nuclear"] = controls.number("Frank–Wolfe's nuclear norm", "nuclear", "nuclear", 1.0, step=0.5)
    return fields


def user_configuration(letter: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Algorithm and noise family of one configuration that protects users."""
    algorithm, noise = USER_STARTING[letter]
    low = letter.lower()
    titles = USER_TITLES
    fields: dict[str, Any] = {
        "algorithm": controls.choice(
            f"{letter}: algorithm",
            f"{low}_user_algorithm",
            titles,
            algorithm,
            help="  \n".join(f"**{t}** {ALGORITHMS[n].summary} ({ALGORITHMS[n].source})" for n, t in titles.items()),
        ),
        "mechanism": "none",
    }
    others = {name: value for name, value in settings.items() if name != "epsilon"}
    if ALGORITHMS[fields["algorithm"]].protects == "user":
        fields["mechanism"] = controls.choice(f"{letter}: noise", f"{low}_user_noise", NOISES, noise)
    if fields["mechanism"] == "none":
        return fields | others
    return fields | others | {"epsilon": settings["epsilon"]}


def use_preset(name: str) -> None:
    """Put a preset's numbers for the chosen dataset into the widgets."""
    st.session_state.update(preset(name, st.session_state["dataset"]))


def data_controls() -> dict[str, Any]:
    """Dataset and split."""
    fields: dict[str, Any] = {}
    name = controls.choice("Dataset", "dataset", DATASETS, "low-rank", then=use_protection)
    fields["dataset"] = name
    if name == "sweetrs":
        fields["zeros"] = controls.segments("A 0 in the file is", "zeros", ZEROS, "missing")
    if entry(name).synthetic:
        with st.expander("Shape of the synthetic data"):
            fields["n_users"] = controls.number("Users", "n_users", "n_users", 300)
            fields["n_items"] = controls.number("Items", "n_items", "n_items", 300)
            fields["true_rank"] = controls.number("True rank", "true_rank", "true_rank", 5)
            if name != "skewed":
                fields["observed"] = controls.number("Observed share", "observed", "observed", 0.1, step=0.01)
            if name == "low-rank":
                fields["value_scale"] = controls.number("Scale c", "value_scale", "value_scale", 1.0, step=0.1)
            if name == "skewed":
                fields["n_ratings"] = controls.number("Ratings", "n_ratings", "n_ratings", 20_000, step=1000)
                fields["popularity"] = controls.number("Popularity exponent", "popularity", "popularity", 0.9, step=0.1)
                fields["noise_floor"] = controls.number("Noise floor", "noise_floor", "noise_floor", 0.5, step=0.05)
            fields["data_seed"] = controls.number("Data seed", "data_seed", "data_seed", 0)
    return fields


def method_controls(dataset: str, protect: str) -> dict[str, Any]:
    """Presets and the knobs that all configurations share."""
    usual = preset(WELL_REGULARISED, dataset) | (USER_USUAL if protect == "user" else {})
    for name, meaning in PRESETS.items() if protect == "rating" else ():  # they are for ALS and IRLS
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
    fields: dict[str, Any] = {
        "rank": controls.number("Rank r", "rank", "rank", usual["rank"]),
        "reg": controls.number("Regularisation λ", "reg", "reg", usual["reg"], step=0.1),
        "iterations": controls.number("Iterations T", "iterations", "iterations", usual["iterations"]),
    }
    with st.expander("More"):
        fields["inner"] = controls.number("IRLS inner iterations K", "inner", "inner", usual["inner"])
        fields["loss_alpha"] = controls.number("IRLS loss α", "loss_alpha", "loss_alpha", 1.076, step=0.1)
        if dataset == "ml-100k":
            fields["split"] = controls.segments("Split", "split", SPLITS, "random")
        fields["test_fraction"] = controls.number("Held-out share", "test_fraction", "test_fraction", 0.2, step=0.05)
        fields["sensitivity"] = controls.number(
            "Nominal sensitivity Δ", "sensitivity", "nominal_sensitivity", 5.0, step=0.5
        )
        fields["delta"] = controls.number("δ", "delta", "account_delta", 1e-5, step=1e-6, format="%.1e")
    return fields


def configuration(letter: str) -> dict[str, Any]:
    """Algorithm and noise of one configuration."""
    algorithm, noise = STARTING[letter]
    low = letter.lower()
    fields: dict[str, Any] = {
        "algorithm": controls.choice(
            f"{letter}: algorithm",
            f"{low}_algorithm",
            ALGORITHM_TITLES,
            algorithm,
            help="  \n".join(
                f"**{a.title}** {a.summary} ({a.source})" for a in ALGORITHMS.values() if a.protects == "rating"
            ),
        ),
        "mechanism": controls.choice(f"{letter}: noise", f"{low}_noise", NOISES, noise),
    }
    if fields["mechanism"] == "none":
        return fields
    by = controls.segments(f"{letter}: amount by", f"{low}_by", AMOUNTS, "variance", help=texts.DEFINITIONS["nominal"])
    if by == "variance":
        fields["variance"] = controls.number(f"{letter}: variance", f"{low}_variance", "noise_variance", 2.0, step=0.5)
    else:
        fields["epsilon"] = controls.number(
            f"{letter}: nominal ε of one draw", f"{low}_epsilon", "noise_epsilon", 5.0, step=0.5
        )
    if fields["mechanism"] == "huber" and controls.switch(
        f"{letter}: choose α",
        f"{low}_own_alpha",
        help="Otherwise the papers' rule: unit scale, and the α with that variance.",
    ):
        fields["alpha"] = controls.number(f"{letter}: α", f"{low}_alpha", "alpha", 1.5, step=0.1)
    return fields
