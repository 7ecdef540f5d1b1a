"""Downloads against a server on this machine.

Right, truncated, altered, hostile, cancelled, unwritable.
"""

import dataclasses
import hashlib
import io
import os
import stat
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dpmc_core.datasets import catalogue, download
from dpmc_core.errors import DownloadError, ParameterError

SERVED: dict[str, tuple[bytes, int | None]] = {}  # path -> body, and the length to claim


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body, claimed = SERVED.get(self.path, (b"", None))
        self.send_response(200 if self.path in SERVED else 404)
        self.send_header("Content-Length", str(claimed if claimed is not None else len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()
    thread.join()


def archive(*members: tuple[str, bytes], link: str | None = None) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as zipped:
        for name, body in members:
            zipped.writestr(name, body)
        if link:
            info = zipfile.ZipInfo(link)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            zipped.writestr(info, "/etc/passwd")
    return sink.getvalue()


GOOD = archive(("ml-100k/u.data", b"1\t1\t5\t0\n" * 50_000), ("ml-100k/deep/readme", b"hello"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str):
    """Point the catalogue's ML-100K at our server.

    Returns a function that serves a body with a checksum.
    """
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path / "data"))

    def serve(body: bytes, *, claimed: int | None = None, checksum_of: bytes | None = None) -> Path:
        SERVED["/set.zip"] = (body, claimed)
        digest = hashlib.sha256(body if checksum_of is None else checksum_of).hexdigest()
        known = dataclasses.replace(
            catalogue()["ml-100k"], url=f"{server}/set.zip", checksum=f"sha256:{digest}"
        )
        monkeypatch.setattr(download, "entry", lambda name: known)
        return tmp_path / "data" / "ml-100k"

    return serve


def refused(message: str) -> None:
    with pytest.raises(DownloadError, match=message):
        download.fetch("ml-100k")


def test_good_download_unpacks_and_reports_progress(place) -> None:
    folder = place(GOOD)
    seen: list[tuple[int, int]] = []
    assert download.fetch("ml-100k", lambda done, total: seen.append((done, total))) == folder
    assert (folder / "u.data").read_bytes().startswith(b"1\t1\t5")
    assert (folder / "deep" / "readme").read_text() == "hello"
    assert seen[-1] == (len(GOOD), len(GOOD))
    assert [p.name for p in folder.parent.iterdir()] == ["ml-100k"]  # nothing temporary is left


def test_a_second_download_replaces_the_first_only_when_complete(place) -> None:
    folder = place(GOOD)
    download.fetch("ml-100k")
    (folder / "mark").write_text("first")
    place(GOOD[:-100], checksum_of=GOOD)
    refused("wrong checksum")
    assert (folder / "mark").exists()
    place(GOOD)
    download.fetch("ml-100k")
    assert not (folder / "mark").exists()
    assert (folder / "u.data").exists()


def test_leftovers_of_a_killed_fetch_are_cleared_after_a_day(place) -> None:
    folder = place(GOOD)
    old, fresh = folder.parent / ".ml-100k-old", folder.parent / ".ml-100k-fresh"
    for leftover in (old, fresh):
        leftover.mkdir(parents=True)
    os.utime(old, (1, 1))
    download.fetch("ml-100k")
    assert not old.exists()
    assert fresh.exists()  # another fetch may be using it


def test_connection_cut_short(place) -> None:
    folder = place(GOOD[:3000], claimed=len(GOOD), checksum_of=GOOD)
    refused(r"the connection was lost|wrong checksum")
    assert not folder.exists()


def test_no_server(place, monkeypatch: pytest.MonkeyPatch) -> None:
    place(GOOD)
    known = dataclasses.replace(catalogue()["ml-100k"], url="http://127.0.0.1:9/set.zip")
    monkeypatch.setattr(download, "entry", lambda name: known)
    refused(r"no connection.*synthetic")


@pytest.mark.parametrize(
    "body",
    [
        archive(("../evil.txt", b"x")),
        archive(("ml-100k/../../evil.txt", b"x")),
        archive(("/abs/evil.txt", b"x")),
        archive(("..\\evil.txt", b"x")),
        archive(("C:/evil.txt", b"x")),
        archive(("ml-100k/u.data", b"x"), link="ml-100k/link"),
    ],
)
def test_members_that_leave_the_folder_are_refused(place, body: bytes, tmp_path: Path) -> None:
    folder = place(body)
    refused("unsafe member")
    assert not folder.exists()
    assert not list(tmp_path.rglob("evil*"))


def test_not_a_zip_and_wrong_content(place) -> None:
    place(b"<html>please log in</html>")
    refused("not a complete zip")
    place(archive(("ml-100k/other", b"x")))
    refused(r"holds no u\.data")


def test_cancel(place) -> None:
    folder = place(GOOD)
    with pytest.raises(download.Cancelled, match="cancelled"):
        download.fetch("ml-100k", cancelled=lambda: True)
    assert not folder.exists()


def test_unwritable_folder(place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(GOOD)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path / "file" / "data"))
    refused("cannot be stored")

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(Path, "mkdir", refuse)
    refused(r"read-only.*DPMC_DATA_DIR")


def test_synthetic_sets_need_no_download() -> None:
    with pytest.raises(ParameterError, match="need no download"):
        download.fetch("low-rank")
