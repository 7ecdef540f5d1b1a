"""Files of tables as data frames: Parquet, and text with separators.

Of text: what separates, what quotes, where the table begins and whether its first line has names.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import compress, islice, pairwise, zip_longest
from typing import TYPE_CHECKING, Any

from dpmc_core.config import Settings
from dpmc_core.datasets.own.cells import is_number, normal, number
from dpmc_core.datasets.own.columns import role_of
from dpmc_core.errors import DataError, DPMCError

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS, MOST_COLUMNS, MOST_CELLS = 5_000_000, 20_000, 30_000_000


def open_table(file: str, data: bytes, separator: str = "", header: str = "") -> Table:
    """The table in ``data``.

    Parquet by its first bytes, otherwise text, with the ``separator`` and ``header`` given or as
    they seem to be (``delimited``); columns without names are called "column 1" and so on.

    Raises ``DataError`` for what is no table, and for one with more than 5 million rows, 20,000
    columns or 30 million cells.
    """
    table = (
        Table(frame=_parquet(file, data))
        if data[:4] == b"PAR1"
        else _text(file, data, separator, header)
    )
    frame = table.frame
    frame.columns = _names(list(frame.columns))
    rows, columns = frame.shape
    if columns > MOST_COLUMNS or rows > MOST_ROWS or frame.size > MOST_CELLS:
        raise DataError(_too_large(file, rows, columns))
    if frame.empty:
        raise DataError(f"{file} holds no row; a table with at least one is needed.")
    return table


def _parquet(file: str, data: bytes) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        opened = pq.ParquetFile(io.BytesIO(data))
        metadata = opened.metadata
        rows, columns = metadata.num_rows, metadata.num_columns
        size = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
        if rows > MOST_ROWS or columns > MOST_COLUMNS or size > 8 * MOST_CELLS:
            raise DataError(_too_large(file, rows, columns))
        for kind in opened.schema_arrow.types:
            refused = pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary
            if any(of_kind(kind) for of_kind in refused):
                raise DataError(
                    f"{file} holds a column of {kind}; columns of numbers and text are allowed."
                )
        table = opened.read()
        table.validate(full=True)  # text that is no text would fail later, anywhere
        return frame_of(table)
    except DataError:
        raise
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        TypeError,
        KeyError,
        OverflowError,
        RuntimeError,
    ) as error:
        raise DataError(f"{file} cannot be read as a Parquet file ({_short(error)}).") from None


def frame_of(table: Any) -> pd.DataFrame:
    """An Arrow table as a frame, its index first as where it was saved as text."""
    about = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
    index = [name for name in about.get("index_columns", []) if name in table.column_names]
    rest = [name for name in table.column_names if name not in index]
    # with gaps whole numbers would become fractions
    frame = table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
    return frame[[*index, *rest]] if index else frame


def _text(file: str, data: bytes, separator: str, header: str) -> Table:
    text = decoded(file, data)
    if "\0" in text:
        raise DataError(f"{file} is no text; a table as CSV, TSV or Parquet is allowed.")
    if not text.strip():
        raise DataError(f"{file} is empty; a table with at least one row is needed.")
    line = text.lstrip().partition("\n")[0]
    across = max(line.count(mark) for mark in ",;\t|") + 1
    if across > MOST_COLUMNS or across * text.count("\n") > 2 * MOST_CELLS:
        raise DataError(_too_large(file, text.count("\n"), across))
    try:
        return parse(file, text, separator, header)
    except DPMCError:
        raise
    except (ValueError, TypeError, OverflowError) as error:  # pandas' own are ValueErrors
        raise DataError(f"{file} cannot be read as a table ({_short(error)}).") from None


def decoded(file: str, data: bytes) -> str:
    """Text as UTF-8 (or UTF-16 where it says so), else as Windows has it, else as Latin-1, which
    every byte is.

    Raises ``DataError`` for a pickle.
    """
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):  # not a "€"
        raise DataError(
            f"{file} is a Python pickle, which can run any program when it is opened; it was "
            "not read."
        )
    halves = data[1:2000:2].count(0), data[:2000:2].count(0)  # of UTF-16 one holds the 0s
    wide = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
    for encoding, half in zip(("utf-16-le", "utf-16-be"), halves, strict=True):
        if not wide and half > 0.02 * len(data[:2000]) and half > 20 * (sum(halves) - half):
            wide = encoding
    for encoding in (wide,) if wide else ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            pass
    return data.decode("latin-1")


def _names(given: list[object]) -> list[str]:
    """Column names as text, numbered where there are none, all different."""
    out: dict[str, None] = {}
    used = Counter[str]()
    for k, name in enumerate(given):
        label = "" if isinstance(name, int) else normal(str(name))
        label = plain = label or f"column {k + 1}"
        while label in out:
            used[plain] += 1
            label = f"{plain} ({used[plain] + 1})"
        out[label] = None
    return list(out)


def _short(error: BaseException) -> str:
    message = " ".join(str(error).split()) or type(error).__name__
    return message if len(message) <= 120 else message[:117] + "…"


def _too_large(file: str, rows: int, columns: int) -> str:
    return (
        f"{file} has {rows:,} rows and {columns:,} columns; at most {MOST_ROWS:,} rows, "
        f"{MOST_COLUMNS:,} columns and {MOST_CELLS:,} cells are allowed."
    )


SEPARATORS = {
    "comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "colons": "::", "blank": " "
}  # fmt: skip
HEADERS = ("yes", "no")  # whether the first row names the columns
_IN_FOR_COLONS = "\x1f"  # one character, where two separate
_HEAD, _LONG_HEAD, _LINES = 200_000, 5_000_000, 200  # characters, lines by which it is chosen
_BLOCK = re.compile(r"\d+: *")  # a line of its own: what the lines below it are about
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
    marks = _marks(mark, quoted)
    if not widest:
        _refuse(file, text, marks, len(text), best.across)
        raise DataError(f"{file} holds no row; a table with at least one is needed.")
    ends, rows = zip(*islice(_rows(text, marks), _LINES), strict=True)
    begin = _begin(rows, best.across)
    if best.across > 1 and (blocks := [row[0] for row in rows if _BLOCK.fullmatch("".join(row))]):
        raise DataError(
            f"{file}: the line {blocks[0]!r} says whose the lines below it are; a user, an item "
            "and a rating in each line are needed."
        )
    first, below = rows[begin], rows[begin + 1 :]
    names_of_rows = len(first) == best.across - 1 and begin + 1 < len(rows)
    seems, sure = ("yes", True) if names_of_rows else _headed(first, below)
    choices = {"separator": near} if len(near) > 1 else {}
    if not sure and not header:
        choices["header"] = (seems, "no" if seems == "yes" else "yes")
    header = header or seems
    headed = header == "yes"
    trailing = all(not row[-1] for row in below)
    if names_of_rows:
        first = [*first, ""] if trailing else ["", *first]
    skip = (0, *ends)[begin + headed]  # lines down to where the values begin
    if widest > best.across:
        _refuse(file, text, marks, skip, best.across)
    try:
        frame = _frame(text, marks, skip, best.across, below if headed else rows[begin:])
    except ValueError as error:  # pandas' own are
        if "EOF inside string" not in str(error):
            raise
        line = _refuse(file, text, marks, skip, best.across)
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
    in_lines = text.rstrip().count("\n") + 1 - skip == len(frame)
    return Table(
        frame=frame, separator=best.separator, header=header, near=choices, notes=tuple(notes),
        first=skip + 1 if in_lines else 0,
    )  # fmt: skip


def _single(text: str, separator: str) -> tuple[str, str]:
    """The text with one character between cells, and that."""
    if separator == "colons":
        return text.replace("::", _IN_FOR_COLONS), _IN_FOR_COLONS
    if separator == "blank":
        lines = (line.strip(" \t\r\n") for line in io.StringIO(text, newline=""))
        return "\n".join(re.sub(" +", " ", line) for line in lines), " "
    return text, SEPARATORS[separator]


def _rows(text: str, marks: Settings) -> Iterator[tuple[int, list[str]]]:
    """The rows that hold something, each with the number of the line in which it ends."""
    # lines end at LF, CRLF and CR, and nowhere else
    reader = csv.reader(io.StringIO(text, newline=""), **marks)
    return ((reader.line_num, row) for row in reader if any(map(str.strip, row)))


def _marks(mark: str, quoted: bool) -> Settings:
    """As the csv module and pandas both call it."""
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    return {"delimiter": mark, "quoting": quoting, "skipinitialspace": True}


def _form(head: str, separator: str, quoted: bool, cut: bool) -> _Form:
    """How the first lines fall into cells."""
    head, mark = _single(head, separator)
    across, share, typed = 1, 0.0, 0
    rows: list[list[str]] = []
    with suppress(csv.Error):  # those before it tell enough
        rows.extend(row for _, row in islice(_rows(head, _marks(mark, quoted)), _LINES))
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
            widths[quoted] = Counter(len(row) for _, row in _rows(text, _marks(mark, quoted)))
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


def _refuse(file: str, text: str, marks: Settings, skip: int, across: int) -> int:
    """Raise ``DataError`` for the first row below line ``skip`` that has too many cells, and where
    one cannot be read; else return the line in which the last row begins.
    """
    at = begin = 0
    try:
        for at, row in _rows(text.rstrip("\r\n"), marks):
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
    named = [number(cell) for cell in compress(first, numeric)]
    values = [number(cell) for row in below for cell in compress(row, numeric) if is_number(cell)]
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
    text: str, marks: Settings, skip: int, across: int, head: Sequence[Sequence[str]]
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
        **marks,
        header=None,
        names=list(range(across)),
        dtype={k: str for k in range(across) if k not in rated},
        keep_default_na=False,
        na_values={k: ["", "NA", "nan", "NaN"] if k in rated else [""] for k in range(across)},
        engine="c",
        low_memory=False,
        index_col=False,
    )
