"""The dots of the *Home* page: how often an attacker guesses right."""

import numpy as np
import plotly.graph_objects as go

from pages.parts.ui import figure_cache as drawn_once

_SIDE = 10  # dots in a row
_SURE = 0.995  # a chance that would be written as 100 in 100


def _odds(chance: float, most: str) -> str:
    if chance >= _SURE:
        return "right nearly always"
    return f"right {most}{100 * chance:.0f} times in 100"


@drawn_once.of_values
def attackers(before: float, after: float) -> go.Figure:
    """Two blocks of 100 dots, as many filled as the attacker is right in 100 tries.

    The chances are those without any release (``before``) and with one (``after``).
    """
    k = np.arange(_SIDE * _SIDE)
    fig = go.Figure(
        layout={
            "height": 300,
            "margin": {"l": 4, "r": 4, "t": 52, "b": 4},
            "xaxis": {"visible": False, "range": [-0.7, 21.7], "fixedrange": True},
            "yaxis": {"visible": False, "range": [9.7, -0.7], "fixedrange": True},
            "showlegend": False,
            "annotations": [
                {
                    "text": f"<b>{said}</b><br>{_odds(chance, most)}",
                    "x": left + 4.5,
                    "y": 1.0,
                    "yref": "paper",
                    "yanchor": "bottom",
                    "showarrow": False,
                    "font": {"size": 14},
                }
                for said, most, chance, left in (
                    ("Without a release", "", before, 0),
                    ("After a release", "≤ ", after, 11.5),
                )
            ],
        }
    )
    for chance, left in ((before, 0.0), (after, 11.5)):
        right = k < round(100 * chance)
        for name, chosen, colour, symbol in (
            ("guesses right", right, "#0072B2", "circle"),
            ("guesses wrong", ~right, "rgb(128,128,128)", "circle-open"),
        ):
            fig.add_scatter(
                x=left + (k % _SIDE)[chosen],
                y=(k // _SIDE)[chosen],
                mode="markers",
                name=name,
                hoverinfo="name",
                marker={"size": 11, "color": colour, "symbol": symbol},
            )
    return fig
