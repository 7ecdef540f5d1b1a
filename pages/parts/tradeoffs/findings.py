"""What a sweep shows besides its curves: verdicts, paired differences between noises, the best
trade-offs, and how many people are needed; as sentences, figures and a table.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.sweeps.tradeoff import Point, frontier, kind_of_point, needed
from dpmc_core.findings import NoiseEffect, Standings, noise_and_baseline
from dpmc_core.metrics import Comparison
from dpmc_core.wording import power, signed, three
from pages.parts.tradeoffs.charts import AXIS, Lines, amount, numbers_of
from pages.parts.ui.figures import Drawn, figure
from pages.parts.ui.looks import (
    BASELINE,
    BEST,
    IDENTITY,
    LINES,
    Identity,
    curve,
    intervals,
    lowered,
    name_above,
)
from pages.parts.ui.series import Line, named_lines, reach, series_chart

_SPOKEN_OF = {"n_users": 4000.0, "variance": 2.0}  # the amount nearest to this; else ε = 5
_NONE = "No run with noise is finished yet."
_FEW = 5  # repetitions whose intervals are several times those of many


def equal_amount(lines: Lines) -> str:
    """Name what noises have in common at one place of the axis, as "total ε"."""
    nominal = "nominal " * any(p.nominal for line in lines.of.values() for _, p in line)
    return {"epsilon": f"{nominal}ε per release", "variance": "variance"}.get(
        lines.axis, f"{nominal}total ε"
    )


def verdict(lines: Lines) -> str:
    """Say how the best private method stands against no noise and the baseline at one amount."""
    if not lines.points:
        return _NONE
    wanted = _SPOKEN_OF.get(lines.axis, 5.0)
    spots = sorted({x for _, _, x, _ in lines.points})
    x = min(spots, key=lambda spot: abs(math.log(spot / wanted)))
    candidates = [(p, a, m) for a, m, at, p in lines.points if at == x]
    best, algorithm, mechanism = min(
        candidates, key=lambda c: c[0].mean if c[0].less_is_better else -c[0].mean
    )
    where = _where(lines, x, best)
    noise, title = IDENTITY[mechanism].title, lowered(ALGORITHMS[algorithm].title)
    line, together = lines.of.get((algorithm, "none"), []), len(candidates)
    quiet = next((p for at, p in line if at == x or math.isnan(at)), None)
    standing = best.apart_from_baseline(together)
    if standing.pairs < 2:
        return f"{where}, {title} with {noise} noise has one repetition, which gives no interval."
    effect = None
    if quiet is not None and (change := best.minus(quiet, together)).pairs > 1 and quiet.mean:
        effect = NoiseEffect(change, quiet.mean)
    conclusive = standing.detected and (effect is None or effect.change.detected)
    if standing.pairs < _FEW and not conclusive:
        beside = "" if quiet is None else f"{three(quiet.mean)} without noise, "
        return (
            f"{where}, {noise} noise gives {title} a mean {best.measure} of {three(best.mean)} "
            f"({beside}best baseline {three(best.baseline)}); {standing.pairs} repetitions are too "
            "few to tell more."
        )
    return f"{where}, {noise_and_baseline(noise, title, effect, standing)}."


def _where(lines: Lines, x: float, best: Point) -> str:
    if lines.axis == "n_users":
        total_epsilon = dict(best.settings).get("total_epsilon")
        return f"With {amount(x)} people" + (
            f" (total ε = {total_epsilon:g})" if total_epsilon else ""
        )
    if lines.axis == "epsilon":
        return f"At {equal_amount(lines).replace('ε', f'ε = {amount(x)}')}"
    return f"At {equal_amount(lines)}{' ' if lines.axis == 'variance' else ' = '}{amount(x)}"


def against_baseline(lines: Lines) -> list[str]:
    """Say where each algorithm stands against the baseline."""
    noises: dict[tuple[str, str], list[str]] = {}
    for algorithm in lines.algorithms:
        for mechanism, line in lines.noisy(algorithm).items():
            standings = Standings.of((x, p.against_baseline) for x, p in line)
            clause = standings.words(lambda xs: _places(lines, xs))
            noises.setdefault((algorithm, clause), []).append(IDENTITY[mechanism].title)
    return [
        f"**{ALGORITHMS[algorithm].title}** with {' or '.join(alike)} noise {clause}."
        for (algorithm, clause), alike in noises.items()
    ]


def _places(lines: Lines, xs: Sequence[float]) -> str:
    amounts = ", ".join(map(amount, xs))
    return (
        f"with {amounts} people"
        if lines.axis == "n_users"
        else f"at {equal_amount(lines)} = {amounts}"
    )


def chosen_among(lines: Lines) -> str:
    """Say of how many the verdict speaks of the best, and what its intervals cover."""
    most = sum(mechanism != "none" for _, mechanism in lines.of)
    if most < 2:
        return ""
    return (
        f"The verdict is of the best of {most} methods by mean; its intervals hold for all "
        f"{most} at once."
    )


_BESIDE = 0.22  # how far apart the pairs of one amount stand


@dataclass(frozen=True)
class Apart:
    """One comparison of two mechanisms under one algorithm at one amount."""

    algorithm: str
    one: str
    other: str
    x: float
    difference: Comparison

    @property
    def better(self) -> str:
        """Which of the two has the better mean."""
        less = self.difference.mean < 0
        return self.one if less == self.difference.less_is_better else self.other


def differences(lines: Lines) -> list[Apart]:
    """All pairs of mechanisms, wherever both were run twice or more.

    The interval of each holds for all of them at once.
    """
    pairs = [
        (algorithm, one, other, x, p, q)
        for algorithm in lines.algorithms
        for one, other in itertools.combinations(IDENTITY, 2)
        for x, p in lines.noisy(algorithm).get(one, ())
        for at, q in lines.noisy(algorithm).get(other, ())
        if x == at
    ]
    apart = [Apart(a, one, other, x, p.minus(q, len(pairs))) for a, one, other, x, p, q in pairs]
    return [one for one in apart if one.difference.pairs > 1]


def pairs_figure(lines: Lines, apart: Sequence[Apart], measure: str) -> Drawn:
    """Paired differences with their intervals around zero: a panel for each algorithm."""
    algorithms = list(dict.fromkeys(a.algorithm for a in apart))
    pairs = list(dict.fromkeys((a.one, a.other) for a in apart))
    xs = sorted({a.x for a in apart})
    axis = AXIS[lines.axis].replace(" (log scale)", "")
    lines_drawn = []
    for algorithm, (k, (one, other)) in itertools.product(algorithms, enumerate(pairs)):
        some = [a for a in apart if (a.algorithm, a.one, a.other) == (algorithm, one, other)]
        if not some:
            continue
        gaps = [a.difference for a in some]
        look = Identity(f"{IDENTITY[one].title} − {IDENTITY[other].title}", *LINES[k % len(LINES)])
        symbols = [look.marker if d.detected else f"{look.marker}-open" for d in gaps]
        trace = {
            "mode": "markers",
            "marker": look.mark(symbol=symbols, size=9, line={"width": 2, "color": look.colour}),
            "hovertemplate": "%{y:.4f} ± %{error_y.array:.4f}",
        }
        # side by side at each amount
        x = [xs.index(a.x) + _BESIDE * (k - (len(pairs) - 1) / 2) for a in some]
        y, halves = [d.mean for d in gaps], [d.half_width for d in gaps]
        panel = ALGORITHMS[algorithm].title
        lines_drawn.append(Line(look, x, y, halves=halves, panel=panel, trace=trace))
    ticks = {float(k): amount(x) for k, x in enumerate(xs)}
    fig = series_chart(lines_drawn, axis, f"difference in {measure}", ticks)
    fig.add_hline(y=0, line={"width": 1.5, "color": BASELINE})
    fig.update_xaxes(range=[-0.6, len(xs) - 0.4])
    unit = {"n_users": "people", "variance": "variance"}.get(lines.axis, "ε =")
    rows = [
        {
            "comparison": f"{ALGORITHMS[a.algorithm].title}, {unit} {a.x:,g}, "
            f"{IDENTITY[a.one].title} − {IDENTITY[a.other].title}",
            "difference": a.difference.mean,
            "half_width_95_all_together": a.difference.half_width,
            "pairs": a.difference.pairs,
            "detected": a.difference.detected,
        }
        for a in apart
    ]
    return fig, pd.DataFrame(rows)


def _wins(apart: Sequence[Apart], equal: str) -> list[str]:
    """Say which mechanism is better in how many of its comparisons."""
    count, at = len(apart), f"At equal {equal}" if equal else "Here"
    won = Counter(a.better for a in apart if a.difference.detected)
    rest = count - won.total()
    if not won:
        fewest = min(a.difference.pairs for a in apart)
        few = f" with {fewest} repetitions, which tell little" if fewest < _FEW else ""
        return [f"{at}, no mechanism is significantly better than another{few} ({count} compared)."]
    took_part = Counter(m for a in apart for m in (a.one, a.other))
    most = max(won.values())
    best = [m for m in IDENTITY if won[m] == most]
    titles = " and ".join(IDENTITY[m].title for m in best)
    others = "; ".join(
        f"{IDENTITY[m].title} is better in {won[m]} of its {took_part[m]}"
        for m in IDENTITY
        if m in took_part and m not in best
    )
    verb, beyond = ("is", ", more than any other") if len(best) == 1 else ("are each", "")
    return [
        f"{at}, {titles} noise {verb} significantly better in {most} of {took_part[best[0]]} "
        f"comparisons{beyond}.",
        f"{others}{'; ' if others else ''}{rest or 'none'} of all {count} comparisons "
        f"show{'s' * (rest == 1)} no significant difference.",
    ]


def pair_sentences(apart: Sequence[Apart], axis: str, equal: str = "") -> list[str]:
    """How many differences there are at ``equal`` amounts, and the plain sentence of each pair."""
    if not apart:
        return ["A comparison needs two mechanisms and two repetitions."]
    unit = {"n_users": "with people =", "variance": "at variance"}.get(axis, "at ε =")
    side = "Below" if apart[0].difference.less_is_better else "Above"
    out = [
        *_wins(apart, equal),
        f"{side} 0 the first of the two is better; open marks: no difference detected. The "
        f"intervals (95 %) hold for all {len(apart)} comparisons together.",
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
                f"is {signed(widest.difference.mean, 4)} ± {widest.difference.half_width:.2g}: a "
                "difference beyond "
                f"{abs(widest.difference.mean) + widest.difference.half_width:.2g} is ruled out "
                "there, a smaller one is not."
            )
        else:
            clauses = "; ".join(
                f"{unit} {a.x:,g} {IDENTITY[a.better].title} is "
                f"better by {abs(a.difference.mean):.4f} ± {a.difference.half_width:.2g}"
                for a in detected
            )
            out.append(
                f"{title}: {clauses}"
                + ("" if len(detected) == len(members) else "; elsewhere no difference detected")
                + "."
            )
    return out


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
        still = {"line": steps.line(shape="hv"), "hoverinfo": "skip", "showlegend": False}
        curve(fig, steps, x, y, **still)
    baseline = [p.baseline for p in points if not math.isnan(p.baseline)]
    levels = {BEST.title: sum(baseline) / len(baseline)} if baseline else {}
    reach(fig.layout.xaxis, [p.epsilon or 0.0 for p in shown], 0.05)
    reach(fig.layout.yaxis, [*(p.mean for p in shown), *levels.values()], 0.08)
    named_lines(fig, (), levels)
    name_above(fig, hovermode="closest", margin={"t": 30})
    return fig, pd.DataFrame(
        [{**numbers_of("stated", p.epsilon or 0, p), "best_trade_off": p in best} for p in shown]
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
        summary = "; ".join(
            f"ε = {three(p.epsilon or 0)}: {ALGORITHMS[p.spec.card.name].title} with "
            f"{IDENTITY[p.spec.noise.mechanism].title} noise, {p.mean:.4f}"
            for p in line
        )
        standing = "nominal, no guarantee" if line[0].nominal else "a guarantee"
        out.append(
            f"For one {line[0].unit} ({standing}) at δ = {power(line[0].spec.noise.delta)}, "
            f"by their means nothing here is better than: {summary}."
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
            goals = {
                "no worse than the best baseline on the same data": [
                    {k: v - p.baselines[k] for k, v in p.values.items()} for p in points
                ]
            }
            if quiet:
                best = quiet[-1][1].values
                goals[f"within {100 * share:g} % of no noise with {sizes[-1]:,g} people"] = [
                    {k: v - (1 + share) * best[k] for k, v in p.values.items() if k in best}
                    for p in points
                ]
            for what, gaps in goals.items():
                if not set.intersection(*(set(gap) for gap in gaps)):
                    continue
                estimate = needed(sizes, gaps)
                rows.append(
                    {
                        "method": f"{ALGORITHMS[algorithm].title}, {IDENTITY[mechanism].title}",
                        "until its error is": what,
                        "people needed (median)": _people(estimate.n, sizes),
                        "range": (
                            f"{_people(estimate.low, sizes)} to {_people(estimate.high, sizes)}"
                        ),
                    }
                )
    return pd.DataFrame(rows)


def _people(n: float, sizes: Sequence[float]) -> str:
    if math.isinf(n):
        return f"more than {sizes[-1]:,g}"
    return f"{sizes[0]:,g} or fewer" if n == 0 else three(n)
