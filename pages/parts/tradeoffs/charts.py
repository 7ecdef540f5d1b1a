"""Error against noise or people with bands: a sweep's points as figures and sentences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.sweeps.tradeoff import Point
from pages.parts.ui.figures import Drawn
from pages.parts.ui.looks import BEST, IDENTITY
from pages.parts.ui.series import Line, series_chart

AXIS = {
    "total_epsilon": "total ε of the run (log scale)",
    "epsilon": "ε of one release (log scale)",
    "variance": "variance of the noise (rating units squared, log scale)",
    "n_users": "people in the data (log scale)",
}


@dataclass(frozen=True)
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

    @property
    def points(self) -> list[tuple[str, str, float, Point]]:
        """All with noise: the algorithm, the mechanism, where it stands, and the point."""
        return [(a, m, x, p) for (a, m), line in self.of.items() if m != "none" for x, p in line]

    def noisy(self, algorithm: str) -> dict[str, list[tuple[float, Point]]]:
        """The lines of one algorithm by mechanism, without the quiet one."""
        return {m: line for (a, m), line in self.of.items() if a == algorithm and m != "none"}


def lines_of(points: Sequence[Point], axis: str) -> Lines:
    """``points`` arranged along ``axis`` ("n_users", or what amounts are in)."""
    of: dict[tuple[str, str], list[tuple[float, Point]]] = {}
    for point in points:
        if not point.values:
            continue
        settings = dict(point.settings)
        name = (point.spec.card.name, str(settings.get("mechanism", "none")))
        of.setdefault(name, []).append((float(settings.get(axis, math.nan)), point))
    return Lines(axis, {key: sorted(line, key=lambda pair: pair[0]) for key, line in of.items()})


def amount(x: float) -> str:
    """A tick: thousands as people write them, never an exponent."""
    return f"{x / 1000:g}k" if x >= 10_000 else f"{x:,.0f}" if x >= 1000 else f"{x:g}"


def curves(lines: Lines, measure: str) -> Drawn:
    """Draw mean error with 95 % bands, one panel for each algorithm.

    No noise and the best baseline are always beside.
    """
    xs = sorted({x for line in lines.of.values() for x, _ in line if not math.isnan(x)})
    rows, drawn = [], list[Line]()
    for algorithm in lines.algorithms:
        panel = ALGORITHMS[algorithm].title
        for mechanism in ("none", *lines.noisy(algorithm)):
            line = lines.of.get((algorithm, mechanism), [])
            if mechanism == "none" and len(line) == 1 and xs:
                line = [(x, line[0][1]) for x in xs]
            if not line:
                continue
            look = IDENTITY[mechanism]
            half = np.nan_to_num([p.half_width for _, p in line]).tolist()
            trace = {
                "customdata": half,
                "mode": "lines" if mechanism == "none" else "lines+markers",
                "hovertemplate": (
                    f"{look.title}: %{{y:.4f}} ± %{{customdata:.2g}} at %{{x:,g}}<extra></extra>"
                ),
            }
            y = [p.mean for _, p in line]
            at = [x for x, _ in line]
            drawn.append(Line(look, at, y, halves=half, panel=panel, banded=True, trace=trace))
            rows += [numbers_of(lines.axis, x, p) for x, p in line]
        # the best baseline differs only where people do
        baseline: dict[float, float] = {}
        for (name, _), line in lines.of.items():
            for x, p in line if name == algorithm else ():
                for spot in xs if math.isnan(x) else [x]:
                    baseline.setdefault(spot, p.baseline)
        spots = sorted(baseline)
        drawn.append(Line(BEST, spots, [baseline[x] for x in spots], panel=panel))
    ticks = {x: amount(x) for x in xs}
    return series_chart(drawn, AXIS[lines.axis], measure, ticks, log_x=True), pd.DataFrame(rows)


def numbers_of(axis: str, x: float, p: Point) -> dict[str, object]:
    """A point as a row of "show the numbers"."""
    apart = p.against_baseline
    return {
        "algorithm": p.spec.card.title,
        "noise": IDENTITY[p.spec.noise.mechanism].title,
        axis: x,
        "mean": p.mean,
        "half_width_95": p.half_width,
        "runs": len(p.values),
        "failed": p.failures,
        "best_trivial": p.baseline,
        "minus_trivial": apart.mean if apart.pairs > 1 else None,
        "minus_trivial_half_width_95": apart.half_width if apart.pairs > 1 else None,
        "stated_epsilon": p.epsilon,
        "epsilon_by_published_results": p.epsilon_published,
        "delta": p.spec.noise.delta,
        "privacy": "no noise"
        if p.spec.noise.kind == "none"
        else f"{'nominal' if p.nominal else 'guarantee'}, one {p.unit}",
    }
