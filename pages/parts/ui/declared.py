"""Boxes that follow from the declarations of parameters."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import nullcontext
from typing import Any

import streamlit as st

from dpmc_core.config import Choice, Settings, parameters
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.configs import config_of
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.spec import AMOUNTS
from pages.parts.ui.controls import capitalized, choice, numeric, place, switch
from pages.parts.ui.links import Titles, declaration, label_of, limit_of
from pages.parts.ui.looks import TOTALS, lowered

# what algorithms that protect users have boxes of their own for
SHARED = ("rank", "reg", "iterations")
# their fields whose box on *Completion* goes by another name
USER_KEYS = {
    "items_per_user": "k",
    "item_share": "beta",
    "global_penalty": "penalty",
    **{name: f"user_{name}" for name in SHARED},
}

_OF_A_CONFIGURATION = {
    "algorithm", "mechanism", "alpha", "delta", *AMOUNTS,
}  # fmt: skip


def box(
    name: str,
    key: str,
    default: Any = None,
    *,
    label: str = "",
    why: str = "",
    needed: bool = False,
    **options: Any,
) -> Any:
    """Draw the box that the declaration called ``name`` ("dpals.rank", "seed") asks for.

    A number box (an int for whole numbers), a select box, or, for what need not be said, a switch
    that asks for it: None while it is off (no switch where it is ``needed`` here). It starts from
    ``default``, by default the declared one; ``label`` in the place of the declared, or ``why``
    before it, tells boxes of one page apart.
    """
    param = declaration(name)
    rule = param.rule
    label = label or (f"{why}: {lowered(rule.label)}" if why else rule.label)
    label_of(param.name, rule.label if why else label)
    meaning, optional = f"{capitalized(rule.meaning)}.", param.optional and not needed
    with place() if optional else nullcontext():
        if optional and not switch(f"Choose {label}", f"own_{param.name}", meaning=meaning):
            return None
        if isinstance(rule, Choice):
            options.setdefault("help", meaning)
            return choice(label, key, rule.titled, default or param.default, **options)
        step = options.pop("step", rule.step)
        if rule.format:
            options.setdefault("format", rule.format)
        return numeric(st.number_input, label, key, limit_of(name), default, step, **options)


def boxes(
    owners: Iterable[str],
    usual: Mapping[str, Any],
    leave: Collection[str],
    keys: Mapping[str, str] | None = None,
) -> Settings:
    """Draw a box for each parameter with a label of the algorithms ``owners``, but for ``leave``.

    ``keys`` says which boxes go by another name than their parameter's. They start from ``usual``,
    by these names, or else from what is declared; what is usual is always said.
    """
    values: Settings = {}
    for owner in owners:
        for name, param in parameters(ALGORITHMS[owner].config).items():
            if param.rule.label and name not in values and name not in leave:
                key = (keys or {}).get(name, name)
                values[name] = box(f"{owner}.{name}", key, usual.get(key), needed=key in usual)
    return {name: value for name, value in values.items() if value is not None}


def chance(dataset: str, key: str, *, guaranteed: bool) -> Settings:
    """Draw the box of the seed and, where runs can be ``guaranteed``, that of secret noise."""
    with place():
        secret = guaranteed and secret_switch(dataset)
    seed = box("seed", key)
    switch(
        "New seed for each run",
        f"new_{key}",
        True,
        meaning="On: *Run* draws another seed first, so that repeating it shows what is chance. "
        "Off: the same settings give the same numbers.",
    )
    return {"secret": True, "split_seed": seed} if secret else {"seed": seed}


def secret_switch(dataset: str) -> bool:
    """Draw the switch of secret noise, which starts on for somebody's own data."""
    own = user_datasets.is_own(dataset)
    return switch(
        "Secret noise",
        "own_secret" if own else "secret",
        own,
        meaning="On: noise from the operating system, which nobody can draw again; the seed "
        "chooses only what is held out. Off: everything follows from the seed, so the run can be "
        "repeated, and its noise is public: for teaching only.",
    )


def titles(owners: Iterable[str]) -> dict[str, Titles]:
    """Titles of the choices that the algorithms ``owners`` declare, by the parameters' names."""
    return {
        name: param.rule.titled
        for owner in owners
        for name, param in parameters(ALGORITHMS[owner].config).items()
        if isinstance(param.rule, Choice)
    }


# boxes of *Factorization*: of data and chance, and of each algorithm
_SAMPLE_KEYS = {
    "rank": "f_k", "n_samples": "f_n", "data_seed": "f_data_seed", "min_documents": "f_min_df",
    "max_share": "f_max_df", "most_words": "f_words", "stop_words": "f_stop",
    "term_share": "f_terms", "dataset": "f_data", "seed": "f_seed",
    "normalisation": "f_normalisation",
}  # fmt: skip
_PRIVATE_KEYS = {
    "mechanism": "f_noise", "alpha": "f_alpha", "epsilon": "f_epsilon", "delta": "f_delta",
    "neighbours": "f_neighbours",
}  # fmt: skip
_FACTOR_KEYS = {
    "nmf": {"solver": "f_solver"},
    "private-nmf-published": {
        "rounds": "f_published_rounds", "epsilon": "f_round_epsilon", "delta": "f_delta",
        **{f"dictionary_{name}": f"f_dictionary_{name}" for name in ("step", "steps", "start")},
    },
    "private-nmf": _PRIVATE_KEYS | {
        "rounds": "f_sound_rounds", "inner": "f_sound_inner", "averaging": "f_averaging",
        "start": "f_start", "sampling_rate": "f_sampling_rate",
    },
    "moment-nmf": _PRIVATE_KEYS,
}  # fmt: skip


def factorization_link(spec: RunSpec) -> dict[str, str] | None:
    """Make the settings of an address of *Factorization* one of whose runs is ``spec``, with its
    seed held; None where the page has no box for one of them.
    """
    card, noise = spec.card, spec.noise
    if card.name not in _FACTOR_KEYS or user_datasets.is_own(spec.dataset):
        return None
    words = "f_terms_list" if "term_share" in parameters(type(spec.data)) else "f_word_list"
    keys = _SAMPLE_KEYS | _FACTOR_KEYS[card.name] | {"word_list": words}
    if spec.changes().keys() - keys.keys() - {"algorithm", "mechanism"}:
        return None
    link = {keys[n]: str(v) for n, v in spec.flat().items() if n in keys and v is not None}
    if card.guarantee:
        if noise.epsilon not in TOTALS or (noise.mechanism == "huber" and noise.alpha is None):
            return None
        link["f_epsilon"] = f"{noise.epsilon:g}"
    elif card.noise and noise.kind == "none":
        link["f_quiet"] = "true"
    return {**link, "f_question": "compare", "new_f_seed": "false"}


def completion_link(spec: RunSpec) -> dict[str, str] | None:
    """Make the settings of an address of *Completion* that ``completion_boxes`` gives."""
    boxed = completion_boxes(spec)
    if boxed is None:
        return None
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in boxed.items()}


def completion_boxes(spec: RunSpec) -> Settings | None:
    """What the boxes of *Completion* hold, by their keys, where its one configuration is ``spec``,
    with its seed held; None where the page has no box for one of its settings.
    """
    card, noise, changes = spec.card, spec.noise, spec.changes()
    config = parameters(card.config)
    # the box of another algorithm would be read for a parameter that has none of its own
    shares_a_box = any(name in SHARED and not param.rule.label for name, param in config.items())
    elsewhere = spec.task != "rate" or card.rate is None or user_datasets.is_own(spec.dataset)
    if elsewhere or shares_a_box or (card.unit == "user" and noise.alpha is not None):
        return None
    data = parameters(config_of(spec.dataset))
    params = data | config
    boxed = {"dataset", "seed", *({*data} - {"user_share"} - spec.data.unread)}
    able = {"rank", "reg"} if not card.unit else {*config} - {"global_penalty"}
    boxed |= {n for n, p in config.items() if n in able and p.rule.label}
    link: Settings = {"question": "compare", "n": 1, "a_algorithm": card.name, "new_seed": False}
    if noise.kind != "none":
        by, amount = noise.amount(), getattr(noise, noise.field())
        link |= {"a_noise": noise.mechanism, "delta": noise.delta}
        if by == "total_epsilon":
            if amount not in TOTALS:
                return None
            link["total_epsilon"] = f"{amount:g}"
        else:
            link[f"a_{by}"] = amount
        if len(card.noise) > 1:
            link["a_by"] = by
        if card.unit == "rating":
            link["a_own_alpha"] = noise.alpha is not None
            if "noise_on" in changes:
                link["a_noise_on"] = changes["noise_on"]
        if noise.alpha is not None:
            link["a_alpha"] = noise.alpha
    elif card.unit:
        link["a_noise"] = "none"
    keys = USER_KEYS if card.unit == "user" else {}
    if card.name == "svt":
        keys = {"reg": "threshold"}
    for name, value in spec.flat().items():
        if name in boxed and value is not None:
            link[keys.get(name, name)] = value
            if name in params and params[name].optional:
                link[f"own_{name}"] = True
        elif name == "item_share" or (
            name in changes and name not in _OF_A_CONFIGURATION and f"a_{name}" not in link
        ):
            return None  # with no share of its own the page takes its usual one
    return link
