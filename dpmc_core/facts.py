"""Facts and prose that stand in ``data/*.toml``.

Reading such a file once, with one clear error for a malformed one, and making dataclasses of its
tables.
"""

import inspect
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from dpmc_core.errors import DataError
from dpmc_core.paths import DATA

_T = TypeVar("_T")


@cache
def facts(name: str) -> dict[str, Any]:
    """``data/{name}.toml``.

    A line break inside a text is a space, an empty line ends a paragraph; lists are tuples. Raises
    ``DataError``.
    """
    try:
        read: dict[str, Any] = _joined(
            tomllib.loads((DATA / f"{name}.toml").read_text(encoding="utf-8"))
        )
    except (OSError, ValueError) as error:  # malformed TOML and wrong encodings are ValueErrors
        raise DataError(f"data/{name}.toml cannot be read: {error}.") from None
    return read


def typed(kind: type[_T], table: Mapping[str, Any], where: str) -> _T:
    """The ``table`` as a dataclass.

    ``where`` it stands is told by the ``DataError`` that a missing, unknown or mistyped field
    raises.

    >>> from fractions import Fraction
    >>> typed(Fraction, {"numerator": 1, "denominator": 2}, "the example")
    Fraction(1, 2)
    """
    for name, hint in inspect.get_annotations(kind).items():
        if (
            isinstance(hint, type)
            and name in table
            and not isinstance(table[name], (int, float) if hint is float else hint)
        ):
            raise DataError(f"{where}: '{name}' must be of type {hint.__name__}.")
    try:
        return kind(**table)
    except TypeError as error:
        raise DataError(f"{where}: {error}.") from None


def _joined(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(r"(?<!\n)\n(?!\n)", " ", value.strip("\n"))
    if isinstance(value, dict):
        return {name: _joined(inner) for name, inner in value.items()}
    return tuple(_joined(inner) for inner in value) if isinstance(value, list) else value
