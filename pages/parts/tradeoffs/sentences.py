"""What the curves of a sweep show, in sentences."""

import math
from collections.abc import Sequence

from dpmc_core.experiments.algorithms import ALGORITHMS
from dpmc_core.experiments.sweeps.tradeoff import Point
from dpmc_core.findings import NoiseEffect, Standings, noise_and_baseline
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
    best, algorithm, mechanism = min(
        candidates, key=lambda c: c[0].mean if c[0].less_is_better else -c[0].mean
    )
    where = _where(lines, x, best)
    noise, title = IDENTITY[mechanism].title, lowered(ALGORITHMS[algorithm].title)
    quiet, together = _quiet(lines, algorithm, x), len(candidates)
    standing = best.apart_from_baseline(together)
    if standing.pairs < 2:
        return f"{where}, {title} with {noise} noise has one repetition, which gives no interval."
    effect = None
    if quiet is not None and (change := best.minus(quiet, together)).pairs > 1 and quiet.mean:
        effect = NoiseEffect(change, quiet.mean)
    return f"{where}, {noise_and_baseline(noise, title, effect, standing)}."


def _at(lines: Lines, x: float) -> list[tuple[Point, str, str]]:
    """Find all private points at ``x``, with their algorithm and mechanism."""
    return [
        (p, a, m)
        for a in lines.algorithms
        for m, line in lines.noisy(a).items()
        for at, p in line
        if at == x
    ]


def _where(lines: Lines, x: float, best: Point) -> str:
    if lines.axis == "n_users":
        said = dict(best.settings).get("total_epsilon")
        return f"With {amount(x)} people" + (f" (total ε = {said:g})" if said else "")
    if lines.axis == "epsilon":
        return f"At {equal_amount(lines).replace('ε', f'ε = {amount(x)}')}"
    return f"At {equal_amount(lines)}{' ' if lines.axis == 'variance' else ' = '}{amount(x)}"


def _quiet(lines: Lines, algorithm: str, x: float) -> Point | None:
    line = lines.of.get((algorithm, "none"), [])
    return next((p for at, p in line if at == x or math.isnan(at)), None)


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
