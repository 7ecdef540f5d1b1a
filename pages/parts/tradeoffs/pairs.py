"""Paired differences between noises: a sweep's points as a figure and sentences."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.metrics import Comparison
from dpmc_core.wording import signed
from pages.parts.tradeoffs.charts import AXIS, Lines, amount
from pages.parts.ui.figures import Drawn
from pages.parts.ui.looks import BASELINE, IDENTITY, LINES, Identity
from pages.parts.ui.series import Line, series_chart

_BESIDE = 0.22  # how far apart the pairs of one amount stand


_FEW = 5  # repetitions whose intervals are several times those of many


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
        return self.one if (self.difference.mean < 0) == self.less_is_better else self.other

    @property
    def less_is_better(self) -> bool:
        """True of errors, False of recall."""
        return self.difference.less_is_better


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
        apart = noisy[one][x].minus(noisy[other][x], len(found))
        if apart.pairs > 1:
            out.append(Apart(algorithm, one, other, x, apart))
    return out


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
        found = [a.difference for a in some]
        look = Identity(f"{IDENTITY[one].title} − {IDENTITY[other].title}", *LINES[k % len(LINES)])
        symbols = [look.marker if d.detected else f"{look.marker}-open" for d in found]
        trace = {
            "mode": "markers",
            "marker": look.mark(symbol=symbols, size=9, line={"width": 2, "color": look.colour}),
            "hovertemplate": "%{y:.4f} ± %{error_y.array:.4f}",
        }
        # side by side at each amount
        x = [xs.index(a.x) + _BESIDE * (k - (len(pairs) - 1) / 2) for a in some]
        y, halves = [d.mean for d in found], [d.half_width for d in found]
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
    said = "; ".join(
        f"{IDENTITY[m].title} is better in {won[m]} of its {took_part[m]}"
        for m in IDENTITY
        if m in took_part and m not in best
    )
    verb, beyond = ("is", ", more than any other") if len(best) == 1 else ("are each", "")
    return [
        f"{at}, {titles} noise {verb} significantly better in {most} of {took_part[best[0]]} "
        f"comparisons{beyond}.",
        f"{said}{'; ' if said else ''}{rest or 'none'} of all {count} comparisons "
        f"show{'s' * (rest == 1)} no significant difference.",
    ]


def pair_sentences(apart: Sequence[Apart], axis: str, equal: str = "") -> list[str]:
    """How many differences there are at ``equal`` amounts, and the plain sentence of each pair."""
    if not apart:
        return ["A comparison needs two mechanisms and two repetitions."]
    unit = {"n_users": "with people =", "variance": "at variance"}.get(axis, "at ε =")
    side = "Below" if apart[0].less_is_better else "Above"
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
            said = "; ".join(
                f"{unit} {a.x:,g} {IDENTITY[a.better].title} is "
                f"better by {abs(a.difference.mean):.4f} ± {a.difference.half_width:.2g}"
                for a in detected
            )
            out.append(
                f"{title}: {said}"
                + ("" if len(detected) == len(members) else "; elsewhere no difference detected")
                + "."
            )
    return out
