"""A model's plan on the *Plan* page: the search by runs, and what it found."""

import os

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpmc_core.errors import DataError
from dpmc_core.experiments.store.store import StoreError
from dpmc_core.planning.goal import ModelPlan, Search, examples
from dpmc_core.planning.models import kept
from dpmc_core.privacy import odds_sentence, subject
from dpmc_core.wording import counted, three
from pages.parts.frame import python_lines
from pages.parts.frame.page import fold, observations, verdict
from pages.parts.plan import model_charts
from pages.parts.plan.model_controls import Asked
from pages.parts.server import jobs, run_store, user_data
from pages.parts.ui import controls, on_screen
from pages.parts.ui.figures import draw, show
from pages.parts.ui.on_screen import code, download
from pages.parts.ui.run_panel import Look, Panel, draw_example, panel

_AT_ONCE = min(2, os.cpu_count() or 1)
_LOOK = Look(
    label="Search",
    key="n_go",
    used="plan-linked",
    changed="The settings have changed since this search; press *Search* to use them.",
)


def model(asked: Asked, row: DeltaGenerator) -> None:
    """Draw the button, the search going on, and the answer that stands."""
    plan = asked.plan
    panel(
        Panel(
            kind="plan",
            wanted=() if plan is None else (plan,),
            problem=asked.problem,
            start=lambda: _start(plan),
            step="run",
            so_far=_so_far,
            show=lambda job: answer(job.results[0]),
            example=lambda: _before(plan),
            row=row,
            at_once=_AT_ONCE,
            hint="" if plan is None else _hint(plan),
            look=_LOOK,
        )
    )


def _hint(plan: ModelPlan) -> str:
    return (
        f"Up to {plan.total_runs} runs, where they decide; each is kept as it finishes, so that a "
        "stopped search goes on."
    )


def _start(plan: ModelPlan | None) -> jobs.Job:
    assert plan is not None  # a panel with a problem does not start
    own = user_data.runs_for({"dataset": plan.base.dataset})
    return jobs.start_plan(plan, _AT_ONCE, lambda: own)


def _so_far(job: jobs.Job) -> bool:
    found: Search | None = job.results[0]
    if found is None or not found.probes:
        return False
    figure, _ = model_charts.probes(found)
    draw(figure, "live-plan", model_charts.alt(found))
    return True


def _before(plan: ModelPlan | None) -> None:
    """What runs that are kept say already; else the stored example nearest to what is asked."""
    found = None if plan is None else _kept(plan)
    if found is not None:
        st.caption(
            f":material/history: **From {found.spent} runs that are kept here**"
            + ("." if found.finished else ": *Search* makes those that are missing.")
        )
        answer(found)
        return
    stored = next(
        (one for one in examples() if plan is not None and one.plan.asks_the_same(plan)), None
    )
    some = stored or next(
        (one for one in examples() if plan is None or one.plan.target == plan.target), examples()[0]
    )
    draw_example(
        f"{some.spent} runs on {some.plan.base.data.n_users:,} synthetic users",
        lambda: answer(some),
        same=stored is not None,
        name="Stored example",
        label=_LOOK.label,
        differs=plan is not None and some.plan.target != plan.target,
    )


def _kept(plan: ModelPlan) -> Search | None:
    try:
        return kept(plan, user_data.runs_for({"dataset": plan.base.dataset}))
    except DataError as error:  # the goal is reached everywhere, or nowhere
        st.info(controls.plain(str(error)), icon=":material/block:")
    except StoreError as error:
        st.warning(controls.plain(run_store.told(error)), icon=":material/database_off:")
    return None


def answer(found: Search) -> None:
    """Draw an answer: the verdict, the runs behind it, and what it leaves out."""
    verdict(found.sentence)
    show(model_charts.probes(found), "plan-model", model_charts.alt(found))
    plan = found.plan
    epsilon = found.estimate if plan.vary == "epsilon" else float(plan.base.noise.epsilon)
    unit = plan.base.card.unit
    whose = subject(plan.base.data.entry.holds.removesuffix("s") if unit == "sample" else unit)
    odds = [] if epsilon is None else [odds_sentence(epsilon, plan.base.noise.delta, whose)]
    made = counted(found.spent, "run", "runs")
    sure = "; the interval holds with 95 %" if any(found.ends_known) else ""
    observations([*odds, f"From {made}{sure}.", *found.caveats])
    on_screen.add_lines("The same search", plan.python(), held_back=python_lines.LONG)
    fold("How this was computed", "method", lambda: _method(found))
    fold("Export", "export", lambda: _export(found), icon=":material/download:")


def _method(found: Search) -> None:
    plan = found.plan
    unit = plan.base.card.unit
    whose = plan.base.data.entry.holds.removesuffix("s") if unit == "sample" else unit
    st.markdown(
        f"ε is the total of a whole run, for one {whose}; each run states it as a guarantee. Both "
        f"ends were looked at first ({three(plan.least)} and {three(plan.most)}), then halves of "
        "what was left on a logarithmic scale. At each place runs on paired seeds are made until a "
        "t-interval of what they measure leaves the goal out, at a level that all looks share "
        "(Bonferroni), so that the interval of the answer holds with 95 %. Bars are 95 % intervals "
        "of each place alone."
    )
    if plan.vary == "epsilon" and hasattr(plan.base.data, "n_users"):
        st.caption(
            "What half of this ε takes: choose *fewest people* in the sidebar, at half the ε."
        )


def _export(found: Search) -> None:
    download("Plan (JSON)", "dpmc-plan.json", found.as_dict)
    code(found.plan.command(), "bash", "On the command line:")
    code(found.plan.python(), "python", "In Python:")
