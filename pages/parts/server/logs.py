"""What the server writes down about itself.

Lives here: one JSON object a line on standard error, about jobs and own data: what kind, how long,
how it ended. Never what is in somebody's data, a file's name, a message that may quote either, or
who the visitor is (a session is a short digest that means nothing elsewhere). Does not live here:
Streamlit's own log.
"""

import hashlib
import json
import logging
import math
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

__all__ = ["Rare", "note"]

_BETWEEN = 60.0  # seconds between two notes of what anybody can cause

_logger = logging.getLogger("dpmc_lab")


class _Lines(logging.Handler):
    """To standard error as it is when a line is written: tests replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):  # a full disk must not stop what is written about
            print(record.getMessage(), file=sys.stderr, flush=True)  # noqa: T201 - this is the log


_logger.addHandler(_Lines())
_logger.setLevel(logging.INFO)
_logger.propagate = False


def note(event: str, session: str = "", **facts: str | float | bool) -> None:
    """Write one line: ``event``, the ``session`` as a digest, and ``facts`` that are numbers, yes
    or no, names of this software's own, or addresses of sites that may not open a connection.
    """
    line: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "event": event,
    }
    if session:
        line["session"] = hashlib.blake2b(session.encode(), digest_size=4).hexdigest()
    _logger.info(json.dumps({**line, **facts}))


class Rare:
    """Notes of an ``event`` that anybody can cause, a minute apart: nobody can fill the log.

    Each says under the name ``counted`` how often it happened since the one before.
    """

    def __init__(self, event: str, counted: str) -> None:
        self._event, self._counted = event, counted
        self._count, self._noted = 0, -math.inf

    def note(self, **facts: str) -> None:
        """Count it, and write a line where the last one is long enough ago."""
        self._count += 1
        if time.monotonic() - self._noted >= _BETWEEN:
            note(self._event, "", **facts, **{self._counted: self._count})
            self._count, self._noted = 0, time.monotonic()
