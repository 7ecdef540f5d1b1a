"""What the server writes down about itself.

One JSON object a line on standard error, about jobs and own data: what kind, how long, how it
ended. Never what is in somebody's data, a file's name, a message that may quote either, or who the
visitor is (a session is a short digest that means nothing elsewhere).
"""

import hashlib
import json
import logging
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

_BETWEEN = 60.0  # seconds between two notes of what anybody can cause
_rare: dict[str, Any] = {}  # how often since the last note, and when that was

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


def note_rarely(event: str, **facts: str) -> None:
    """Write a line for an ``event`` that anybody can cause, a minute apart: nobody fills the log.

    Each says how many ``times`` it happened since the one before.
    """
    times, noted = _rare.get(event, (0, -_BETWEEN))
    times, now = times + 1, time.monotonic()
    if now - noted >= _BETWEEN:
        note(event, **facts, times=times)
        times, noted = 0, now
    _rare[event] = times, noted


def hush(name: str, words: str) -> None:
    """Keep out of the log called ``name`` what says ``words``: anybody could have it written."""
    logging.getLogger(name).addFilter(lambda record: words not in f"{record.msg} {record.exc_info}")
