"""Tradeoffs: what privacy costs, which noise costs least, and how many people it takes, by sweeps with intervals; and a mode for presenting them."""

import os

import streamlit as st

from dpmc_core.datasets import entry
from dpmc_core.datasets import user_datasets as shelf
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.store.store import StoreError
from dpmc_core.experiments.sweeps import stored
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import how_many
from dpmc_core.experiments.sweeps.tradeoff import Point
from pages.parts.server import jobs
from pages.parts.server import run_store as keeping
from pages.parts.server import user_data as own_data
from pages.parts.tradeoffs import view as tradeoff_view
from pages.parts.tradeoffs.controls import MOST_RUNS, TRADEOFF_TITLES, VIEWS, form
from pages.parts.ui import controls, glossary
from pages.parts.ui.run_panel import Panel, panel

AT_ONCE = min(2, os.cpu_count() or 1)
SLIDES = {
    "user": "What does privacy cost?",
    "people": "How many people does it take?",
    "rating-total_epsilon": "Which noise, at equal total ε?",
    "rating-variance": "Which noise, at equal variance?",
}

controls.on_page("tradeoffs.py", {**TRADEOFF_TITLES, "t_slide": SLIDES})


def views_of(vary: str) -> dict[str, str]:
    """Points with different numbers of people are no trade-off to choose from."""
    return {name: title for name, title in VIEWS.items() if vary == "noise" or name != "frontier"}


def presenter() -> None:
    """Stored results in large type, without a sidebar."""
    st.html(
        "<style>[data-testid='stSidebar'],[data-testid='stSidebarCollapsedControl'],[data-testid='stExpandSidebarButton']{display:none}"
        "[data-testid='stMainBlockContainer']{padding-top:5rem;max-width:1800px}"
        "[data-testid='stMarkdownContainer'] p,[data-testid='stMarkdownContainer'] li{font-size:1.5rem;line-height:1.45}"
        "[data-testid='stCaptionContainer'] p{font-size:1.1rem}h1{font-size:3rem !important}</style>"
    )
    slide = controls.segments("Slide", "t_slide", SLIDES, "user", label_visibility="collapsed")
    glossary.title(SLIDES[slide], "tradeoffs")
    spec, points, made = stored.examples()[slide]
    vary = "people" if slide == "people" else "noise"
    by = slide.removeprefix("rating-") if slide.startswith("rating-") else "total_epsilon"
    view = controls.segments(
        "View", "t_view", views_of(vary), "curves", label_visibility="collapsed"
    )
    tradeoff_view.views(view, points, tradeoff_view.axis_of(vary, by), large=True, example=slide)
    tradeoff_view.counted(points, spec, vary, by)
    st.caption(f"Stored results of {made['runs']} runs, made on {made['date']}.")
    controls.switch(
        "Presenter mode", "present", False
    )  # as on the page itself: what is usual is not in the address


def live() -> None:
    """The page with its controls."""
    with st.sidebar:
        asked = form()
        controls.switch(
            "Presenter mode", "present", False, help="Large type, no sidebar, stored results only."
        )
    glossary.title("What does privacy cost, and which noise costs least?", "tradeoffs")
    st.markdown(
        "Every point is the mean of several runs, with a band that says how far chance alone could move it. **Protected** is "
        + (
            "one user with all their ratings: a guarantee."
            if asked.protect == "user"
            else "one rating, *nominally*: counted as the papers count, not a guarantee."
        )
        + " The dotted line is what needs no model at all."
    )
    problems = st.container()
    spec: SweepSpec | None = None
    problem = ""
    try:
        spec = asked.spec()
        if spec.size > MOST_RUNS:
            problem = f"These are up to {spec.size:,} runs; at most {MOST_RUNS:,} are made from this page: fewer values or repetitions, or the command line."
        known = entry(str(dict(spec.base)["dataset"]))
        if not known.present():
            problem = f"{known.title} is not on this machine yet: fetch it on the Datasets page, or choose another."
    except DPMCError as error:
        # of a run that cannot be, what is wrong with it
        problem = str(error.__cause__ if isinstance(error.__cause__, DPMCError) else error)
    axis = tradeoff_view.axis_of(asked.vary, asked.by)
    view = controls.segments("View", "t_view", views_of(asked.vary), "curves")

    def result(wanted: SweepSpec, points: list[Point], done: int) -> None:
        tradeoff_view.progress_of(wanted, done)
        tradeoff_view.views(view, points, axis)
        tradeoff_view.counted(points, wanted, asked.vary, asked.by)
        tradeoff_view.take_away(wanted, points)

    def example() -> None:
        kept_of_these = 0
        if (
            spec is not None and not problem and "lesson" not in st.query_params
        ):  # a class sees the figure that the lesson is about
            try:
                points, done = tradeoff_view.stored_points(spec)
            except StoreError as error:
                st.warning(controls.plain(keeping.told(error)), icon=":material/database_off:")
            else:
                if any(p.unit for p in points) and 2 * done >= how_many(spec):
                    result(spec, points, done)
                    return
                kept_of_these = done
        name = tradeoff_view.example_for(asked.protect, asked.vary, asked.by)
        kept, points, made = stored.examples()[name]
        st.caption(
            f":material/info: **Stored example** of {made['runs']} runs, made on {made['date']} ({kept.seeds} repetitions of each point, {made['about']}). Press *Run* to compute "
            "with the settings in the sidebar; small data takes a minute or two."
            + (
                f" {kept_of_these} of their {how_many(spec)} runs are kept already."
                if kept_of_these and spec
                else ""
            )
        )
        tradeoff_view.views(view, points, axis, example=name)
        tradeoff_view.counted(points, kept, asked.vary, asked.by)
        tradeoff_view.take_away(kept, points)

    def standing(job: jobs.Job) -> None:
        done_spec = job.specs[0]
        try:
            points, done = tradeoff_view.stored_points(done_spec)
        except StoreError as error:
            st.warning(controls.plain(keeping.told(error)), icon=":material/database_off:")
            return
        if any(p.unit for p in points):  # something with noise is there to be drawn
            result(done_spec, points, done)
        else:
            example()

    def start() -> jobs.Job:
        assert spec is not None  # a panel with a problem does not start
        runs = (
            own_data.runs_for(dict(spec.base))
            if shelf.is_own(str(dict(spec.base)["dataset"]))
            else None
        )
        return jobs.start_sweep(spec, AT_ONCE, lambda: keeping.store() if runs is None else runs)

    panel(
        Panel(
            kind="sweep",
            wanted=() if spec is None else (spec,),
            problem=problem,
            start=start,
            step="run",
            so_far=lambda job: tradeoff_view.so_far(job, axis),
            show=standing,
            example=example,
            kept=True,
            beside=None
            if spec is None
            else lambda: st.caption(
                f"Up to {spec.size:,} runs, {AT_ONCE} at once; each is kept as it finishes"
                + (
                    " (your own data: for this visit)"
                    if shelf.is_own(str(dict(spec.base)["dataset"]))
                    else ""
                )
                + ", so that a stopped sweep goes on where it was."
            ),
        )
    )
    with problems:
        controls.link_problems()


presenting = str(st.query_params.get("present", "")).lower() == "true"
if st.session_state.get("present", presenting):
    presenter()
    controls.link_problems()
else:
    live()
