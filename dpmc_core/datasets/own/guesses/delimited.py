"""Text with separators as a data frame of text: what separates, what quotes, where the table begins
and whether its first line has names.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise, zip_longest
from typing import TYPE_CHECKING, Any

from dpmc_core.datasets.own.cells import is_number, number
from dpmc_core.datasets.own.guesses.columns import role_of
from dpmc_core.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {
    "comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "colons": "::", "blank": " "
}  # fmt: skip
HEADERS = {"yes": "names of columns", "no": "values"}
_IN_FOR_COLONS = "\x1f"  # one character, where two separate
_HEAD, _LONG_HEAD, _LINES = 200_000, 5_000_000, 200  # characters, lines by which it is chosen
_COMMENTS = ("#", "%", "//", "sep=")  # the last for spreadsheets
FEW = 50  # columns: what these hold stays text, whatever it is


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A file's ``frame``; of text its ``separator`` and whether it has a ``header``, of both the
    choices that are ``near``, and ``notes`` about lines that were passed over. Each row is one line
    of the file from its line ``first`` on (0: they are not).
    """

    frame: pd.DataFrame
    separator: str = ""
    header: str = ""
    near: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    first: int = 0


@dataclass(frozen=True, kw_only=True)
class _Form:
    """How lines fall into cells: all of them into ``across``, or the ``share`` that does."""

    separator: str
    quoted: bool
    across: int
    share: float
    typed: int


_ADVICE = (
    "put quotes around a cell that holds the separator, as a decimal comma may be, and close each, "
    "or choose another separator."
)


def parse(file: str, text: str, separator: str = "", header: str = "") -> Table:
    """The table in ``text``, with the ``separator`` and ``header`` given ("": as they seem to be).

    The separator is the one that gives every line the same number of cells, and quotes are letters
    where they would spoil that. All cells of the first fifty columns are text.

    Raises ``DataError`` that names the first line with too many cells.
    """
    names = (separator,) if separator else tuple(SEPARATORS)
    head = text[: _HEAD if text.count("\n", 0, _HEAD) > 9 else _LONG_HEAD]
    ways = (True, False) if '"' in head else (True,)
    forms = [_form(head, name, quoted, len(text) > len(head)) for name in names for quoted in ways]
    best = max(forms, key=_fit)
    near = tuple(
        dict.fromkeys(
            form.separator
            for form in forms
            if form.share == best.share == 1
            and form.typed == best.typed > 0
            and form.across > 1
            and (form is best or form.separator != "blank")
        )
    )
    text, mark = _single(text, best.separator)
    quoted, widest = _quotes(text, mark, best)
    if not widest:
        _refuse(file, text, mark, quoted, len(text), best.across)
        raise DataError(f"{file} holds no row; a table with at least one is needed.")
    ends, rows = zip(*islice(_rows(text, mark, quoted), _LINES), strict=True)
    begin = _begin(rows, best.across)
    first, below = rows[begin], rows[begin + 1 :]
    names_of_rows = len(first) == best.across - 1 and begin + 1 < len(rows)
    seems, sure = ("yes", True) if names_of_rows else _headed(first, below)
    headed = (header or seems) == "yes"
    trailing = all(not row[-1] for row in below)
    if names_of_rows:
        first = [*first, ""] if trailing else ["", *first]
    skip = ends[begin] if headed else (ends[begin - 1] if begin else 0)
    if widest > best.across:
        _refuse(file, text, mark, quoted, skip, best.across)
    try:
        frame = _frame(text, mark, quoted, skip, best.across, below if headed else rows[begin:])
    except ValueError as error:  # pandas' own are
        if "EOF inside string" not in str(error):
            raise
        line = _refuse(file, text, mark, quoted, skip, best.across)
        raise DataError(
            f"{file}: a quote is opened in line {line} and never closed: close it, or take it out."
        ) from None
    if headed and names_of_rows and not trailing and frame.iloc[:, 0].duplicated().any():
        raise DataError(
            f"{file}: line {ends[begin + 1]} has {best.across} cells and the heading "
            f"{best.across - 1}: name every column, or {_ADVICE}"
        )
    if headed:
        frame.columns = [cell.strip().strip('"') or f"Unnamed: {k}" for k, cell in enumerate(first)]
    notes = []
    if begin:
        lines = "line before the table was" if begin == 1 else "lines before the table were"
        notes.append(f"{begin} {lines} passed over (the first: {rows[0][0][:40]!r}).")
    if not quoted:
        line = text[: text.index('"')].count("\n") + 1
        notes.append(
            f"Quotes are read as letters: not all are in pairs (the first: line {line}). A name "
            "with one too many is another name: if that is a slip, correct the file."
        )
    choices = {}
    if len(near) > 1 and not separator:
        choices["separator"] = near
    if not sure and not header:
        choices["header"] = (seems, "no" if headed else "yes")
    read_as = {"separator": best.separator, "header": "yes" if headed else "no"}
    in_lines = text.rstrip().count("\n") + 1 - skip == len(frame)
    line = skip + 1 if in_lines else 0
    return Table(frame=frame, **read_as, notes=tuple(notes), near=choices, first=line)


def _single(text: str, separator: str) -> tuple[str, str]:
    """The text with one character between cells, and that."""
    if separator == "colons":
        return text.replace("::", _IN_FOR_COLONS), _IN_FOR_COLONS
    if separator == "blank":
        lines = (line.strip(" \t\r\n") for line in io.StringIO(text, newline=""))
        return "\n".join(re.sub(" +", " ", line) for line in lines), " "
    return text, SEPARATORS[separator]


def _rows(text: str, mark: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """The rows that hold something, each with the number of the line in which it ends."""
    # lines end at LF, CRLF and CR, and nowhere else
    reader = csv.reader(io.StringIO(text, newline=""), **_marks(mark, quoted))
    return ((reader.line_num, row) for row in reader if any(map(str.strip, row)))


def _marks(mark: str, quoted: bool) -> dict[str, Any]:
    """As the csv module and pandas both call it."""
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    return {"delimiter": mark, "quoting": quoting, "skipinitialspace": True}


def _form(head: str, separator: str, quoted: bool, cut: bool) -> _Form:
    """How the first lines fall into cells."""
    head, mark = _single(head, separator)
    across, share, typed = 1, 0.0, 0
    rows: list[list[str]] = []
    with suppress(csv.Error):  # those before it tell enough
        rows.extend(row for _, row in islice(_rows(head, mark, quoted), _LINES))
    rows = rows[:-1] if cut and len(rows) < _LINES else rows
    if rows:
        across, times = max(Counter(map(len, rows)).items(), key=lambda pair: pair[::-1])
        share = times / len(rows)
        cells = zip(*(row for row in rows if len(row) == across), strict=True)
        typed = sum(
            sum(map(is_number, column)) > 0.8 * times - 1 and times > 1
            for column in islice(cells, FEW)
        )
    return _Form(separator=separator, quoted=quoted, across=across, share=share, typed=typed)


def _fit(form: _Form) -> tuple[float, ...]:
    """What speaks for a form, the first first."""
    blank = form.separator == "blank"
    # the words of a text are between blanks too
    least = 1 if form.share == 1 and form.across > 2 else 2
    fits = form.across > 1 and form.share > 0.9 and (not blank or form.typed >= least)
    return fits, form.typed - 2 * blank, form.share, form.across, form.quoted


def _quotes(text: str, mark: str, form: _Form) -> tuple[bool, int]:
    """Whether quotes hold cells together, and how many cells the longest row then has (0: it cannot
    be read).

    They do not where each line without them has its cells, and with them some would be swallowed;
    nor where nothing is held together and words follow the closing one.
    """
    widths = {}
    for quoted in (True, False) if '"' in text else (True,):
        try:
            widths[quoted] = Counter(len(row) for _, row in _rows(text, mark, quoted))
        except csv.Error:
            widths[quoted] = Counter()
    held, letters = widths[True], widths.get(False, Counter[int]())
    if len(widths) == 1:
        quoted = True
    elif held == letters:
        end = re.escape(mark)
        cut = rf'(?:^|{end}) *"[^"\r\n]*"(?! *(?:{end}|["\r\n]|\Z))'
        quoted = not re.search(cut, text, re.MULTILINE)
    elif len(letters) <= len(held) and letters[form.across] > held[form.across]:
        quoted = False
    else:
        quoted = form.quoted or held[form.across] >= letters[form.across]
    return quoted, max(widths[quoted], default=0)


def _refuse(file: str, text: str, mark: str, quoted: bool, skip: int, across: int) -> int:
    """Raise ``DataError`` for the first row below line ``skip`` that has too many cells, and where
    one cannot be read; else return the line in which the last row begins.
    """
    at = begin = 0
    try:
        for at, row in _rows(text.rstrip("\r\n"), mark, quoted):
            begin = at - sum(cell.count("\n") for cell in row)
            if len(row) > across and at > skip:
                lines = f"line {at} has"
                if begin < at:
                    lines = f"lines {begin} to {at}, which a quote holds together, have"
                raise DataError(
                    f"{file}: {lines} {len(row)} cells where the others have {across}: {_ADVICE}"
                )
    except csv.Error:
        raise DataError(
            f"{file} cannot be read after line {at}: is there a quote that is never closed, or a "
            f"cell of more than {csv.field_size_limit():,} characters?"
        ) from None
    return begin


def _begin(rows: Sequence[Sequence[str]], across: int) -> int:
    """The row at which the table begins, after lines of comment."""
    for k, row in enumerate(rows):
        below = rows[k + 1] if k + 1 < len(rows) else []
        title = len(row) > 2 and sum(bool(cell.strip()) for cell in row) == 1
        comment = row[0].lstrip().startswith(_COMMENTS)
        # names of columns may stand in a comment
        names = len(row) == across and not any(map(is_number, row)) and any(map(is_number, below))
        if title or (comment and not names):
            continue
        if len(row) == across or (len(row) == across - 1 > 0 and len(below) == across):
            return k
    return 0


def _headed(first: Sequence[str], below: Sequence[Sequence[str]]) -> tuple[str, bool]:
    """Whether the first row names the columns, and whether that is sure.

    It does where it has words above numbers. Numbers may be names of items: they are all
    different, and count up or are of another size than those below; the first cell then says who
    is below it, or is empty.
    """
    numeric = [is_number(cell) for cell in first]
    shares = [
        sum(map(is_number, column)) / len(below)
        for column in islice(zip_longest(*below, fillvalue=""), FEW)
    ]
    if not any(numeric):
        words = any(role_of(cell)[0] for cell in first)
        return "yes", words or any(share > 0.5 for share in shares) or not below
    above = sum(
        not of_name and bool(cell.strip()) and share > 0.8
        for cell, of_name, share in zip(first, numeric, shares, strict=False)
    )
    named = [number(cell) for cell in first if is_number(cell)]
    values = [
        number(cell)
        for row in below
        for cell, of_name in zip(row, numeric, strict=False)
        if of_name and is_number(cell)
    ]
    apart = len(named) >= 3 and len(set(named)) == len(named) and bool(values)
    counts_up = apart and all(b - a == 1 for a, b in pairwise(named))
    beyond = apart and min(named) > max(values)
    role, of_id = role_of(first[0])
    corner = not first[0].strip() or role in ("user", "item", "row") or of_id
    corner &= apart and not numeric[0]
    sure = above > 1 - apart or (corner and (counts_up or beyond or len(named) > 5))
    headed = sure or above or corner or beyond or (counts_up and len(named) > 3)
    return "yes" if headed else "no", sure or not headed


def _frame(
    text: str, mark: str, quoted: bool, skip: int, across: int, head: Sequence[Sequence[str]]
) -> pd.DataFrame:
    """The cells below line ``skip``."""
    import pandas as pd

    lines = io.StringIO(text, newline="")
    for _ in range(skip):
        lines.readline()
    # where there are many columns, those of small numbers are read as such
    small = re.compile(r"\s*(-?(0|[1-9][0-9]{0,3})(\.[0-9]*)?)?\s*")
    rated = {
        k
        for k in range(FEW, across)
        if all(small.fullmatch(row[k]) for row in head if len(row) > k)
    }
    return pd.read_csv(
        lines,
        **_marks(mark, quoted),
        header=None,
        names=list(range(across)),
        dtype={k: str for k in range(across) if k not in rated},
        keep_default_na=False,
        na_values={k: ["", "NA", "nan", "NaN"] if k in rated else [""] for k in range(across)},
        engine="c",
        low_memory=False,
        index_col=False,
    )
