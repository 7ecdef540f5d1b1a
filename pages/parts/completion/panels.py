"""What the *Completion* page runs, one function for each kind of question."""

from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.presets import LIKING, PEOPLE, WELL_REGULARISED, preset
from pages.parts.completion import compare_view, list_view, recommend_view, study_view
from pages.parts.completion.controls import FIRST, Asked
from pages.parts.frame.study import Built
from pages.parts.ui import controls
from pages.parts.ui.run_panel import Example, Panel, example_runs, panel

_LISTED = (None, 10.0, 2.0, 0.5)  # total ε of the lists that one person sees


def compare(asked: Asked, built: Built, row: DeltaGenerator) -> None:
    """Run up to six configurations, and compare their predictions."""
    clip = asked.clip
    panel(
        Panel(
            kind="run",
            wanted=built.specs,
            problem=built.problem,
            step="iteration",
            so_far=lambda job: compare_view.so_far(job, clip),
            show=lambda job: compare_view.results_of(compare_view.named(job.results), clip),
            example=_compared_example(clip),
            row=row,
            seed="seed",
        )
    )


def _compared_example(clip: bool) -> Example:
    usual = {**FIRST, **preset(WELL_REGULARISED, FIRST["dataset"])}
    shown = (
        RunSpec.fitting(usual),
        RunSpec.fitting(usual, mechanism="huber", total_epsilon=5.0),
        RunSpec.fitting(PEOPLE),
    )
    return Example(
        about="4,000 users, 300 items",
        specs=shown,
        draw=lambda: compare_view.results_of(compare_view.named(example_runs(shown)), clip),
    )


def recommend(built: Built, row: DeltaGenerator) -> None:
    """Run up to three configurations, and compare what they recommend."""
    panel(
        Panel(
            kind="recommend",
            wanted=built.specs,
            problem=built.problem,
            step="step",
            so_far=recommend_view.so_far,
            show=lambda job: recommend_view.results_of(job.results),
            example=_recommended_example(),
            row=row,
            seed="seed",
        )
    )


def _recommended_example() -> Example:
    people = {**PEOPLE, **LIKING, "item_share": PEOPLE["item_share"], "task": "recommend"}
    shown = tuple(RunSpec.fitting(people, algorithm=n) for n in ("moments", "dpals"))
    return Example(
        about="4,000 synthetic users and 300 items, total ε = 5",
        specs=shown,
        draw=lambda: recommend_view.results_of(example_runs(shown)),
    )


def lists(built: Built, row: DeltaGenerator) -> None:
    """Show one person's ten best without privacy and at three ε."""
    wanted = tuple(
        s.replace(mechanism="none", epsilon=None) if epsilon is None else s.replace(epsilon=epsilon)
        for s in built.specs
        for epsilon in _LISTED
    )
    panel(
        Panel(
            kind="lists",
            wanted=wanted,
            problem=built.problem,
            step="iteration",
            so_far=lambda job: compare_view.so_far(job, True),
            show=lambda job: _listed(job.results),
            example=_listed_example(),
            row=row,
            seed="seed",
        )
    )


def _listed(results: Sequence[Any]) -> None:
    done = [r for r in results if r is not None]
    if done:
        list_view.lists(done)


def _listed_example() -> Example:
    specs = tuple(
        RunSpec.fitting(PEOPLE, epsilon=e, **({} if e else {"mechanism": "none"})) for e in _LISTED
    )
    return Example(
        about="4,000 synthetic users and 300 items, which have no names (MovieLens has titles)",
        specs=specs,
        draw=lambda: _listed(example_runs(specs)),
    )


def skewed(asked: Asked, built: Built) -> None:
    """Show which ratings take part: computed at once, nothing to run."""
    st.query_params.pop("run", None)
    if built.problem:
        controls.show_error(built.problem)
        return
    try:
        spec = built.specs[0]
        study_view.skew(spec.data, asked.items_per_user, spec.seed)
    except DPMCError as error:
        controls.show_error(error)


def examples() -> list[tuple[RunSpec, ...]]:
    """Return the runs that the page shows as it opens."""
    return [_compared_example(clip=False).specs]
