"""How a table of ratings is probably meant, and what a person should be asked about it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.datasets.own.cells import NUMBERS, numbers
from dpmc_core.datasets.own.table_files import FEW, MARKS
from dpmc_core.datasets.own.tables import RatingsReading
from dpmc_core.wording import counted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["guess_ratings"]

# what tables write for "not rated" where every cell must hold a number
CODES = (99.0, 999.0, 9999.0, 99999.0, -1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0)
# beside them: what some write, too near to others to be passed over without a question
_PERHAPS = (*CODES, 9.0, 88.0, 98.0, -2.0, -8.0)
_COUNTS = re.compile(
    "(play|count|view|click|purchase|listen|visit|order|download|stream)s?([^a-z]|$)|"
    "^(times|quantity|qty|freq|number|amount)|_(cnt|num|qty)$"
)
_LOOKED_AT = 200  # rows by which columns are looked at first
_AT_ONCE = 1_000_000  # cells that are compared at once
_MOST_CONVERTED = 300  # columns of text whose numbers are looked at


def guess_ratings(frame: pd.DataFrame) -> tuple[RatingsReading, dict[str, str]]:
    """Which column is what, by their names first and by their values where names say nothing.

    With it, by field of the reading, a sentence about each guess that a person should look at: who
    is a user where no name says so, columns of counts and sums, and codes for "not rated".
    """
    reading, doubts = _roles(frame)
    if reading.layout == "long":
        values = numbers(frame[reading.value]).to_numpy()
        if _COUNTS.search(reading.value.lower()):
            doubts["value"] = (
                f"{reading.value!r} looks like counts: are these ratings? Counts have no scale, "
                "and a few large ones decide every error."
            )
    else:
        cells = _cells(frame, reading)
        sums = _summaries(cells)
        if sums:
            one = len(sums) == 1
            doubts["without"] = (
                f"{_listed(sums)} {'counts or sums' if one else 'count or sum'} up the other "
                f"columns: passed over. If {'it is an item' if one else 'they are items'}, take "
                f"{'it' if one else 'them'} out of the list of columns without ratings."
            )
            if reading.user in sums:
                reading = dataclasses.replace(reading, user="")
            reading = dataclasses.replace(reading, without=(*reading.without, *sums))
        values = cells.drop(columns=[c for c in sums if c in cells]).to_numpy().ravel()
    codes = _codes(values)
    if codes:
        rest = values[np.isfinite(values) & ~np.isin(values, codes)]
        said = " and ".join(f"{code:g}" for code in codes)
        times = int(np.isin(values, codes).sum())
        doubts["missing"] = (
            f"{said} {'stands' if len(codes) == 1 else 'stand'} in "
            f"{counted(times, 'cell', 'cells')}, far from all others ({rest.min():g} to "
            f"{rest.max():g}): read as “not rated”. If that is a rating, empty the list of codes."
        )
        reading = dataclasses.replace(reading, missing=codes)
    else:
        doubts |= _perhaps(values)
    return reading, doubts


def _perhaps(values: NDArray[np.float64]) -> dict[str, str]:
    """A question about a number at an end that could say "not rated", and is read as a rating."""
    rest = values[np.isfinite(values)]
    for end in (rest.max(), rest.min()) if rest.size else ():
        others = rest[rest != end]
        if end not in _PERHAPS or rest.size - others.size < 3 or not others.size:
            continue
        low, high = others.min(), others.max()
        if low < high and (max(end - high, low - end) >= (high - low) / 2 or end < 0 <= low):
            times = counted(int((rest == end).sum()), "cell", "cells")
            return {
                "missing": f"{end:g} stands in {times}, and all others are {low:g} to {high:g}: "
                "read as a rating. If it says “not rated”, name it as a code."
            }
    return {}


def _roles(frame: pd.DataFrame) -> tuple[RatingsReading, dict[str, str]]:
    columns = [str(c) for c in frame.columns]
    numeric = {c for c in columns[:FEW] if numbers(frame[c].head(_LOOKED_AT)).notna().mean() > 0.5}
    found: dict[str, str] = {}
    values = 0
    for what, marks in MARKS.items():
        named = [c for c in columns if _begins(c, marks) and c not in found.values()]
        if what == "value":
            named = [c for c in named if c in numeric]
            values = len(named)
        if named:
            found[what] = named[0]
    first = columns[0]
    a_rating_of_an_item = "item" in found and values == 1  # beside what else is known of it
    if (
        len(found) < 3
        and not a_rating_of_an_item
        and (len(columns) > 8 or (len(numeric) >= 4 and bool(frame[first].is_unique)))
    ):
        if _begins(first, MARKS["item"]) and "user" not in found:
            return RatingsReading(layout="turned", item=first), {
                "layout": f"Rows are taken as items and columns as users, because the first column "
                f"is {first!r}. What is protected is a user's: check it."
            }
        return _rows_of_users(frame, found.get("user", ""), first in numeric)
    by_name = set(found)
    free = [c for c in columns if c not in found.values()]
    if "value" not in found:
        few = [c for c in free if c in numeric and not _counts_up(frame[c])]
        # ratings take few values; times and ids take many
        found["value"] = (
            min(few, key=lambda c: (frame[c].nunique() < 2, frame[c].nunique()))
            if few
            else free[-1]
            if free
            else columns[-1]
        )
        free = [c for c in free if c != found["value"]]
    for what in ("user", "item"):
        if what not in found:
            found[what] = free.pop(0) if free else first
    reading = RatingsReading(
        layout="long", user=found["user"], item=found["item"], value=found["value"]
    )
    # of three columns the one that is left over is
    if "user" in by_name or frame.shape[1] < (4 if "item" in by_name else 3):
        return reading, {}
    return reading, {
        "user": f"No column says that it names users: {reading.user!r} is taken for users and "
        f"{reading.item!r} for items, by their order. What is protected is a user's: check it."
    }


def _rows_of_users(
    frame: pd.DataFrame, named: str, numeric: bool
) -> tuple[RatingsReading, dict[str, str]]:
    """A table with a row for each user: by which column, and what is not sure about that."""
    column = named or str(frame.columns[0])
    if numeric and not named and not _counts_up(frame[column]):
        return RatingsReading(layout="wide"), {}  # it is an item like the others
    reading = RatingsReading(layout="wide", user=column)
    if not frame[column].is_unique:
        if not named:
            reading = RatingsReading(layout="wide", without=(column,))
        taken = "rows with the same name are one user" if named else "each row is taken as one user"
        return reading, {
            "user": f"{column!r} says the same in several rows: {taken}. What is protected is a "
            "user's: check it."
        }
    if named or re.fullmatch(r"(unnamed.*|index|id|no|nr|row)?[^a-z]*", column.lower()):
        return reading, {}
    return reading, {
        "user": f"Each row is taken as one user, by {column!r}: no column says that it names "
        "users. What is protected is a user's: check it, and turn the table if rows are items."
    }


def _cells(frame: pd.DataFrame, reading: RatingsReading) -> pd.DataFrame:
    """The columns that hold numbers, those of text as numbers where they are few."""
    import pandas as pd

    named_by = reading.item if reading.layout == "turned" else ""
    held = {}
    for k, (name, kind) in enumerate(frame.dtypes.items()):
        if name == named_by:
            continue
        if kind.kind in NUMBERS:
            held[name] = frame[name].astype(np.float64)
        elif k < _MOST_CONVERTED:
            column = numbers(frame[name])
            if column.notna().any():
                held[name] = column
    return pd.DataFrame(held, index=frame.index)


def _summaries(cells: pd.DataFrame) -> tuple[str, ...]:
    """Columns that say how many of the others are rated, or what these add up to.

    In at least 98 of 100 rows, and not always the same; empty cells, zeros and codes count as not
    rated.
    """
    names, table = np.array(cells.columns, dtype=object), cells.to_numpy()
    if len(names) < 4 or len(table) < 5:
        return ()
    in_columns = [(table[:_LOOKED_AT] == code).any(axis=0).mean() for code in CODES]
    codes = [code for code, share in zip(CODES, in_columns, strict=True) if share > 0.25]
    some = _sum_up(table[:_LOOKED_AT], codes)
    if not some.any():
        return ()
    return tuple(str(name) for name in names[some & _sum_up(table, codes)][:20])


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


def _codes(values: NDArray[np.float64]) -> tuple[float, ...]:
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


def _begins(column: str, marks: Sequence[str]) -> bool:
    return re.sub("[^a-z]", "", column.lower()).startswith(tuple(marks))


def _counts_up(column: pd.Series) -> bool:
    """Whether every row has another number: an id or a row number, no rating."""
    return len(column) > 5 and bool(column.is_unique)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:8]) + (", …" if len(names) > 8 else "")
