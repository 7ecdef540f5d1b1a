"""What a paper concludes from a table, judged by paired trials.

Sentences computed from stored trials for the conclusions that can be judged.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpmc_core.arrays import FloatArray
from dpmc_core.experiments.papers.compute import PaperResult
from dpmc_core.experiments.papers.entries import rows_of
from dpmc_core.experiments.papers.row import Row, phrases
from dpmc_core.facts import facts
from dpmc_core.mechanisms import FAMILIES
from dpmc_core.metrics import Comparison
from dpmc_core.wording import signed


@dataclass(frozen=True)
class Contrast:
    """One way of doing it against another, over all ``settings`` that have both.

    In how many the first has ``lower`` or ``higher`` error (95 % for all together, Bonferroni), the
    ``pooled`` difference over settings, averaged in each trial, with an interval over trials, the
    printed mean difference, in how many settings the printed difference lies outside our
    interval, and how many least-squares solves of every item a pass takes (``solves``). NaN where
    nothing is printed.
    """

    one: str
    other: str
    settings: int
    lower: int
    higher: int
    pooled: Comparison
    printed: float
    outside: int
    solves: tuple[int, int]


_CONCLUSIONS = facts("papers/conclusions")
_HUBER, _LAPLACE, _GAUSSIAN = ({"mechanism": name} for name in ("huber", "laplace", "gaussian"))


def contrasts(entry: str, result: PaperResult) -> list[Contrast]:
    """The conclusions that the rows of a table can judge, each over all settings that have both.

    Pooled differences hold at 95 % for all of them together (Bonferroni).
    """
    able = []
    for contrast in _CONCLUSIONS["contrast"]:
        pairs = _pairs(entry, contrast["settings"], contrast["changes"])
        steps = [_apart(result, *pair) for pair in pairs]
        # a trial that overflowed somewhere would be averaged over other settings than the rest
        if steps and min(map(len, steps)) > 1 and len({*map(len, steps)}) == 1:
            able.append((contrast, pairs, steps))
    out = []
    for contrast, pairs, steps in able:
        each = [Comparison.of_runs(some, together=len(steps)) for some in steps]
        printed = _printed(pairs)
        off = (abs(p - c.mean) > c.half_width for p, c in zip(printed, each, strict=True))
        out.append(
            Contrast(
                one=contrast["one"],
                other=contrast["other"],
                settings=len(steps),
                lower=sum(c.better for c in each),
                higher=sum(c.worse for c in each),
                pooled=Comparison.of_runs(np.mean(steps, axis=0).tolist(), together=len(able)),
                printed=float(np.mean(printed)),
                outside=sum(off),
                solves=_solves(pairs[0]),
            )
        )
    return out


def _pairs(
    entry: str, settings: Mapping[str, str], changes: Mapping[str, str]
) -> list[tuple[Row, Row]]:
    """Rows with noise that have these ``settings``, each with the row that has ``changes`` besides
    its own.
    """
    rows = [
        row for row in rows_of(entry)
        if row.spec is not None and row.setting.get("mechanism", "none") != "none"
    ]  # fmt: skip
    by_setting = {frozenset(row.setting.items()): row for row in rows}
    out = []
    for row in rows:
        other = by_setting.get(frozenset({**row.setting, **changes}.items()))
        if other is not None and other is not row and settings.items() <= row.setting.items():
            out.append((row, other))
    return out


def _printed(pairs: list[tuple[Row, Row]]) -> list[float]:
    """The printed differences, NaN where a row has no printed number."""
    return [
        a.printed.value - b.printed.value if a.printed and b.printed else math.nan for a, b in pairs
    ]


def _solves(pair: tuple[Row, Row]) -> tuple[int, int]:
    """How often an item pass of each solves for every item: K times of IRLS, once of ALS."""
    one, other = (
        getattr(row.spec(0, 0).algorithm, "inner", 1) for row in pair if row.spec is not None
    )
    return one, other


def _apart(result: PaperResult, one: Row, other: Row) -> list[float]:
    return [a - b for a, b in result.pairs(one.id, other.id)]


def claims(entry: str, result: PaperResult | None) -> list[str]:
    """The contrasts of a table in words; empty where it has none."""
    if result is None:
        return []
    out = _against_itself(entry, result)
    for c in contrasts(entry, result):
        over_all = (
            f"{signed(c.pooled.mean, 4)} ± {c.pooled.half_width:.2g} on average over settings "
            "(95 % for all such sentences of a table together)"
        )
        word = "no difference detected"
        if c.pooled.detected:
            word = f"{c.one} is {'better' if c.pooled.better else 'worse'}"
        one_by_one = (
            f"One by one, lower in {c.lower} of {c.settings}, higher in {c.higher}, not "
            f"significantly different in {c.settings - c.lower - c.higher} (95 % for all together)"
        )
        printed = (
            f" The paper prints {signed(c.printed, 4)} on average; in {c.outside} of {c.settings} "
            "settings its difference lies outside our interval."
        ) * (not math.isnan(c.printed))
        one, other = c.solves
        cost = f" A pass makes {one} solves for every item, not {other}." * (one != other)
        out.append(
            f"**{c.one} against {c.other}**, paired over trials: {over_all}: "
            f"{word}. {one_by_one}.{printed}{cost}"
        )
    return out + _interactions(entry, result) + _lowest(entry, result) + _spreads(entry, result)


def _interactions(entry: str, result: PaperResult) -> list[str]:
    """By how much more each effect changes the error in one place than in another: the difference
    of paired differences, each averaged over settings in each trial.
    """
    able = []
    for one in _CONCLUSIONS["interaction"]:
        settings, changes, places = one["settings"], one["changes"], one["places"]
        both = [_pairs(entry, settings | place, changes) for _, place in places]
        steps = [[_apart(result, *pair) for pair in pairs] for pairs in both]
        trials = {len(one) for effect in steps for one in effect}
        if all(steps) and len(trials) == 1 and min(trials) > 1:
            means = [np.mean(effect, axis=0) for effect in steps]
            in_print = [float(np.mean(_printed(pairs))) for pairs in both]
            title = f"{one['what']}, {places[0][0]} against {places[1][0]}"
            able.append((title, means[0] - means[1], in_print[0] - in_print[1]))
    out = []
    for title, each, printed in able:
        c = Comparison.of_runs(each.tolist(), together=len(able))
        word = f"the difference is {'larger' if c.mean > 0 else 'smaller'} in the first"
        out.append(
            f"**{title}**, difference of paired differences: {signed(c.mean, 4)} ± "
            f"{c.half_width:.2g} (95 % for all such sentences of a table together): "
            f"{word if c.detected else 'no difference detected'}."
            + f" The paper prints {signed(printed, 4)}."
            * (not math.isnan(printed))
        )
    return out


def _lowest(entry: str, result: PaperResult) -> list[str]:
    """In how many settings each noise has the lowest mean error, here and as printed."""
    both = zip(_pairs(entry, _HUBER, _LAPLACE), _pairs(entry, _HUBER, _GAUSSIAN), strict=False)
    settings = [(huber, laplace, gaussian) for (huber, laplace), (_, gaussian) in both]

    def counts(error: Callable[[Row], float]) -> str:
        lowest = Counter(min(some, key=error).setting["mechanism"] for some in settings)
        return ", ".join(f"{FAMILIES[name].title} {n}" for name, n in lowest.most_common())

    if not settings:
        return []
    ours = counts(lambda row: result.row(row.id).mean)
    printed = ""
    if settings[0][0].printed:
        by_print = counts(lambda row: row.printed.value if row.printed else math.nan)
        printed = f"; as printed: {by_print}"
    return [
        f"**Lowest mean error** in {len(settings)} settings: {ours}{printed}. "
        "Settings share the data of their trials, and the sentences above say which differences "
        "are significant."
    ]


def _spreads(entry: str, result: PaperResult) -> list[str]:
    """How much the trials of a setting differ by Laplace noise, against Huber noise.

    The log ratio of standard deviations, averaged over settings; its interval by leaving out each
    trial in turn (jackknife), since settings share the data of their trials.
    """
    pairs = [
        [result.row(row.id).by_trial for row in pair] for pair in _pairs(entry, _LAPLACE, _HUBER)
    ]
    held = [set(one) for pair in pairs for one in pair]
    trials = sorted(set.intersection(*held)) if held else []
    n = len(trials)
    if n < 3 or len(pairs) < 2:
        return []
    values = np.array([[[one[k] for k in trials] for one in pair] for pair in pairs])

    def ratio(trials_of: FloatArray) -> float:
        laplace, huber = np.std(trials_of, axis=2, ddof=1).T
        return float(np.mean(np.log(laplace / huber)))

    if not np.std(values, axis=2).all():
        return []
    middle, left_out = ratio(values), [ratio(np.delete(values, k, axis=2)) for k in range(n)]
    error = math.sqrt((n - 1) * np.var(left_out))
    half = float(special.stdtrit(n - 1, 0.975)) * error
    low, mean, high = (f"{math.exp(middle + side * half):.2f}" for side in (-1, 0, 1))
    return [
        f"**Spread over trials**: with Laplace noise the standard deviation of errors is {mean} "
        f"times that with Huber noise (geometric mean of {len(pairs)} settings; 95 %: {low} to "
        f"{high}, by a jackknife over {n} trials)."
    ]


def _against_itself(entry: str, result: PaperResult) -> list[str]:
    """How far the mean of each row that is only drawn lies from its reference row's."""
    out = []
    for row in rows_of(entry):
        mine = result.row(row.id)
        if row.printed is None and row.reference is not None and mine.values:
            share = mine.mean / result.row(row.reference).mean - 1
            out.append(
                f"{phrases(row.setting, ('dataset', 'method'))}: {100 * share:+.2g} % against "
                "the same without noise."
            )
    return out
