"""The dots of the *Home* page: how often an attacker is right."""

import numpy as np
import plotly.graph_objects as go

from pages.parts.ui import figure_cache as drawn_once

__all__ = ["icon_array"]


@drawn_once.of_values
def icon_array(chance: float, title: str) -> go.Figure:
    """100 dots, as many filled as the attacker is right out of 100 tries."""
    filled = round(100 * chance)
    k = np.arange(100)
    fig = go.Figure(
        layout={
            "height": 200,
            "margin": {"l": 4, "r": 4, "t": 34, "b": 4},
            "title": {"text": title, "font": {"size": 14}, "x": 0.02},
            "xaxis": {"visible": False, "range": [-0.7, 19.7], "fixedrange": True},
            "yaxis": {"visible": False, "range": [4.7, -0.7], "fixedrange": True},
            "showlegend": False,
        }
    )
    for name, chosen, colour, symbol in (
        ("guesses right", k < filled, "#0072B2", "circle"),
        ("guesses wrong", k >= filled, "rgba(128,128,128,0.55)", "circle-open"),
    ):
        fig.add_scatter(
            x=(k % 20)[chosen],
            y=(k // 20)[chosen],
            mode="markers",
            name=name,
            hoverinfo="name",
            marker={"size": 11, "color": colour, "symbol": symbol},
        )
    return fig
