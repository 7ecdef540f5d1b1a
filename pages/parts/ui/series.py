"""Lines with 95 % intervals in panels: how pages draw one quantity against another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pages.parts.ui.figures import figure
from pages.parts.ui.labels import log_ticks, spaced_ticks, wrapped
from pages.parts.ui.looks import Identity, band, curve, intervals

_ACROSS = 2  # panels beside each other: a phone has room for no more
_CHARACTERS = 20  # that it has room for below one of them


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the panel called ``panel``, with half widths ``halves`` of its 95 % intervals: a
    band if it is ``banded``, else bars. ``trace`` is passed to Plotly.
    """

    look: Identity
    x: Sequence[float]
    y: Sequence[float]
    halves: Sequence[float] = ()
    panel: str = ""
    banded: bool = False
    trace: Mapping[str, object] = field(default_factory=dict)


def cell(k: int) -> dict[str, int]:
    """Where panel number ``k`` stands."""
    return {"row": k // _ACROSS + 1, "col": k % _ACROSS + 1}


def panels(titles: Sequence[str], x_title: str, y_title: str, *, own_y: bool = False) -> go.Figure:
    """An empty panel for each of ``titles``, with one title for all axes and a legend."""
    down, across = -(-len(titles) // _ACROSS) or 1, min(len(titles), _ACROSS) or 1
    fig = make_subplots(
        down,
        across,
        shared_yaxes=False if own_y else "all",
        horizontal_spacing=0.12 if own_y else 0.05,
        vertical_spacing=0.36 / down,
        subplot_titles=titles if any(titles) else None,
    )
    house = figure("", "", height=430 if down == 1 else 300 * down + 60).layout
    fig.update_layout(house.to_plotly_json())
    fig.update_xaxes(house.xaxis)
    fig.update_yaxes(house.yaxis)
    fig.update_yaxes(title={"text": y_title if down == 1 else wrapped(y_title)}, col=1)
    fig.update_layout(
        margin={"t": 40, "r": 20, "b": 70},
        showlegend=True,
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0},
        hovermode="closest",
    )
    # one title for all panels: on a phone they would run into each other
    at = {"x": 0.5, "y": 0, "yshift": -48, "xref": "paper", "yref": "paper"}
    fig.add_annotation(text=x_title, showarrow=False, **at)
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
    """All ``lines`` in their panels.

    A name stands once in the legend, which hides it everywhere.
    """
    titles = list(dict.fromkeys(line.panel for line in lines))
    fig = panels(titles, x_title, y_title, own_y=own_y)
    named = set[str]()
    for line in lines:
        title = line.look.title
        at = {**cell(titles.index(line.panel)), "legendgroup": title}
        if line.banded:
            band(fig, line.look.colour, line.x, line.y, line.halves, showlegend=False, **at)
        bars = {"error_y": intervals(line.halves)} if not line.banded and line.halves else {}
        first = {"showlegend": title not in named}
        curve(fig, line.look, line.x, line.y, **{**bars, **first, **at, **line.trace})
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
