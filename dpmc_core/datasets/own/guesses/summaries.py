"""What stands beside the ratings of a table: codes for "not rated", columns and rows of sums."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.datasets.own.cells import normal
from dpmc_core.wording import counted

if TYPE_CHECKING:
    import pandas as pd

# what tables write for "not rated" where every cell must hold a number
CODES = (99.0, 999.0, 9999.0, 99999.0, -1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0)
# beside them: what some write, too near to others to be passed over without a question
_PERHAPS = (*CODES, 9.0, 88.0, 98.0, -2.0, -8.0)
_LOOKED_AT = 200  # rows by which columns are looked at first
_AT_ONCE = 1_000_000  # cells that are compared at once
_AT_ENDS = 3  # rows at either end of a table that may sum up the others
_TOTALS = re.compile(
    r"((grand|all|gesamt) ?)?(totals?|totale|totaal|sum|summe|gesamt|insgesamt|mean|average|avg|"
    r"durchschnitt|mittel(wert)?|moyenne|somme|suma|promedio|media|gemiddelde|mediana?|std|count|"
    r"anzahl|all)( (rating|score|bewertung|general))?s?:?",
    re.IGNORECASE,
)


def total_rows(names: pd.Series, cells: pd.DataFrame) -> tuple[str, ...]:
    """Names of rows at either end that say, or show, that they sum up the others."""
    values, last = cells.to_numpy(), len(cells) - 1
    found = []
    for k in sorted(
        {*range(_AT_ENDS), *range(last - _AT_ENDS + 1, last + 1)} & set(range(last + 1))
    ):
        name = normal(str(names.iloc[k]))
        others = np.delete(values, k, axis=0)
        some = np.isfinite(values[k]) & np.isfinite(others).any(axis=0)
        if _TOTALS.fullmatch(name):
            found.append(name)
        elif some.sum() >= 4 and len(others) > 3:
            mine, rest = values[k, some], others[:, some]
            with np.errstate(all="ignore"):
                ways = (np.nansum(rest, axis=0), np.isfinite(rest).sum(axis=0))
                same = any(np.isclose(mine, way, rtol=1e-6).all() for way in ways)
                same |= bool(
                    (np.abs(mine - np.nanmean(rest, axis=0)) < 0.006).all()
                    and (mine % 1 != 0).any()
                )
            if same and np.ptp(mine) > 0:
                found.append(name)
    return tuple(found)


def off_scale(cells: pd.DataFrame) -> tuple[str, ...]:
    """Columns most of whose numbers are far from where those of the other columns are."""
    values = cells.head(_LOOKED_AT).to_numpy()
    some = np.isfinite(values).any(axis=0)
    if some.sum() < 4:
        return ()
    low, middle, high = np.nanquantile(values[:, some], [0.1, 0.5, 0.9], axis=0)
    bottom, top = float(np.median(low)), float(np.median(high))
    room = max(top - bottom, 3.0)
    away = (middle > top + room) | (middle < bottom - room)
    if away.sum() > 0.3 * some.sum():
        return ()
    return tuple(str(name) for name in cells.columns[some][away])


def perhaps_codes(values: NDArray[np.float64]) -> tuple[float, str]:
    """A number at an end that could say "not rated" and is read as a rating, and a sentence about
    it ("": there is none).
    """
    rest = values[np.isfinite(values)]
    for end in (rest.max(), rest.min()) if rest.size else ():
        others = rest[rest != end]
        if end not in _PERHAPS or rest.size - others.size < 3 or not others.size:
            continue
        low, high = others.min(), others.max()
        if low < high and (max(end - high, low - end) >= (high - low) / 2 or end < 0 <= low):
            times = counted(int((rest == end).sum()), "cell", "cells")
            return float(end), (
                f"{end:g} stands in {times}, and all others are {low:g} to {high:g}: read as a "
                "rating. If it says “not rated”, name it as a code."
            )
    return 0.0, ""


def summaries(cells: pd.DataFrame) -> tuple[str, ...]:
    """Columns that say how many of the others are rated, or what these add up to.

    In at least 98 of 100 rows, and not always the same; empty cells, zeros and codes count as not
    rated.
    """
    names, table = np.array(cells.columns, dtype=object), cells.to_numpy()
    few = len(names) < 4 and not any(map(_TOTALS.fullmatch, map(str, names)))
    if few or len(table) < 5:
        return ()
    head = table[:_LOOKED_AT]
    in_columns = [(head == code).any(axis=0).mean() for code in CODES]
    codes = [code for code, share in zip(CODES, in_columns, strict=True) if share > 0.25]
    # one that is often there may be a rating as well
    for missing in (codes, *([code] for code in codes if len(codes) > 1)):
        some = _sum_up(head, missing)
        if some.any():
            return tuple(str(name) for name in names[some & _sum_up(table, missing)][:20])
    return ()


def _sum_up(table: NDArray[np.float64], codes: Sequence[float]) -> NDArray[np.bool_]:
    rows, columns = table.shape
    agreed, told, agreed_where_told = np.zeros((3, 4, columns))
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    with np.errstate(all="ignore"):  # numbers near the largest add up to infinity, which is none
        for block in np.array_split(table, max(1, table.size // _AT_ONCE)):
            low = np.fmin(low, np.fmin.reduce(block, axis=0))
            high = np.fmax(high, np.fmax.reduce(block, axis=0))
            for k, way in enumerate(_ways(block, codes)):
                same, telling = np.isclose(block, way, rtol=1e-3), way != 0
                agreed[k] += same.sum(axis=0)
                told[k] += telling.sum(axis=0)
                agreed_where_told[k] += (same & telling).sum(axis=0)
    # where hardly anything is rated nearly all columns agree, on nothing
    fits = (agreed >= 0.98 * rows) & (agreed_where_told >= np.maximum(0.98 * told, 5))
    return np.asarray(fits.any(axis=0) & (high > low))


def _ways(table: NDArray[np.float64], codes: Sequence[float]) -> Iterator[NDArray[np.float64]]:
    """What each cell would be if its column summed up the others: their number, the number of those
    that are not 0, their sum, their mean.
    """
    rated = np.isfinite(table) & ~np.isin(table, codes)
    kept = np.where(rated, table, 0.0)

    def others(one: NDArray[Any]) -> NDArray[np.float64]:
        return one.sum(axis=1, keepdims=True, dtype=np.float64) - one

    count, total = others(rated), others(kept)
    yield from (count, others(kept != 0), total, total / np.maximum(count, 1))


def codes_of(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Numbers at the ends that are usual codes for "not rated", often there and far from all
    others: farther away than these are from each other, or below 0 where no other number is.
    """
    rest = values[np.isfinite(values)]
    found: list[float] = []
    while rest.size and len(found) < 4:
        for end in (rest.max(), rest.min()):
            others = rest[rest != end]
            times = rest.size - others.size
            if end not in CODES or times < max(3, 0.002 * values.size) or not others.size:
                continue
            low, high = others.min(), others.max()
            if low == high:  # nothing would be left to learn from
                continue
            away = max(end - high, low - end)
            if away > max(high - low, 3) or (end < 0 <= low and high >= 3):
                found.append(float(end))
                rest = others
                break
        else:
            break
    return tuple(found)
