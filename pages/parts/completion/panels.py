"""What the *Completion* page runs, one function for each kind of question."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.presets import LIKING, PEOPLE, WELL_REGULARISED, preset
from pages.parts.completion import compare_view, recommend_view, study_view
from pages.parts.completion.asked import Asked, Built
from pages.parts.server import jobs
from pages.parts.ui import controls
from pages.parts.ui.run_panel import Panel, panel

__all__ = ["compare", "lists", "recommend", "skewed", "studied"]

_LISTED = (None, 10.0, 1.0)  # total ε of the three lists that one person sees


def compare(protect: str, built: Built) -> None:
    """Run up to three configurations, and compare their predictions."""
    kind = "run-user" if protect == "user" else "run"
    panel(
        Panel(
            kind=kind,
            wanted=built.specs,
            problem=built.problem,
            start=lambda: jobs.start(kind, built.specs),
            step="iteration",
            so_far=lambda job: compare_view.so_far(job, _clip()),
            show=lambda job: compare_view.results_of(compare_view.named(job.results), _clip()),
            example=lambda: _compared_example(protect),
            beside=_clip_switch,
        )
    )


def _clip_switch() -> None:
    controls.switch(
        "Clip predictions to the rating scale",
        "clip",
        help="A prediction of 6 stars becomes 5; the papers probably do this.",
    )


def _clip() -> bool:
    # a part of the page may run without its other controls
    return bool(st.session_state.get("clip", False))


def _compared_example(protect: str) -> None:
    if protect == "user":
        text = "4,000 synthetic users and 300 items, total ε = 5"
        shown = tuple(RunSpec.fitting(PEOPLE, algorithm=n) for n in ("moments", "dpals"))
    else:
        text = "computed with the usual settings on synthetic data"
        usual = preset(WELL_REGULARISED, "low-rank")
        shown = (RunSpec.fitting(usual), RunSpec.fitting(usual, mechanism="huber", variance=2.0))
    st.caption(f":material/info: **Example**: {text}. Choose yours in the sidebar and press *Run*.")
    compare_view.results_of(compare_view.named(compare_view.example(shown)), _clip())


def recommend(built: Built) -> None:
    """Run up to three configurations, and compare what they recommend."""
    panel(
        Panel(
            kind="recommend",
            wanted=built.specs,
            problem=built.problem,
            start=lambda: jobs.start("recommend", built.specs),
            step="step",
            so_far=recommend_view.so_far,
            show=lambda job: recommend_view.results_of(job.results),
            example=_recommended_example,
        )
    )


def _recommended_example() -> None:
    people = {**PEOPLE, **LIKING, "item_share": PEOPLE["item_share"], "task": "recommend"}
    st.caption(
        ":material/info: **Example**: 4,000 synthetic users and 300 items, total ε = 5, moments "
        "once and DPALS. Choose yours in the sidebar and press *Run*; on MovieLens, where what "
        "people watch says more about their taste, there is more to find."
    )
    shown = tuple(RunSpec.fitting(people, algorithm=n) for n in ("moments", "dpals"))
    recommend_view.results_of(recommend_view.example(shown))


def lists(built: Built) -> None:
    """Show one person's ten best without privacy and at two ε."""
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
            start=lambda: jobs.start("lists", wanted),
            step="iteration",
            so_far=lambda job: compare_view.so_far(job, True),
            show=lambda job: _listed(job.results),
            example=_listed_example,
        )
    )


def _listed(results: Sequence[Any]) -> None:
    done = [r for r in results if r is not None]
    if done:
        study_view.lists(done)


def _listed_example() -> None:
    st.caption(
        ":material/info: **Example**: 4,000 synthetic users and 300 items, which have no names. "
        "Choose MovieLens 100K in the sidebar for film titles, and press *Run*."
    )
    specs = tuple(
        RunSpec.fitting(PEOPLE, epsilon=e, **({} if e else {"mechanism": "none"})) for e in _LISTED
    )
    _listed(compare_view.example(specs))


def studied(question: str, built: Built) -> None:
    """Run the many runs of one question, and show their figure."""
    wanted = built.study
    panel(
        Panel(
            kind=f"study-{question}",
            wanted=() if wanted is None else (wanted,),
            problem=built.problem,
            start=lambda: jobs.start(f"study-{question}", (wanted,)),
            step="run",
            so_far=study_view.so_far,
            show=lambda job: study_view.study_result(job.results[0]),
            example=lambda: study_view.study_result(study_view.stored()[question], example=True),
        )
    )


def skewed(asked: Asked, built: Built) -> None:
    """Show which ratings take part: computed at once, nothing to run."""
    st.query_params.pop("run", None)
    if built.problem:
        st.error(controls.plain(built.problem), icon=":material/error:")
        return
    try:
        spec = built.specs[0]
        study_view.skew(spec.data, asked.settings["items_per_user"], spec.seed)
    except DPMCError as error:
        st.error(controls.plain(str(error)), icon=":material/error:")
