"""Error against noise or people with bands: a sweep's points as figures and sentences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.sweeps.tradeoff import Point
from pages.parts.ui.figures import IDENTITY, Drawn, figure

__all__ = ["QUIET", "Lines", "curve_sentences", "curves", "enlarge", "lines_of", "numbers_of"]

QUIET = "rgba(128,128,128,0.9)"
AXIS = {
    "total_epsilon": "total ε of the run (log scale)",
    "epsilon": "ε of one release (log scale)",
    "variance": "variance of the noise (rating units squared, log scale)",
    "n_users": "people in the data (log scale)",
}


@dataclass(frozen=True, slots=True)
class Lines:
    """Points arranged: for each (algorithm, mechanism) its points by rising ``x``.

    Without noise one point stands for all amounts, or one for each number of people. ``axis`` is
    what varies.
    """

    axis: str
    of: dict[tuple[str, str], list[tuple[float, Point]]]

    @property
    def algorithms(self) -> list[str]:
        """In order of appearance."""
        return list(dict.fromkeys(algorithm for algorithm, _ in self.of))

    def noisy(self, algorithm: str) -> dict[str, list[tuple[float, Point]]]:
        """The lines of one algorithm by mechanism, without the quiet one."""
        return {m: line for (a, m), line in self.of.items() if a == algorithm and m != "none"}


def lines_of(points: Sequence[Point], axis: str) -> Lines:
    """``points`` arranged along ``axis`` ("n_users", or what amounts are in)."""
    of: dict[tuple[str, str], list[tuple[float, Point]]] = {}
    for point in points:
        if not point.values:
            continue
        said = dict(point.settings)
        x = float(said.get(axis, math.nan))
        of.setdefault((point.spec.card.name, str(said.get("mechanism", "none"))), []).append(
            (x, point)
        )
    return Lines(axis, {key: sorted(line, key=lambda pair: pair[0]) for key, line in of.items()})


def amount(x: float) -> str:
    """A tick: thousands with commas, never an exponent."""
    return f"{x:,.0f}" if x >= 1000 else f"{x:g}"


def _rgba(colour: str, alpha: float) -> str:
    r, g, b = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({r},{g},{b},{alpha})"


def curves(lines: Lines, measure: str, *, large: bool = False) -> Drawn:
    """Draw mean error with 95 % bands, one panel for each algorithm.

    No noise and the best baseline are always beside.
    """
    algorithms = lines.algorithms
    fig = make_subplots(
        1,
        max(len(algorithms), 1),
        shared_yaxes=True,
        horizontal_spacing=0.05,
        subplot_titles=[ALGORITHMS[a].title for a in algorithms],
    )
    fig.update_layout(figure("", measure, height=560 if large else 470).layout)
    fig.update_layout(
        margin={"t": 40, "r": 20},
        showlegend=True,
        legend={"orientation": "h", "y": -0.3 if large else -0.25, "x": 0},
        hovermode="closest",
    )
    xs = sorted({x for line in lines.of.values() for x, _ in line if not math.isnan(x)})
    rows, shown = [], set()
    for column, algorithm in enumerate(algorithms, start=1):
        for mechanism in ("none", *lines.noisy(algorithm)):
            line = lines.of.get((algorithm, mechanism), [])
            if mechanism == "none" and len(line) == 1 and xs:
                line = [(x, line[0][1]) for x in xs]
            if not line:
                continue
            look = IDENTITY[mechanism]
            x, y = [p for p, _ in line], [p.mean for _, p in line]
            half = [0.0 if math.isnan(p.half_width) else p.half_width for _, p in line]
            group = {"legendgroup": mechanism, "showlegend": mechanism not in shown}
            shown.add(mechanism)
            fig.add_scatter(
                x=x + x[::-1],
                y=[m + h for m, h in zip(y, half, strict=True)]
                + [m - h for m, h in zip(y, half, strict=True)][::-1],
                mode="lines",
                fill="toself",
                fillcolor=_rgba(look.colour, 0.13),
                line={"width": 0},
                hoverinfo="skip",
                legendgroup=mechanism,
                showlegend=False,
                row=1,
                col=column,
            )
            fig.add_scatter(
                x=x,
                y=y,
                customdata=half,
                mode="lines" if mechanism == "none" else "lines+markers",
                name=look.title,
                line={"color": look.colour, "dash": look.dash, "width": 4 if large else 2.5},
                marker={"color": look.colour, "symbol": look.marker, "size": 12 if large else 8},
                hovertemplate=(
                    f"{look.title}: %{{y:.4f}} ± %{{customdata:.2g}} at %{{x:,g}}<extra></extra>"
                ),
                row=1,
                col=column,
                **group,
            )
            rows += [numbers_of(algorithm, mechanism, lines.axis, x, p) for x, p in line]
        baseline = _baseline(lines, algorithm, xs)
        fig.add_scatter(
            x=[x for x, _ in baseline],
            y=[y for _, y in baseline],
            mode="lines",
            name="best baseline",
            line={"color": QUIET, "dash": "dot", "width": 3 if large else 1.5},
            legendgroup="trivial",
            showlegend="trivial" not in shown,
            hovertemplate="best baseline: %{y:.4f}<extra></extra>",
            row=1,
            col=column,
        )
        shown.add("trivial")
    several = len(algorithms) > 1
    fig.update_xaxes(
        type="log",
        gridcolor="rgba(128,128,128,0.18)",
        tickvals=xs,
        ticktext=[amount(x) for x in xs],
        title={"text": "" if several else AXIS[lines.axis]},
    )
    fig.update_yaxes(gridcolor="rgba(128,128,128,0.18)", zeroline=False)
    fig.update_yaxes(title={"text": measure}, col=1)
    if several:  # one title for all panels: on a phone they would run into each other
        fig.add_annotation(
            text=AXIS[lines.axis],
            x=0.5,
            y=0,
            yshift=-66 if large else -48,
            xref="paper",
            yref="paper",
            showarrow=False,
        )
    fig.update_yaxes(title={"text": ""}, selector=lambda axis: axis.anchor not in ("x", None))
    if large:
        enlarge(fig)
    return fig, pd.DataFrame(rows)


def enlarge(fig: go.Figure) -> None:
    """Type that can be read from the last row of a room."""
    fig.update_layout(font={"size": 22}, legend={"font": {"size": 20}})
    fig.update_annotations(font={"size": 24})
    fig.update_xaxes(tickfont={"size": 19}, title={"font": {"size": 20}})
    fig.update_yaxes(tickfont={"size": 19}, title={"font": {"size": 20}})


def numbers_of(algorithm: str, mechanism: str, axis: str, x: float, p: Point) -> dict[str, object]:
    """A point as a row of "show the numbers"."""
    apart = p.against_baseline
    return {
        "algorithm": ALGORITHMS[algorithm].title,
        "noise": IDENTITY[mechanism].title,
        axis: x,
        "mean": p.mean,
        "half_width_95": p.half_width,
        "runs": len(p.values),
        "failed": p.failures,
        "best_trivial": p.baseline,
        "minus_trivial": None if apart is None else apart.mean,
        "minus_trivial_half_width_95": None if apart is None else apart.half_width,
        "stated_epsilon": p.epsilon,
        "epsilon_by_published_results": p.epsilon_published,
        "delta": p.spec.noise.delta,
        "counted": "no noise"
        if mechanism == "none"
        else f"{'nominal' if p.nominal else 'sound'}, one {p.unit}",
    }


def _baseline(lines: Lines, algorithm: str, xs: Sequence[float]) -> list[tuple[float, float]]:
    """Find the best baseline at each x: it differs only where people do."""
    found: dict[float, float] = {}
    for (a, _), line in lines.of.items():
        if a == algorithm:
            for x, p in line:
                for spot in xs if math.isnan(x) else [x]:
                    found.setdefault(spot, p.baseline)
    return sorted(found.items())


def curve_sentences(lines: Lines) -> list[str]:
    """Say where each algorithm stands against the baseline."""
    out = []
    word = "with" if lines.axis == "n_users" else "at"
    unit = {"n_users": "people", "variance": "variance"}.get(lines.axis, "ε")

    def at(places: Sequence[float]) -> str:
        said = ", ".join(amount(x) for x in places)
        return f"{word} {said} {unit}" if lines.axis == "n_users" else f"{word} {unit} = {said}"

    for algorithm in lines.algorithms:
        for mechanism, line in lines.noisy(algorithm).items():
            name = f"**{ALGORITHMS[algorithm].title}, {IDENTITY[mechanism].title} noise**"
            known = [(x, p, p.against_baseline) for x, p in line]
            if any(apart is None for _, _, apart in known):
                out.append(f"{name} has one repetition, which gives no interval.")
                continue
            won = [x for x, _, d in known if d is not None and d.detected and d.mean < 0]
            lost = [x for x, _, d in known if d is not None and d.detected and d.mean > 0]
            rest = len(line) - len(won) - len(lost)
            if len(won) == len(line) or len(lost) == len(line):
                out.append(
                    f"{name} {'beats' if won else 'loses to'} the best baseline "
                    "everywhere it was run."
                )
                continue
            said = (
                [f"beats the best baseline {at(won)}"]
                if won
                else ["is nowhere clearly better than the best baseline"]
            )
            said += [f"loses to it {at(lost)}"] if lost else []
            out.append(
                f"{name} {', and '.join(said)}"
                + (
                    f"; elsewhere ({rest} point{'s' * (rest > 1)}) not significantly different."
                    if rest and (won or lost)
                    else "."
                )
            )
    return out
