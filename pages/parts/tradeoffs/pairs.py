"""Paired differences between noises: a sweep's points as a figure and sentences."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.sweeps.tradeoff import Difference, paired
from pages.parts.tradeoffs.charts import QUIET, Lines
from pages.parts.ui.figures import IDENTITY, Drawn, figure

__all__ = ["Apart", "differences", "pair_sentences", "pairs_figure"]


@dataclass(frozen=True, slots=True)
class Apart:
    """One comparison of two mechanisms under one algorithm at one amount."""

    algorithm: str
    one: str
    other: str
    x: float
    difference: Difference


def differences(lines: Lines) -> list[Apart]:
    """All pairs of mechanisms, wherever both were run twice or more.

    The interval of each holds for all of them at once.
    """
    found = []
    for algorithm in lines.algorithms:
        noisy = {m: dict(line) for m, line in lines.noisy(algorithm).items()}
        for one, other in itertools.combinations([m for m in IDENTITY if m in noisy], 2):
            found += [
                (algorithm, one, other, x) for x in sorted(noisy[one].keys() & noisy[other].keys())
            ]
    out = []
    for algorithm, one, other, x in found:
        noisy = {m: dict(line) for m, line in lines.noisy(algorithm).items()}
        apart = paired(noisy[one][x], noisy[other][x], len(found))
        if apart is not None:
            out.append(Apart(algorithm, one, other, x, apart))
    return out


def _named(a: Apart, unit: str) -> str:
    return (
        f"{ALGORITHMS[a.algorithm].title}, {unit} {a.x:,g}<br>"
        f"{IDENTITY[a.one].title} − {IDENTITY[a.other].title}"
    )


def pairs_figure(apart: Sequence[Apart], axis: str) -> Drawn:
    """Paired differences with their intervals around zero."""
    unit = {"n_users": "people", "variance": "variance"}.get(axis, "ε =")
    fig = figure(
        "difference in held-out RMSE<br>(left of 0: the first is better)",
        "",
        height=max(300, 90 + 34 * len(apart)),
    )
    names = [_named(a, unit) for a in apart]
    for detected, colour, symbol, name in (
        (True, "#D55E00", "diamond", "a difference is detected"),
        (False, "#0072B2", "circle", "no difference detected"),
    ):
        some = [
            (n, a.difference)
            for n, a in zip(names, apart, strict=True)
            if a.difference.detected == detected
        ]
        fig.add_scatter(
            x=[d.mean for _, d in some],
            y=[n for n, _ in some],
            error_x={
                "type": "data",
                "array": [d.half_width for _, d in some],
                "thickness": 2,
                "width": 4,
            },
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 10},
            name=name,
            hovertemplate="%{y}: %{x:.4f} ± %{error_x.array:.4f}<extra></extra>",
        )
    fig.add_vline(x=0, line={"width": 1.5, "color": QUIET})
    fig.update_yaxes(type="category", categoryorder="array", categoryarray=names[::-1])
    fig.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        hovermode="closest",
        margin={"r": 20, "t": 30},
    )
    rows = [
        {
            "comparison": name.replace("<br>", ", "),
            "difference": a.difference.mean,
            "half_width_95_all_together": a.difference.half_width,
            "pairs": a.difference.pairs,
            "detected": a.difference.detected,
        }
        for name, a in zip(names, apart, strict=True)
    ]
    return fig, pd.DataFrame(rows)


def pair_sentences(apart: Sequence[Apart], axis: str) -> list[str]:
    """How many differences there are, and the plain sentence of each pair."""
    if not apart:
        return ["A comparison needs two mechanisms and two repetitions."]
    unit = {"n_users": "with people =", "variance": "at variance"}.get(axis, "at ε =")
    found = [a for a in apart if a.difference.detected]
    out = [
        f"Of {len(apart)} comparison{'s' * (len(apart) > 1)} between mechanisms, "
        f"{len(found) or 'none'} show{'s' * (len(found) == 1)} a difference (95 %, all together)."
    ]
    for key, group in itertools.groupby(apart, key=lambda a: (a.algorithm, a.one, a.other)):
        members = list(group)
        algorithm, one, other = key
        title = (
            f"**{ALGORITHMS[algorithm].title}: {IDENTITY[one].title} against "
            f"{IDENTITY[other].title}**"
        )
        detected = [a for a in members if a.difference.detected]
        if not detected:
            widest = max(members, key=lambda a: a.difference.half_width)
            out.append(
                f"{title}: no difference detected; the widest interval, {unit} {widest.x:,g}, "
                f"is {widest.difference.mean:+.4f} ± {widest.difference.half_width:.2g}: a "
                "difference beyond "
                f"{abs(widest.difference.mean) + widest.difference.half_width:.2g} is ruled out "
                "there, a smaller one is not."
            )
        else:
            said = "; ".join(
                f"{unit} {a.x:,g} {IDENTITY[one if a.difference.mean < 0 else other].title} is "
                f"better by {abs(a.difference.mean):.4f} ± {a.difference.half_width:.2g}"
                for a in detected
            )
            out.append(
                f"{title}: {said}"
                + ("" if len(detected) == len(members) else "; elsewhere no difference detected")
                + "."
            )
    return out
