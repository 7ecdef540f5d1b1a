"""Names and looks that several pages use: of configurations, noises, amounts and mechanisms."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES, Mechanism
from dpmc_core.privacy.noise import MECHANISMS
from dpmc_core.wording import three


@dataclass(frozen=True)
class Identity:
    """How one line looks everywhere; without a ``marker`` it has none."""

    title: str
    colour: str
    dash: str
    marker: str = ""
    width: float = 2.5

    def line(self, **other: object) -> dict[str, Any]:
        """Its line in a figure."""
        return {"color": self.colour, "dash": self.dash, "width": self.width, **other}

    def mark(self, **other: object) -> dict[str, object]:
        """Its markers in a figure."""
        return {"color": self.colour, "symbol": self.marker, "size": 8, **other}


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
IDENTITY = {
    **{
        name: Identity(family.title, *_LOOKS[i % len(_LOOKS)])
        for i, (name, family) in enumerate(FAMILIES.items())
    },
    "none": Identity("no noise", "#666666", "longdash", "cross"),
}

# colour, dash and marker of lines that are no mechanisms: one for each configuration
LINES = (
    ("#332288", "solid", "circle"),
    ("#AA4499", "dash", "square"),
    ("#7A7A1F", "dot", "diamond"),
    ("#2A8577", "dashdot", "triangle-up"),
    ("#4477AA", "longdash", "star"),
    ("#B5563F", "longdashdot", "hexagon"),
)
# of algorithms that factorize
FACTORIZATIONS = {
    "nmf": Identity("NMF, not private", "#666666", "longdash", "cross"),
    "sklearn-nmf": Identity("scikit-learn's NMF", "#666666", "dot", "x"),
    "robust-nmf": Identity("Robust NMF, not private", "#009E73", "dot", "diamond"),
    "private-nmf-published": Identity(
        "As published, not private", "#CC79A7", "dashdot", "triangle-up"
    ),
    "private-nmf-published-quiet": Identity("As published, no noise", "#7A7A1F", "dot", "star"),
    "private-nmf": Identity("Corrected", "#D55E00", "dash", "square"),
    "moment-nmf": Identity("One-shot moment NMF", "#0072B2", "solid", "circle"),
}
BASELINE = "#888888"  # on both grounds
BEST = Identity("best baseline", BASELINE, "dot", width=1.5)

LETTERS = tuple("ABCDEF")  # of configurations side by side
NOISES = {name: IDENTITY[name].title for name in MECHANISMS}
SOME_NOISE = {name: NOISES[name] for name in RUN_FAMILIES}
# ε of the slider, evenly spaced on a logarithmic scale
TOTALS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


def describe(mechanism: Mechanism) -> str:
    """Name a mechanism and its parameters in a few words.

    >>> from dpmc_core.mechanisms import Huber
    >>> describe(Huber(alpha=1.07597, scale=1.0))
    'Huber noise, α = 1.08, scale = 1'
    """
    names = {"alpha": "α", "epsilon_design": "ε", "gamma": "γ", "sensitivity": "Δ"}
    parameters = ", ".join(
        f"{names.get(f.name, f.name)} = {three(getattr(mechanism, f.name))}"
        for f in fields(mechanism)
    )
    return f"{IDENTITY[mechanism.name].title} noise, {parameters}"


def lowered(title: str) -> str:
    """A title within a sentence; "ALS" and "Γ of ratings" stay what they are.

    >>> lowered("One-shot moments"), lowered("ALS"), lowered("DPALS")
    ('one-shot moments', 'ALS', 'DPALS')
    """
    return title[0].lower() + title[1:] if re.match("[A-Z][a-z]", title) else title


def intervals(halves: Iterable[Any], **other: object) -> dict[str, object]:
    """Error bars of half widths ``halves``; none where a half width is not a number."""
    array = [0.0 if math.isnan(half) else half for half in halves]
    return {"type": "data", "array": array, "thickness": 1.2, "width": 3, **other}


def curve(fig: go.Figure, look: Identity, x: object, y: object, **trace: object) -> None:
    """Draw a line in its ``look``; ``trace`` is passed to Plotly."""
    marked = {"mode": "lines+markers", "marker": look.mark()} if look.marker else {"mode": "lines"}
    drawn = {"name": look.title, "line": look.line(), **marked, **trace}
    fig.add_scatter(x=x, y=y, **drawn)


BAND_ALPHA = "0.14"  # of bands on a light ground


def band(fig: go.Figure, colour: str, x: Any, y: Any, halves: Any, **trace: object) -> None:
    """Fill what lies within ``halves`` of the line through ``x`` and ``y``."""
    x, y, halves = map(np.asarray, (x, y, halves))
    r, g, b = bytes.fromhex(colour[1:])
    fig.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([y + halves, (y - halves)[::-1]]),
        mode="lines",  # left out, short runs get a dot at each end of each interval
        fill="toself",
        fillcolor=f"rgba({r},{g},{b},{BAND_ALPHA})",
        line={"width": 0},
        hoverinfo="skip",
        name="95 % band",
        **trace,
    )


def name_above(fig: go.Figure, **layout: object) -> None:
    """Name the lines in a legend above the figure; ``layout`` is passed to Plotly."""
    fig.update_layout({"showlegend": True, "margin": {"r": 20, "t": 30}, **layout})
