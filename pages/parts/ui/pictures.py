"""Matrices and images as figures."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.samples import Samples
from pages.parts.ui.figures import Drawn
from pages.parts.ui.labels import wrapped


def heat_map(
    panels: Sequence[tuple[str, FloatArray]],
    low: float,
    high: float,
    *,
    rows: str = "users",
    columns: str = "items",
    below: Sequence[tuple[str, FloatArray]] = (),
) -> Drawn:
    """Matrices side by side on one colour scale (Cividis), of ``rows`` by ``columns``, and every
    cell as numbers; ``below`` the last of them errors, from 0, on a scale of their own.
    """
    across, drawn = len(panels), [*panels, *below]
    gap, between = 0.03, 0.12
    lines = max(wrapped(name).count("<br>") for name, _ in drawn)
    wide = (1 - gap * (across - 1)) / across
    tall = (1 - between) / 2 if below else 1.0
    # laid out by hand: Plotly's own subplots take longer than everything else here
    layout: dict[str, Any] = {
        "height": 308 + 17 * lines,
        "hovermode": "closest",
        "margin": {"l": 30, "r": 10, "t": 40 + 17 * lines, "b": 30},
        "coloraxis": {
            "cmin": low,
            "cmax": high,
            "colorbar": {
                "title": {"text": "rating"},
                **({"len": 0.5, "y": 0.78, "nticks": 4} if below else {}),
            },
        },
        "coloraxis2": {
            "colorscale": "Inferno",
            "cmin": 0.0,
            "cmax": (high - low) / 2,
            "colorbar": {"title": {"text": "error"}, "len": 0.5, "y": 0.22, "nticks": 3},
        },
        "annotations": [],
    }
    cells = []
    for k, (name, matrix) in enumerate(drawn):
        number, second = "" if k == 0 else str(k + 1), k >= across
        left = (k - len(below) if second else k) * (wide + gap)
        foot = 0.0 if second else 1 - tall
        plain = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False}
        layout[f"xaxis{number}"] = {
            **plain,
            "domain": [left, left + wide],
            "anchor": f"y{number}",
            "title": {"text": columns if foot == 0 else ""},
        }
        layout[f"yaxis{number}"] = {
            **plain,
            "domain": [foot, foot + tall],
            "anchor": f"x{number}",
            "autorange": "reversed",
            **({"title": {"text": rows}} if k == 0 else {"matches": "y"}),
        }
        layout["annotations"].append(
            {
                "text": wrapped(name),
                "x": left + wide / 2,
                "y": foot + tall,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "center",
                "yanchor": "bottom",
            }
        )
        cells.append(
            {
                "type": "heatmap",
                "z": np.round(matrix, 3),
                "coloraxis": "coloraxis2" if second else "coloraxis",
                "hovertemplate": "user %{y}, item %{x}: %{z:.2f}<extra></extra>",
                "xaxis": f"x{number}",
                "yaxis": f"y{number}",
            }
        )
    fig = go.Figure(data=cells, layout=layout)
    users, items = np.indices(panels[0][1].shape)
    numbers = {
        "user": users.ravel() + 1,
        "item": items.ravel() + 1,
        **{name: m.ravel() for name, m in drawn},
    }
    return fig, pd.DataFrame(numbers)


def sized(samples: Samples) -> str:
    """Say how many samples there are, and of how many numbers each."""
    if samples.unit == "image":
        return f"{len(samples):,} images of {samples.dimension:,} pixels"
    return f"{len(samples):,} documents, and a list of {samples.dimension:,} words"


def tiles(columns: FloatArray, shape: tuple[int, int] | None, across: int) -> NDArray[np.uint8]:
    """Columns as a sheet of images, ``across`` of them side by side, each as bright as its own
    largest pixel; grey lines between.
    """
    assert shape is not None  # images have one
    count = columns.shape[1]
    down = -(-count // across)
    height, width = shape[0] + 1, shape[1] + 1  # with the line above and the one at the left
    images = np.full((down * across, height, width), 128, dtype=np.uint8)
    bright = np.clip(columns / np.maximum(columns.max(axis=0), 1e-300), 0, 1)
    images[:count, 1:, 1:] = np.round(255 * bright.T.reshape(count, *shape))
    sheet = images.reshape(down, across, height, width).swapaxes(1, 2)
    return np.pad(sheet.reshape(down * height, -1), (0, 1), constant_values=128)


def _as_file(sheet: NDArray[np.uint8]) -> str:
    """An address that is the picture itself."""
    file = io.BytesIO()
    Image.fromarray(sheet).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def picture(sheet: NDArray[np.uint8], height: int) -> go.Figure:
    """A grey image without axes, ``height`` pixels tall."""
    return go.Figure(
        # as a file: with every pixel as a number it is ten times as long, and slower to draw
        data=[go.Image(source=_as_file(sheet), hoverinfo="skip")],
        layout={
            "height": height,
            "margin": {"l": 0, "r": 0, "t": 4, "b": 4},
            "xaxis": {"visible": False, "constrain": "domain"},
            "yaxis": {
                "visible": False,
                "scaleanchor": "x",
                "constrain": "domain",
                "autorange": "reversed",
            },
        },
    )
