"""One look for every chart.

Lives here: the identity of each mechanism (colour + dash + marker), chart layout, and ``show``,
which puts a figure on a page together with its alt text, its numbers and its downloads.
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
import streamlit as st

from dpmc_core.mechanisms import FAMILIES
from dpmc_core.wording import csv_text

__all__ = [
    "IDENTITY",
    "Drawn",
    "Identity",
    "Label",
    "chart_config",
    "draw",
    "figure",
    "label_end",
    "label_ends",
    "show",
    "whole",
]


@dataclass(frozen=True)
class Identity:
    """How one mechanism looks everywhere."""

    title: str
    colour: str
    dash: str
    marker: str


# Okabe & Ito's colours, safe for the colour-blind; dash and marker differ without colour. In the
# order of ``mechanisms.FAMILIES``, so a new family takes the next
_LOOKS = (
    ("#0072B2", "solid", "circle"),
    ("#D55E00", "dash", "square"),
    ("#009E73", "dot", "diamond"),
    ("#CC79A7", "dashdot", "triangle-up"),
    ("#E69F00", "longdashdot", "star"),
    ("#56B4E9", "5px 2px", "hexagon"),
)
IDENTITY: dict[str, Identity] = {
    **{
        name: Identity(family.title, *_LOOKS[i % len(_LOOKS)])
        for i, (name, family) in enumerate(FAMILIES.items())
    },
    "none": Identity("no noise", "#666666", "longdash", "cross"),
}

_GRID = "rgba(128,128,128,0.18)"
_ON_WHITE = "#2B3741"
_TEXT_SIZE = 14
_LINE_PIXELS = 15


class _Ready(go.Figure):  # type: ignore[misc]  # Plotly has no types, so its class is Any
    """A figure that is a dictionary already.

    What Streamlit asks of one, without Plotly's own checks, which took longer than all else on a
    page.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        object.__setattr__(self, "_found", found)

    def to_dict(self) -> dict[str, Any]:
        """The dictionary."""
        found: dict[str, Any] = object.__getattribute__(self, "_found")
        return found


def _ready(fig: go.Figure, colour: str) -> _Ready:
    """``fig`` with all its text in ``colour``.

    Made once for a figure that is drawn again (``drawn_once``).
    """
    made: dict[str, _Ready] = fig.__dict__.setdefault("_in_colours", {})
    if colour not in made:
        made[colour] = _Ready(_coloured(whole(fig), colour))
    return made[colour]


def _coloured(found: dict[str, Any], colour: str) -> dict[str, Any]:
    """``found``, a figure as a dictionary, with all its text in ``colour``."""
    layout = found.setdefault("layout", {})
    texts = [layout, *layout.get("annotations", ())]
    titled = [layout]
    for axis in ("xaxis", "yaxis"):
        layout.setdefault(axis, {})
    for name, part in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            part.setdefault("tickfont", {})["color"] = colour
            titled.append(part)
        elif name.startswith("coloraxis") and "colorbar" in part:
            part["colorbar"].setdefault("tickfont", {})["color"] = colour
            titled.append(part["colorbar"])
    for part in texts:
        part.setdefault("font", {})["color"] = colour
    for part in titled:
        part.setdefault("title", {}).setdefault("font", {})["color"] = colour
    for trace in found.get("data", ()):
        if trace.get("type") == "bar":
            trace.setdefault("insidetextfont", {})["color"] = (
                colour  # plotly would choose white or black
            )
    return found


def figure(
    x_title: str, y_title: str, *, height: int = 400, log_x: bool = False, log_y: bool = False
) -> go.Figure:
    """An empty figure in the house style; axis titles carry their units."""
    axis = {"gridcolor": _GRID, "zeroline": False, "automargin": True}
    return go.Figure(
        layout={
            "height": height,
            "margin": {"l": 10, "r": 90, "t": 16, "b": 10},
            "showlegend": False,
            "hovermode": "x unified",
            "font": {"size": _TEXT_SIZE},
            "xaxis": {**axis, "title": {"text": x_title}, "type": "log" if log_x else "linear"},
            "yaxis": {**axis, "title": {"text": y_title}, "type": "log" if log_y else "linear"},
        }
    )


@dataclass(frozen=True)
class Label:
    """A name to be written to the right of (``x``, ``y``)."""

    x: float
    y: float
    text: str


def label_ends(
    fig: go.Figure,
    labels: Sequence[Label],
    y_range: tuple[float, float],
    *,
    log_x: bool = False,
    log_y: bool = False,
    axis: str = "",
    height: float | None = None,
) -> None:
    """Write each line's name where it ends, in the page's text colour, moved apart where names
    would overlap.

    ``y_range`` is what the axis shows (its logarithms for ``log_y``), ``height`` its pixels; they
    turn heights into pixels. ``axis`` is the number of the panel ("" for the first).
    """
    height = float(fig.layout.height) - 80 if height is None else height
    low, high = y_range
    wanted = [
        ((math.log10(la.y) if log_y else la.y) - low) / (high - low or 1.0) * height
        for la in labels
    ]
    order = sorted(range(len(labels)), key=lambda k: wanted[k])
    placed = dict(zip(order, _apart([wanted[k] for k in order], _LINE_PIXELS), strict=True))
    for k, label in enumerate(labels):
        at = (math.log10(label.x) if log_x else label.x, math.log10(label.y) if log_y else label.y)
        _aside(fig, "annotations", _name(*at, label.text, placed[k] - wanted[k], axis))


def _apart(heights: list[float], gap: float) -> list[float]:
    """Sorted ``heights`` moved as little as needed so that neighbours are ``gap`` apart (pooled
    around their means).
    """
    groups: list[tuple[float, int]] = []  # centre and number of members
    for height in heights:
        groups.append((height, 1))
        while (
            len(groups) > 1
            and groups[-1][0] - groups[-2][0] < gap * (groups[-1][1] + groups[-2][1]) / 2
        ):
            (a, n), (b, m) = groups[-2:]
            groups[-2:] = [((a * n + b * m) / (n + m), n + m)]
    return [centre + gap * (k - (n - 1) / 2) for centre, n in groups for k in range(n)]


def label_end(
    fig: go.Figure,
    x: float,
    y: float,
    text: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    shift: int = 0,
) -> None:
    """Write one name beside a point, ``shift`` pixels higher."""
    at = (math.log10(x) if log_x else x, math.log10(y) if log_y else y)
    _aside(fig, "annotations", _name(*at, text, shift))


def _name(x: float, y: float, text: str, shift: float, axis: str = "") -> dict[str, Any]:
    """An annotation to the right of a point."""
    return {
        "x": x,
        "y": y,
        "xref": f"x{axis}",
        "yref": f"y{axis}",
        "text": text,
        "showarrow": False,
        "xanchor": "left",
        "xshift": 6,
        "yshift": shift,
        "font": {"size": 12},
    }


def log_ticks(low: float, high: float, **others: float) -> dict[str, list[Any]]:
    """Ticks of a logarithmic axis from ``low`` to ``high`` at 1, 2 and 5 times powers of ten,
    written in full, and ``others`` by what is written at them.

    >>> log_ticks(0.5, 20, none=60)["ticktext"]
    ['0.5', '1', '2', '5', '10', '20', 'none']
    """
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**e for e in exponents for m in (1, 2, 5)]
    ticks = [x for x in ticks if low * 0.999 <= x <= high * 1.001]
    if len(ticks) > 9:  # a decade each is enough
        ticks = [x for x in ticks if abs(math.log10(x) - round(math.log10(x))) < 1e-9]
    return {
        "tickvals": [*ticks, *others.values()],
        "ticktext": [*(f"{x:,g}" for x in ticks), *(name.replace("_", " ") for name in others)],
    }


def level(fig: go.Figure, y: float, line: dict[str, object]) -> None:
    """A line across the whole figure at height ``y``."""
    _aside(
        fig,
        "shapes",
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "yref": "y",
            "y0": y,
            "y1": y,
            "line": line,
        },
    )


def _aside(fig: go.Figure, kind: str, *parts: dict[str, Any]) -> None:
    """Keep annotations or shapes beside ``fig`` until it is ``whole``.

    Plotly checks all that are there for each one more, which took most of a figure's time.
    """
    fig.__dict__.setdefault(f"dpmc-{kind}", []).extend(parts)


def whole(fig: go.Figure) -> dict[str, Any]:
    """``fig`` as a dictionary, with the names of its lines and its levels."""
    found: dict[str, Any] = fig.to_dict()
    for kind in ("annotations", "shapes"):
        beside = fig.__dict__.get(f"dpmc-{kind}", ())
        if beside:
            layout = found.setdefault("layout", {})
            layout[kind] = [*layout.get(kind, ()), *deepcopy(beside)]
    return found


def chart_config(name: str) -> dict[str, object]:
    """Plotly's own toolbar: PNG download only, nothing that sends the chart elsewhere."""
    return {
        "displaylogo": False,
        "showSendToCloud": False,
        "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
        "toImageButtonOptions": {"format": "png", "filename": name, "scale": 2},
    }


def draw(fig: go.Figure, name: str, alt: str, *, toolbar: bool = True) -> None:
    """Put ``fig`` on the page in the theme's text colour.

    ``alt`` is the takeaway, for screen readers.
    """
    colour = "#D5DDE4" if st.context.theme.type == "dark" else _ON_WHITE
    config = chart_config(name) if toolbar else {"displayModeBar": False}
    st.plotly_chart(
        _ready(fig, colour), key=f"chart-{name}", config=config, alt=alt, width="stretch"
    )


def _page_of(fig: go.Figure, name: str) -> str:
    """A page with ``fig`` alone, on white whatever the theme here is."""
    white = _coloured(whole(fig), _ON_WHITE)
    return str(pio.to_html(white, include_plotlyjs=True, config=chart_config(name), validate=False))


def show(fig: go.Figure, name: str, alt: str, numbers: pd.DataFrame | None = None) -> None:
    """Draw ``fig`` with ``alt`` (the takeaway, for screen readers), then its numbers and downloads,
    folded away.

    ``name`` is unique on its page and becomes the file name. Files are made only when somebody asks
    for one.
    """
    draw(fig, name, alt)
    if numbers is None:
        return
    with st.expander("Show the numbers", on_change="rerun", key=f"numbers-{name}") as fold:
        if fold.open:
            st.caption(alt)
            st.dataframe(
                numbers, hide_index=True, width="stretch", height=min(38 + 35 * len(numbers), 320)
            )
            left, right = st.columns(2)
            left.download_button(
                "Numbers (CSV)",
                data=lambda: csv_text(numbers),
                file_name=f"dpmc-{name}.csv",
                mime="text/csv",
                key=f"csv-{name}",
                icon=":material/download:",
                on_click="ignore",
            )
            right.download_button(
                "Figure (HTML)",
                data=lambda: _page_of(fig, name),
                file_name=f"dpmc-{name}.html",
                mime="text/html",
                key=f"html-{name}",
                icon=":material/download:",
                on_click="ignore",
            )


Drawn = tuple[go.Figure, pd.DataFrame]
