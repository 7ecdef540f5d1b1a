"""What a paper concludes from a table, judged by paired trials.

Sentences computed from stored trials for the conclusions that can be judged.
"""

from dataclasses import dataclass

import numpy as np

from dpmc_core.experiments.papers.compute import PaperResult
from dpmc_core.experiments.papers.entries import rows_of
from dpmc_core.experiments.papers.row import Row, phrases
from dpmc_core.metrics import Comparison


@dataclass(frozen=True)
class Contrast:
    """One way of doing it against another, over all ``settings`` that have both.

    In how many the first has ``lower`` or ``higher`` error (95 % for all together, Bonferroni), the
    ``pooled`` difference over settings, averaged in each trial, with an interval over trials, the
    printed mean difference, and in how many settings the printed difference lies outside our
    interval.
    """

    one: str
    other: str
    settings: int
    lower: int
    higher: int
    pooled: Comparison
    printed: float
    outside: int


def contrasts(entry: str, result: PaperResult) -> list[Contrast]:
    """Huber against Laplace and Gaussian noise in one algorithm.

    IRLS against ALS with Huber noise.
    """
    out = []
    for field, one, other, fixed in (
        ("mechanism", "huber", "laplace", {}),
        ("mechanism", "huber", "gaussian", {}),
        ("algorithm", "irls", "als", {"mechanism": "huber"}),
    ):
        pairs = _pairs(entry, field, one, other, fixed)
        steps = [_apart(result, a, b) for a, b in pairs]
        if not steps or min(len(s) for s in steps) < 2 or len({len(s) for s in steps}) > 1:
            # a trial that overflowed somewhere would be averaged over other settings than the rest
            continue
        each = [Comparison.of_runs(some, together=len(steps)) for some in steps]
        printed = [
            a.printed.value - b.printed.value
            for a, b in pairs
            if a.printed is not None and b.printed is not None
        ]
        off = (abs(p - c.mean) > c.half_width for p, c in zip(printed, each, strict=True))
        out.append(
            Contrast(
                one=one,
                other=other,
                settings=len(steps),
                lower=sum(c.better for c in each),
                higher=sum(c.worse for c in each),
                pooled=Comparison.of_runs(np.mean(steps, axis=0).tolist()),
                printed=float(np.mean(printed)),
                outside=sum(off),
            )
        )
    return out


def _pairs(
    entry: str, field: str, one: str, other: str, fixed: dict[str, str]
) -> list[tuple[Row, Row]]:
    rows = {
        row.id: row for row in rows_of(entry) if row.spec is not None and row.printed is not None
    }
    by_setting = {tuple(sorted(row.setting.items())): row for row in rows.values()}
    out = []
    for row in rows.values():
        if row.setting.get(field) == one and all(row.setting.get(k) == v for k, v in fixed.items()):
            match = by_setting.get(tuple(sorted({**row.setting, field: other}.items())))
            if match is not None:
                out.append((row, match))
    return out


def _apart(result: PaperResult, one: Row, other: Row) -> list[float]:
    a, b = result.row(one.id).by_trial, result.row(other.id).by_trial
    return [a[k] - b[k] for k in sorted(a.keys() & b.keys())]


def claims(entry: str, result: PaperResult | None) -> list[str]:
    """The contrasts of a table in words; empty where it has none."""
    if result is None:
        return []
    titles = {
        "huber": "Huber noise",
        "laplace": "Laplace noise",
        "gaussian": "Gaussian noise",
        "irls": "IRLS with Huber noise",
        "als": "ALS with Huber noise",
    }
    out = _against_itself(entry, result)
    for c in contrasts(entry, result):
        over_all = f"{c.pooled.mean:+.4f} ± {c.pooled.half_width:.2g} on average over settings"
        word = "no difference detected"
        if c.pooled.detected:
            word = f"{titles[c.one]} is {'better' if c.pooled.better else 'worse'}"
        one_by_one = (
            f"One by one, lower in {c.lower} of {c.settings}, higher in {c.higher}, not "
            f"significantly different in {c.settings - c.lower - c.higher} (95 % for all together)"
        )
        out.append(
            f"**{titles[c.one]} against {titles[c.other]}**, paired over trials: {over_all}: "
            f"{word}. {one_by_one}. The paper prints {c.printed:+.4f} on average; in "
            f"{c.outside} of {c.settings} settings its difference lies outside our interval."
        )
    return out


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
