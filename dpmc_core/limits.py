"""The one table of ranges of numbers that no algorithm owns (``data/limits.toml``).

The core, the widgets, links and the command line check and parse values against it.
"""

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dpmc_core.errors import ParameterError
from dpmc_core.facts import facts, typed

_NUMBER = re.compile(
    r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)\s*", re.ASCII | re.IGNORECASE
)


def number_of(text: Any) -> float:
    """The number that a person typed: a sign, digits 0 to 9 with a point, an exponent.

    ``float`` alone would also take 1_5 for 15, and the digits of every script. Raises
    ``ValueError`` for those, and for what is no number.

    >>> number_of("-1.5e3")
    -1500.0
    """
    if isinstance(text, str) and not _NUMBER.fullmatch(text):
        raise ValueError(f"no number: {text!r}")
    return float(text)


@dataclass(frozen=True)
class Limit:
    """The range of one parameter.

    ``low``–``high``, open at an end where ``open_low``/``open_high`` says so.
    """

    low: float
    high: float
    meaning: str
    default: float = math.nan  # what widgets start from where no config declares one
    integer: bool = False  # of a field: whether its type is int
    open_low: bool = False
    open_high: bool = False
    label: str = ""  # what its box on a page is called; without one it has none of its own
    step: float | None = None  # of that box
    format: str = ""  # of the number in that box, as printf writes it
    name: str = ""  # of a field: its own

    @property
    def allowed(self) -> str:
        """The range in words, as error messages and help texts give it."""
        kind = "a whole number" if self.integer else "a number"
        digits = ".0f" if self.integer else ".10g"
        low, high = format(self.low, digits), format(self.high, digits)
        start = f"{'above' if self.open_low else 'at least'} {low}"
        if math.isinf(self.high):
            return f"{kind} {start}"
        if self.open_low or self.open_high:
            return f"{kind} {start} and {'below' if self.open_high else 'at most'} {high}"
        return f"{kind} from {low} to {high}"

    def check(self, value: Any) -> float:
        """``value`` as a float inside the range.

        Raises ``ParameterError`` naming parameter, value and range.
        """
        number = math.nan
        if not isinstance(value, (bool, str, bytes)):
            with suppress(TypeError, ValueError, OverflowError):
                number = float(value)
        above = self.low < number if self.open_low else self.low <= number
        below = number < self.high if self.open_high else number <= self.high
        within = above and below and math.isfinite(number)  # not-a-number is neither
        if not within or (self.integer and number != int(number)):
            raise ParameterError(self.name, value, self.allowed)
        return number

    def parse(self, text: object) -> float:
        """A number typed by a person, checked; raises ``ParameterError`` with what was typed.

        >>> LIMITS["n_items"].parse("32")
        32.0
        >>> LIMITS["n_items"].parse("many")
        Traceback (most recent call last):
        dpmc_core.errors.ParameterError: n_items = 'many' is not allowed: it must be a whole number
        from 2 to 200000.
        """
        try:
            return self.check(number_of(text))
        except (TypeError, ValueError):
            raise ParameterError(self.name, text, self.allowed) from None


LIMITS = {
    name: typed(Limit, {"name": name, **given}, f"data/limits.toml, {name}")
    for name, given in facts("limits").items()
}


def check(name: str, value: object) -> float:
    """``value`` checked against the range called ``name``.

    >>> check("alpha", 1.5)
    1.5
    >>> check("alpha", 50)
    Traceback (most recent call last):
    dpmc_core.errors.ParameterError: alpha = 50 is not allowed: it must be a number from 0.01 to 20.
    """
    return LIMITS[name].check(value)


def check_int(name: str, value: object) -> int:
    """As ``check``, returning an ``int``; a fraction is refused, never rounded."""
    return int(check(name, value))
