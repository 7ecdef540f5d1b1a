"""What a process makes of a file that a visitor brings, where time and memory have limits."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from dpmc_core.config import Settings
from dpmc_core.datasets import own
from dpmc_core.datasets.own.sets import OwnSet, Preview
from dpmc_core.datasets.text import TextFilter
from dpmc_core.errors import DataError, DPMCError
from dpmc_core.privacy import Statement, ledger_from_text, state


def call(spec: tuple[Any, ...]) -> Iterator[Any]:
    """The one result of a function: it stands first in ``spec``, what it is called with follows."""
    function, *given = spec
    yield function(*given)


def read(kind: str, name: str, data: bytes, choices: Settings) -> OwnSet:
    """A visitor's file by their ``choices``. Raises ``DPMCError``."""
    own_set = own.read(kind, name, data, **choices)
    if own_set.documents is not None:
        with suppress(DataError):  # no word is left: the page says so where it matters
            own_set.samples(TextFilter())  # here, and not in the server
    return own_set


def inspect(
    kind: str, name: str, data: bytes, called: Settings, chosen: Settings | None = None
) -> tuple[Preview, OwnSet | DPMCError]:
    """How a file is probably meant with what was ``chosen``, and what it is if that is right.

    Raises ``DPMCError``.
    """
    chosen = chosen or {}
    preview = own.inspect(kind, name, data, **chosen)
    try:
        return preview, read(kind, name, data, {**called, **chosen})
    except DPMCError as error:
        return preview, error


def account(name: str, content: bytes, delta: float) -> Statement:
    """The statement about a ledger's file. Raises ``DPMCError``."""
    return state(ledger_from_text(content, name), delta)
