"""Names of lines beside where they end, moved apart, and ticks that people would write."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from scipy.optimize import isotonic_regression

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.wording import JsonObject

LABEL_SIZE = 12  # of names of lines, in pixels
_LINE_PIXELS = 17
_CHARACTER_PIXELS = 6.5  # at most, on average
_CHARACTERS = 17  # of a name in one line: a phone is 390 pixels wide


@dataclass(frozen=True)
class Label:
    """A name to be written to the right of (``x``, ``y``)."""

    x: float
    y: float
    text: str


def label_ends(fig: go.Figure, labels: Sequence[Label], axis: str = "") -> None:
    """Write each line's name where it ends, in the page's text colour, moved apart where names
    would overlap, and make room for them. ``axis`` is the number of a panel, which has a range.
    """
    shown = fig.layout[f"yaxis{axis}"]
    (low, high), (bottom, top) = shown.range, shown.domain or (0.0, 1.0)
    height = (top - bottom) * (float(fig.layout.height) - 80)
    names = [_name(fig, label, wrapped(label.text), axis) for label in labels]
    shares = [(name["y"] - low) / (high - low or 1.0) for name in names]
    fig.__dict__.setdefault("dpmc-ends", []).append((names, shares, height))
    widest = max((len(line) for name in names for line in name["text"].split("<br>")), default=0)
    room = 14 + _CHARACTER_PIXELS * widest
    fig.update_layout(margin={"r": max(room, fig.layout.margin.r or 0)})


def ends(fig: go.Figure, room: float) -> list[JsonObject]:
    """The names of ``label_ends`` moved apart, on an axis of ``room`` pixels if it is not 0."""
    return [
        {**name, "yshift": shift}
        for names, shares, height in fig.__dict__.get("dpmc-ends", ())
        for name, shift in zip(names, _shifts(names, shares, room or height), strict=True)
    ]


def fit_lower(layout: JsonObject) -> None:
    """Make room in the ``layout`` of a figure that is drawn lower."""
    title = layout.get("yaxis", {}).get("title", {})
    if title.get("text"):
        title["text"] = wrapped(title["text"], 28)
    if layout.get("legend", {}).get("y", 0) < 0:  # below the axis, in parts of its height
        layout["legend"]["y"] *= 2


def _shifts(names: Sequence[JsonObject], shares: Sequence[float], room: float) -> list[float]:
    """How far ``names`` move in pixels that belong at ``shares`` of ``room``."""
    tall = np.array([_LINE_PIXELS * (1 + name["text"].count("<br>")) for name in names])
    heights = room * np.asarray(shares)
    order = heights.argsort(kind="stable")
    heights[order] = _apart(heights[order], tall[order], room) - heights[order]
    return heights.tolist()


def wrapped(text: str, characters: int = _CHARACTERS) -> str:
    """Break a long name into lines.

    >>> wrapped("user + item"), wrapped("one-shot moments, Gaussian"), wrapped("<b>x</b> of a name")
    ('user + item', 'one-shot moments,<br>Gaussian', '<b>x</b> of a name')
    """
    if "<" in text:
        return text
    return "<br>".join(textwrap.wrap(text, characters, break_long_words=False))


def _apart(heights: FloatArray, tall: IntArray, room: float) -> FloatArray:
    """Move sorted ``heights`` as little as needed so that names ``tall`` pixels high do not meet.

    All stay between 0 and ``room``, if they fit. Pooled neighbours stand around their mean
    (isotonic regression of the heights less the room that the names below need).
    """
    if not heights.size:
        return heights
    # the middle of each above that of the lowest, where all stand as close as they may
    below = tall.cumsum() - (tall + tall[0]) / 2
    low, high = tall[0] / 2, room - below[-1] - tall[-1] / 2
    free = isotonic_regression(heights - below).x.clip(low, max(low, high))
    return free + below


def label_end(fig: go.Figure, x: float, y: float, text: str, shift: int = 0) -> None:
    """Write one name beside a point, ``shift`` pixels higher."""
    beside(fig, "annotations", {**_name(fig, Label(x, y, text), text), "yshift": shift})


def _name(fig: go.Figure, label: Label, text: str, axis: str = "") -> JsonObject:
    """An annotation to the right of a point."""
    x, y = (
        math.log10(value) if fig.layout[name + axis].type == "log" else value
        for name, value in (("xaxis", label.x), ("yaxis", label.y))
    )
    return {
        "x": x,
        "y": y,
        "xref": f"x{axis}",
        "yref": f"y{axis}",
        "text": text,
        "align": "left",
        "xanchor": "left",
        "xshift": 6,
    }


def log_ticks(low: float, high: float, **others: float) -> dict[str, list[Any]]:
    """Ticks of a logarithmic axis from ``low`` to ``high`` at 1, 2 and 5 times powers of ten,
    written in full, and ``others`` by what is written at them.

    >>> log_ticks(0.5, 20, none=60)["ticktext"]
    ['0.5', '1', '2', '5', '10', '20', 'none']
    """
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        ticks = [m * 10.0**e for e in exponents for m in digits]
        ticks = [x for x in ticks if low * 0.999 <= x <= high * 1.001]
        if len(ticks) >= 3:
            break
    if len(ticks) > 9:  # a decade each is enough
        ticks = [x for x in ticks if abs(math.log10(x) - round(math.log10(x))) < 1e-9]
    return {
        "tickvals": [*ticks, *others.values()],
        "ticktext": [*(f"{x:,g}" for x in ticks), *(name.replace("_", " ") for name in others)],
    }


def spaced_ticks(ticks: Mapping[float, str], *, log: bool, most: int) -> list[str]:
    """What stands at the ticks: nothing where the former text is too near on a phone, which has
    room for ``most`` and one.

    >>> spaced_ticks({x: str(x) for x in (0.5, 1, 2, 5, 10, 20, 50)}, log=True, most=6)
    ['0.5', '', '2', '5', '', '20', '50']
    """
    places = [math.log10(tick) if log else tick for tick in ticks]
    room = (max(places) - min(places)) / most if places else 0.0
    texts, last = list[str](), -math.inf
    for text, place in zip(ticks.values(), places, strict=True):
        fits = place - last >= room
        texts.append(text if fits else "")
        last = place if fits else last
    return texts


def beside(fig: go.Figure, kind: str, *parts: JsonObject) -> None:
    """Keep annotations or shapes beside ``fig`` until it is ``whole``.

    Plotly checks all that are there for each one more, which took most of a figure's time.
    """
    fig.__dict__.setdefault(f"dpmc-{kind}", []).extend(parts)
