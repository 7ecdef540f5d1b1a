"""Fetching a dataset from its publisher, only when a person asks.

Download with checksum and progress (pooch), and unpacking that cannot leave the target folder. A
download is all or nothing: it goes to a temporary name and replaces the target only when its
checksum is right, so a broken one is simply tried again.
"""

import hashlib
import os
import shutil
import stat
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pooch
import requests

from dpmc_core.datasets.catalogue import Entry, data_dir, entry
from dpmc_core.errors import DownloadError, ParameterError
from dpmc_core.paths import reason

Progress = Callable[[int, int], None]
_LEFTOVER_SECONDS = 24 * 3600
_UNPACKED_LIMIT = 2 * 1024**3  # bytes; the largest set unpacks to 0.9 GiB
_DAMAGED = zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, RuntimeError, IndexError


class Cancelled(DownloadError):
    """The person who asked for the download called it off."""


def fetch(
    name: str, progress: Progress | None = None, cancelled: Callable[[], bool] = lambda: False
) -> Path:
    """Download, check and unpack the dataset ``name``; returns its folder.

    ``progress(done, total)`` is told bytes (total 0 while unknown). Raises ``DownloadError`` (a
    sentence) without network, for a wrong or truncated file, a folder that cannot be written or an
    archive that tries to leave it, and ``Cancelled`` when ``cancelled()`` turns true. Whatever was
    there before stays unless the new set is complete.
    """
    record = entry(name)
    if record.kind != "files":
        raise ParameterError(
            "dataset",
            name,
            "a set with files; synthetic sets are made here, bundled ones are installed: they "
            "need no download",
        )
    if not record.fetchable:
        raise DownloadError(
            f"{record.title} has no address with a checksum that this app could hold it to. Get "
            f"it from {record.page} and put {record.files[0]} into {record.place}."
        )
    root = data_dir()
    try:
        root.mkdir(parents=True, exist_ok=True)
        for leftover in root.glob(f".{record.folder}-*"):  # of a fetch that was killed
            if time.time() - leftover.stat().st_mtime > _LEFTOVER_SECONDS:
                shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f".{record.folder}-", dir=root) as temporary:
            archive = _download(record, Path(temporary), progress, cancelled)
            fresh = Path(temporary) / "unpacked"
            fresh.mkdir()
            # a damaged zip is told by its name
            packed = archive.suffix == ".zip" or zipfile.is_zipfile(archive)
            if packed or tarfile.is_tarfile(archive):
                fresh = unpack(archive, fresh)
            else:
                shutil.copy(archive, fresh / record.files[0])
            missing = [file for file in record.files if not (fresh / file).exists()]
            if missing:
                raise DownloadError(
                    f"{record.title}: the archive holds no {missing[0]}; nothing was changed."
                )
            if cancelled():
                raise Cancelled(f"{record.title}: download cancelled; nothing was changed.")
            _replace(fresh, record.path(), Path(temporary) / "old")
    except DownloadError:
        raise
    except PermissionError as error:
        raise DownloadError(
            f"{record.title} cannot be stored: the data folder is read-only. Point DPMC_DATA_DIR "
            "at a folder you may write to."
        ) from error
    except OSError as error:
        raise DownloadError(
            f"{record.title} cannot be stored in the data folder: {reason(error)}."
        ) from error
    return record.path()


@dataclass
class _Meter:
    """What pooch wants of a progress bar.

    Calls ``progress`` and stops the download when ``cancelled`` says so.
    """

    title: str
    progress: Progress | None
    cancelled: Callable[[], bool]
    total: int = 0
    done: int = 0

    def update(self, n: int) -> None:
        self.done += n
        if self.cancelled():
            raise Cancelled(f"{self.title}: download cancelled; nothing was changed.")
        if self.progress:
            self.progress(self.done, int(self.total))

    def reset(self) -> None:
        # pooch resets a bar at the end of a download and refills it in one go
        self.done = 0

    def close(self) -> None:
        """Nothing to close."""


def _download(
    record: Entry, folder: Path, progress: Progress | None, cancelled: Callable[[], bool]
) -> Path:
    name = PurePosixPath(record.url).name
    meter = _Meter(record.title, progress, cancelled)
    downloader = pooch.HTTPDownloader(
        progressbar=meter, timeout=30, headers={"User-Agent": "dpmc-lab"}
    )
    try:
        pooch.get_logger().setLevel("WARNING")
        kind, _, digest = record.checksum.partition(":")
        path = pooch.retrieve(
            record.url,
            known_hash=None if kind == "git-blob" else record.checksum,
            fname=name,
            path=folder,
            downloader=downloader,
        )
        if kind == "git-blob" and git_blob(Path(path)) != digest:
            raise ValueError("wrong git blob")
    except requests.exceptions.RequestException as error:
        kind = "the connection was lost" if meter.done else "no connection"
        raise DownloadError(
            f"{record.title} could not be fetched from {record.url} ({kind}). Nothing was "
            "changed; try again with a network, or use a synthetic set."
        ) from error
    except ValueError as error:  # pooch's word for a wrong checksum
        raise DownloadError(
            f"{record.title}: what came from {record.url} is not the published file (wrong "
            "checksum: truncated or altered). Nothing was changed; try again."
        ) from error
    return Path(path)


def git_blob(path: Path) -> str:
    """The id that git gives the file's content.

    SHA-1 of "blob", its length, a zero byte and the bytes.
    """
    body = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


def unpack(archive: Path, target: Path) -> Path:
    """Unpack a zip or tar archive into the empty folder ``target``; returns the folder with its
    files: of a zip its own top folder if all members share one.

    Raises ``DownloadError`` for a damaged archive, for any member that is absolute, climbs out with
    ".." or is a symbolic link, and for more than 2 GiB.
    """
    try:
        if archive.suffix != ".zip" and not zipfile.is_zipfile(archive):
            with tarfile.open(archive) as packed:
                _check_size(archive, sum(member.size for member in packed.getmembers()))
                packed.extractall(target, filter="data")  # Python's own: no way out, no devices
            return target
        with zipfile.ZipFile(archive) as zipped:
            members = zipped.infolist()
            _check_size(archive, sum(member.file_size for member in members))
            for member in members:
                parts = PurePosixPath(member.filename.replace("\\", "/")).parts
                leads_out = ".." in parts or parts[0] == "/" or ":" in parts[0]
                if leads_out or stat.S_ISLNK(member.external_attr >> 16):
                    raise _unsafe(archive, member.filename)
            zipped.extractall(target)
    except tarfile.FilterError as error:
        raise _unsafe(archive, error.tarinfo.name) from error
    except _DAMAGED as error:
        kind = "zip archive" if archive.suffix == ".zip" else "archive"
        raise DownloadError(
            f"{archive.name} is not a complete {kind} ({error}); try again."
        ) from error
    tops = [*target.iterdir()]
    return tops[0] if len(tops) == 1 and tops[0].is_dir() else target


def _unsafe(archive: Path, member: str) -> DownloadError:
    return DownloadError(f"{archive.name} holds an unsafe member, {member!r}; nothing was kept.")


def _check_size(archive: Path, size: int) -> None:
    if size > _UNPACKED_LIMIT:
        raise DownloadError(f"{archive.name} would unpack to more than 2 GiB; it was not unpacked.")


def _replace(fresh: Path, place: Path, aside: Path) -> None:
    """Put ``fresh`` at ``place``; what was there goes aside first and comes back if that fails."""
    if place.exists():
        os.replace(place, aside)
    try:
        os.replace(fresh, place)
    except OSError:
        if aside.exists():
            os.replace(aside, place)
        raise
