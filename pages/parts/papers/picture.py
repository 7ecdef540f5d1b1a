"""A table of a paper as a picture: printed values and ours."""

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from dpmc_core.experiments.papers import RowResult
from dpmc_core.experiments.papers.row import Row
from dpmc_core.experiments.papers.verdict import DIFFERS, REPRODUCED, TREND, UNPRINTED, Verdict
from dpmc_core.metrics.intervals import t_half_width
from pages.parts.ui.figures import figure

__all__ = ["LOOKS", "label_of", "picture"]


def picture(
    found: Sequence[tuple[Row, RowResult, Verdict]], alt: str
) -> tuple[go.Figure, str, str]:
    """Ours against printed on the diagonal; where nothing is printed, ours alone."""
    printed = [(row, mine, v) for row, mine, v in found if row.printed is not None and mine.values]
    if not printed:
        ours = [(row, mine) for row, mine, _ in found if mine.values]
        fig = figure(ours[0][0].metric if ours else "", "", height=max(240, 60 + 24 * len(ours)))
        halves = [t_half_width(mine.values) for _, mine in ours]
        names = [label_of(row) for row, _ in ours]
        fig.add_scatter(
            x=[mine.mean for _, mine in ours],
            y=names,
            error_x={"type": "data", "array": [0.0 if math.isnan(h) else h for h in halves]},
            mode="markers",
            marker={"color": "#0072B2", "size": 9},
            name="ours",
        )
        fig.update_yaxes(type="category", categoryorder="array", categoryarray=names[::-1])
        fig.update_layout(hovermode="closest", margin={"r": 20})
        return fig, "paper", alt
    metric = printed[0][0].metric
    fig = figure(f"printed {metric}", f"ours: {metric}", height=440)
    low = min(
        min(row.printed.value, mine.mean) for row, mine, _ in printed if row.printed is not None
    )
    high = max(
        max(row.printed.value, mine.mean) for row, mine, _ in printed if row.printed is not None
    )
    # the diagonal as far as there are printed values: beyond them half of the figure was empty
    right = max(row.printed.value for row, _, _ in printed if row.printed is not None)
    end = min(high, right + 0.08 * (right - low))
    fig.add_scatter(
        x=[low, end],
        y=[low, end],
        mode="lines",
        line={"color": "rgba(128,128,128,0.7)", "dash": "dot"},
        hoverinfo="skip",
        name="equal",
    )
    for kind, (colour, symbol) in LOOKS.items():
        some = [(row, mine) for row, mine, v in printed if v.kind == kind]
        if not some:
            continue
        halves = [t_half_width(mine.values) for _, mine in some]
        fig.add_scatter(
            x=[row.printed.value for row, _ in some if row.printed is not None],
            y=[mine.mean for _, mine in some],
            error_y={
                "type": "data",
                "array": [0.0 if math.isnan(h) else h for h in halves],
                "thickness": 1,
                "width": 3,
            },
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 9},
            name=kind,
            text=[label_of(row) for row, _ in some],
            hovertemplate="%{text}<br>printed %{x:.4g}, ours %{y:.4g}<extra></extra>",
        )
    fig.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        hovermode="closest",
        margin={"r": 20},
    )
    return fig, "paper", alt


LOOKS = {
    REPRODUCED: ("#009E73", "circle"),
    TREND: ("#0072B2", "diamond"),
    DIFFERS: ("#D55E00", "square"),
    UNPRINTED: ("#666666", "cross"),
}


def label_of(row: Row) -> str:
    """A row's setting in words."""
    return ", ".join(
        value
        if name in ("dataset", "algorithm", "mechanism", "method", "counted", "what")
        else f"{name} {value}"
        for name, value in row.setting.items()
        if name not in ("sensitivity",)
    )
