"""Where the project's own files are, and reading the files that a user names."""

import os
import stat
from pathlib import Path
from typing import Any

from dpmc_core.errors import DataError

__all__ = ["DATA", "IN_CHECKOUT", "LOCAL", "RESULTS", "names_once", "read_file"]

DATA = Path(__file__).resolve().parent / "data"
_PROJECT = DATA.parents[1]
# what is fetched or kept: beside the project's code in a checkout of it, else in the home folder
IN_CHECKOUT = (_PROJECT / "pyproject.toml").is_file()
LOCAL = _PROJECT / "data" if IN_CHECKOUT else Path.home() / ".dpmc-lab"
RESULTS = DATA / "results"  # computed once and kept, with their provenance


def names_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object of these ``pairs``; for ``json.loads(…, object_pairs_hook=names_once)``.

    Raises ``ValueError`` where a name is there twice: one of the two would be passed over.

    >>> names_once([("count", 1), ("scale", 2.0)])
    {'count': 1, 'scale': 2.0}
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def read_file(path: Path, most: int) -> bytes:
    """Read a regular file of at most ``most`` bytes.

    It neither waits nor reads more: a name may stand for a pipe that nobody writes to, or for a
    device without end. Raises ``DataError`` that says what is wrong.
    """
    try:
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise DataError(f"{path} cannot be read: it is no regular file.")
            data = file.read(most + 1) or b""  # None where a file of the system's has nothing yet
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from None
    if len(data) > most:
        size = max(about.st_size, len(data))
        raise DataError(
            f"{path.name} has {size / 1e6:.1f} MB; at most {most / 1e6:g} MB are allowed."
        )
    return data
