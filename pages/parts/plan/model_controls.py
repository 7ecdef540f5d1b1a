"""The controls of a model's plan on the *Plan* page."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpmc_core.config import parameters
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.configs import config_of
from dpmc_core.errors import DPMCError, ParameterError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS, held_for
from dpmc_core.mechanisms import RUN_FAMILIES
from dpmc_core.planning.goal import ModelPlan
from dpmc_core.privacy.noise import TotalEpsilon
from pages.parts.server import user_data
from pages.parts.ui import controls, declared
from pages.parts.ui.looks import IDENTITY

METHODS = {
    name: card.title
    for name, card in ALGORITHMS.items()
    if card.guarantee and TotalEpsilon in card.noise
}
MEASURES = {"rate": "rating error (RMSE)", "recommend": "Recall@20", "factorize": "objective"}
GOALS = {"baseline": "better than the best baseline", "value": "a value of the measure"}
VARY = {"epsilon": "least ε", "n_users": "fewest people"}
NOISES = {name: IDENTITY[name].title for name in RUN_FAMILIES}
MODEL_TITLES = {
    "n_method": METHODS,
    "n_measure": MEASURES,
    "n_goal": GOALS,
    "n_vary": VARY,
    "n_mechanism": NOISES,
}
_TARGETS = {"rate": 0.86, "recommend": 0.3, "factorize": 0.1}
_USUAL_DATA = {"ratings": "skewed", "images": "cartoon"}


@dataclass(frozen=True)
class Asked:
    """The search that is asked for; None where there is a ``problem``."""

    plan: ModelPlan | None
    problem: str = ""


def form() -> Asked:
    """Draw the goal in the main row's place, then the sidebar's widgets."""
    with st.sidebar:
        st.subheader("Which model")
        method = controls.choice("Method", "n_method", METHODS, "moments")
        card = ALGORITHMS[method]
        holds = held_for(card.tasks)
        menu = user_data.menu(*holds)
        usual = _USUAL_DATA[holds[0]]
        with controls.place():
            dataset = controls.choice("Data", f"n_data_{holds[0]}", menu, usual)
        task = card.tasks[0]
        with controls.place():
            if len(card.tasks) > 1:
                possible = {name: MEASURES[name] for name in card.tasks}
                task = controls.choice("Measure", "n_measure", possible, task)
        mechanism = controls.choice("Noise", "n_mechanism", NOISES, "gaussian")
        st.subheader("What is asked")
        sized = "n_users" in parameters(config_of(dataset, holds[0]))
        vary = "epsilon"
        with controls.place():
            if sized:
                vary = controls.choice(
                    "What is asked", "n_vary", VARY, "epsilon", label_visibility="collapsed"
                )
        fields: dict[str, Any] = {"epsilon": 50.0}
        with controls.place():
            if vary == "n_users":
                fields["epsilon"] = declared.box("total.epsilon", "n_total", 1.0, needed=True)
            elif sized:
                fields["n_users"] = declared.box("n_users", "n_users", 5000)
        goal = controls.choice("Goal", "n_goal", GOALS, "baseline")
        with st.expander("More", key="n-model-more"):
            rank = parameters(card.config).get("rank")
            if rank is not None and rank.rule.label:
                fields["rank"] = declared.box(f"{method}.rank", f"n_rank_{method}")
            fields["delta"] = declared.box("total.delta", "n_model_delta")
            limits = _limits(vary)
            fields["seed"] = declared.box("seed", "n_seed")
    target = None
    if goal == "value":
        target = declared.box(
            "model.target", f"n_target_{task}", _TARGETS[task], label=_label(task), needed=True
        )
    return _built(
        {
            "task": task,
            "dataset": dataset,
            "algorithm": method,
            "mechanism": mechanism,
            **({"secret": False} if user_datasets.is_own(dataset) else {}),
            **fields,
        },
        {"vary": vary, "target": target, **limits},
    )


def _label(task: str) -> str:
    return f"{MEASURES[task][0].upper()}{MEASURES[task][1:]}: " + (
        "at least" if task == "recommend" else "at most"
    )


def _limits(vary: str) -> dict[str, float]:
    least, most = (0.1, 50.0) if vary == "epsilon" else (250.0, 50_000.0)
    return {
        "least": declared.box("model.least", f"n_least_{vary}", least),
        "most": declared.box("model.most", f"n_most_{vary}", most),
        "within": declared.box("model.within", "n_within"),
    }


def _built(fields: dict[str, Any], goal: dict[str, Any]) -> Asked:
    try:
        return Asked(ModelPlan(base=RunSpec.fitting(fields), **goal))
    except ParameterError as error:
        return Asked(None, controls.said(str(error)))
    except DPMCError as error:
        return Asked(None, str(error))
