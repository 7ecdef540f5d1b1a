"""How a table of ratings is meant, and what a person is asked where two readings are near.

How well it fits each layout, by which of its columns; which rows, columns and numbers are no
ratings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import BoolArray, FloatArray, IntArray
from dpmc_core.datasets.own.cells import NUMBERS, listed, normal, numbers_of, option_text
from dpmc_core.datasets.own.columns import Column, column_of, role_of
from dpmc_core.datasets.own.table_files import Table
from dpmc_core.datasets.own.tables import LAYOUTS, ZEROS, RatingsReading, check_column
from dpmc_core.wording import counted

if TYPE_CHECKING:
    import pandas as pd

FEW = 50  # columns whose names and values are looked at one by one
_MOST_CONVERTED = 300  # columns of text whose numbers are looked at
_ALIKE = 4  # columns whose names differ in their numbers only
_ZEROS = 0.1  # share of the ratings: more is asked about
_NAMED = 6  # numbers at most in one sentence
_NEAR = 1.2  # between two scores: less is asked about
_PAIRS = 5_000  # rows in which pairs of a user and an item are looked at
_FEW_ITEMS = "Each row is taken as one user and each of few columns as an item: check it."
_CHECK = "What is protected is a user's: check it"
# what tables write for "not rated" where every cell must hold a number
CODES = (99.0, 999.0, 9999.0, 99999.0, -1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0)
# beside them: what some write, too near to others to be passed over without a question
_PERHAPS = (*CODES, 9.0, 88.0, 98.0, -2.0, -8.0)
_LOW_ENDS, _HIGH_ENDS = (0.0, 0.5, 1.0), (5.0, 7.0, 10.0, 100.0)  # of usual scales
_RARE = 10  # times as many stand at the usual end
_NEAR_LEVELS = 3.0  # between two ratings: what is nearer is never far
_FEW_SLIPS, _RARE_SLIPS = 8, 0.01  # different ones; the share of cells of more than these
_LOOKED_AT = 200  # rows by which columns are looked at first
_AT_ONCE = 1_000_000  # cells that are compared at once
_MEAN = 3  # which of the ways to sum up is that
_AT_ENDS = 3  # rows at either end of a table that may sum up the others
_TOTALS = re.compile(
    r"((grand|all|gesamt) ?)?(totals?|totale|totaal|sum|summe|gesamt|insgesamt|mean|average|avg|"
    r"durchschnitt|mittel(wert)?|moyenne|somme|suma|promedio|media|gemiddelde|mediana?|std|count|"
    r"anzahl|all)( (rating|score|bewertung|general))?s?:?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Question:
    """What a person should look at: a ``field`` of the reading, a sentence, and the values of it
    that are near, the one that is taken first.
    """

    field: str
    text: str
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The sentence, and how to say which it is."""
        options = " or ".join(f"{self.field}={short(one)}" for one in self.choices[:8])
        return f"{self.text} (--read {options})" if self.choices else self.text


@dataclass(frozen=True)
class Guess:
    """A reading, how well it fits, and what is to be asked about it."""

    score: float
    reading: RatingsReading
    questions: tuple[Question, ...]
    about: tuple[str, ...] = ()  # columns that are passed over and might be ratings


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
    named = [str(given[what]) for what in ("user", "item", "value") if given.get(what)]
    looked_at = [
        name for k, name in enumerate(frame.columns)
        if name in named or (name != index and (k < FEW or role_of(name)[0] == "user"))
    ]  # fmt: skip
    few = [*looked_at[: 2 * FEW], *(name for name in looked_at[2 * FEW :] if name in named)]
    columns = [column_of(name, frame[name]) for name in few]
    for k, one in enumerate(columns):
        if stem and _stem(one.name) == stem:
            columns[k] = replace(one, role="")
        elif index == "none":
            columns[k] = replace(one, rising=False)
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
    best = guesses[0]
    questions = list(best.questions)
    near = [one.reading.layout for one in guesses if best.score - one.score < 2]
    if near[1:]:
        question = f"The table is read as {LAYOUTS[near[0]]}; it could as well be "
        question += " or ".join(LAYOUTS[layout] for layout in near[1:]) + ": check it."
        questions = [one for one in questions if one.field != "layout"]
        questions.append(Question("layout", question, tuple(near)))
    if index not in ("", "none"):
        best = replace(best, reading=replace(best.reading, index=index))
    reading, more = _beside(table, best)
    low, high = given.get("low"), given.get("high")
    if low is not None and high is not None and "missing" not in given:
        # where the scale is given, nobody's ratings decide what says "not rated"
        given["missing"] = tuple(code for code in CODES if not low <= code <= high)
        reading = replace(reading, missing=given["missing"])
    for name, choices in table.near.items():
        what = "separator of cells" if name == "separator" else "first line as names of columns"
        text = f"The {what} is taken as {choices[0]!r}, and could be {choices[1]!r}: check it."
        questions.append(Question(name, text, choices))
    reading = replace(reading, header=table.header, separator=table.separator)
    return reading, tuple(one for one in (*questions, *more) if one.field not in given)


def columns_of(frame: pd.DataFrame, reading: RatingsReading) -> dict[str, str]:
    """The column of each role: user, item, rating, time and row number, as far as there is one."""
    roles = {"user": reading.user, "item": reading.item, "rating": reading.value}
    columns = [column_of(c, frame[c]) for c in frame.columns[:FEW]]
    free = [one for one in columns if one.name not in roles.values()]
    roles["time"] = next((one.name for one in free if one.times), "")
    numbered = reading.index or next((one.name for one in free if one.row_number), "")
    roles["row number"] = "" if numbered == "none" else numbered
    return {role: name for role, name in roles.items() if name}


def _beside(table: Table, guess: Guess) -> tuple[RatingsReading, list[Question]]:
    """The reading with what is no rating left out: rows and columns of sums, and codes."""
    frame, reading = table.frame, guess.reading
    questions: list[Question] = []
    key = reading.item if reading.layout == "turned" else reading.user
    passed = {key, reading.index, *reading.without}
    names = {reading.value} if reading.layout == "long" else {*frame.columns} - passed
    able = [
        name for k, (name, kind) in enumerate(frame.dtypes.items())
        if name in names and (k < _MOST_CONVERTED or kind.kind in NUMBERS)
    ]  # fmt: skip
    cells = numbers_of(frame[able]).dropna(axis="columns", how="all")
    # in a long table only names tell: a row says one number
    totals = total_rows(frame[key], cells) if key in frame.columns else ()
    if totals:
        questions.append(
            Question(
                "totals",
                f"The rows {listed([*map(short, totals)])} seem to sum up the others: passed over. "
                f"If they are {'items' if reading.layout == 'turned' else 'users'}, empty the list "
                "of totals.",
                (option_text(totals), ""),
            )
        )
        reading = replace(reading, totals=totals)
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
        sentences = [
            f"{listed([*map(short, part)])} {why}: passed over." for part, why in reasons if part
        ]
        every = (*reading.without, *sums, *away)
        if sentences:
            sentences.append(
                "If ratings are there, take it out of the list of columns without ratings."
            )
            choices = dict.fromkeys(
                option_text(tuple(c for c in every if c not in part))
                for part in ((), guess.about, sums, away, (*guess.about, *sums, *away))
            )
            questions.append(Question("without", " ".join(sentences), tuple(choices)))
        reading = replace(reading, without=every)
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
            f"{100 * (held == 0).mean():.0f} % of the ratings are 0 and are taken as ratings: "
            "check whether 0 says “not rated”."
        )
        questions.append(Question("zeros", text, tuple(ZEROS)[::-1]))
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
        questions.append(Question("missing", " ".join(texts), tuple(choices)))
    return replace(reading, missing=codes), questions


def _standing(values: FloatArray, some: Sequence[float]) -> str:
    """That ``some`` numbers are among the ``values``, and how often."""
    times = counted(int(np.isin(values, some).sum()), "cell", "cells")
    listed = [f"{number:g}" for number in some[:_NAMED]]
    listed += [f"{len(some) - _NAMED} more numbers"] * (len(some) > _NAMED)
    shown = " and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))
    return f"{shown} {'stands' if len(some) == 1 else 'stand'} in {times}"


def _span(values: FloatArray) -> str:
    return f"{values.min():g} to {values.max():g}"


def _common_stem(names: Iterable[str]) -> str | None:
    """What many names are without their numbers."""
    stems = Counter(filter(None, map(_stem, names)))
    return next((stem for stem, times in stems.most_common(1) if times >= _ALIKE), None)


def _stem(name: str) -> str | None:
    """A name without its numbers; None where it has none."""
    stem = re.sub(r"\d+", "#", name)
    return stem if stem != name else None


def one_a_row(frame: pd.DataFrame, columns: Sequence[Column], given: Mapping[str, Any]) -> Guess:
    """One rating a row: the user, item and rating that fit best together."""
    import pandas as pd

    roles: Any = {name: str(given[name]) for name in ("user", "item", "value") if name in given}
    places = {one.name: k for k, one in enumerate(columns)}
    by_name = {one.name: one for one in columns}
    numbered = {one.name: pd.factorize(frame[one.name].head(_PAIRS))[0] for one in columns}

    @cache
    def pair(user: str, item: str) -> float:
        users, items = by_name[user], by_name[item]
        both = numbered[user] * np.int64(_PAIRS) + numbered[item]
        again = users.distinct < users.rows > items.distinct
        # two columns of small numbers may be ratings, where neither says what it is
        again &= not all(one.small and not one.role for one in (users, items))
        alone = users.unique and users.rows > 5  # nobody rates two
        return 3.0 * again - 4.0 * alone - 8.0 * (1 - len(np.unique(both)) / len(both))

    def able(field: str, role: str) -> list[str]:
        if field in roles:
            return [roles[field]]
        return sorted(by_name, key=lambda name: -by_name[name].score(role))[:6]

    def scored(user: str, item: str, value: str) -> float:
        if (
            not {user, item} <= by_name.keys()
            or len({user, item, value}) < 3
            # who says which column is a user has not said that the user's is an item
            or any(
                roles and role not in roles and by_name[name].score(role) < -3
                for role, name in (("user", user), ("item", item))
            )
        ):
            return -99.0
        much = by_name[value].score("rating") if value in by_name else -1.0
        order = 0.2 * (places[user] < places[item]) + 0.1 * (places[item] < places.get(value, 99))
        fits = by_name[user].score("user") + by_name[item].score("item") + much
        return fits + pair(user, item) + order

    if roles.get("value"):
        check_column(frame, "value", roles["value"])
    values = able("value", "rating")
    # a file without ratings says who liked what
    rated = any(
        one.role == "rating" or (len(columns) == 3 and one.score("rating") >= 0) for one in columns
    )
    if "value" not in roles and not rated:
        values.append("")
    every = {
        names: scored(*names)
        for names in product(able("user", "user"), able("item", "item"), values)
    }
    ranked = sorted(every, key=lambda one: -every[one])
    user, item, value = ranked[0]
    score = every[ranked[0]]
    # many columns as ratings are speak for another layout
    alike = sum(one.small and one.role not in ("other", "time", "row") for one in columns)
    if score <= -99:
        if not roles:
            first, last = columns[0].name, columns[-1].name
            return Guess(-50.0, RatingsReading(user=first, item=last, value=last), ())
        usual = one_a_row(frame, columns, {})
        return replace(usual, reading=replace(usual.reading, **roles))
    near = [names for names in ranked if score - every[names] < _NEAR]
    users, items, values = (list(dict.fromkeys(names)) for names in zip(*near, strict=True))
    questions = []
    # of three columns the one that is left over is
    if by_name[user].role != "user" and len(columns) > 2 + (by_name[item].role == "item"):
        others = (one.name for one in columns if one.score("user") > -5 and one.name != value)
        text = (
            f"No column says that it names users: {short(user)} is taken for users and "
            f"{short(item)} for items, by their order. {_CHECK}."
        )
        questions.append(Question("user", text, tuple(dict.fromkeys((*users, item, *others)))))
    elif users[1:]:
        questions.append(Question("user", _which("users", users), tuple(users)))
    items = [name for name in items if not (questions and name == user)]
    if items[1:]:
        questions.append(Question("item", _which("items", items), tuple(items)))
    numeric = (one.name for one in columns if one.score("rating") > -4)
    choices = tuple(dict.fromkeys((*values, *(n for n in numeric if n not in (user, item)))))
    text = ""
    if not value:
        text = (
            "No column holds ratings: each row is taken as a like, and likes alone teach nothing. "
            "If a column holds ratings, name it."
        )
    elif by_name[value].role == "count":
        text = (
            f"{short(value)} looks like counts: are these ratings? Counts have no scale, and a few "
            "large ones decide every error."
        )
    elif values[1:] or (by_name[value].score("rating") < 1 and len(columns) > 3):
        text = _which("ratings", choices)
    if text:
        questions.append(Question("value", text, choices))
    reading = RatingsReading(user=user, item=item, value=value)
    return Guess(score - 0.5 * min(max(alike - 3, 0), 8), reading, tuple(questions))


def _which(what: str, near: Sequence[str]) -> str:
    others = " or ".join(short(name) if name else "none" for name in near[1:5])
    hint = f"; it could be {others}" if others else ", for want of a better one"
    return f"{short(near[0])} is taken for {what}{hint}: check it."


def across(columns: Sequence[Column], layout: str, given: Mapping[str, Any]) -> Guess:
    """A row for each user ("wide") or item ("turned"): by which column, and which are ratings."""
    role = "user" if layout == "wide" else "item"
    key, questions = _key(columns, role, given)
    chosen = next((one for one in columns if one.name == key), None)
    rest = [one for one in columns if one.name != key]
    members = [
        one for one in rest
        if one.numeric > 0.5 and not one.times and not one.row_number
        and one.role not in ("other", "time", "row", role)
    ]  # fmt: skip
    ids = [one.name for one in rest if one.row_number]
    times = [one.name for one in rest if one.times or one.role == "time"]
    about = [
        one.name for one in rest
        if one not in members and one.numeric > 0 and one.name not in (*ids, *times)
    ]  # fmt: skip
    score = sum(1.0 if one.score("rating") >= 1 else 0.5 for one in members[:8])
    of_items = chosen is not None and chosen.role == "item"
    if chosen is not None:
        fits = chosen.role == role
        score += 2 * chosen.unique + fits
        score -= 2 * (not fits) * ((chosen.role not in ("", "row")) + (not chosen.unique))
    if layout == "turned":
        score -= 6 * (not of_items)
        text = (
            f"Rows are taken as items and columns as users, because the first column is "
            f"{short(key)}. What is protected is a user's: check it."
        )
        questions = [Question("layout", text, ("turned", "wide"))]
    else:
        score -= 4 * of_items
        if len(members) < 3:
            questions.append(Question("layout", _FEW_ITEMS, ("wide", "long")))
    score -= 2 * (len(columns) < 4) + 20 * (len(members) < 2)
    named: Any = {role: key, "index": ids[0] if ids else "", "without": (*times, *ids[1:], *about)}
    reading = RatingsReading(layout=layout, **named)
    return Guess(score, reading, tuple(questions), tuple(about))


def _key(
    columns: Sequence[Column], role: str, given: Mapping[str, Any]
) -> tuple[str, list[Question]]:
    """The column that names rows ("": they are numbered), and what is not sure about that."""
    if role in given:
        return str(given[role]), []
    able = [one for one in columns if not one.times and one.filled > 0.5]
    named = [one for one in able if one.role == role]
    if named:
        one = max(named, key=lambda one: (one.unique, one.of_id))
        if one.unique or role == "item":
            return one.name, []
        rows = f"{short(one.name)} says the same in several rows: rows with the same name are one "
        return one.name, [Question("user", f"{rows}user. {_CHECK}.", (one.name, ""))]
    words = [one for one in able if not one.row_number and one.length <= 60]
    words.sort(key=lambda one: (one.role != "row", one.role == "other"))
    text = [one.name for one in words if one.numeric < 0.5]
    unique = [one for one in words if one.unique and (one.numeric < 0.5 or one.whole)]
    numbers = [one.name for one in able if one.row_number]
    if unique and (unique[0] is columns[0] or unique[0].numeric < 0.5):
        near = dict.fromkeys((*(one.name for one in unique), *text, *numbers))
        sure = unique[0].of_id and len(near) == 1 and unique[0].name.lower() != "name"
        near[""] = None
    else:
        near = dict.fromkeys((numbers[0] if numbers else "", *text))
        sure = not text
    key = next(iter(near))
    if sure:
        return key, []
    by = f"by {short(key)}: no column says that it names users" if key else "by its number"
    by += f", as {short(text[0])} says the same in several rows" if text and not key else ""
    return key, [
        Question(
            "user",
            f"Each row is taken as one user, {by}. {_CHECK}, and turn the table if rows are items.",
            tuple(near),
        )
    ]


def short(name: str) -> str:
    """Return a column's name in quotes, at most 60 characters of it."""
    return repr(name if len(name) <= 60 else name[:59] + "…")


def total_rows(names: pd.Series, cells: pd.DataFrame) -> tuple[str, ...]:
    """Names of rows at either end that say, or show, that they sum up the others."""
    values, rows = cells.to_numpy().T, range(len(cells))
    shown = _sum_up(values, ()) if len(values) >= 4 and len(rows) > 4 else np.zeros(len(rows))
    ends = sorted({*rows[:_AT_ENDS], *rows[-_AT_ENDS:]})
    labels = {k: normal(str(names.iloc[k])) for k in ends}
    return tuple(name for k, name in labels.items() if shown[k] or _TOTALS.fullmatch(name))


@np.errstate(all="ignore")  # between numbers near the largest lies infinity
def off_scale(cells: pd.DataFrame) -> tuple[str, ...]:
    """Columns most of whose numbers are far from where those of the other columns are."""
    values = cells.head(_LOOKED_AT)
    some = np.isfinite(values.to_numpy()).any(axis=0)
    if some.sum() < 4:
        return ()
    low, middle, high = values.loc[:, some].quantile([0.1, 0.5, 0.9]).to_numpy()
    bottom, top = float(np.median(low)), float(np.median(high))
    room = max(top - bottom, 3.0)
    away = (middle > top + room) | (middle < bottom - room)
    if away.sum() > 0.3 * some.sum():
        return ()
    return tuple(cells.columns[some][away])


@np.errstate(all="ignore")  # numbers near the largest differ by infinity, which is far
def odd_ends(values: FloatArray) -> tuple[float, ...]:
    """Numbers at the ends that could be slips or say "not rated", and widen the scale: farther from
    the others than these are from each other, next to a usual end and rare beside it, or codes.
    """
    values = values[np.isfinite(values)]
    some = values[:: max(1, values.size // _AT_ONCE)]  # and whatever is beyond these
    if not some.size:
        return ()
    beyond = values[(values < some.min()) | (values > some.max())]
    levels, times = np.unique(np.r_[some, beyond], return_counts=True)
    first, last = _joined(levels, times)
    inner = levels[first : last + 1]
    away = np.setdiff1d(levels, inner)
    # between 0 and all others may be a low rating
    away = away[(away <= 0) | (away > inner[-1]) | (inner[-1] > max(_HIGH_ENDS))]
    share = np.isin(some, away).mean()
    slips = share < (0.25 if len(away) <= _FEW_SLIPS else _RARE_SLIPS)
    odd = set(away.tolist()) if slips and len(inner) > 1 else set()
    for end, near, others in ((first, first + 1, inner[1:]), (last, last - 1, inner[:-1])):
        if len(others) < 2:
            continue
        number, beside = levels[end], levels[near]
        far = abs(number - beside) >= np.ptp(others) / 2 or number < 0 <= others[0]
        usual = beside in (_LOW_ENDS if end == first else _HIGH_ENDS)
        if (number in _PERHAPS and far) or (usual and times[near] >= _RARE * times[end]):
            odd.add(float(number))
    return tuple(sorted(odd))


def _joined(levels: FloatArray, times: IntArray) -> tuple[int, int]:
    """The places of the ends of what no gap parts from the middle half of all."""
    quarters = np.searchsorted(np.cumsum(times), times.sum() * np.array([0.25, 0.5, 0.75]))
    first, middle, last = (int(place) for place in quarters)
    apart = np.diff(levels)
    up = apart[last:] > np.maximum(levels[last:-1] - levels[first], _NEAR_LEVELS)
    if levels[first] > 0:  # of counts a few are large: a gap is as wide as the step before it
        up &= levels[last + 1 :] * levels[middle] > levels[last:-1] ** 2
    last += int(up.argmax()) if up.any() else len(up)
    down = apart[:first] > np.maximum(levels[last] - levels[1 : first + 1], _NEAR_LEVELS)
    return int(np.flatnonzero(down)[-1]) + 1 if down.any() else 0, last


def summaries(cells: pd.DataFrame) -> tuple[str, ...]:
    """Columns that say, or show, how many of the others are rated, or what these add up to.

    In at least 98 of 100 rows, and not always the same; empty cells, zeros and codes count as not
    rated.
    """
    names, table = np.array(cells.columns, dtype=object), cells.to_numpy()
    named = tuple(name for name in names if _TOTALS.fullmatch(normal(name)))
    if (len(names) < 4 and not named) or len(table) < 5:
        return named
    head = table[:_LOOKED_AT]
    in_columns = [(head == code).any(axis=0).mean() for code in CODES]
    codes = [code for code, share in zip(CODES, in_columns, strict=True) if share > 0.25]
    # one that is often there may be a rating as well
    for missing in (codes, *([code] for code in codes if len(codes) > 1)):
        some = _sum_up(head, missing)
        if some.any():
            shown = names[some & _sum_up(table, missing)][:20]
            return tuple(dict.fromkeys((*named, *shown)))
    return named


def _sum_up(table: FloatArray, codes: Sequence[float]) -> BoolArray:
    rows, columns = table.shape
    agreed, n_telling, agreed_where_telling = np.zeros((3, 4, columns))
    low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
    with np.errstate(all="ignore"):  # numbers near the largest add up to infinity, which is none
        whole = ~(table[:_LOOKED_AT] % 1 > 0).any(axis=0)
        # a mean of whole numbers may have one decimal, another one two
        rounded = np.where(whole, 0.0, 0.051 if whole.mean() > 0.5 else 0.0051)
        for block in np.array_split(table, max(1, table.size // _AT_ONCE)):
            low = np.fmin(low, np.fmin.reduce(block, axis=0))
            high = np.fmax(high, np.fmax.reduce(block, axis=0))
            for k, way in enumerate(_ways(block, codes)):
                same, telling = np.isclose(block, way, rtol=1e-3), way != 0
                if k == _MEAN:  # of whole numbers alone it may be a column like the others
                    same = (same & ~whole) | (np.abs(block - way) < rounded)
                agreed[k] += same.sum(axis=0)
                n_telling[k] += telling.sum(axis=0)
                agreed_where_telling[k] += (same & telling).sum(axis=0)
    # where hardly anything is rated nearly all columns agree, on nothing
    fits = (agreed >= 0.98 * rows) & (agreed_where_telling >= np.maximum(0.98 * n_telling, 5))
    return np.asarray(fits.any(axis=0) & (high > low))


def _ways(table: FloatArray, codes: Sequence[float]) -> Iterator[FloatArray]:
    """What each cell would be if its column summed up the others: their number, the number of those
    that are not 0, their sum, their mean.
    """
    rated = np.isfinite(table) & ~np.isin(table, codes)
    filled = np.where(rated, table, 0.0)

    def others(one: NDArray[Any]) -> FloatArray:
        return one.sum(axis=1, keepdims=True, dtype=np.float64) - one

    count, total = others(rated), others(filled)
    yield from (count, others(filled != 0), total, total / np.maximum(count, 1))


def codes_of(values: FloatArray) -> tuple[float, ...]:
    """Numbers at the ends that are usual codes for "not rated", often there and far from all
    others: farther away than these are from each other, or below 0 where no other number is.
    """
    rest = values[np.isfinite(values)]
    codes: list[float] = []
    while rest.size and len(codes) < 4:
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
                codes.append(float(end))
                rest = others
                break
        else:
            break
    return tuple(codes)
