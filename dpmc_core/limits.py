"""The one table of ranges of numbers that no algorithm owns (``data/limits.toml``).

The core, the widgets, links and the command line check and parse values against it.
"""

from dataclasses import replace

from dpmc_core.facts import facts, typed
from dpmc_core.limit import Limit

__all__ = ["LIMITS", "Limit", "check", "check_int", "parse"]


LIMITS: dict[str, Limit] = {
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


def check_int(name: str, value: object, *, said: str = "") -> int:
    """As ``check``, returning an ``int``; a fraction is refused, never rounded.

    ``said`` is what the user calls it, where that is not ``name``.
    """
    return int(replace(LIMITS[name], name=said or name).check(value))


def parse(name: str, text: object) -> float:
    """A number typed by a person (URL, command line, text box), checked against the range called
    ``name``.

    >>> parse("n_items", "32")
    32.0
    >>> parse("n_items", "many")
    Traceback (most recent call last):
    dpmc_core.errors.ParameterError: n_items = 'many' is not allowed: it must be a whole number
    from 2 to 200000.
    """
    return LIMITS[name].parse(text)
