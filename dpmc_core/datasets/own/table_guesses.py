"""How a table of ratings is meant, and what a person is asked where two readings are near."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.datasets.own.cells import NUMBERS, numbers, option_text
from dpmc_core.datasets.own.guesses.columns import column_of, role_of
from dpmc_core.datasets.own.guesses.delimited import Table
from dpmc_core.datasets.own.guesses.layouts import (
    CODES,
    Guess,
    Question,
    across,
    codes_of,
    listed,
    odd_ends,
    off_scale,
    one_a_row,
    summaries,
    total_rows,
)
from dpmc_core.datasets.own.tables import LAYOUTS, ZEROS, RatingsReading
from dpmc_core.wording import counted

if TYPE_CHECKING:
    import pandas as pd

FEW = 50  # columns whose names and values are looked at one by one
_MOST_CONVERTED = 300  # columns of text whose numbers are looked at
_ALIKE = 4  # columns whose names differ in their numbers only
_ZEROS = 0.1  # share of the ratings: more is asked about
_NAMED = 6  # numbers at most in one sentence


def guess_ratings(
    table: Table, given: Mapping[str, Any] | None = None
) -> tuple[RatingsReading, tuple[Question, ...]]:
    """Which column is what, by names and values (``columns``), with what is ``given`` of the
    reading; and a question wherever another reading is near, or a wrong one would be harmful.

    The layout is the one whose columns fit better: a user, an item and a rating of which no pair is
    there twice, or many columns of ratings beside one that names rows.
    """
    given = dict(given or {})
    frame = table.frame
    # "film 1", "film 2" … are names of items, and none says "an item"
    stem, index = _common_stem(frame.columns), str(given.get("index", ""))
    looked_at = [
        name for k, name in enumerate(map(str, frame.columns))
        if name != index and (k < FEW or role_of(name)[0] == "user")
    ]  # fmt: skip
    columns = [column_of(name, frame[name]) for name in looked_at[: 2 * FEW]]
    for k, one in enumerate(columns):
        if stem and _stem(one.name) == stem:
            columns[k] = dataclasses.replace(one, role="")
        elif index == "none":
            columns[k] = dataclasses.replace(one, rising=False)
    layouts = list(LAYOUTS)
    if "layout" in given:
        layouts = [given["layout"]]
    elif len(columns) < 2 or given.get("value"):
        layouts = ["long"]
    elif given.get("item"):
        layouts = ["long", "turned"]
    guesses = sorted(
        (
            one_a_row(frame, columns, given)
            if layout == "long"
            else across(columns, layout, given)
            for layout in layouts
        ),
        key=lambda guess: -guess.score,
    )  # fmt: skip
    best, *others = guesses
    asked = list(best.asked)
    near = [one.reading.layout for one in others if best.score - one.score < 2]
    if near:
        question = f"The table is read as {LAYOUTS[best.reading.layout]}; it could as well be "
        question += " or ".join(LAYOUTS[layout] for layout in near) + ": check it."
        asked = [one for one in asked if one.field != "layout"]
        asked.append(Question("layout", question, (best.reading.layout, *near)))
    if index not in ("", "none"):
        best = dataclasses.replace(best, reading=dataclasses.replace(best.reading, index=index))
    reading, more = _beside(table, best)
    low, high = given.get("low"), given.get("high")
    if low is not None and high is not None and "missing" not in given:
        # where the scale is given, nobody's ratings decide what says "not rated"
        codes = tuple(code for code in CODES if not low <= code <= high)
        reading = dataclasses.replace(reading, missing=codes)
        more = [question for question in more if question.field != "missing"]
    for name, choices in table.near.items():
        what = "separator of cells" if name == "separator" else "first line as names of columns"
        text = f"The {what} is taken as {choices[0]!r}, and could be {choices[1]!r}: check it."
        asked.append(Question(name, text, choices))
    reading = dataclasses.replace(reading, header=table.header, separator=table.separator)
    return reading, tuple(one for one in (*asked, *more) if one.field not in given)


def columns_of(frame: pd.DataFrame, reading: RatingsReading) -> dict[str, str]:
    """The column of each role: user, item, rating, time and row number, as far as there is one."""
    found = {"user": reading.user, "item": reading.item, "rating": reading.value}
    columns = [column_of(str(c), frame[c]) for c in frame.columns[:FEW]]
    free = [one for one in columns if one.name not in found.values()]
    found["time"] = next((one.name for one in free if one.times), "")
    numbered = reading.index or next((one.name for one in free if one.row_number), "")
    found["row number"] = "" if numbered == "none" else numbered
    return {role: name for role, name in found.items() if name}


def _beside(table: Table, guess: Guess) -> tuple[RatingsReading, list[Question]]:
    """The reading with what is no rating left out: rows and columns of sums, and codes."""
    frame, reading = table.frame, guess.reading
    asked: list[Question] = []
    key = reading.item if reading.layout == "turned" else reading.user
    passed = {key, reading.index, *reading.without}
    names = {reading.value} if reading.layout == "long" else {*frame.columns} - passed
    able = [
        name for k, (name, kind) in enumerate(frame.dtypes.items())
        if name in names and (k < _MOST_CONVERTED or kind.kind in NUMBERS)
    ]  # fmt: skip
    cells = frame[able].apply(numbers).dropna(axis="columns", how="all")
    totals: tuple[str, ...] = ()
    if key in frame.columns:
        # in a long table only names tell: a row says one number
        totals = total_rows(frame[key], cells)
    if totals:
        asked.append(
            Question(
                "totals",
                f"The rows {listed(totals)} seem to sum up the others: passed over. If they are "
                f"{'items' if reading.layout == 'turned' else 'users'}, empty the list of totals.",
                (option_text(totals), ""),
            )
        )
        reading = dataclasses.replace(reading, totals=totals)
        cells = cells[~frame[key].astype("str").str.strip().isin(totals)]
    if reading.layout != "long":
        sums = summaries(cells)
        rest = cells.drop(columns=list(sums))
        stem = _common_stem(rest.columns)
        others = {*off_scale(rest), *(c for c in rest.columns if stem and _stem(c) != stem)}
        away = tuple(c for c in rest.columns if c in others)
        away = away if len(away) < len(rest.columns) / 2 else ()
        cells = rest.drop(columns=list(away))
        reasons = (
            (guess.about, "by what their names say"),
            (sums, "counts or sums up the other columns"),
            (away, "unlike most columns in name or numbers"),
        )
        said = [f"{listed(part)} {why}: passed over." for part, why in reasons if part]
        every = (*reading.without, *sums, *away)
        near = [tuple(c for c in every if c not in part) for part, _ in reasons]
        none = tuple(c for c in every if c not in {*guess.about, *sums, *away})
        if every != none:
            said.append("If ratings are there, take it out of the list of columns without ratings.")
            choices = dict.fromkeys(map(option_text, (every, *near, none)))
            asked.append(Question("without", " ".join(said), tuple(choices)))
        reading = dataclasses.replace(reading, without=every)
    values = cells.to_numpy(dtype=np.float64).ravel()
    codes = codes_of(values)
    held = values[np.isfinite(values) & ~np.isin(values, codes)]
    ends = odd_ends(held)
    texts = []
    if codes:
        texts.append(
            f"{_standing(values, codes)}, far from all others ({_span(held)}): read as “not "
            "rated”. If that is a rating, empty the list of codes."
        )
    elif held.size and held.min() == 0 and (held == 0).mean() > _ZEROS and len(np.unique(held)) > 3:
        text = (
            f"{100 * (held == 0).mean():.0f} % of the ratings are 0 and are taken as ratings: check"
        )
        asked.append(Question("zeros", f"{text} whether 0 says “not rated”.", tuple(ZEROS)[::-1]))
    if ends:
        place = int(np.isin(values, ends).argmax()) // cells.shape[1]
        row = int(cells.index[place])
        where = f"line {table.first + row}" if table.first else f"row {row + 1}"
        others = held[~np.isin(held, ends)]
        texts.append(
            f"{_standing(values, ends)}, first in {where}; all others are {_span(others)}. Read as "
            f"ratings, such cells make the scale {_span(held)}, by which private runs scale their "
            "noise. If they are slips or say “not rated”, name them as codes."
        )
    if texts:
        choices = dict.fromkeys(map(option_text, (codes, (*codes, *ends), ())))
        asked.append(Question("missing", " ".join(texts), tuple(choices)))
    return dataclasses.replace(reading, missing=codes), asked


def _standing(values: NDArray[np.float64], some: Sequence[float]) -> str:
    """That ``some`` numbers are among the ``values``, and how often."""
    times = counted(int(np.isin(values, some).sum()), "cell", "cells")
    listed = [f"{number:g}" for number in some[:_NAMED]]
    listed += [f"{len(some) - _NAMED} more numbers"] * (len(some) > _NAMED)
    shown = " and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))
    return f"{shown} {'stands' if len(some) == 1 else 'stand'} in {times}"


def _span(values: NDArray[np.float64]) -> str:
    return f"{values.min():g} to {values.max():g}"


def _common_stem(names: Iterable[str]) -> str | None:
    """What many names are without their numbers."""
    stems = Counter(filter(None, map(_stem, names)))
    return next((stem for stem, times in stems.most_common(1) if times >= _ALIKE), None)


def _stem(name: str) -> str | None:
    """A name without its numbers; None where it has none."""
    stem = re.sub(r"\d+", "#", name)
    return stem if stem != name else None
