"""The controls of the *Audit* page, and the audit that they ask for."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.tasks.audit_spec import (
    CASES,
    FACTOR_TARGETS,
    NEIGHBOURS,
    ONE_RUN_TARGETS,
    VIEWS,
    AuditSpec,
)
from dpmc_core.experiments.tasks.audit_spec import TARGETS as ATTACKED
from dpmc_core.experiments.tasks.audit_targets import claimed_release
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES
from pages.parts.server import user_data
from pages.parts.ui import controls, declared, links
from pages.parts.ui.looks import IDENTITY


def _title(target: str) -> str:
    algorithm = ALGORITHMS[target]
    return f"{algorithm.title}, as published" if algorithm.unit == "rating" else algorithm.title


TARGETS = {
    "number": "One published number",
    **{name: _title(name) for name in ATTACKED if name != "number"},
}
# Laplace first: the noise of the first audit that a visitor meets
NOISES = {n: IDENTITY[n].title for n in sorted(FAMILIES, key=lambda n: n != "laplace")}
CASE_TITLES = {
    "as-claimed": "as claimed",
    "half-noise": "broken: half the noise",
    "unclipped": "broken: input not clipped",
    "low-bits": "floating-point noise, last bits read",
    "on-grid": "noise on a grid, last bits read",
    "seed-search": "from a seed, all tried",
    "secret": "secret, all seeds tried",
}
_NUMBER_CASES = {k: v for k, v in CASE_TITLES.items() if k in AuditSpec().cases}
_RUN_CASES = {k: v for k, v in CASE_TITLES.items() if k in AuditSpec(target="moments").cases}
_PLANTED_CASES = {k: CASE_TITLES[k] for k in ("as-claimed", "half-noise")}
METHODS = {"runs": "repeated runs", "one": "one run with canaries"}
_MADE = "made"
_TABLE = {_MADE: "A small synthetic table"}
_PICTURES = {_MADE: "Small synthetic pictures"}
NEIGHBOUR_TITLES = {"rating": "one of her ratings", "user": "all of her ratings"}
VIEW_TITLES = {
    "matrix": "whole completed matrix",
    "others": "everybody else's rows",
    "items": "item factors",
    "factors": "factors of others and items",
}
USER_VIEWS = {name: title for name, title in VIEW_TITLES.items() if name != "matrix"}
DELTAS = {"0": "0 (pure ε)", **{d: d for d in ("1e-9", "1e-7", "1e-6", "1e-5", "1e-4", "1e-3")}}
LINK_TITLES: links.LinkTitles = {
    "x_target": TARGETS,
    "x_noise": NOISES,
    "x_case": _NUMBER_CASES,
    "x_run_case": _RUN_CASES,
    "x_planted_case": _PLANTED_CASES,
    "x_by": METHODS,
    "x_neighbours": NEIGHBOUR_TITLES,
    "x_view": VIEW_TITLES,
    "x_user_view": USER_VIEWS,
    "x_ratings": lambda: _TABLE | user_data.linked("ratings"),
    "x_samples": lambda: _PICTURES | user_data.linked("images", "documents"),
    "y_delta": DELTAS,
}


def build(fields: dict[str, Any]) -> tuple[AuditSpec | None, str]:
    """Build the audit of these ``fields``, or a sentence about what is wrong."""
    try:
        spec = AuditSpec(**fields)
        if spec.target == "number":  # not every noise has every ε
            claimed_release(spec).mechanism.best_guess(1.0)
        return spec, ""
    except DPMCError as error:
        return None, str(error)


def form(row: DeltaGenerator, *, game: bool = False) -> dict[str, Any]:
    """Draw the widgets and return the audit's fields: in ``row`` what is attacked and its noise,
    the others in the sidebar.

    A ``game`` is about one output at a time, of synthetic data, and its bar is short.
    """
    settings = controls.settings()
    with row:
        label = "What is published" if game else "Target"
        target = controls.choice(label, "x_target", TARGETS, "number")
        with settings if game else controls.place():
            fields: dict[str, Any] = {"target": target, **_attacked(target, game, settings)}
        fields |= _privacy(target)
    with settings:
        fields["runs"] = 100 if game else _runs(target, fields)
        fields |= _more(target, fields["mechanism"])
        if not game:
            planted = "canaries" in fields
            key, usual = ("x_planted_confidence", 0.95) if planted else ("x_confidence", None)
            fields["confidence"] = declared.box("confidence", key, usual)
            fields["seed"] = declared.box("seed", "x_seed")
    return fields


def one_number(settings: DeltaGenerator) -> dict[str, Any]:
    """Draw the widgets of one published number and return the audit's fields: what may be wrong
    with it in ``settings``, out of sight.
    """
    shown = {n: _NUMBER_CASES[n] for n in ("as-claimed", "half-noise", "unclipped")}
    with settings:
        case = _case("The mechanism is", "x_case", shown)
    fields = _privacy("number")
    with settings:
        return {"case": case, **fields, **_more("number", fields["mechanism"])}


def link_to(page: str, label: str, icon: str) -> None:
    """Link to ``page`` with the same settings."""
    settings = {key: text for key, text in st.query_params.items() if key.startswith("x_")}
    st.page_link(page, label=label, icon=icon, query_params=settings)


def _is_about_users(target: str) -> bool:
    """Say whether the target claims to protect whole users."""
    return target in ALGORITHMS and ALGORITHMS[target].unit == "user"


def _attacked(target: str, game: bool, settings: DeltaGenerator) -> dict[str, Any]:
    """Ask what is wrong with a number, or how the datasets differ and what is seen."""
    if target == "number":
        return {"case": _case("The mechanism is", "x_case", _NUMBER_CASES)}
    with controls.place():
        possible = not game and target in ONE_RUN_TARGETS
        if possible and controls.choice("Audit by", "x_by", METHODS, "runs") == "one":
            return _planted(target, settings)
        chosen = {} if game else _dataset(target)
    if target in FACTOR_TARGETS:
        whose = "The record" if chosen else "Alice's picture"
        st.caption(
            f"{whose} is in the data, or its place is empty; the attacker sees the learned parts."
        )
        return chosen
    return chosen | _differing(target, chosen, game)


def _planted(target: str, settings: DeltaGenerator) -> dict[str, Any]:
    """Ask how many canaries are planted, in which data, and whether the noise is broken."""
    with settings:
        numbers = [50, 100, 200, 500, 1000, 1800]
        canaries = controls.steps_slider("Canaries", "x_canaries", numbers, 100)
        case = _case("The noise is", "x_planted_case", _PLANTED_CASES)
    return {"canaries": int(canaries), "case": case, **_dataset(target, record=False)}


def _dataset(target: str, *, record: bool = True) -> dict[str, Any]:
    """Ask on what data the algorithm is attacked, and whose ``record`` it is about."""
    images = target in FACTOR_TARGETS
    key, synthetic = ("x_samples", _PICTURES) if images else ("x_ratings", _TABLE)
    holds = ("images", "documents") if images else ("ratings",)
    dataset = controls.choice("Data", key, synthetic | user_data.menu(*holds), _MADE)
    if dataset == _MADE:
        return {}
    if not record:
        return {"dataset": dataset}
    what = (
        "an image's or document's number, from 1" if images else "a user's name, or number from 1"
    )
    usual = "farthest from the mean" if images else "with the most ratings"
    name = st.text_input(
        "Record",
        key="x_record",
        max_chars=200,
        placeholder=f"the one {usual}",
        help=f"Who is in one dataset and not in the other: {what}. Not kept in the link.",
    )
    return {"dataset": dataset, "record": name.strip()}


def _differing(target: str, chosen: dict[str, Any], game: bool) -> dict[str, Any]:
    """Ask how two datasets of ratings differ, and what the attacker sees."""
    case = "as-claimed"
    with controls.place():
        if target == "moments" and not chosen and not game:  # seeds are for machines to search
            case = _case("The noise is", "x_run_case", _RUN_CASES)
    if case != "as-claimed":
        return {"neighbours": "user", "view": "items", "case": case}
    if _is_about_users(target):
        return {"neighbours": "user", "view": _view("x_user_view", USER_VIEWS, "factors")}
    neighbours = controls.choice(
        "The two datasets differ in" + ("" if chosen else " Alice's"),
        "x_neighbours",
        NEIGHBOUR_TITLES,
        "rating",
        help="  \n".join(NEIGHBOURS[name] for name in NEIGHBOUR_TITLES),
    )
    return {"neighbours": neighbours, "view": _view("x_view", VIEW_TITLES, "matrix")}


def _case(label: str, key: str, titles: dict[str, str]) -> str:
    meanings = "  \n".join(f"**{title}** {CASES[name]}" for name, title in titles.items())
    return controls.choice(label, key, titles, "as-claimed", help=meanings)


def _view(key: str, titles: dict[str, str], usual: str) -> str:
    return controls.choice(
        "The attacker sees",
        key,
        titles,
        usual,
        help="  \n".join(f"**{title}**: {VIEWS[k]}" for k, title in titles.items()),
    )


def _privacy(target: str) -> dict[str, Any]:
    """Ask for the noise, what is claimed of it, and how often it is drawn."""
    noises = _noises(target)
    if st.session_state.get("x_noise", next(iter(noises))) not in noises:
        st.session_state["x_noise"] = next(iter(noises))
    usual = "laplace" if "laplace" in noises else "gaussian"
    fields: dict[str, Any] = {
        "mechanism": controls.choice("Noise", "x_noise", noises, usual),
        "epsilon": declared.box("nominal.epsilon", "x_epsilon", 1.0, label=_claim(target)),
    }
    with controls.place():
        if target != "number" and ALGORITHMS[target].steps is None:  # else: no rounds on the data
            fields["iterations"] = declared.box("als.iterations", "x_iterations", 2)
    return fields


def _noises(target: str) -> dict[str, str]:
    if target == "number":
        return NOISES
    possible = ALGORITHMS[target].mechanisms if target in FACTOR_TARGETS else RUN_FAMILIES
    return {k: v for k, v in NOISES.items() if k in RUN_FAMILIES and k in possible}


def _claim(target: str) -> str:
    if target == "number":
        return "Claimed ε"
    sound = target in FACTOR_TARGETS and ALGORITHMS[target].guarantee
    return "Total ε" if _is_about_users(target) or sound else "Nominal ε of one release"


def _runs(target: str, fields: dict[str, Any]) -> int:
    if "canaries" in fields:
        return 0
    if "dataset" in fields:
        key, runs, usual = "x_dataset_runs", [100, 200, 500, 1000, 3000], 500
    elif fields.get("case") == "on-grid":
        key, runs, usual = "x_grid_runs", [1000, 5000, 20_000], 5000
    elif target == "number":
        key, runs, usual = "x_runs", [1000, 10_000, 100_000, 1_000_000], 100_000
    else:
        key, runs, usual = "x_algorithm_runs", [200, 500, 1000, 3000, 10_000], 1000
    return int(controls.steps_slider("Outputs of each dataset", key, runs, usual))


def _more(target: str, mechanism: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    with controls.place():
        if "alpha" in FAMILIES[mechanism].shape:
            fields["alpha"] = declared.box("alpha", "x_alpha")
    with controls.place():
        if target == "irls":
            fields["inner"] = declared.box("irls.inner", "x_inner", 2, label="Inner iterations K")
    fields["delta"] = declared.box("account_delta", "x_delta")
    return fields
