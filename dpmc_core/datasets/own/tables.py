"""Tables to ratings.

Lives here: CSV, TSV and Parquet to a table, a guess at which column is what, and from table and
columns to checked ``Ratings`` with an account of what was left out. Does not live here: other kinds
of data (``texts``, ``images``).
"""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpmc_core import limits
from dpmc_core.datasets.own.table_files import _FEW, _MARKS, LABEL
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.wording import counted

__all__ = ["RatingsReading", "guess_ratings", "ratings_of"]

LAYOUTS = {"long": "one rating a row", "wide": "one user a row, one item a column"}
ZEROS = {"missing": "missing", "rating": "a rating"}
TWICE = {"last": "the last counts", "first": "the first counts", "mean": "their mean counts"}
_NUMBERS = "iufb"  # kinds of NumPy's numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class RatingsReading:
    """How a table is read.

    ``layout`` "long": one rating a row, in the columns ``user``, ``item`` and ``value``; "wide":
    one user a row, named by the column ``user`` ("": by number), every other numeric column an
    item. ``zeros`` says whether a 0 is a rating, ``twice`` what counts where a user rates an item
    more than once, ``low`` and ``high`` are the ends of the rating scale (None: those of the file).
    """

    layout: str = "long"
    user: str = ""
    item: str = ""
    value: str = ""
    zeros: str = "rating"
    twice: str = "last"
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("layout", LAYOUTS), ("zeros", ZEROS), ("twice", TWICE)):
            if getattr(self, name) not in allowed:
                raise ParameterError(name, getattr(self, name), "one of " + ", ".join(allowed))
        for name in ("low", "high"):
            given = getattr(self, name)
            if given is None:
                continue
            try:
                number = float(given)
            except (TypeError, ValueError):
                number = float("nan")
            if not abs(number) <= 1e6:
                raise ParameterError(
                    name, given, "a number from -1000000 to 1000000, the end of the rating scale"
                )
            object.__setattr__(self, name, number)
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ParameterError("low", self.low, f"below high, which is {self.high:g}")


def guess_ratings(frame: pd.DataFrame) -> RatingsReading:
    """Which column is what, by their names first and by their values where names say nothing.

    Shown to the visitor, who corrects it.
    """
    columns = [str(c) for c in frame.columns]
    numeric = {c for c in columns[:_FEW] if _numbers(frame[c].head(200)).notna().mean() > 0.5}
    found: dict[str, str] = {}
    for what, marks in _MARKS.items():
        named = [
            c
            for c in columns
            if re.sub("[^a-z]", "", c.lower()).startswith(marks) and c not in found.values()
        ]
        if what == "value":
            named = [c for c in named if c in numeric]
        if named:
            found[what] = named[0]
    if len(found) < 3 and (
        len(columns) > 8 or (len(numeric) >= 4 and bool(frame[columns[0]].is_unique))
    ):
        first = columns[0]
        named_rows = found.get("user", "") or (
            first if first not in numeric or _counts_up(frame[first]) else ""
        )
        return RatingsReading(layout="wide", user=named_rows, zeros="rating")
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
            found[what] = free.pop(0) if free else columns[0]
    return RatingsReading(
        layout="long", user=found["user"], item=found["item"], value=found["value"]
    )


def ratings_of(
    file: str, frame: pd.DataFrame, reading: RatingsReading, title: str
) -> tuple[Ratings, tuple[str, ...]]:
    """The ratings of ``frame``, and sentences about what was left out and what stands in the file.

    Raises ``ParameterError`` for a column that is not there, ``DataError`` where fewer than ten
    ratings, two users or two items are left, a rating is outside the scale, or there are more than
    200,000 users or items.
    """
    rows = _long(frame, reading) if reading.layout == "long" else _wide(frame, reading)
    notes = []
    given, total = _numbers(rows["value"]), len(rows)
    blank = rows["value"].isna()
    if rows["value"].dtype.kind not in _NUMBERS:
        blank |= rows["value"].astype(str).str.strip() == ""
    broken = ~np.isfinite(given) & ~blank
    nobody = rows["user"].isna() | rows["item"].isna()
    if broken.any():
        first = int(np.argmax(broken.to_numpy()))
        said = ("value is no finite number and is", "values are no finite numbers and are")
        notes.append(
            f"{counted(int(broken.sum()), *said)} left out "
            f"(the first: {str(rows['value'].iloc[first])[:40]!r})."
        )
    commas = int(_decimal_commas(rows["value"]).sum())
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
            f"{int(blank.sum()):,} of {total:,} {cells} hold no rating: they count as not rated."
        )
    keep = ~(broken | blank | nobody)
    zero = keep & (given == 0)
    if reading.zeros == "missing" and zero.any():
        keep &= ~zero
        notes.append(f"{counted(int(zero.sum()), 'zero counts', 'zeros count')} as not rated.")
    elif zero.sum() > 0.3 * keep.sum():
        notes.append(
            f"{100 * zero.sum() / keep.sum():.0f} % of the ratings are 0, and count as ratings; "
            "if 0 says “not rated” here, choose that."
        )
    rows = pd.DataFrame(
        {
            "user": rows["user"][keep],
            "item": rows["item"][keep],
            "value": given[keep].astype(np.float64),
        }
    )
    rows, doubled = _once(rows, reading.twice)
    if doubled:
        notes.append(
            f"{doubled:,} ratings were of an item that the same user had rated already; "
            f"{TWICE[reading.twice]}."
        )
    users, user_names = _numbered(rows["user"])
    items, item_names = _numbered(rows["item"])
    for what, names in (("user", user_names), ("item", item_names)):
        if len(names) > limits.LIMITS[f"n_{what}s"].high:
            raise DataError(f"{file} names {len(names):,} {what}s; at most 200,000 are allowed.")
    if len(rows) < 10 or len(user_names) < 2 or len(item_names) < 2:
        raise DataError(
            f"{file} leaves {counted(len(rows), 'rating', 'ratings')} of "
            f"{counted(len(item_names), 'item', 'items')} by "
            f"{counted(len(user_names), 'user', 'users')} with the columns as chosen; at least "
            "10 ratings, 2 items and 2 users are needed." + "".join(f" {note}" for note in notes)
        )
    values = rows["value"].to_numpy(dtype=np.float64)
    least, most = float(values.min()), float(values.max())
    low = least if reading.low is None else reading.low
    high = most if reading.high is None else reading.high
    if least < low or most > high:
        raise DataError(
            f"{file}: ratings run from {least:g} to {most:g}, which is outside the scale of "
            f"{low:g} to {high:g} as chosen; widen the scale, or correct the column."
        )
    if low == high:
        raise DataError(
            f"{file}: every rating is {low:g}; there is nothing to learn. "
            + (
                f"Is {reading.value!r} the right column?"
                if reading.layout == "long"
                else "Is it one user a row?"
            )
        )
    if reading.low is None or reading.high is None:
        notes.append(
            f"The ends of the rating scale, {low:g} and {high:g}, were read off the data; "
            "private runs take them as public."
        )
    ratings = Ratings.checked(
        users, items, values, n_users=len(user_names), n_items=len(item_names), low=low, high=high,
        name=title, item_labels=item_names, user_labels=user_names,
    )  # fmt: skip
    return ratings, tuple(notes)


def _long(frame: pd.DataFrame, reading: RatingsReading) -> pd.DataFrame:
    if frame.shape[1] < 3:
        raise DataError(
            f"The table has {counted(frame.shape[1], 'column', 'columns')}; one rating a row "
            "takes three (who, what, how much), and one user a row a column for each item. Is "
            "it a file of documents?"
        )
    chosen = (reading.user, reading.item, reading.value)
    for what, column in zip(("user", "item", "value"), chosen, strict=True):
        _there(frame, what, column)
    if len(set(chosen)) < 3:
        raise ParameterError("user, item and value", ", ".join(chosen), "three different columns")
    return pd.DataFrame(
        {"user": frame[reading.user], "item": frame[reading.item], "value": frame[reading.value]}
    )


def _wide(frame: pd.DataFrame, reading: RatingsReading) -> pd.DataFrame:
    if reading.user:
        _there(frame, "user", reading.user)
    filled = frame.notna().any()
    items = [
        c
        for c, kind in frame.dtypes.items()
        if c != reading.user
        and filled[c]
        and (kind.kind in _NUMBERS or _numbers(frame[c]).notna().any())
    ]
    if not items:
        raise DataError("No column besides the users' holds a number; is this one rating a row?")
    across = frame[items]
    clean = all(kind.kind in _NUMBERS for kind in across.dtypes)
    # numbers of users and items, not their names: there may be thirty million cells
    users, named = pd.factorize(
        frame[reading.user] if reading.user else np.arange(1, len(frame) + 1)
    )
    return pd.DataFrame(
        {
            "user": pd.Categorical.from_codes(np.repeat(users, len(items)), named),
            "item": pd.Categorical.from_codes(np.tile(np.arange(len(items)), len(frame)), items),
            "value": across.to_numpy(np.float64 if clean else object).ravel(),
        }
    )


def _there(frame: pd.DataFrame, what: str, column: str) -> None:
    if column not in frame.columns:
        shown = ", ".join(str(c)[:40] for c in frame.columns[:12])
        raise ParameterError(
            what,
            column,
            f"one of the file's columns: {shown}{', …' if frame.shape[1] > 12 else ''}",
        )


def _once(rows: pd.DataFrame, twice: str) -> tuple[pd.DataFrame, int]:
    doubled = int(rows.duplicated(["user", "item"]).sum())
    if not doubled:
        return rows, 0
    if twice == "mean":
        return rows.groupby(["user", "item"], sort=False, as_index=False, observed=True)[
            "value"
        ].mean(), doubled
    return rows.drop_duplicates(
        ["user", "item"], keep="last" if twice == "last" else "first"
    ), doubled


def _numbered(ids: pd.Series) -> tuple[np.ndarray, tuple[str, ...]]:
    """Numbers from 0 in the order of the ids, and the ids as words."""
    if ids.dtype.kind == "f" and bool((ids % 1 == 0).all()):
        ids = ids.astype(np.int64)
    codes, known = pd.factorize(ids)
    again, words = pd.factorize(np.array([str(name).strip() for name in known], dtype=object))
    numbers = again[codes]
    plain = all(re.fullmatch("0|[1-9][0-9]*", word) for word in words)  # then 9 comes before 10
    order = sorted(
        range(len(words)), key=(lambda k: (len(words[k]), words[k])) if plain else words.__getitem__
    )
    place = np.empty(len(words), dtype=np.int64)
    place[order] = np.arange(len(words))
    return place[numbers], tuple(words[k][:LABEL] for k in order)


def _numbers(column: pd.Series) -> pd.Series:
    if column.dtype.kind in _NUMBERS:
        return column.astype(np.float64)
    if column.dtype.kind == "O" or pd.api.types.is_string_dtype(column):
        said = column.astype("str").str.strip().str.lower()
        if said.isin(["true", "false"]).any():
            column = said.map({"true": 1.0, "false": 0.0}).fillna(column)
    if column.dtype.kind in "mM":  # times would become nanoseconds
        return pd.Series(np.nan, index=column.index)
    if column.dtype.kind not in _NUMBERS:
        commas = _decimal_commas(column)
        if commas.any():
            column = column.where(~commas, column.astype("str").str.strip().str.replace(",", "."))
    try:
        found = pd.to_numeric(column, errors="coerce")
    except OverflowError:  # whole numbers of hundreds of digits
        found = column.map(_float)
    if found.dtype.kind == "c":
        return pd.Series(np.nan, index=column.index)
    return found.astype(np.float64)


def _decimal_commas(column: pd.Series) -> pd.Series:
    """Which cells are numbers with a comma before one or two decimals, as much of the world writes
    them; with three digits it would be a thousand.
    """
    if column.dtype.kind in _NUMBERS or column.dtype.kind in "mM":
        return pd.Series(False, index=column.index)
    return column.astype("str").str.fullmatch(r"\s*[-+]?\d+,\d{1,2}\s*").fillna(False).astype(bool)


def _counts_up(column: pd.Series) -> bool:
    """Whether every row has another number: an id or a row number, no rating."""
    return len(column) > 5 and bool(column.is_unique)


def _float(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("nan")
