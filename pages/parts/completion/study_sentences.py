"""What studies of completions show, in sentences: the verdict first."""

import math
from collections.abc import Sequence

from dpmc_core.experiments.skew import Skew
from dpmc_core.experiments.studies.engine import Point, StudyResult, from_where_on
from dpmc_core.wording import measured, three
from pages.parts.ui.looks import lowered

E = "error"  # the measure of these studies


def study_sentences(result: StudyResult) -> list[str]:
    """What a study's numbers show."""
    by_name = result.by_series
    if not result.baselines or not by_name:
        return []
    if result.spec.seeds == 1 or all(len(p.values[E]) < 2 for p in result.points):
        return [
            "One seed gives no interval: take more seeds to see which differences are significant."
        ]
    out = [_special(result, by_name)]
    if result.spec.kind == "people" and " falls " in out[0]:
        out.append("More people, same privacy, less error.")
    name, best = min(result.baselines.items(), key=lambda pair: pair[1])
    baseline = "the best baseline on the same ratings (" + (
        "which protects nobody)"
        if result.spec.kind == "people"
        else f"{name} means, {three(best)}, which protects nobody)"
    )
    return out + [
        _standing(line, points, baseline, result.spec.kind) for line, points in by_name.items()
    ]


def _standing(line: str, points: list[Point], baseline: str, kind: str) -> str:
    """Where a line stands against the best baseline, by paired differences over the seeds."""
    what = {"epsilon": "ε", "projection": "ε", "people": "users", "rank": "rank"}.get(kind, "β")

    def places(some: list[Point]) -> str:
        return ", ".join(f"{p.x:,.0f}" if p.x >= 100 else f"{p.x:g}" for p in some)

    won = [p for p in points if p.against_baseline.better]
    lost = [p for p in points if p.against_baseline.worse]
    if len(won) == len(points):
        return f"**{line}** is better than {baseline} throughout."
    if len(lost) == len(points):
        return f"**{line}** is worse than {baseline} throughout."
    if not won:
        where = f"; it is worse at {what} = {places(lost)}" if lost else ""
        return f"**{line}** is nowhere significantly better than {baseline}{where}."
    rest = f", worse at {places(lost)}" if lost else ""
    left = "" if len(won) + len(lost) == len(points) else "; elsewhere not significantly different"
    return f"**{line}** is better than {baseline} at {what} = {places(won)}{rest}{left}."


def _special(result: StudyResult, by_name: dict[str, list[Point]]) -> str:
    """The sentence that a study is made for, short enough for a verdict."""
    kind = result.spec.kind
    if kind == "epsilon":
        return _better_from(by_name)
    if kind == "people":
        return _more_people(by_name)
    if kind == "projection":
        return _least(by_name)
    what = "rank" if kind == "rank" else "β ="
    lines: dict[float, list[str]] = {}
    best = []
    for line, points in by_name.items():
        best.append(min(points, key=lambda p: p.mean(E)))
        lines.setdefault(best[-1].x, []).append(line)
    said = ", ".join(f"{x:g} ({'; '.join(names)})" for x, names in lines.items())
    return f"Least error is at {what} {said}{_beside(best)}."


def _beside(best: Sequence[Point]) -> str:
    """What the baseline says of the best points, where none is better than it."""
    apart = [p.against_baseline for p in best]
    if any(one.better for one in apart):
        return ""
    if all(one.worse for one in apart):
        return ", worse than the baseline"
    return ", not significantly better than the baseline"


def _better_from(by_name: dict[str, list[Point]]) -> str:
    """From which ε on each private line is better than the best baseline."""
    said, never = [], []
    private = {line: points for line, points in by_name.items() if not line.endswith("no noise")}
    for line, points in private.items():
        wins = [p.against_baseline.better for p in points]
        start = from_where_on(wins)
        if start is None:
            never.append(lowered(line))
        else:
            said.append((line, points[start].x))
    if not said:
        return f"Nothing here is significantly better than the best baseline: {', '.join(never)}."
    (line, x), *others = said
    more = [f"{lowered(name)} from {at:g}" for name, at in others]
    more += [f"{' and '.join(never)} nowhere"] if never else []
    return f"{line} is better than the best baseline from ε = {x:g} on{_commas(more)}."


def _commas(parts: Sequence[str]) -> str:
    return "".join(f", {part}" for part in parts)


def _more_people(by_name: dict[str, list[Point]]) -> str:
    line, points = next(iter(by_name.items()))
    first, last = points[0], points[-1]
    falls = last.mean(E) + _half(last) < first.mean(E) - _half(first)
    return (
        f"From {first.x:,.0f} to {last.x:,.0f} users at the same ε, the error of {lowered(line)} "
        f"{'falls' if falls else 'goes'} from {three(first.mean(E))} to {three(last.mean(E))}."
    )


def _least(by_name: dict[str, list[Point]]) -> str:
    """Which line has the least error where noise is most, if one significantly has."""
    lowest = {line: points[0] for line, points in by_name.items()}
    (line, best), *others = sorted(lowest.items(), key=lambda pair: pair[1].mean(E))
    where = f"With most noise (ε = {best.x:g})"
    if all(best.minus(other, E).better for _, other in others):
        least = measured(best.mean(E), _half(best))
        return f"{where}, projecting “{line}” has the least error, {least}{_beside([best])}."
    return f"{where}, no way of projecting has significantly less error than all others."


def _half(point: Point) -> float:
    return math.inf if math.isnan(point.half_width(E)) else point.half_width(E)


def skew_sentences(skews: Sequence[Skew], k: int) -> list[str]:
    """What the curves show."""
    top = {s.name: 100 * s.top for s in skews}
    out = [
        f"The most popular fifth of the items holds {top['all ratings']:.0f} % of all ratings; "
        f"of at most {k} a user, {top['uniform']:.0f} % if drawn evenly and "
        f"{top['adaptive']:.0f} % if everybody gives their rarest; with weights instead of "
        f"drawing, {top['all, by weights']:.0f} % of the squared weight."
    ]
    if top["uniform"] > top["all ratings"] + 0.5:
        out.append(
            "Drawing evenly makes the skew worse: quiet users, who mostly know popular items, "
            "count for more."
        )
    if top["adaptive"] < top["uniform"] - 0.5:
        out.append(
            "Less skew means that fewer ratings are spent on items that are known well anyway, "
            "and noise hurts less where it hurts most."
        )
    return out
