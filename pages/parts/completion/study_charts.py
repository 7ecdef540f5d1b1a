"""Figures of studies: error against what varies, and the spread of ratings over items."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from plotly.subplots import make_subplots

from dpmc_core.experiments.skew import Skew
from dpmc_core.experiments.studies.engine import StudyResult
from pages.parts.ui.figures import Drawn, figure, level
from pages.parts.ui.labels import Label, label_ends
from pages.parts.ui.looks import BASELINE, IDENTITY, LINES, Identity, curve, intervals

_QUIET = ", no noise"
BEST = "best baseline"
_GREY = IDENTITY["none"]


E = "error"  # the measure of these studies


def looks(names: Sequence[str]) -> dict[str, Identity]:
    """How each line looks.

    Without noise a line keeps its algorithm's colour, in long dashes.
    """
    noisy = [name for name in names if not name.endswith("no noise")]
    out = {name: Identity(name, *LINES[k % len(LINES)]) for k, name in enumerate(noisy)}
    for name in names:
        if name not in out:
            out[name] = replace(_GREY, title=name)
            if twin := out.get(name.removesuffix(_QUIET)):
                out[name] = replace(out[name], colour=twin.colour)
    return out


def study_curves(result: StudyResult) -> Drawn:
    """Mean held-out error with 95 % intervals over seeds against what the study varies.

    Baselines as horizontal lines.
    """
    kind = result.spec.study
    fig = figure(
        kind.x_title, "held-out RMSE, clipped (rating units)", height=460, log_x=kind.log_x
    )
    by_name = result.by_series
    style = looks(list(by_name))
    ends: list[Label] = []
    values: list[float] = []
    rows = []
    last = max((p.x for p in result.points), default=1.0)
    for name, points in by_name.items():
        curve(
            fig,
            style[name],
            [p.x for p in points],
            [p.mean(E) for p in points],
            error_y=intervals([p.half_width(E) for p in points]),
            line=style[name].line(width=1.5 if name.endswith("no noise") else 2.5),
        )
        ends.append(Label(last, points[-1].mean(E), name))
        values += [p.mean(E) for p in points]
        rows += [
            {
                "line": name,
                kind.x_title: p.x,
                "mean_rmse_clipped": p.mean(E),
                "half_width_95": p.half_width(E),
                "seeds": len(p.values[E]),
                "stated_epsilon": p.epsilon,
            }
            for p in points
        ]
    if (
        result.spec.kind == "people" and by_name
    ):  # fewer people have another baseline, and other held-out ratings
        points = next(iter(by_name.values()))
        beside = [float(np.mean(p.baseline)) for p in points]
        fig.add_scatter(
            x=[p.x for p in points],
            y=beside,
            mode="lines",
            name=BEST,
            line={"color": BASELINE, "dash": "dot", "width": 1},
        )
        ends.append(Label(last, beside[-1], BEST))
        values += beside
    for name, value in result.baselines.items() if result.spec.kind != "people" else ():
        level(fig, value)
        ends.append(Label(last, value, name))
    if values:
        values += list(result.baselines.values()) if result.spec.kind != "people" else []
        shown = (min(values) * 0.97, max(values) * 1.03)
        fig.update_yaxes(range=shown)
        label_ends(fig, ends, shown, log_x=kind.log_x)
    fig.update_layout(margin={"r": 160})
    ticks = sorted({p.x for p in result.points})
    if kind.log_x and ticks:
        edges = [math.log10(ticks[0]), math.log10(ticks[-1])]
        room = 0.04 * (edges[1] - edges[0] or 1.0)  # the names of the lines stand outside
        fig.update_xaxes(
            tickvals=ticks,
            ticktext=[f"{t:,.4g}" for t in ticks],
            range=[edges[0] - room, edges[1] + 0.4 * room],
        )
    return fig, pd.DataFrame(rows)


def skew_curves(skews: Sequence[Skew]) -> Drawn:
    """Share of what takes part that the most-taken items hold, under each way of taking part."""
    fig = figure(
        "share of the items, most taken first (%)",
        "share of the ratings (or weight) that take part (%)",
        height=420,
    )
    frame: dict[str, object] = {}
    for skew, line in zip(skews, LINES, strict=True):
        look = Identity(skew.name, *line)
        x = np.linspace(0, 100, skew.shares.size)
        spots = np.unique(np.linspace(0, x.size - 1, 101).astype(int))
        shares = 100 * skew.shares[spots]
        curve(fig, look, x[spots], shares, marker=look.mark(maxdisplayed=10))
        frame["percent_of_items"] = x
        frame[skew.name] = 100 * skew.shares
    # all lines end in one point, so their names stand in a legend
    fig.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.12, "x": 0})
    fig.update_yaxes(range=(0.0, 102.0))
    return fig, pd.DataFrame(frame)


def skew_cells(skews: Sequence[Skew]) -> Drawn:
    """How each way of limiting users moves weight between busy and quiet users, popular and rare
    items (percentage points against all ratings).
    """
    whole, *others = skews
    fig = make_subplots(
        len(others),
        1,
        subplot_titles=[s.name for s in others],
        shared_xaxes=True,
        vertical_spacing=0.07,
    )
    changes = [100 * (s.cells - whole.cells) for s in others]
    reach = max(float(np.abs(c).max()) for c in changes) or 1.0
    rows = []
    for k, (skew, change) in enumerate(zip(others, changes, strict=True)):
        labels_x = [f"{e:,.0f}" for e in np.ceil(skew.item_edges[:-1])]
        labels_y = [f"{e:,.0f}" for e in np.ceil(skew.user_edges[:-1])]
        fig.add_heatmap(
            z=np.round(change, 3),
            x=list(range(len(labels_x))),
            y=list(range(len(labels_y))),
            coloraxis="coloraxis",
            hovertemplate="user bin %{y}, item bin %{x}: %{z:+.2f} points<extra></extra>",
            row=k + 1,
            col=1,
        )
        shown = list(range(0, len(labels_x), 3))
        fig.update_xaxes(tickvals=shown, ticktext=[labels_x[i] for i in shown], row=k + 1, col=1)
        fig.update_yaxes(
            tickvals=shown,
            ticktext=[labels_y[i] for i in shown],
            title_text="ratings of the user",
            row=k + 1,
            col=1,
        )
        i, j = np.indices(change.shape)
        rows.append(
            pd.DataFrame(
                {
                    "taking part": skew.name,
                    "ratings of the user from": skew.user_edges[:-1][i.ravel()],
                    "ratings of the item from": skew.item_edges[:-1][j.ravel()],
                    "percentage points": change.ravel(),
                }
            )
        )
    fig.update_xaxes(title_text="ratings of the item", row=len(others), col=1)
    fig.update_layout(
        height=760,
        margin={"l": 10, "r": 10, "t": 34, "b": 10},
        coloraxis={
            "colorscale": "RdBu",
            "reversescale": True,
            "cmin": -reach,
            "cmax": reach,
            "colorbar": {"title": {"text": "points"}},
        },
    )
    return fig, pd.concat(rows)
