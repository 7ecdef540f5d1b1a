"""Tables to ratings: how a table is read, and from its columns to checked ``Ratings`` with an
account of what was left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpmc_core import limits
from dpmc_core.datasets.own.cells import (
    NUMBERS,
    check_choices,
    coded,
    decimal_commas,
    is_number,
    listed,
    normal,
    not_rated,
    number,
    numbers,
    numbers_of,
)
from dpmc_core.datasets.own.given import Given
from dpmc_core.datasets.own.table_files import HEADERS, SEPARATORS
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.limits import Limit
from dpmc_core.wording import counted

if TYPE_CHECKING:
    import pandas as pd

LAYOUTS = {
    "long": "one rating a row",
    "wide": "one user a row, one item a column",
    "turned": "one item a row, one user a column",
}
_COLUMNS = ("user", "item", "value")
ZEROS = {"missing": "missing", "rating": "a rating"}
_USERS = Limit(2, 2_000_000_000, "users at most", integer=True, name="users")
# other words for how a text becomes a table
_SAME = {"true": "yes", "false": "no", "\\t": "tab"} | {m: name for name, m in SEPARATORS.items()}
LARGEST = 1e12  # ratings: their squares, and sums of these, are numbers to many digits
TWICE = {"last": "the last counts", "first": "the first counts", "mean": "their mean counts"}


@dataclass(frozen=True, kw_only=True)
class RatingsReading:
    """How a table is read.

    ``layout`` "long": one rating a row, in the columns ``user``, ``item`` and ``value`` ("": each
    row is a like); "wide": one user a row, named by the column ``user`` ("": by number), every
    other numeric column an item but the ``index`` of rows and those in ``without``; "turned": one
    item a row, named by the column ``item``, every other numeric column a user. ``totals`` names
    rows that sum up the others; of text ``header`` and ``separator`` say how it becomes a table
    ("": as it seems). ``zeros`` says whether a 0 is a rating, ``missing`` has the numbers
    that stand for "not rated", ``twice`` says what counts where a user rates an item more than
    once, ``low`` and ``high`` are the ends of the rating scale (None: those of the file), ``users``
    how many users there are at most (None: those of the file).
    """

    layout: str = "long"
    user: str = ""
    item: str = ""
    value: str = ""
    zeros: str = "rating"
    missing: tuple[float, ...] = ()
    without: tuple[str, ...] = ()
    twice: str = "last"
    low: float | None = None
    high: float | None = None
    users: int | None = None
    totals: tuple[str, ...] = ()
    index: str = ""
    header: str = ""
    separator: str = ""

    def __post_init__(self) -> None:
        for name in ("header", "separator"):
            given = str(getattr(self, name))
            object.__setattr__(self, name, _SAME.get(given.lower(), given))
        check_choices(
            self, layout=LAYOUTS, zeros=ZEROS, twice=TWICE,
            header=("", *HEADERS), separator=("", *SEPARATORS),
        )  # fmt: skip
        object.__setattr__(self, "missing", _codes(self.missing))
        for name in ("without", "totals"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        for name in ("low", "high"):
            given = getattr(self, name)
            if given is None:
                continue
            end = number(str(given)) if is_number(str(given)) else float("nan")
            if not abs(end) <= LARGEST:
                span = f"a number from {-LARGEST:g} to {LARGEST:g}, the end of the rating scale"
                raise ParameterError(name, given, span)
            object.__setattr__(self, name, end)
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ParameterError("low", self.low, f"below high, which is {self.high:g}")
        if self.users is not None:
            object.__setattr__(self, "users", int(_USERS.parse(self.users)))

    @property
    def given(self) -> Given:
        """What is known of the ratings before any is read."""
        return Given(low=self.low, high=self.high, users=self.users)


def ratings_of(
    file: str, frame: pd.DataFrame, reading: RatingsReading, title: str, fewest: int = 10
) -> tuple[Ratings, tuple[str, ...]]:
    """The ratings of ``frame``, and sentences about what was left out and what stands in the file.

    Raises ``ParameterError`` for a column that is not there, ``DataError`` where fewer than
    ``fewest`` ratings, or of several two users or two items, are left, or there
    are more than 200,000 users or items, or more users than stated.
    """
    import pandas as pd

    for column in reading.without:
        check_column(frame, "without", column)
    if reading.index not in ("", "none"):
        check_column(frame, "index", reading.index)
    rows = _long(frame, reading) if reading.layout == "long" else _across(frame, reading)
    notes = []
    given, total = numbers(rows["value"]), len(rows)
    blank = not_rated(rows["value"])
    broken = ~np.isfinite(given) & ~blank
    (users, user_names), (items, item_names) = coded(rows["user"]), coded(rows["item"])
    nobody = (users < 0) | (items < 0)
    if broken.any():
        phrases = ("value is no finite number and is", "values are no finite numbers and are")
        notes.append(
            f"{counted(int(broken.sum()), *phrases)} left out "
            f"(the first: {str(rows['value'][broken].iloc[0])[:40]!r})."
        )
    commas = int(decimal_commas(rows["value"]).sum())
    if commas:
        notes.append(f"{commas:,} ratings have a decimal comma, which is read as a point.")
    if nobody.any():
        notes.append(
            f"{counted(int(nobody.sum()), 'row names', 'rows name')} no user or no item and "
            f"{'is' if nobody.sum() == 1 else 'are'} left out."
        )
    if blank.any():
        cells = "cells" if reading.layout == "wide" else "rows"
        notes.append(
            f"{int(blank.sum()):,} of {total:,} {cells} hold no rating and are taken as not rated."
        )
    keep = ~(broken | blank | nobody)
    if reading.totals:
        down, names = (items, item_names) if reading.layout == "turned" else (users, user_names)
        named = {normal(name) for name in reading.totals}
        sums = np.isin(down, [k for k, name in enumerate(names) if name in named])
        keep &= ~sums
        notes.append(f"Rows that sum up others are passed over: {listed(reading.totals)}.")
    if reading.missing:
        codes = keep & given.isin(reading.missing)
        keep &= ~codes
        if codes.any():
            notes.append(
                f"{counted(int(codes.sum()), 'rating is', 'ratings are')} a code for “not rated” "
                f"({listed([f'{code:g}' for code in reading.missing])}): they are taken as not "
                "rated."
            )
    if reading.without and reading.layout != "long":
        notes.append(f"Passed over: {listed([*map(repr, reading.without)])}.")
    beyond = keep & (given.abs() > LARGEST)
    if beyond.any():
        raise DataError(
            f"{file}: a rating is {given[beyond].iloc[0]:g}; ratings must be numbers from "
            f"{-LARGEST:g} to {LARGEST:g}."
        )
    zero = keep & (given == 0)
    if reading.zeros == "missing" and zero.any():
        keep &= ~zero
        notes.append(f"{counted(int(zero.sum()), 'zero counts', 'zeros count')} as not rated.")
    elif zero.sum() > 0.3 * keep.sum():
        notes.append(
            f"{100 * zero.sum() / keep.sum():.0f} % of the ratings are 0 and are taken as ratings; "
            "if 0 says “not rated” here, choose that."
        )
    users, user_labels = _ordered(users[keep], user_names)
    items, item_labels = _ordered(items[keep], item_names)
    rows = pd.DataFrame({"user": users, "item": items, "value": given[keep].to_numpy()})
    pair = ["user", "item"]
    doubled = int(rows.duplicated(pair).sum())
    if doubled:
        rows = (
            rows.groupby(pair, sort=False, as_index=False)["value"].mean()
            if reading.twice == "mean"
            else rows.drop_duplicates(pair, keep=reading.twice)
        )
        notes.append(
            f"{doubled:,} ratings were of an item that the same user had rated already; "
            f"{TWICE[reading.twice]}."
        )
    places = max(len(user_labels), reading.users or 0)
    for what, count in (("user", places), ("item", len(item_labels))):
        if count > limits.LIMITS[f"n_{what}s"].high:
            raise DataError(f"{file}: {count:,} {what}s, where at most 200,000 are allowed.")
    several = min(fewest, 2)
    if len(rows) < fewest or len(user_labels) < several or len(item_labels) < several:
        raise DataError(
            f"{file} leaves {counted(len(rows), 'rating', 'ratings')} of "
            f"{counted(len(item_labels), 'item', 'items')} by "
            f"{counted(len(user_labels), 'user', 'users')} with the columns as chosen; at least "
            f"{counted(fewest, 'rating', 'ratings')}, {counted(several, 'item', 'items')} and "
            f"{counted(several, 'user', 'users')} are needed."
            + "".join(f" {note}" for note in notes)
        )
    users, items, values = (rows[name].to_numpy() for name in _COLUMNS)
    least, most = float(values.min()), float(values.max())
    public = reading.given
    low, high = public.scale(least, most)
    off = public.off(users, values)
    notes += public.check(file, len(user_labels), off, least, most)
    ratings = Ratings.checked(
        users, items, np.clip(values, low, high),
        n_users=places, n_items=len(item_labels), low=low, high=high,
        name=title, item_labels=item_labels, user_labels=user_labels,
    )  # fmt: skip
    return replace(ratings, public=public.public), tuple(notes)


def _long(frame: pd.DataFrame, reading: RatingsReading) -> pd.DataFrame:
    import pandas as pd

    if frame.shape[1] < (3 if reading.value else 2):
        raise DataError(
            f"The table has {counted(frame.shape[1], 'column', 'columns')}; one rating a row "
            "takes three (who, what, how much), and one user a row a column for each item. Is "
            "it a file of documents?"
        )
    chosen = (reading.user, reading.item, reading.value)
    for what, column in zip(_COLUMNS, chosen, strict=True):
        if column or what != "value":
            check_column(frame, what, column)
    if len(set(chosen)) < 3:
        raise ParameterError("user, item and value", ", ".join(chosen), "three different columns")
    values = frame[reading.value] if reading.value else 1.0
    return pd.DataFrame({"user": frame[reading.user], "item": frame[reading.item], "value": values})


def _across(frame: pd.DataFrame, reading: RatingsReading) -> pd.DataFrame:
    """A table with users or items ``down`` its rows and the others ``across`` its columns."""
    import pandas as pd

    down, across = ("user", "item") if reading.layout == "wide" else ("item", "user")
    named_by = str(getattr(reading, down))
    if named_by:
        check_column(frame, down, named_by)
    passed = {named_by, reading.index, *reading.without}
    able = frame[[c for c in frame.columns if c not in passed]]
    held = numbers_of(able).dropna(axis="columns", how="all")
    if not held.size:
        raise DataError(f"No column besides the {down}s' holds a number; is this one rating a row?")
    columns = list(held)
    # as they stand only where there is something to tell about them
    kinds = able.dtypes
    plain = all(
        kinds[c].kind in NUMBERS
        or ((held[c].notna() | not_rated(frame[c])).all() and not decimal_commas(frame[c]).any())
        for c in columns
    )
    cells = held if plain else frame[columns]
    # numbers of users and items, not their names: there may be thirty million cells
    rows, named = pd.factorize(frame[named_by] if named_by else np.arange(1, len(frame) + 1))
    long_columns = {
        down: pd.Categorical.from_codes(np.repeat(rows, len(columns)), named),
        across: pd.Categorical.from_codes(np.tile(np.arange(len(columns)), len(frame)), columns),
        "value": cells.to_numpy(np.float64 if plain else object).ravel(),
    }
    return pd.DataFrame({name: long_columns[name] for name in _COLUMNS})


def check_column(frame: pd.DataFrame, what: str, column: str) -> None:
    """Raise ``ParameterError`` unless the ``column`` that is to be ``what`` is in the table."""
    if column not in frame.columns:
        shown = listed([name[:40] for name in frame.columns], 12)
        raise ParameterError(what, column, f"one of the file's columns: {shown}")


def _codes(given: str | Iterable[object]) -> tuple[float, ...]:
    """Numbers, or their text with commas between them; raises ``ParameterError``."""
    words = given if isinstance(given, (tuple, list)) else str(given).split(",")
    codes = tuple(number(str(word)) for word in words if str(word).strip())
    if len(codes) > 20 or not all(abs(number) <= 1e12 for number in codes):
        raise ParameterError(
            "missing", str(given)[:80], "at most 20 numbers with commas between them, such as 99,-1"
        )
    return tuple(dict.fromkeys(codes))


def _names(what: str, given: str | Iterable[object]) -> tuple[str, ...]:
    """Names, or their text as a line of CSV."""
    try:
        words = next(csv.reader([given]), []) if isinstance(given, str) else given
    except csv.Error:
        of_what = "rows" if what == "totals" else "columns"
        raise ParameterError(
            what, str(given)[:80], f"names of {of_what} with commas between them"
        ) from None
    return tuple(str(word) for word in words if str(word))


def numbered(ids: pd.Series) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers from 0 in the order of the ids, and the ids as words."""
    return _ordered(*coded(ids))


def _ordered(codes: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers from 0 in the order of the names that are there, and these."""
    there = np.unique(codes)
    words = [names[k] for k in there]
    plain = all(re.fullmatch("0|[1-9][0-9]*", word) for word in words)  # then 9 comes before 10
    order = sorted(
        range(len(words)), key=(lambda k: (len(words[k]), words[k])) if plain else words.__getitem__
    )
    place = np.zeros(len(names), dtype=np.int64)
    place[there[order]] = np.arange(len(words))
    return place[codes], tuple(words[k] for k in order)
