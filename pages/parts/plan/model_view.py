"""A model's plan on the *Plan* page: the search by runs, and what it found."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.config import parameters
from dpmc_core.datasets import user_datasets
from dpmc_core.datasets.configs import config_of
from dpmc_core.datasets.data import uncovered_by
from dpmc_core.errors import DataError, DPMCError, ParameterError
from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.algorithms import ALGORITHMS, held_for
from dpmc_core.experiments.run import TASKS
from dpmc_core.experiments.store.store import StoreError
from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.planning.goal import QUICK_RUNS, ModelPlan, Search
from dpmc_core.planning.models import examples, stored_search
from dpmc_core.privacy import odds_sentence, subject
from dpmc_core.privacy.noise import TotalEpsilon
from dpmc_core.wording import counted, three
from pages.parts.frame import python_lines
from pages.parts.frame.page import observations, tab, verdict
from pages.parts.server import jobs, run_store, user_data
from pages.parts.ui import controls, declared, links, on_screen
from pages.parts.ui.figures import Drawn, draw, figure, level, show
from pages.parts.ui.labels import log_ticks
from pages.parts.ui.looks import SOME_NOISE, Identity, curve, intervals, name_above
from pages.parts.ui.on_screen import download
from pages.parts.ui.run_panel import Button, Example, Panel, draw_example, draw_panel

AXES = {"epsilon": "total ε", "n_users": "people"}
VERDICTS = {  # by what runs decided
    1: Identity("reached", "#009E73", "solid", "circle"),
    0: Identity("undecided", "#888888", "solid", "circle-open"),
    -1: Identity("missed", "#D55E00", "solid", "x"),
}


def figure_of_runs(search: Search) -> Drawn:
    """What runs measured (or by how far they missed the best baseline) at each place, with 95 %
    t-intervals, the target, and the interval of the answer.
    """
    plan = search.plan
    task = TASKS[plan.base.task]
    against = plan.target is None
    better = "lower" if task.less_is_better else "higher"
    name, _, unit = task.measure.removesuffix(")").partition(" (")
    y_title = f"{name} − best baseline" if against else name
    notes = f"{unit}; {better} is better" if unit else f"{better} is better"
    axis = AXES[plan.vary]
    fig = figure(f"{axis} (log scale)", f"{y_title}<br>({notes})", height=390, log_x=True)
    sign = 1.0 if task.less_is_better else -1.0
    rows = []
    for probe in sorted(search.probes, key=lambda one: one.place):
        # margins say by how much a run is better; drawn is the measure itself, or its difference
        drawn = [-sign * m for m in probe.margins] if against else list(probe.values)
        goal = VERDICTS[probe.decided].title
        rows.append((probe.place, float(np.mean(drawn)), t_half_width(drawn), len(drawn), goal))
    half = "half of the 95 % interval"
    numbers = pd.DataFrame(rows, columns=(axis, y_title, half, "runs", "goal"))
    for look in VERDICTS.values():
        some = numbers[numbers["goal"] == look.title]
        curve(
            fig,
            look,
            some[axis],
            some[y_title],
            error_y=intervals(some[half], thickness=1.5, color=look.colour),
            mode="markers",
            marker=look.mark(size=11, line={"width": 2}),
            customdata=some["runs"],
            hovertemplate="%{y:.4g} (%{customdata} runs)",
        )
    level(fig, plan.target or 0.0, width=2)
    if _between(search):
        fig.add_vrect(
            x0=search.low,
            x1=search.high,
            fillcolor="#888888",
            opacity=0.18,
            line_width=0,
            name="the answer lies here",
            showlegend=True,
        )
    left, right = math.log10(plan.least) - 0.08, math.log10(plan.most) + 0.08
    fig.update_xaxes(range=[left, right], **log_ticks(10**left, 10**right))
    name_above(fig, hovermode="closest")
    return fig, numbers


def _between(search: Search) -> bool:
    """Whether the answer is an interval within the range."""
    return any(search.ends_known) and search.crossing == "inside"


def runs_in_words(search: Search) -> str:
    """The figure in words."""
    summary = "; ".join(
        f"{three(p.place)}: {VERDICTS[p.decided].title}"
        for p in sorted(search.probes, key=lambda one: one.place)
    )
    return f"Goal at each {AXES[search.plan.vary]} that was looked at: {summary}. {search.sentence}"


METHODS = {
    name: card.title
    for name, card in ALGORITHMS.items()
    if card.guarantee and TotalEpsilon in card.noise
}
MEASURES = {"rate": "rating error (RMSE)", "recommend": "Recall@20", "factorize": "objective"}
GOALS = {"baseline": "better than the best baseline", "value": "a value of the measure"}
VARY = {"epsilon": "least ε", "n_users": "fewest people"}
MODEL_TITLES: links.LinkTitles = {
    "n_method": METHODS,
    "n_measure": MEASURES,
    "n_goal": GOALS,
    "n_vary": VARY,
    "n_mechanism": SOME_NOISE,
    "n_data_ratings": partial(user_data.linked, "ratings"),
    "n_data_images": partial(user_data.linked, "images", "documents"),
}
_TARGETS = {"rate": 0.86, "recommend": 0.3, "factorize": 0.1}
_USUAL_DATA = {"ratings": "skewed", "images": "cartoon"}


def model_form() -> tuple[ModelPlan | None, str]:
    """Draw what is searched for, in the page's bar, and the settings in the sidebar; returns the
    search, and a problem where it cannot be made.
    """
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
    mechanism = controls.choice("Noise", "n_mechanism", SOME_NOISE, "gaussian")
    sized = "n_users" in parameters(config_of(dataset, holds[0]))
    vary = "epsilon"
    with controls.place():
        if sized:
            vary = controls.choice("What is asked", "n_vary", VARY, "epsilon")
    fields: dict[str, Any] = {"epsilon": 50.0}
    with controls.place():
        if vary == "n_users":
            fields["epsilon"] = declared.box("total.epsilon", "n_total", 1.0, needed=True)
        elif sized:
            fields["n_users"] = declared.box("n_users", "n_users", 5000)
    goal = controls.choice("Goal", "n_goal", GOALS, "baseline")
    with controls.settings():
        rank = parameters(card.config).get("rank")
        if rank is not None and rank.rule.label:
            fields["rank"] = declared.box(f"{method}.rank", f"n_rank_{method}")
        fields["delta"] = declared.box("total.delta", "n_model_delta")
        least, most = (0.1, 50.0) if vary == "epsilon" else (250.0, 50_000.0)
        limits = {
            "least": declared.box("model.least", f"n_least_{vary}", least),
            "most": declared.box("model.most", f"n_most_{vary}", most),
            "within": declared.box("model.within", "n_within"),
        }
        fields["seed"] = declared.box("seed", "n_seed")
    target = None
    if goal == "value":
        side = "at least" if task == "recommend" else "at most"
        label = f"{controls.capitalized(MEASURES[task])}: {side}"
        target = declared.box(
            "model.target", f"n_target_{task}", _TARGETS[task], label=label, needed=True
        )
    if user_datasets.is_own(dataset):
        fields["secret"] = False
    fields |= {"task": task, "dataset": dataset, "algorithm": method, "mechanism": mechanism}
    try:
        base = RunSpec.fitting(fields)
        return ModelPlan(base=base, vary=vary, target=target, **limits), ""
    except ParameterError as error:
        return None, controls.reword(str(error))
    except DPMCError as error:
        return None, str(error)


_BUTTON = Button(
    label="Search",
    key="n_go",
    used_key="plan-linked",
    changed="The settings have changed since this search; press *Search* to use them.",
)


def model_panel(row: DeltaGenerator) -> None:
    """Draw the form, the button, the search going on, and the answer that stands."""
    with row:
        plan, problem = model_form()
    controls.link_problems()
    draw_panel(
        Panel(
            kind="plan",
            wanted=() if plan is None else (plan,),
            problem=problem,
            quick=() if plan is None else (plan.quick,),
            repetitions=QUICK_RUNS,
            step="run",
            so_far=_so_far,
            show=lambda results: show_answer(results[0]),
            example=lambda: _show_kept_or_example(plan),
            row=row,
            hint=""
            if plan is None
            else f"Up to {plan.total_runs} runs, where they decide; each is kept as it finishes, "
            "so that a stopped search goes on.",
            button=_BUTTON,
        )
    )
    _offer_own_data(plan)


def _offer_own_data(plan: ModelPlan | None) -> None:
    """Link to where a visitor's own file is read, while there is none to ask about."""
    holds = "ratings" if plan is None else plan.base.data.entry.holds
    if user_data.of_kind(holds) is None and not on_screen.presenting():
        st.page_link(
            "datasets.py",
            label=f"Ask this of your own {holds}",
            icon=":material/upload_file:",
            query_params={"d_view": "own", "d_holds": holds},
        )


def _so_far(job: jobs.Job) -> bool:
    search: Search | None = job.results[0]
    if search is None or not search.probes:
        return False
    figure, _ = figure_of_runs(search)
    draw(figure, "live-plan", runs_in_words(search))
    return True


def _show_kept_or_example(plan: ModelPlan | None) -> None:
    """What runs that are kept say already; else the stored example nearest to what is asked."""
    search = None if plan is None else _kept_search(plan)
    if search is not None:
        st.caption(
            f":material/history: **From {search.spent} runs that are kept here**"
            + ("." if search.finished else ": *Search* makes those that are missing.")
        )
        show_answer(search)
        return
    stored: Sequence[Search] = examples()
    if plan is not None:  # the nearest first
        stored = sorted(
            stored,
            key=lambda one: (not one.plan.asks_the_same(plan), one.plan.target != plan.target),
        )
    some = stored[0]
    shown = Example(
        about=some.plan.base.data.amounts,
        specs=(plan,) if plan is not None and some.plan.asks_the_same(plan) else (some.plan,),
        draw=lambda: show_answer(some),
        differs=plan is not None and some.plan.target != plan.target,
        name="Stored example",
    )
    draw_example(shown, (plan,), _BUTTON.label)


def _kept_search(plan: ModelPlan) -> Search | None:
    try:
        runs = user_data.shown_runs(plan.base.dataset)
        try:
            return stored_search(plan, runs)
        finally:
            user_data.say_from_file(runs)
    except DataError as error:  # a run ended in an error
        st.info(controls.plain(error), icon=":material/block:")
    except StoreError as error:
        st.warning(controls.plain(run_store.public_message(error)), icon=":material/database_off:")
    return None


def show_answer(search: Search) -> None:
    """Draw an answer: the verdict, the runs behind it, and what it leaves out."""
    verdict(search.sentence)
    show(figure_of_runs(search), "plan-model", runs_in_words(search))
    plan = search.plan
    epsilon = search.estimate if plan.vary == "epsilon" else float(plan.base.noise.epsilon)
    uncovered = ", ".join(uncovered_by(plan.base.data))
    given = f"If the {uncovered} were public: " * bool(uncovered)
    odds = (
        []
        if epsilon is None
        else [given + odds_sentence(epsilon, plan.base.noise.delta, subject(_unit(plan)))]
    )
    sure = "; the interval holds with 95 %" if _between(search) else ""
    observations([*odds, f"From {_runs_of(search)}{sure}.", *search.caveats])
    on_screen.add_lines("The same search", plan.python(), held_back=python_lines.LONG)
    tab("Method", "method", lambda: _method(search))
    tab("Export", "export", lambda: _export(search))


def _runs_of(search: Search) -> str:
    """How many runs of how much data: other amounts have another answer."""
    runs = counted(search.spent, "run", "runs")
    return runs if search.plan.vary == "n_users" else f"{runs} on {search.plan.base.data.amounts}"


def _unit(plan: ModelPlan) -> str:
    """Whom the ε of its runs is about."""
    unit = plan.base.card.unit
    return plan.base.data.entry.holds.removesuffix("s") if unit == "sample" else unit


def _method(search: Search) -> None:
    plan = search.plan
    whose = _unit(plan)
    st.markdown(
        f"ε is the total of a whole run, for one {whose}; each run's statement says whether it is "
        f"a guarantee. Both ends ({three(plan.least)} and {three(plan.most)}) come first, then "
        "halves of what was left on a logarithmic scale. At each place runs on paired seeds are "
        "made until a t-interval of what they measure leaves the goal out, at a level that all "
        "looks share (Bonferroni), so that the interval of the answer holds with 95 %. Bars are "
        "95 % intervals of each place alone."
    )
    if plan.vary == "epsilon" and "n_users" in parameters(type(plan.base.data)):
        st.caption(
            "How many people half of this ε takes: *What is asked*, *fewest people*, at half the "
            "ε, with data that are made in any number."
        )


def _export(search: Search) -> None:
    download("Plan (JSON)", "dpmc-plan.json", search.as_dict)
    python_lines.elsewhere("The search", search.plan)
