"""Cells of a table as numbers and as names that identify; lists of names as one text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpmc_core.arrays import IntArray
from dpmc_core.errors import check_choice

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T", bool, float)
NUMBERS = "iufb"  # kinds of NumPy's numbers
_NUMBER = r"\s*[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?\s*"
_COMMA = r"\s*[-+]?[0-9]+,[0-9]{1,2}\s*"
_NOT_RATED = ("", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "none", "null", "nil", "-", "?", ".")


def is_number(word: str) -> bool:
    """Whether a cell is a number, with a point or a comma before its decimals.

    >>> is_number("-1.5e3"), is_number("3,5"), is_number("1_1"), is_number("1,234")
    (True, True, False, False)
    """
    return bool(re.fullmatch(_NUMBER, word) or re.fullmatch(_COMMA, word))


def numbers(column: pd.Series) -> pd.Series:
    """The numbers in a column, not-a-number where a cell holds none.

    Decimal commas are read, true and false are 1 and 0, times are no numbers.
    """
    if column.dtype.kind in NUMBERS:
        return column.astype(np.float64)
    if column.dtype.kind in "mM":  # times would become nanoseconds
        column = column.astype("str")
    return _of_words(column, number, float("nan"))


def numbers_of(frame: pd.DataFrame) -> pd.DataFrame:
    """The ``numbers`` in each column; of thousands of columns those without words at once."""
    import pandas as pd

    words = [name for name, kind in frame.dtypes.items() if kind.kind not in NUMBERS]
    plain = frame.drop(columns=words) if words else frame
    values = plain.to_numpy(np.float64, na_value=np.nan)
    plain = pd.DataFrame(values, index=frame.index, columns=plain.columns)
    if not words:
        return plain
    return pd.concat([plain, frame[words].apply(numbers)], axis="columns")[list(frame.columns)]


def number(word: str) -> float:
    """The number in a cell; not-a-number where it holds none."""
    plain = word.strip().lower()
    if plain in ("true", "false"):
        return float(plain == "true")
    return float(plain.replace(",", ".")) if is_number(plain) else float("nan")


def not_rated(column: pd.Series) -> pd.Series:
    """Which cells are empty, or hold a word that statistics programs write for "no value"."""
    if column.dtype.kind in NUMBERS:
        return column.isna()
    return _of_words(column, lambda word: word.strip().lower() in _NOT_RATED, True)


def decimal_commas(column: pd.Series) -> pd.Series:
    """Which cells are numbers with a comma before one or two decimals, as much of the world writes
    them; with three digits it would be a thousand.
    """
    if column.dtype.kind in NUMBERS:
        return column.isna() & False
    return _of_words(column, lambda word: bool(re.fullmatch(_COMMA, word)), False)


def _of_words(column: pd.Series, convert: Callable[[str], T], missing: T) -> pd.Series:
    """What ``convert`` makes of each cell's text, of each word once."""
    import pandas as pd

    factorized: Any = pd.factorize(column)
    values = np.array([*(convert(str(word)) for word in factorized[1]), missing])
    return pd.Series(values[factorized[0]], index=column.index)


def normal(name: str) -> str:
    """A name as it is compared: accents composed (NFC), without blanks around it.

    >>> normal(" Zoe\\u0308 ") == normal("Zo\\u00eb")
    True
    """
    return unicodedata.normalize("NFC", name).strip()


def coded(column: pd.Series) -> tuple[IntArray, list[str]]:
    """For each cell the number of the user or item that it names (-1: it is empty), and their names
    by number, whole.

    Names that are equal as ``normal`` has them are one; whole numbers stay whole where gaps made
    them fractions, each by itself: no user's item renames another's.
    """
    import pandas as pd

    codes, given = pd.factorize(column)
    ids = [int(one) if isinstance(one, float) and one % 1 == 0 else one for one in given]
    # None is no name; the last is for cells that are empty already
    names = np.array([*(normal(str(one)) or None for one in ids), None], dtype=object)
    again, unique = pd.factorize(names)
    return again[codes], list(unique)


def listed(words: Sequence[str], most: int = 8) -> str:
    """The first words, for a sentence.

    >>> listed(["a", "b", "c"], 2)
    'a, b, …'
    """
    return ", ".join(words[:most]) + ", …" * (len(words) > most)


def check_choices(reading: object, **allowed: Iterable[str]) -> None:
    """Raise ``ParameterError`` for a field that holds none of the words that are ``allowed``."""
    for name, words in allowed.items():
        check_choice(name, getattr(reading, name), words)


def option_text(value: object) -> str:
    """A field of a reading as ``--read`` takes it.

    >>> option_text(("Group 1.0", 5.0, -1.5)), option_text('a, "b"'), option_text(None)
    ('Group 1.0,5,-1.5', 'a, "b"', '')
    """
    if isinstance(value, tuple):
        return ",".join(_quoted(option_text(one)) for one in value)
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return "" if value is None else str(value)


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"' if set(word) & set('",\r\n') else word
