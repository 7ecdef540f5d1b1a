"""Files of tables as data frames: text with separators, and Parquet."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from dpmc_core.datasets.own.cells import normal
from dpmc_core.datasets.own.guesses.delimited import Table, parse
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
    import pandas as pd

    table = (
        Table(frame=_parquet(file, data))
        if data[:4] == b"PAR1"
        else _text(file, data, separator, header)
    )
    frame = table.frame
    frame.columns = pd.Index(_names(list(frame.columns)))
    if frame.shape[1] > MOST_COLUMNS or frame.shape[0] > MOST_ROWS or frame.size > MOST_CELLS:
        raise DataError(_too_large(file, *frame.shape))
    if frame.empty:
        raise DataError(f"{file} holds no row; a table with at least one is needed.")
    return table


def _parquet(file: str, data: bytes) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        opened = pq.ParquetFile(io.BytesIO(data))
        metadata = opened.metadata
        size = sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))
        if (
            metadata.num_rows > MOST_ROWS
            or metadata.num_columns > MOST_COLUMNS
            or size > 8 * MOST_CELLS
        ):
            raise DataError(_too_large(file, metadata.num_rows, metadata.num_columns))
        for kind in opened.schema_arrow.types:
            refused = pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary
            if any(of_kind(kind) for of_kind in refused):
                raise DataError(
                    f"{file} holds a column of {kind}; columns of numbers and text are allowed."
                )
        table = opened.read()
        table.validate(full=True)  # text that is no text would fail later, anywhere
        return frame_of(table)
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
    used: dict[str, int] = {}
    for k, name in enumerate(given):
        label = normal(str(name)) if not isinstance(name, int) else f"column {k + 1}"
        label = plain = label or f"column {k + 1}"
        while label in out:
            used[plain] = used.get(plain, 1) + 1
            label = f"{plain} ({used[plain]})"
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
