"""The chart of a model's plan: what runs measured at each place that was looked at."""

import math

import numpy as np
import pandas as pd

from dpmc_core.experiments.run import TASKS
from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.planning.goal import Search
from dpmc_core.wording import three
from pages.parts.ui.figures import Drawn, figure, level
from pages.parts.ui.labels import log_ticks
from pages.parts.ui.looks import intervals, name_above

AXES = {"epsilon": "total ε", "n_users": "people"}
VERDICTS = {1: "reached", 0: "undecided", -1: "missed"}
_LOOKS = {  # colour, symbol
    1: ("#009E73", "circle"),
    0: ("#888888", "circle-open"),
    -1: ("#D55E00", "x"),
}


def probes(found: Search) -> Drawn:
    """What runs measured (or by how far they missed the best baseline) at each place, with 95 %
    t-intervals, the target, and the interval of the answer.
    """
    plan = found.plan
    task = TASKS[plan.base.task]
    against = plan.target is None
    better = "lower" if task.less_is_better else "higher"
    name = task.measure.partition(" (")[0]
    y_title = f"{name} − best baseline" if against else name
    fig = figure(
        f"{AXES[plan.vary]} (log scale)", f"{y_title} ({better} is better)", height=420, log_x=True
    )
    sign = 1.0 if task.less_is_better else -1.0
    rows = []
    for probe in sorted(found.probes, key=lambda one: one.place):
        # margins say by how much a run is better; drawn is the measure itself, or its difference
        drawn = [-sign * m for m in probe.margins] if against else list(probe.values)
        rows.append(
            {
                AXES[plan.vary]: probe.place,
                y_title: float(np.mean(drawn)),
                "half of the 95 % interval": t_half_width(drawn),
                "runs": len(drawn),
                "goal": VERDICTS[probe.decided],
            }
        )
    for decided, (colour, symbol) in _LOOKS.items():
        some = [row for row in rows if row["goal"] == VERDICTS[decided]]
        fig.add_scatter(
            x=[row[AXES[plan.vary]] for row in some],
            y=[row[y_title] for row in some],
            error_y=intervals(
                [row["half of the 95 % interval"] for row in some], thickness=1.5, color=colour
            ),
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2}},
            name=VERDICTS[decided],
            customdata=[row["runs"] for row in some],
            hovertemplate="%{y:.4g} (%{customdata} runs)",
        )
    level(fig, plan.target or 0.0, width=2)
    if any(found.ends_known):
        fig.add_vrect(x0=found.low, x1=found.high, fillcolor="#888888", opacity=0.18, line_width=0)
    left, right = math.log10(plan.least) - 0.08, math.log10(plan.most) + 0.08
    fig.update_xaxes(range=[left, right], **log_ticks(10**left, 10**right))
    name_above(fig, margin={"r": 20}, hovermode="closest")
    return fig, pd.DataFrame(rows)


def alt(found: Search) -> str:
    """The figure in words."""
    said = "; ".join(
        f"{three(p.place)}: {VERDICTS[p.decided]}"
        for p in sorted(found.probes, key=lambda one: one.place)
    )
    return f"Goal at each {AXES[found.plan.vary]} that was looked at: {said}. {found.sentence}"
