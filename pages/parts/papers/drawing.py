"""What the papers draw: rows of a table or figure on the paper's own axes, with what is printed
beside ours, and curves that follow from a formula.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpmc_core.experiments.papers.compute import Judged
from dpmc_core.experiments.papers.entries import Axes
from dpmc_core.experiments.papers.row import part, phrases, row_names, value_name
from dpmc_core.mechanisms import FAMILIES, RUN_FAMILIES, Gaussian, Huber, Laplace, Mechanism
from dpmc_core.metrics.intervals import t_half_width
from dpmc_core.wording import measured, printed_in, three
from pages.parts.ui.densities import densities, sampled, variance_curve
from pages.parts.ui.figures import Drawn, figure, of_values
from pages.parts.ui.looks import BASELINE, IDENTITY, LINES, Identity, curve, name_above
from pages.parts.ui.series import Line, series_chart

_DASHES = ("dot", "longdash", "dashdot")  # of levels that belong to no line
_PRINTED = Identity("printed", "#666666", "dot", "circle-open")
_SPREAD = 0.5  # of the room between two words on an axis, for the lines


@dataclass(frozen=True, kw_only=True)
class _Number:
    """One number, ours or printed, of the row with this ``setting``; ``text`` says it."""

    setting: Mapping[str, str]
    value: float
    half: float = 0.0
    text: str
    printed: bool = False

    def x(self, axes: Axes) -> str:
        """Where it stands on the axis, "" for a level."""
        value = next((self.setting[name] for name in axes.x if name in self.setting), "none")
        return "" if value == "none" else value

    def line(self, axes: Axes) -> str:
        """The name of its line."""
        return phrases(self.setting, axes.line)


@of_values
def drawing(axes: Axes, paper: str, rows: Sequence[Judged]) -> go.Figure:
    """Ours with 95 % intervals; what is printed hollow and dotted, in the same colour."""
    rows = [one for one in rows if any(name in one.row.setting for name in axes.line)]
    numbers = [*_numbers(rows), *_beside(axes, paper)]
    values = list(dict.fromkeys(n.x(axes) for n in numbers if n.x(axes)))
    counted = all(value.replace(".", "", 1).isdigit() for value in values)
    places = {v: float(v) if counted else float(k) for k, v in enumerate(values)}
    looks = _looks(axes, numbers)
    # where words are on the axis, lines are dots beside each other
    shifts = {
        name: 0.0 if counted else _SPREAD * ((k + 0.5) / len(looks) - 0.5)
        for k, name in enumerate(looks)
    }
    groups: dict[tuple[str, str, bool, bool], list[_Number]] = {}
    for n in numbers:
        key = phrases(n.setting, axes.panel), n.line(axes), n.printed, not n.x(axes)
        groups.setdefault(key, []).append(n)
    ends = (min(places.values(), default=0.0), max(places.values(), default=1.0))
    lines = []
    for (panel, name, _, level), some in groups.items():
        if level:
            lines.append(_line([some[0]] * 2, looks[name], panel, ends, "lines"))
        else:
            x = [places[n.x(axes)] + shifts[name] for n in some]
            mode = "lines+markers" if counted else "markers"
            lines.append(_line(some, looks[name], panel, x, mode))
    if any(one.row.printed for one in rows):
        lines.append(Line(_PRINTED, [ends[0]], [math.nan], panel=lines[0].panel))
    ticks = {places[v]: value_name(axes.x[0], v) for v in sorted(values, key=places.__getitem__)}
    y_title = axes.y or rows[0].row.metric
    x_title = part(axes.x[0]).title if counted else ""  # words say what they are
    fig = series_chart(lines, x_title, y_title, ticks, log_y=axes.log_y, own_y=axes.own_y)
    if not counted:
        fig.update_xaxes(range=[-0.5, len(values) - 0.5])
    return fig


def _line(
    some: Sequence[_Number], look: Identity, panel: str, x: Sequence[float], mode: str
) -> Line:
    """``some`` numbers, all ours or all printed, at ``x``."""
    printed, level = some[0].printed, mode == "lines"
    if level and "none" in some[0].setting.values():
        look = replace(look, title=f"{look.title}, no noise")
    if printed:
        look = replace(look, dash="dot", marker=f"{look.marker}-open")
    if printed or level:
        look = replace(look, width=1.2)
    trace = {
        "mode": mode,
        "text": [n.text for n in some],
        "hovertemplate": "%{text}<extra></extra>",
    }
    halves = [] if printed else [n.half for n in some]
    y = [n.value for n in some]
    return Line(look, x, y, halves=halves, panel=panel, banded=level, trace=trace)


def _numbers(rows: Sequence[Judged]) -> list[_Number]:
    """Ours, then what is printed."""
    names = row_names([one.row for one in rows])
    ours, printed = list[_Number](), list[_Number]()
    for one in rows:
        setting, name = one.row.setting, names[one.row.id]
        if one.result.values:
            mean, half = one.result.mean, t_half_width(one.result.values)
            text = f"{name}: {measured(mean, half) if half > 1e-9 * abs(mean) else three(mean)}"
            ours.append(_Number(setting=setting, value=mean, half=half, text=text))
        if (p := one.row.printed) is not None:
            text = f"{name}: printed {p.text}"
            printed.append(_Number(setting=setting, value=p.value, text=text, printed=True))
    return ours + printed


def _beside(axes: Axes, paper: str) -> list[_Number]:
    """The numbers of another printed table that belong on the same axes."""
    wanted = dict(axes.beside)
    table, metric = wanted.pop("table", ""), wanted.pop("metric", "")
    return [
        _Number(
            setting=p.setting,
            value=p.value,
            text=f"{phrases(p.setting, [*p.setting])}: printed {p.text}",
            printed=True,
        )
        for p in printed_in(paper, table)
        if p.metric == metric and wanted.items() <= p.setting.items()
    ]


def _looks(axes: Axes, numbers: Sequence[_Number]) -> dict[str, Identity]:
    """The look of each line by its name: a mechanism's own, else the next; of other data that of
    the line whose first part is the same; grey for levels.
    """
    looks: dict[str, Identity] = {}
    own = {n.line(axes) for n in numbers if not n.printed}
    sloped = list(dict.fromkeys(n.line(axes) for n in numbers if n.x(axes)))
    for n in numbers:
        name, first = n.line(axes), phrases(n.setting, axes.line[:1])
        if name in looks:
            continue
        if (mechanism := n.setting.get(axes.line[0], "")) in IDENTITY:
            looks[name] = replace(IDENTITY[mechanism], title=name)
        elif name not in own and first in looks:
            looks[name] = replace(looks[first], title=f"{name}, printed")
        elif name in sloped:
            looks[name] = Identity(name, *LINES[sloped.index(name) % len(LINES)])
        else:
            looks[name] = Identity(name, BASELINE, _DASHES[len(looks) % len(_DASHES)], "circle")
    return looks


def _densities_by(parameter: str, mechanisms: Mapping[float, Mechanism]) -> Drawn:
    """One density for each value of a ``parameter``, over ±5 of the widest standard deviation."""
    reach = 5 * max(mechanism.std for mechanism in mechanisms.values())
    x = np.linspace(-reach, reach, 301)
    fig, numbers = figure("noise x (units of the released number)", "density (1 / unit)"), {"x": x}
    for look, (value, mechanism) in zip(LINES, mechanisms.items(), strict=False):
        title = f"{parameter} = {value:g}"
        numbers[title] = y = np.asarray(mechanism.pdf(x))
        curve(fig, Identity(title, *look), x, y, marker={"maxdisplayed": 6})
    name_above(fig)
    return fig, pd.DataFrame(numbers)


def inverse_printed_and_correct() -> Drawn:
    """The thesis's inverse distribution function beside the right one and the sampler's quantiles.

    Its third piece has + for − before the logarithm: α/2 + L where α/2 − L is right.
    """
    huber, y = Huber(alpha=1.0764), np.linspace(0.005, 0.995, 199)
    right = np.asarray(huber.ppf(y))
    printed = np.where(right > huber.alpha, huber.alpha - right, right)
    sampled_at = np.quantile(huber.sample(100_000, np.random.default_rng(0)), y[::6])
    fig = figure("probability y", "noise x with F(x) = y, scale 1")
    looks = [
        Identity(t, *look) for t, look in zip(("as printed", "corrected"), LINES, strict=False)
    ]
    curve(fig, looks[0], y, printed, marker={"maxdisplayed": 8})
    curve(fig, looks[1], y, right, marker={"maxdisplayed": 8})
    dots = Identity("quantiles of 100,000 samples", BASELINE, "dot", "circle-open")
    curve(fig, dots, y[::6], sampled_at, mode="markers")
    name_above(fig)
    return fig, pd.DataFrame({"y": y, "printed": printed, "corrected": right})


_SCALES = (1.0, 2.0, 4.0)
# by the id of the entry; which scales and α the thesis draws is printed nowhere
CURVES: dict[str, Callable[[], Drawn]] = {
    "thesis-figure-2.5": lambda: _densities_by("b", {b: Laplace(scale=b) for b in _SCALES}),
    "thesis-figure-2.6": lambda: _densities_by("σ", {s: Gaussian(scale=s) for s in _SCALES}),
    "thesis-figure-4.1": lambda: densities(
        [FAMILIES[name].with_variance(2.0) for name in RUN_FAMILIES]
    ),
    "thesis-figure-4.2": lambda: _densities_by("α", {a: Huber(alpha=a) for a in (0.5, *_SCALES)}),
    "thesis-figure-4.3": lambda: sampled(Huber(alpha=1.0), 1_000_000, 0)[:2],
    "thesis-equation-4.4": inverse_printed_and_correct,
    "thesis-figure-4.4": lambda: variance_curve(Huber(alpha=1.0)),
}
