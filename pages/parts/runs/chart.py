"""Kept runs as a figure: how far each is from the best baseline, against its stated ε."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.wording import three
from pages.parts.runs.names import look_of, titled
from pages.parts.ui.figures import Drawn, figure
from pages.parts.ui.labels import log_ticks
from pages.parts.ui.links import plain_in_figure
from pages.parts.ui.looks import BASELINE, IDENTITY, name_above

_INSIDE = ("-open", "", "-open-dot")  # of markers, for one algorithm after the other


def distances(rows: Sequence[dict[str, Any]], measure: str) -> Drawn:
    """Each run's result minus its best baseline's, against stated ε."""
    finite = [row["epsilon"] for row in rows if row["epsilon"] is not None]
    least, most = min(finite, default=1.0), max(finite, default=1.0)
    # those without a finite ε stand beyond the others, so far that no tick's number meets theirs
    beyond = 0.3 + 0.2 * math.log10(most / least)
    right = most * 10**beyond
    unit = f" ({measure.rpartition('(')[2]}" * ("(" in measure)
    beside = ", mechanisms side by side" * (
        len({row["mechanism"] for row in rows if row["epsilon"]}) > 1
    )
    fig = figure(f"stated total ε (log scale{beside})", f"result − best baseline{unit}", height=380)
    algorithms = [a for a in ALGORITHMS if any(row["algorithm"] == a for row in rows)]
    algorithms += sorted({row["algorithm"] for row in rows} - {*algorithms})  # of other releases
    mechanisms = [m for m in IDENTITY if any(row["mechanism"] == m for row in rows)]
    mechanisms += sorted({row["mechanism"] for row in rows} - {*mechanisms})
    fig.add_scatter(
        x=[least / 2, right * 2],
        y=[0.0, 0.0],
        mode="lines",
        line={"width": 1.5, "dash": "dot", "color": BASELINE},
        hoverinfo="skip",
        name="best baseline",
    )
    for mechanism in mechanisms:
        look = look_of(mechanism)
        _in_legend(fig, look.title, look.colour, look.marker + "-open")
    for k, algorithm in enumerate(algorithms):
        if len(algorithms) > 1:
            symbol = "circle" + _INSIDE[k % len(_INSIDE)]
            _in_legend(fig, titled("algorithm", algorithm), BASELINE, symbol)
    # side by side, so that mechanisms do not hide one another
    apart = 0.014 * math.log10(right / least)
    for algorithm, mechanism in dict.fromkeys((r["algorithm"], r["mechanism"]) for r in rows):
        look = look_of(mechanism)
        these = [r for r in rows if (r["algorithm"], r["mechanism"]) == (algorithm, mechanism)]
        shift = 10 ** (apart * (mechanisms.index(mechanism) - (len(mechanisms) - 1) / 2))
        fig.add_scatter(
            x=[shift * row["epsilon"] if row["epsilon"] else right for row in these],
            y=[row["value"] - row["baseline"] for row in these],
            mode="markers",
            showlegend=False,
            marker={
                "color": look.colour,
                "symbol": look.marker + _INSIDE[algorithms.index(algorithm) % len(_INSIDE)],
                "size": 8,
                "line": {"width": 1.5, "color": look.colour},
            },
            text=[
                plain_in_figure(
                    f"{titled('dataset', row['dataset'])}, "
                    f"{titled('algorithm', row['algorithm'])}, {look.title}, {_stated(row)}, seed "
                    f"{row['seed']}: "
                    f"{row['value']:.4f}, best baseline {row['baseline']:.4f}"
                )
                for row in these
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    name_above(fig, hovermode="closest", margin={"r": 20})
    fig.update_xaxes(
        type="log",
        **log_ticks(least / 1.3, most * 10 ** (0.3 * beyond), no_ε=right),
        range=[math.log10(least / 1.3), math.log10(right * 1.3)],
    )
    return fig, _numbers(rows)


def _in_legend(fig: go.Figure, name: str, colour: str, symbol: str) -> None:
    marker = {"color": colour, "symbol": symbol, "size": 8, "line": {"width": 1.5, "color": colour}}
    fig.add_scatter(x=[None], y=[None], mode="markers", name=plain_in_figure(name), marker=marker)


def _stated(row: dict[str, Any]) -> str:
    return f"ε = {three(row['epsilon'])}" if row["epsilon"] else "no finite ε"


def _numbers(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    columns = ("dataset", "algorithm", "mechanism")
    return pd.DataFrame(
        [
            {
                **{name: titled(name, row[name]) for name in columns},
                "seed": row["seed"],
                "stated total ε": row["epsilon"],
                row["measure"]: row["value"],
                "best baseline": row["baseline"],
            }
            for row in rows
        ]
    )
