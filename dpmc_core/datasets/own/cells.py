"""Cells of a table as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NUMBERS", "decimal_commas", "numbers"]

NUMBERS = "iufb"  # kinds of NumPy's numbers


def numbers(column: pd.Series) -> pd.Series:
    """The numbers in a column, not-a-number where a cell holds none.

    Decimal commas are read, true and false are 1 and 0, times are no numbers.
    """
    import pandas as pd

    if column.dtype.kind in NUMBERS:
        return column.astype(np.float64)
    if column.dtype.kind == "O" or pd.api.types.is_string_dtype(column):
        said = column.astype("str").str.strip().str.lower()
        if said.isin(["true", "false"]).any():
            column = said.map({"true": 1.0, "false": 0.0}).fillna(column)
    if column.dtype.kind in "mM":  # times would become nanoseconds
        return pd.Series(np.nan, index=column.index)
    if column.dtype.kind not in NUMBERS:
        commas = decimal_commas(column)
        if commas.any():
            column = column.where(~commas, column.astype("str").str.strip().str.replace(",", "."))
    try:
        found = pd.to_numeric(column, errors="coerce")
    except OverflowError:  # whole numbers of hundreds of digits
        found = column.map(_float)
    if found.dtype.kind == "c":
        return pd.Series(np.nan, index=column.index)
    return found.astype(np.float64)


def decimal_commas(column: pd.Series) -> pd.Series:
    """Which cells are numbers with a comma before one or two decimals, as much of the world writes
    them; with three digits it would be a thousand.
    """
    import pandas as pd

    if column.dtype.kind in NUMBERS or column.dtype.kind in "mM":
        return pd.Series(False, index=column.index)
    return column.astype("str").str.fullmatch(r"\s*[-+]?\d+,\d{1,2}\s*").fillna(False).astype(bool)


def _float(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("nan")
