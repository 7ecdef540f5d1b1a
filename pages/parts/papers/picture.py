"""A table of a paper as a picture: printed values and ours."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.papers import RowResult
from dpmc_core.experiments.papers.row import Row
from dpmc_core.experiments.papers.verdict import DIFFERS, REPRODUCED, TREND, UNPRINTED, Verdict
from dpmc_core.metrics.intervals import t_half_width
from pages.parts.ui.figures import figure
from pages.parts.ui.looks import intervals, name_above


def picture(
    found: Sequence[tuple[Row, RowResult, Verdict]], alt: str
) -> tuple[go.Figure, str, str]:
    """Ours against printed on the diagonal; where nothing is printed, ours alone."""
    printed = [(row, mine, v) for row, mine, v in found if row.printed is not None and mine.values]
    if not printed:
        return unprinted(found), "paper", alt
    metric = printed[0][0].metric
    fig = figure(f"printed {metric}", f"ours: {metric}", height=440)
    values = [row.printed.value for row, _, _ in printed if row.printed is not None]
    ours = [mine.mean for _, mine, _ in printed]
    low, right = min(*values, *ours), max(values)
    # the diagonal as far as there are printed values: beyond them half of the figure was empty
    end = min(max(*values, *ours), right + 0.08 * (right - low))
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
        fig.add_scatter(
            x=[row.printed.value for row, _ in some if row.printed is not None],
            y=[mine.mean for _, mine in some],
            error_y=_intervals([mine for _, mine in some]),
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 9},
            name=kind,
            text=[label_of(row.setting) for row, _ in some],
            hovertemplate="%{text}<br>printed %{x:.4g}, ours %{y:.4g}<extra></extra>",
        )
    name_above(fig, hovermode="closest", margin={"r": 20})
    return fig, "paper", alt


def unprinted(found: Sequence[tuple[Row, RowResult, Verdict]]) -> go.Figure:
    """Ours where nothing is printed: one line for each setting, one look for each value of its last
    part (the algorithm, as a rule).
    """
    series: dict[str, list[tuple[str, RowResult]]] = defaultdict(list)
    ours = [(row, mine) for row, mine, _ in found if mine.values and row.printed is None]
    for row, mine in ours:
        *where, (_, name) = row.setting.items()
        series[name].append((label_of(dict(where)), mine))
    lines = list(dict.fromkeys(line for points in series.values() for line, _ in points))
    metric = ours[0][0].metric.partition(",")[0] if ours else ""
    fig = figure(metric, "", height=max(240, 100 + 30 * len(lines)))
    for symbol, (name, points) in enumerate(series.items()):
        fig.add_scatter(
            x=[mine.mean for _, mine in points],
            y=[line for line, _ in points],
            error_x=_intervals([mine for _, mine in points]),
            mode="markers",
            marker={"symbol": symbol, "size": 9},
            name=ALGORITHMS[name].title if name in ALGORITHMS else name,
        )
    fig.update_yaxes(type="category", categoryorder="array", categoryarray=lines[::-1])
    name_above(fig, hovermode="closest", margin={"r": 20})
    return fig


def _intervals(results: Sequence[RowResult]) -> dict[str, Any]:
    return intervals([t_half_width(mine.values) for mine in results], thickness=1)


LOOKS = {
    REPRODUCED: ("#009E73", "circle"),
    TREND: ("#0072B2", "diamond"),
    DIFFERS: ("#D55E00", "square"),
    UNPRINTED: ("#666666", "cross"),
}


def label_of(setting: Mapping[str, str]) -> str:
    """Return a row's setting in words."""
    return ", ".join(
        value
        if name in ("dataset", "algorithm", "mechanism", "method", "accounting", "what")
        else f"{name} {value}"
        for name, value in setting.items()
        if name not in ("sensitivity",)
    )
