"""What the curves of a sweep show, in sentences."""

import math
from collections.abc import Sequence

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.sweeps.tradeoff import Point, paired
from pages.parts.tradeoffs.charts import Lines, amount
from pages.parts.ui.figures import IDENTITY
from pages.parts.ui.names import lowered

__all__ = ["against_baseline", "verdict"]

_SPOKEN_OF = {"n_users": 4000.0, "variance": 2.0}  # the amount nearest to this; else ε = 5


def verdict(lines: Lines) -> str:
    """Say how the best private method stands against no noise and the baseline at one amount."""
    xs = sorted({x for a in lines.algorithms for line in lines.noisy(a).values() for x, _ in line})
    if not xs:
        return "No run with noise is finished yet."
    wanted = _SPOKEN_OF.get(lines.axis, 5.0)
    x = min(xs, key=lambda one: abs(math.log(one / wanted)))
    candidates = [
        (p, a, m)
        for a in lines.algorithms
        for m, line in lines.noisy(a).items()
        for at, p in line
        if at == x
    ]
    best, algorithm, mechanism = min(
        candidates, key=lambda found: found[0].mean if found[0].less_is_better else -found[0].mean
    )
    quiet = _quiet(lines, algorithm, x)
    cost = "" if quiet is None else _cost(best, quiet, len(candidates))
    where = {"n_users": f"With {amount(x)} people", "variance": f"At variance {amount(x)}"}.get(
        lines.axis, f"At ε = {amount(x)}"
    )
    name = f"{lowered(ALGORITHMS[algorithm].title)} with {IDENTITY[mechanism].title} noise"
    return f"{where}, {name}{cost}{' and' if cost else ''} {_standing(best)}."


def _cost(noisy: Point, quiet: Point, candidates: int) -> str:
    """What noise costs against none, on the same data and seeds, with a 95 % interval.

    ``noisy`` is the best of so many: the interval holds for all of them at once.
    """
    apart = paired(noisy, quiet, candidates)
    if apart is None or not quiet.mean:
        return ""
    if not apart.detected:
        return " costs no error that these runs could detect"
    percent = 100 / quiet.mean
    change = percent * apart.mean * (1 if noisy.less_is_better else -1)
    what = "error" if noisy.less_is_better else "recall"
    more = "more" if (change > 0) == noisy.less_is_better else "less"
    return f" costs {abs(change):.0f} ± {percent * apart.half_width:.1g} % {more} {what}"


def _quiet(lines: Lines, algorithm: str, x: float) -> Point | None:
    line = lines.of.get((algorithm, "none"), [])
    return next((p for at, p in line if at == x or math.isnan(at)), None)


def _standing(point: Point) -> str:
    apart = point.against_baseline
    if apart is None:
        return "has one repetition, which gives no interval"
    if not apart.detected:
        return "is not significantly different from the best baseline"
    better = (apart.mean < 0) == point.less_is_better
    return f"is {'better' if better else 'worse'} than the best baseline"


def against_baseline(lines: Lines) -> list[str]:
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
                    f"{name} is {'better' if won else 'worse'} than the best baseline "
                    "everywhere it was run."
                )
                continue
            said = (
                [f"is better than the best baseline {at(won)}"]
                if won
                else ["is nowhere better than the best baseline"]
            )
            said += [f"is worse {at(lost)}"] if lost else []
            out.append(
                f"{name} {', and '.join(said)}"
                + (
                    f"; elsewhere ({rest} point{'s' * (rest > 1)}) not significantly different."
                    if rest and (won or lost)
                    else "."
                )
            )
    return out
