"""The best trade-offs of a sweep, and how many people are needed: figures, tables and sentences.

Lives here: pure functions from points. Does not live here: curves and differences (``tradeoff_charts``) or statistics (``dpmc_core.experiments.tradeoff``).
"""

import math
from collections.abc import Sequence

import pandas as pd

from app_pages.parts.charts import Drawn
from app_pages.parts.style import IDENTITY, Label, figure, label_ends
from app_pages.parts.tradeoff_charts import QUIET, Lines, numbers_of
from dpmc_core.experiments.registry import ALGORITHMS
from dpmc_core.experiments.tradeoff import Point, frontier, needed
from dpmc_core.wording import three

__all__ = ["frontier_figure", "frontier_sentences", "needed_table"]

_SHAPES = ("circle", "square", "diamond", "triangle-up", "x")


def frontier_figure(points: Sequence[Point], *, large: bool = False) -> Drawn:
    """Error against the ε that each ledger states, and the line of those that nothing betters."""
    fig = figure(
        "total ε that the run's ledger states (log scale)",
        "held-out RMSE, clipped (rating units)",
        height=560 if large else 470,
        log_x=True,
    )
    best = frontier(points)
    algorithms = list(dict.fromkeys(p.spec.algorithm for p in points))
    rows = []
    for p in points:
        if p.epsilon is None or not p.values:
            continue
        look = IDENTITY[p.spec.mechanism]
        shape = _SHAPES[algorithms.index(p.spec.algorithm) % len(_SHAPES)]
        title = f"{ALGORITHMS[p.spec.algorithm].title}, {look.title}"
        fig.add_scatter(
            x=[p.epsilon],
            y=[p.mean],
            error_y={
                "type": "data",
                "array": [0.0 if math.isnan(p.half_width) else p.half_width],
                "thickness": 1,
                "width": 3,
            },
            mode="markers",
            marker={
                "color": look.colour,
                "symbol": shape if p in best else f"{shape}-open",
                "size": 16 if large else 11,
            },
            name=title,
            hovertemplate=f"{title}: %{{y:.4f}} at ε = %{{x:.3g}}<extra></extra>",
        )
        rows.append(
            {**numbers_of(p.spec.algorithm, p.spec.mechanism, "stated", p.epsilon, p), "best_trade_off": p in best}
        )
    for kind in dict.fromkeys((p.unit, p.nominal) for p in best):
        line = [p for p in best if (p.unit, p.nominal) == kind]
        fig.add_scatter(
            x=[p.epsilon for p in line],
            y=[p.mean for p in line],
            mode="lines",
            line={"color": QUIET, "width": 2, "shape": "hv"},
            hoverinfo="skip",
        )
    trivial = [p.trivial for p in points if not math.isnan(p.trivial)]
    if trivial and rows:
        worst = sum(trivial) / len(trivial)
        fig.add_hline(y=worst, line={"width": 1.5, "dash": "dot", "color": QUIET})
        far = max(float(str(r["stated"])) for r in rows)
        values = [float(str(r["mean"])) for r in rows] + [worst]
        shown = (min(values) * 0.97, max(values) * 1.03)
        fig.update_yaxes(range=shown)
        label_ends(fig, [Label(far, worst, "best trivial")], shown, log_x=True)
    fig.update_layout(hovermode="closest")
    if large:
        fig.update_layout(font={"size": 22})
    return fig, pd.DataFrame(rows)


def frontier_sentences(points: Sequence[Point]) -> list[str]:
    """The best trade-offs in words, and which of them help."""
    best = frontier(points)
    if not best:
        return ["No run here has a finite ε."]
    out = []
    for kind in dict.fromkeys((p.unit, p.nominal) for p in best):
        line = [p for p in best if (p.unit, p.nominal) == kind]
        said = "; ".join(
            f"ε = {three(p.epsilon or 0)}: {ALGORITHMS[p.spec.algorithm].title} with {IDENTITY[p.spec.mechanism].title} noise, {p.mean:.4f}"
            for p in line
        )
        out.append(
            f"For one {kind[0]} ({'nominal: as published, no guarantee' if kind[1] else 'a guarantee'}), nothing here is better than: {said}."
        )
    helps = [
        p for p in best if p.against_trivial is not None and p.against_trivial.detected and p.against_trivial.mean < 0
    ]
    out.append(
        f"{len(helps) or 'None'} of these {len(best)} clearly beat{'s' * (len(helps) <= 1)} the best trivial predictor, which protects nobody."
        if len(best) > 1
        else f"It {'clearly beats' if helps else 'does not clearly beat'} the best trivial predictor, which protects nobody."
    )
    out.append(
        "They are chosen by means on the held-out ratings themselves, which flatters them a little; the *Differences* view says which neighbours can be told apart."
    )
    return out


def needed_table(lines: Lines, share: float) -> pd.DataFrame:
    """For each line over people: how many it needs to beat the trivial predictor, and to come within ``share`` of the same algorithm without noise at the most people run."""
    rows = []
    for algorithm in lines.algorithms:
        quiet = lines.of.get((algorithm, "none"), [])
        for mechanism, line in lines.noisy(algorithm).items():
            sizes, points = [x for x, _ in line], [p for _, p in line]
            targets = {"to beat the best trivial predictor": points[-1].trivial}
            if quiet:
                targets[f"to come within {100 * share:g} % of no noise"] = (1 + share) * quiet[-1][1].mean
            for what, target in targets.items():
                found = needed(sizes, points, target)
                rows.append(
                    {
                        "method": f"{ALGORITHMS[algorithm].title}, {IDENTITY[mechanism].title}",
                        "people needed": what,
                        "held-out RMSE asked": round(target, 4),
                        "about": _people(found.n, sizes),
                        "lowest to highest of the repetitions": f"{_people(found.low, sizes)} to {_people(found.high, sizes)}",
                    }
                )
    return pd.DataFrame(rows)


def _people(n: float, sizes: Sequence[float]) -> str:
    if math.isinf(n):
        return f"more than {sizes[-1]:,g}"
    return f"{sizes[0]:,g} or fewer" if n == 0 else three(n)
