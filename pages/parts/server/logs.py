"""What the server writes down about itself.

Lives here: one JSON object a line on standard error, about jobs and own data: what kind, how long,
how it ended. Never what is in somebody's data, a file's name, a message that may quote either, or
who the visitor is (a session is a short digest that means nothing elsewhere). Does not live here:
Streamlit's own log.
"""

import hashlib
import json
import logging
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

__all__ = ["note"]

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
