"""Lines with 95 % intervals in panels: how pages draw one quantity against another."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from pages.parts.ui.figures import level
from pages.parts.ui.labels import Label, label_ends, log_ticks, spaced_ticks, wrapped
from pages.parts.ui.looks import Identity, band, curve, intervals

_ACROSS = 2  # panels beside each other: a phone has room for no more
_NONE: Mapping[str, float] = MappingProxyType({})
_CHARACTERS = 20  # that it has room for below one of them


Values = Sequence[float] | NDArray[Any]


@dataclass(frozen=True)
class Line:
    """One line of the panel called ``panel``, with half widths ``halves`` of its 95 % intervals: a
    band if it is ``banded``, else bars. ``trace`` is passed to Plotly.
    """

    look: Identity
    x: Values
    y: Values
    halves: Values = ()
    panel: str = ""
    banded: bool = False
    trace: Mapping[str, object] = field(default_factory=dict)


def cell(k: int) -> dict[str, int]:
    """Where panel number ``k`` stands."""
    return {"row": k // _ACROSS + 1, "col": k % _ACROSS + 1}


def _draw(fig: go.Figure, line: Line, **at: object) -> None:
    """Draw one line with its intervals; ``at`` is passed to Plotly."""
    bars = {}
    if line.banded and len(line.halves):
        band(fig, line.look.colour, line.x, line.y, line.halves, **{**at, "showlegend": False})
    elif len(line.halves):
        bars = {"error_y": intervals(line.halves)}
    curve(fig, line.look, line.x, line.y, **{**bars, **at, **line.trace})


def reach(axis: Any, values: Sequence[float], share: float) -> None:
    """Have an axis that has no range reach around ``values`` with a ``share`` of room, and write
    ticks on a logarithmic one that has none.
    """
    log, values = axis.type == "log", values or (0.1, 1.0)
    low, high = (math.log10(end) if log else end for end in (min(values), max(values)))
    room = share * (high - low or 1.0)
    if axis.range is None:
        axis.range = (low - room, high + room)
    if log and axis.tickvals is None:
        axis.update(log_ticks(*(10**end for end in axis.range)))


def named_lines(
    fig: go.Figure, lines: Sequence[Line], levels: Mapping[str, float] = _NONE, axis: str = ""
) -> go.Figure:
    """Draw ``lines``, and baselines at ``levels``, in the panel of that ``axis``, with their names
    where they end.
    """
    x_axis, y_axis = fig.layout[f"xaxis{axis}"], fig.layout[f"yaxis{axis}"]
    for line in lines:
        _draw(fig, line, xaxis=f"x{axis}", yaxis=f"y{axis}")
    for value in levels.values():
        level(fig, value, axis)
    heights = [y for line in lines for y in line.y if math.isfinite(y)] + [*levels.values()]
    reach(x_axis, [x for line in lines for x in line.x], 0.03)
    reach(y_axis, heights, 0.08)
    last = 10 ** x_axis.range[1] if x_axis.type == "log" else x_axis.range[1]
    ends = {
        line.look.title: next((y for y in reversed(line.y) if math.isfinite(y)), math.nan)
        for line in lines
        if line.look.title
    } | {**levels}
    label_ends(fig, [Label(last, y, name) for name, y in ends.items() if math.isfinite(y)], axis)
    return fig


def series_chart(
    lines: Sequence[Line],
    x_title: str,
    y_title: str,
    ticks: Mapping[float, str],
    *,
    log_x: bool = False,
    log_y: bool = False,
    own_y: bool = False,
) -> go.Figure:
    """All ``lines`` in their panels, with one title for all axes.

    A name stands once in the legend, which hides it everywhere.
    """
    titles = list(dict.fromkeys(line.panel for line in lines))
    down, across = -(-len(titles) // _ACROSS) or 1, min(len(titles), _ACROSS) or 1
    fig = make_subplots(
        down,
        across,
        shared_yaxes=False if own_y else "all",
        horizontal_spacing=0.12 if own_y else 0.05,
        vertical_spacing=0.36 / down,
        subplot_titles=titles if any(titles) else None,
    )
    fig.update_yaxes(title={"text": wrapped(y_title, 40) if down == 1 else wrapped(y_title)}, col=1)
    fig.update_layout(
        height=345 if down == 1 else 300 * down + 60,  # all of it is on a first screen
        margin={"t": 40, "r": 20, "b": 70},
        showlegend=True,
        legend={"yref": "container", "y": 0},
        hovermode="closest",
    )
    # one title for all panels: on a phone they would run into each other; the empty ones make room
    fig.update_xaxes(title={"text": ""})
    fig.add_annotation(
        text=x_title, font={"size": 14}, x=0.5, y=0, yshift=-48, xref="paper", yref="paper"
    )
    named = set[str]()
    for line in lines:
        title = line.look.title
        at = cell(titles.index(line.panel))
        _draw(fig, line, showlegend=title not in named, legendgroup=title, **at)
        named.add(title)
    for number, panel in enumerate(titles):
        places = {x for line in lines if line.panel == panel for x in line.x}
        own = ticks if places - ticks.keys() else {x: t for x, t in ticks.items() if x in places}
        longest = max(map(len, own.values()), default=1)
        most = 6 if len(titles) == 1 else max(min(6, _CHARACTERS // longest), 1)
        texts = spaced_ticks(own, log=log_x, most=most)
        fig.update_xaxes(tickvals=list(own), ticktext=texts, **cell(number))
    fig.update_xaxes(type="log" if log_x else None)
    if log_y:
        values = [y for line in lines for y in line.y if y > 0]
        fig.update_yaxes(type="log", **log_ticks(min(values), max(values)))
    return fig
