"""The best trade-offs of a sweep, and how many people are needed: figures, tables and sentences."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.sweeps.tradeoff import Point, frontier, kind_of_point, needed
from dpmc_core.wording import power, three
from pages.parts.tradeoffs.charts import Lines, numbers_of
from pages.parts.ui.figures import Drawn, figure
from pages.parts.ui.looks import (
    BASELINE,
    BEST,
    IDENTITY,
    Identity,
    curve,
    intervals,
    lowered,
    name_above,
)
from pages.parts.ui.series import named_lines, reach

_SHAPES = ("circle", "square", "diamond", "triangle-up", "x")


def frontier_figure(points: Sequence[Point]) -> Drawn:
    """Error against the ε that each ledger states, and the line of those that nothing betters."""
    fig = figure(
        "total ε that the run's ledger states (log scale)",
        "held-out RMSE, clipped (rating units)",
        height=430,
        log_x=True,
    )
    best, shown = frontier(points), [p for p in points if p.epsilon is not None and p.values]
    algorithms = list(dict.fromkeys(p.spec.card.name for p in points))
    groups: dict[tuple[str, str], list[Point]] = {}
    for p in shown:
        groups.setdefault((p.spec.card.name, p.spec.noise.mechanism), []).append(p)
    for (algorithm, mechanism), some in groups.items():
        look = IDENTITY[mechanism]
        shape = _SHAPES[algorithms.index(algorithm) % len(_SHAPES)]
        symbols = [shape if p in best else f"{shape}-open" for p in some]
        curve(
            fig,
            replace(look, title=f"{ALGORITHMS[algorithm].title}, {look.title}"),
            [p.epsilon for p in some],
            [p.mean for p in some],
            error_y=intervals(p.half_width for p in some),
            mode="markers",
            marker=look.mark(symbol=symbols, size=11),
            hovertemplate="%{y:.4f} at ε = %{x:.3g}",
        )
    steps = Identity("", BASELINE, "solid", width=2)
    for kind in dict.fromkeys(map(kind_of_point, best)):
        line = [p for p in best if kind_of_point(p) == kind]
        x, y = [p.epsilon for p in line], [p.mean for p in line]
        quiet = {"hoverinfo": "skip", "showlegend": False}
        curve(fig, steps, x, y, line=steps.line(shape="hv"), **quiet)
    baseline = [p.baseline for p in points if not math.isnan(p.baseline)]
    levels = {BEST.title: sum(baseline) / len(baseline)} if baseline else {}
    reach(fig.layout.xaxis, [p.epsilon or 0.0 for p in shown], 0.05)
    reach(fig.layout.yaxis, [*(p.mean for p in shown), *levels.values()], 0.08)
    named_lines(fig, (), levels)
    name_above(fig, hovermode="closest", margin={"t": 30})
    return fig, pd.DataFrame(
        [
            {
                **numbers_of(p.spec.card.name, p.spec.noise.mechanism, "stated", p.epsilon or 0, p),
                "best_trade_off": p in best,
            }
            for p in shown
        ]
    )


def frontier_sentences(points: Sequence[Point]) -> list[str]:
    """The best trade-offs in words, and which of them help."""
    best = frontier(points)
    if not best:
        return ["No run here has a finite ε."]
    near = min(best, key=lambda p: abs(math.log((p.epsilon or 5.0) / 5.0)))
    out = [
        f"At {'nominal ' * near.nominal}total ε = {three(near.epsilon or 0)}, the least error here "
        "is that of "
        f"{lowered(ALGORITHMS[near.spec.card.name].title)} with "
        f"{IDENTITY[near.spec.noise.mechanism].title} noise: {three(near.mean)}."
    ]
    for kind in dict.fromkeys(map(kind_of_point, best)):
        line = [p for p in best if kind_of_point(p) == kind]
        said = "; ".join(
            f"ε = {three(p.epsilon or 0)}: {ALGORITHMS[p.spec.card.name].title} with "
            f"{IDENTITY[p.spec.noise.mechanism].title} noise, {p.mean:.4f}"
            for p in line
        )
        standing = "nominal, no guarantee" if line[0].nominal else "a guarantee"
        out.append(
            f"For one {line[0].unit} ({standing}) at δ = {power(line[0].spec.noise.delta)}, "
            f"by their means nothing here is better than: {said}."
        )
    helps = [p for p in best if p.against_baseline.better]
    out.append(
        f"{len(helps) or 'None'} of these {len(best)} {'is' if len(helps) <= 1 else 'are'} better "
        "than the best baseline, which protects nobody (each at 95 %)."
        if len(best) > 1
        else (
            f"It {'is better' if helps else 'is not better'} than the best baseline, "
            "which protects nobody (at 95 %)."
        )
    )
    out.append(
        "They are chosen by means on the held-out ratings themselves, which flatters them a "
        "little; the *Differences* view says which differ significantly. Who chooses a noise or a "
        "setting by errors on private data spends privacy on that choice, which no ε here "
        "counts."
    )
    return out


def needed_table(lines: Lines, share: float) -> pd.DataFrame:
    """For each line over people.

    How many until its error is at most the best baseline's on the same data, and at most
    ``share`` above the same algorithm without noise with the most people run.
    """
    rows = []
    for algorithm in lines.algorithms:
        quiet = lines.of.get((algorithm, "none"), [])
        for mechanism, line in lines.noisy(algorithm).items():
            sizes, points = [x for x, _ in line], [p for _, p in line]
            asked = {
                "no worse than the best baseline on the same data": [
                    {k: v - p.baselines[k] for k, v in p.values.items()} for p in points
                ]
            }
            if quiet:
                best = quiet[-1][1].values
                asked[f"within {100 * share:g} % of no noise with {sizes[-1]:,g} people"] = [
                    {k: v - (1 + share) * best[k] for k, v in p.values.items() if k in best}
                    for p in points
                ]
            for what, gaps in asked.items():
                if not set.intersection(*(set(gap) for gap in gaps)):
                    continue
                found = needed(sizes, gaps)
                rows.append(
                    {
                        "method": f"{ALGORITHMS[algorithm].title}, {IDENTITY[mechanism].title}",
                        "until its error is": what,
                        "people needed (median)": _people(found.n, sizes),
                        "range": (f"{_people(found.low, sizes)} to {_people(found.high, sizes)}"),
                    }
                )
    return pd.DataFrame(rows)


def _people(n: float, sizes: Sequence[float]) -> str:
    if math.isinf(n):
        return f"more than {sizes[-1]:,g}"
    return f"{sizes[0]:,g} or fewer" if n == 0 else three(n)
