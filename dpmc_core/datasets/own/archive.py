"""Zip archives of strangers.

What an archive may hold, checked from its directory before anything is unpacked, and its files one
after the other, in memory.
"""

import stat
import zipfile
from collections.abc import Iterator
from io import BytesIO

from dpmc_core.errors import DataError

MOST_FILES = 20_000
_MOST_BYTES = 200_000_000  # of all files together, unpacked
_MOST_OF_ONE = 20_000_000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def is_archive(file: str, data: bytes) -> bool:
    """Whether ``data`` is meant as a zip archive: by its first bytes, or by the file's name."""
    return data[:4] == b"PK\x03\x04" or file.lower().endswith(".zip")


def members(file: str, data: bytes, endings: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """The files in the archive ``data`` whose names end in one of ``endings``, by name and content,
    sorted by name; others are passed over.

    Raises ``DataError`` for what is no zip archive; for one that is damaged, encrypted, or holds
    links, names that lead out of the archive, more than 20,000 files, more than 200 MB unpacked or
    a file of more than 20 MB; and for one that holds no such file.
    """
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except Exception as error:  # noqa: BLE001
        # the reader meets a damaged archive with whatever comes
        raise DataError(f"{file} cannot be read as a zip archive ({error}).") from None
    with archive:
        wanted = sorted(_checked(file, archive.infolist(), endings), key=lambda info: info.filename)
        if not wanted:
            raise DataError(f"{file} holds no {' or '.join(endings)} file.")
        for info in wanted:
            try:
                with archive.open(info) as opened:
                    content = opened.read(_MOST_OF_ONE + 1)
            except Exception:  # noqa: BLE001
                # as above
                raise DataError(f"{file}: the file {info.filename!r} in it is damaged.") from None
            if len(content) > _MOST_OF_ONE:
                raise DataError(
                    f"{file}: the file {info.filename!r} in it holds more than it declares."
                )
            yield info.filename, content


def folder_of(name: str) -> str:
    """The folder that the file ``name`` of an archive is in: the class of what the file holds.

    >>> folder_of("news/sport/1.txt"), folder_of("1.txt")
    ('sport', '')
    """
    return name.replace("\\", "/").rpartition("/")[0].rpartition("/")[2]


def _checked(
    file: str, infos: list[zipfile.ZipInfo], endings: tuple[str, ...]
) -> list[zipfile.ZipInfo]:
    if len(infos) > MOST_FILES:
        raise DataError(f"{file} holds {len(infos):,} files; at most {MOST_FILES:,} are allowed.")
    wanted, total = [], 0
    for info in infos:
        name = info.filename
        if name.endswith("/"):
            continue
        parts = name.replace("\\", "/").split("/")
        if ".." in parts or parts[0] == "" or ":" in parts[0] or "\0" in name:
            raise DataError(
                f"{file}: the name {name!r} leads out of the archive; nothing of it was read."
            )
        if stat.S_ISLNK(info.external_attr >> 16):
            raise DataError(f"{file}: {name!r} is a link; an archive of plain files is allowed.")
        if info.flag_bits & 1:
            raise DataError(
                f"{file}: {name!r} is encrypted; an archive without a password is allowed."
            )
        total += info.file_size
        if info.file_size > _MOST_OF_ONE or total > _MOST_BYTES:
            raise DataError(
                f"{file} would unpack to more than "
                f"{(_MOST_OF_ONE if info.file_size > _MOST_OF_ONE else _MOST_BYTES) // 1_000_000} "
                f"MB ({name!r}); smaller is allowed."
            )
        hidden = any((part.startswith(".") and part != ".") or part == "__MACOSX" for part in parts)
        if hidden or not name.lower().endswith(endings):
            continue
        if info.compress_type not in _METHODS:
            raise DataError(
                f"{file}: {name!r} is packed in an unusual way; make the archive with an "
                "ordinary zip program."
            )
        wanted.append(info)
    return wanted
