"""Charts of the *Plan* page: from plans to figures and the numbers in them."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from dpmc_core.planning import Candidate, Plan, PlanSpec
from dpmc_core.privacy import Ledger
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.calibrate import scaled
from dpmc_core.wording import three
from pages.parts.ui import figure_cache as drawn_once
from pages.parts.ui.figures import Drawn, figure
from pages.parts.ui.labels import Label, label_ends, log_ticks
from pages.parts.ui.looks import IDENTITY, curve

_AROUND = (0.2, 0.35, 0.6, 1.0, 1.7, 2.9, 5.0)  # margins, or people, in those of the answer


@drawn_once.of_values
def spending(spec: PlanSpec, candidates: Sequence[Candidate]) -> Drawn:
    """ε of all releases against their margin (or against the people, where these are asked), a
    line for each mechanism, its shape kept; the answer is marked.
    """
    best = candidates[0]
    by_people = spec.asked == "people"
    unit = "its unit" if spec.query in ("mean", "sum") else "people"
    x_title = "people" if by_people else f"margin of one release ({unit})"
    fig = figure(f"{x_title}, log scale", "total ε (log scale)", height=420, log_x=True, log_y=True)
    start = float(best.people or 1) if by_people else best.margin
    xs = [start * factor for factor in _AROUND]
    numbers: dict[str, object] = {x_title: xs}
    ends, everything = [], [best.epsilon]
    for one in (c for c in candidates if c.mechanism.name != "staircase"):
        look = IDENTITY[one.mechanism.name]
        # a wider margin is more noise per person; so are more people with the margin kept
        own = float(one.people or 1) if by_people else one.margin
        (release,) = one.ledger.releases
        more_noise = (replace(release, mechanism=scaled(one.mechanism, x / own)) for x in xs)
        ys = [tightest(Ledger((r,)), spec.delta, coarse=True) for r in more_noise]
        curve(fig, look, xs, ys, hovertemplate="%{y:.3g}")
        numbers[f"{look.title}: total ε"] = ys
        ends.append(Label(xs[-1], ys[-1], look.title))
        everything += ys
    fig.add_scatter(
        x=[start],
        y=[best.epsilon],
        mode="markers",
        marker={"symbol": "circle-open", "size": 20, "color": "#888888", "line": {"width": 3}},
        name="the plan",
        hovertemplate="%{y:.3g}",
    )
    low, high = math.log10(min(everything)) - 0.1, math.log10(max(everything)) + 0.1
    left, right = math.log10(xs[0]) - 0.03, math.log10(xs[-1]) + 0.03
    fig.update_yaxes(range=[low, high], **log_ticks(10**low, 10**high))
    fig.update_xaxes(range=[left, right], **log_ticks(10**left, 10**right))
    fig.update_layout(margin={"r": 90}, showlegend=False)
    label_ends(fig, ends, (low, high), log_x=True, log_y=True)
    return fig, pd.DataFrame(numbers)


def table(made: Plan) -> pd.DataFrame:
    """All mechanisms, the best first."""
    rows = []
    for one in made.candidates:
        alpha = getattr(one.mechanism, "alpha", None)
        rows.append(
            {
                "mechanism": one.mechanism.title + (f", α = {three(alpha)}" if alpha else ""),
                "total ε": three(one.epsilon),
                "margin, 95 %": f"±{three(one.margin)}",
                **({"people": f"{one.people:,}"} if one.people is not None else {}),
                "standard deviation": three(one.mechanism.std),
            }
        )
    return pd.DataFrame(rows)
