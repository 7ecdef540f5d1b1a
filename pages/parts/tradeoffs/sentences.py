"""What the curves of a sweep show, in sentences."""

import math
from collections.abc import Sequence

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.sweeps.tradeoff import Point
from dpmc_core.wording import measured
from pages.parts.tradeoffs.charts import Lines, amount
from pages.parts.ui.looks import IDENTITY, lowered

_SPOKEN_OF = {"n_users": 4000.0, "variance": 2.0}  # the amount nearest to this; else ε = 5
_NONE = "No run with noise is finished yet."


def equal_amount(lines: Lines) -> str:
    """Name what noises have in common at one place of the axis, as "total ε"."""
    nominal = "nominal " * any(p.nominal for line in lines.of.values() for _, p in line)
    return {"epsilon": f"{nominal}ε per release", "variance": "variance"}.get(
        lines.axis, f"{nominal}total ε"
    )


def verdict(lines: Lines) -> str:
    """Say how the best private method stands against no noise and the baseline at one amount."""
    xs = sorted({x for a in lines.algorithms for line in lines.noisy(a).values() for x, _ in line})
    if not xs:
        return _NONE
    wanted = _SPOKEN_OF.get(lines.axis, 5.0)
    x = min(xs, key=lambda one: abs(math.log(one / wanted)))
    candidates = _at(lines, x)
    best, algorithm, mechanism = _best(candidates)
    where = _where(lines, x, best)
    noise, title = IDENTITY[mechanism].title, lowered(ALGORITHMS[algorithm].title)
    quiet = _quiet(lines, algorithm, x)
    cost = None if quiet is None else _cost(best, quiet, len(candidates))
    standing = _standing(best, len(candidates))
    if not standing:
        return f"{where}, {title} with {noise} noise has one repetition, which gives no interval."
    if cost is None:
        return f"{where}, {title} with {noise} noise is {standing}."
    still = " still" * (cost.startswith("adds") and standing.startswith("better"))
    return f"{where}, {noise} noise {cost} {title},{still} {standing}."


def _at(lines: Lines, x: float) -> list[tuple[Point, str, str]]:
    """Find all private points at ``x``, with their algorithm and mechanism."""
    return [
        (p, a, m)
        for a in lines.algorithms
        for m, line in lines.noisy(a).items()
        for at, p in line
        if at == x
    ]


def _best(candidates: Sequence[tuple[Point, str, str]]) -> tuple[Point, str, str]:
    return min(candidates, key=lambda c: c[0].mean if c[0].less_is_better else -c[0].mean)


def _where(lines: Lines, x: float, best: Point) -> str:
    if lines.axis == "n_users":
        said = dict(best.settings).get("total_epsilon")
        return f"With {amount(x)} people" + (f" (total ε = {said:g})" if said else "")
    if lines.axis == "epsilon":
        return f"At {equal_amount(lines).replace('ε', f'ε = {amount(x)}')}"
    return f"At {equal_amount(lines)}{' ' if lines.axis == 'variance' else ' = '}{amount(x)}"


def _cost(noisy: Point, quiet: Point, together: int) -> str | None:
    """What noise does to a method, on the same data and seeds, with a 95 % interval.

    ``noisy`` is the best of so many: the interval holds for all of them at once.
    """
    apart = noisy.minus(quiet, together)
    if apart.pairs < 2 or not quiet.mean:
        return None
    what = "error" if noisy.less_is_better else "recall"
    if not apart.detected:
        return f"has no significant effect on the {what} of"
    percent = 100 / quiet.mean
    said = f"{measured(percent * abs(apart.mean), percent * apart.half_width)} %"
    if apart.mean > 0:
        return f"adds {said} {what} to"
    return f"removes {said} of the {what} of"


def _quiet(lines: Lines, algorithm: str, x: float) -> Point | None:
    line = lines.of.get((algorithm, "none"), [])
    return next((p for at, p in line if at == x or math.isnan(at)), None)


def _standing(point: Point, together: int) -> str:
    apart = point.apart_from_baseline(together)
    return apart.than("the best baseline") if apart.pairs > 1 else ""


def against_baseline(lines: Lines) -> list[str]:
    """Say where each algorithm stands against the baseline."""
    out = []
    for algorithm in lines.algorithms:
        for mechanism, line in lines.noisy(algorithm).items():
            name = f"**{ALGORITHMS[algorithm].title}, {IDENTITY[mechanism].title} noise**"
            out.append(f"{name} {_everywhere(lines, line)}.")
    return out


def _everywhere(lines: Lines, line: Sequence[tuple[float, Point]]) -> str:
    known = [(x, d) for x, p in line if (d := p.against_baseline).pairs > 1]
    if not known:
        return "has one repetition, which gives no interval"
    won = [x for x, d in known if d.better]
    lost = [x for x, d in known if d.worse]
    if len(line) in (len(won), len(lost)):
        return f"is {'better' if won else 'worse'} than the best baseline everywhere it was run"
    said = [
        f"is better than the best baseline {_places(lines, won)}"
        if won
        else "is nowhere better than the best baseline"
    ]
    said += [f"is worse {_places(lines, lost)}"] if lost else []
    single, rest = len(line) - len(known), len(known) - len(won) - len(lost)
    unclear = f"; elsewhere ({rest} point{'s' * (rest > 1)}) not significantly different"
    alone = f"; {single} with one repetition, which gives no interval"
    return " and ".join(said) + unclear * (rest > 0 and bool(won or lost)) + alone * (single > 0)


def _places(lines: Lines, xs: Sequence[float]) -> str:
    said = ", ".join(map(amount, xs))
    return (
        f"with {said} people" if lines.axis == "n_users" else f"at {equal_amount(lines)} = {said}"
    )


def chosen_among(lines: Lines) -> str:
    """Say of how many the verdict speaks of the best, and what its intervals cover."""
    most = len(lines.of) - sum(mechanism == "none" for _, mechanism in lines.of)
    if most < 2:
        return ""
    return (
        f"The verdict is of the best of {most} methods by mean; its intervals hold for all "
        f"{most} at once."
    )
