"""Where the project's own files are, and reading the files that a user names."""

import codecs
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dpmc_core.errors import DataError

_PACKAGE = Path(__file__).resolve().parent
IN_CHECKOUT = (_PACKAGE.parent / "pyproject.toml").is_file()
# facts and prose: a wheel carries them in the package
DATA = (_PACKAGE.parent if IN_CHECKOUT else _PACKAGE) / "data"
# what is fetched or kept: beside them in a checkout of the project, else in the home folder
LOCAL = DATA if IN_CHECKOUT else Path.home() / ".dpmc-lab"
RESULTS = DATA / "results"  # computed once and kept, with their provenance


def names_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object of these ``pairs``; for ``json.loads(…, object_pairs_hook=names_once)``.

    Raises ``ValueError`` where a name is there twice: one of the two would be passed over.

    >>> names_once([("count", 1), ("scale", 2.0)])
    {'count': 1, 'scale': 2.0}
    """
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name is there twice")
    return members


def reason(error: BaseException) -> str:
    """What went wrong, without the path that an ``OSError`` names: that is the server's business.

    >>> reason(FileNotFoundError(2, "No such file", "/srv/data/u.data")), reason(ValueError("x"))
    ('No such file', 'x')
    """
    return str(getattr(error, "strerror", None) or error)


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


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write into, which takes the place of ``path`` once it is whole, and else goes."""
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def read_text(path: Path, most: int) -> str:
    """Read a regular file of at most ``most`` bytes as text. Raises ``DataError``."""
    return text_of(path.name, read_file(path, most))


def text_of(file: str, data: bytes) -> str:
    """The text in ``data``: UTF-8 with or without a byte-order mark, or UTF-16 with one.

    Raises ``DataError`` that names the ``file``.

    >>> text_of("a", b"\\xef\\xbb\\xbfa"), text_of("a", "a".encode("utf-16"))
    ('a', 'a')
    """
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file} must be text in UTF-8; byte {error.start + 1:,} is none of it."
        ) from None


def text_lines(text: str) -> list[str]:
    """The lines of ``text``, which end at LF, CR LF or CR and nowhere else.

    ``str.splitlines`` also ends them at form feeds, U+0085, U+2028 and others, which stand inside
    what people write.

    >>> text_lines("a\u2028b\\r\\nc\\x0cd\\re\\n")
    ['a\\u2028b', 'c\\x0cd', 'e']
    """
    lines = re.split("\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]
