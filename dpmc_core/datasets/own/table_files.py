"""Files of tables as data frames: text with separators, and Parquet."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING

from dpmc_core.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["decoded", "read_table"]


MOST_ROWS, MOST_COLUMNS, MOST_CELLS = 5_000_000, 20_000, 30_000_000
LABEL = 80  # characters of an item's or user's name that are kept
_SEPARATORS = (",", ";", "\t", "|")


MARKS = {
    "user": (
        "user",
        "uid",
        "customer",
        "person",
        "reviewer",
        "reader",
        "member",
        "student",
        "rater",
    ),
    "item": (
        "item",
        "movie",
        "film",
        "product",
        "book",
        "isbn",
        "song",
        "track",
        "artist",
        "title",
        "asin",
        "joke",
    ),
    "value": ("rating", "score", "star", "value", "grade", "points", "overall", "plays", "count"),
}


FEW = 50  # columns


def read_table(file: str, data: bytes) -> pd.DataFrame:
    """The table in ``data``.

    Parquet by its first bytes, otherwise text with commas, semicolons, tabs, bars or "::" between
    values; a first row in which anything is a number counts as data, and columns are then called
    "column 1" and so on.

    Raises ``DataError`` for what is no table, and for one with more than 5 million rows, 20,000
    columns or 30 million cells.
    """
    import pandas as pd

    frame = _parquet(file, data) if data[:4] == b"PAR1" else _text(file, data)
    frame.columns = pd.Index(_names(list(frame.columns)))
    if frame.shape[1] > MOST_COLUMNS or frame.shape[0] > MOST_ROWS or frame.size > MOST_CELLS:
        raise DataError(_too_large(file, *frame.shape))
    if frame.empty:
        raise DataError(f"{file} holds no row; a table with at least one is needed.")
    return frame


def _parquet(file: str, data: bytes) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        opened = pq.ParquetFile(io.BytesIO(data))
        known = opened.metadata
        size = sum(known.row_group(k).total_byte_size for k in range(known.num_row_groups))
        if known.num_rows > MOST_ROWS or known.num_columns > MOST_COLUMNS or size > 8 * MOST_CELLS:
            raise DataError(_too_large(file, known.num_rows, known.num_columns))
        for kind in opened.schema_arrow.types:
            if (
                pa.types.is_nested(kind)
                or pa.types.is_binary(kind)
                or pa.types.is_large_binary(kind)
            ):
                raise DataError(
                    f"{file} holds a column of {kind}; columns of numbers and text are allowed."
                )
        table = opened.read()
        table.validate(full=True)  # text that is no text would fail later, anywhere
        return table.to_pandas(
            ignore_metadata=True, integer_object_nulls=True
        )  # with gaps they would become fractions
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        TypeError,
        KeyError,
        OverflowError,
        RuntimeError,
    ) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{file} cannot be read as a Parquet file ({_short(error)}).") from None


def _text(file: str, data: bytes) -> pd.DataFrame:
    import pandas as pd

    text = decoded(file, data)
    if "\0" in text:
        raise DataError(f"{file} is no text; a table as CSV, TSV or Parquet is allowed.")
    lines = [line for line in text[:200_000].splitlines() if line.strip()][:50]
    if not lines:
        raise DataError(f"{file} is empty; a table with at least one row is needed.")
    if "::" in lines[0]:  # as MovieLens writes
        text, lines = text.replace("::", "\t"), [line.replace("::", "\t") for line in lines]
    separator = max(_SEPARATORS, key=lambda mark: lines[0].count(mark))
    across = lines[0].count(separator) + 1
    if across > MOST_COLUMNS or across * text.count("\n") > MOST_CELLS:
        raise DataError(_too_large(file, text.count("\n"), across))
    # a table of few columns may have its ids anywhere: as text they stay what they are ("007",
    # twenty digits, gaps). One
    # of many columns has users in the first and ratings in all others
    kinds: object = str if across <= FEW else {0: str}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                io.StringIO(text),
                sep=separator,
                header=0 if _headed(lines, separator) else None,
                dtype=kinds,
                engine="c",
                low_memory=False,
                index_col=False,
            )
    except pd.errors.ParserWarning:
        raise DataError(
            f"{file}: its first row names fewer columns than the rows below have; name each."
        ) from None
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        OverflowError,
        RecursionError,
    ) as error:  # pandas' own are ValueErrors
        raise DataError(f"{file} cannot be read as a table ({_short(error)}).") from None


def _headed(lines: list[str], separator: str) -> bool:
    """Whether the first line names the columns.

    It holds no number, or its first cell says that users come below it, or is none while those
    below are.
    """
    first, *below = ([word.strip().strip('"') for word in line.split(separator)] for line in lines)
    if not any(_is_number(word) for word in first):
        return True
    if _is_number(first[0]):
        return False
    users = re.sub("[^a-z]", "", first[0].lower()).startswith(MARKS["user"]) or not first[0]
    return users or (bool(below) and all(_is_number(row[0]) for row in below))


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
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            pass
    return data.decode("latin-1")


def _names(given: list[object]) -> list[str]:
    """Column names as text, numbered where there are none, all different."""
    out: dict[str, None] = {}
    used: dict[str, int] = {}
    for k, name in enumerate(given):
        said = str(name).strip() if not isinstance(name, int) else f"column {k + 1}"
        said = plain = said[:LABEL] or f"column {k + 1}"
        while said in out:
            used[plain] = used.get(plain, 1) + 1
            said = f"{plain} ({used[plain]})"
        out[said] = None
    return list(out)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _short(error: BaseException) -> str:
    said = " ".join(str(error).split()) or type(error).__name__
    return said if len(said) <= 120 else said[:117] + "…"


def _too_large(file: str, rows: int, columns: int) -> str:
    return (
        f"{file} has {rows:,} rows and {columns:,} columns; at most {MOST_ROWS:,} rows, "
        f"{MOST_COLUMNS:,} columns and {MOST_CELLS:,} cells are allowed."
    )
