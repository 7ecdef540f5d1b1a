"""Downloads against a server on this machine.

Right, truncated, altered, hostile, cancelled, unwritable.
"""

import dataclasses
import hashlib
import io
import os
import random
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dpmc_core.datasets import catalogue, download
from dpmc_core.errors import DownloadError, ParameterError
from tests.faults import raising
from tests.own.files import link, zipped

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


def tarred(name: str, kind: bytes = tarfile.REGTYPE, body: bytes = b"hello") -> bytes:
    sink = io.BytesIO()
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, "/etc/passwd", len(body)
    with tarfile.open(fileobj=sink, mode="w:gz") as packed:
        packed.addfile(info, io.BytesIO(body))
    return sink.getvalue()


GOOD = zipped(
    {"ml-100k/u.data": b"1\t1\t5\t0\n" * 50_000, "ml-100k/deep/readme": b"hello"},
    zipfile.ZIP_STORED,
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str):
    """Point the catalogue's ML-100K at our server.

    Returns a function that serves a body with a checksum.
    """
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path / "data"))

    def serve(
        body: bytes,
        *,
        whole: bytes | None = None,
        claimed: int | None = None,
        url: str = server,
        file: str = "set.zip",
    ) -> Path:
        """``whole`` is what the body is only a part of."""
        SERVED[f"/{file}"] = body, claimed
        checksum = f"sha256:{hashlib.sha256(whole or body).hexdigest()}"
        served = dataclasses.replace(catalogue()["ml-100k"], url=f"{url}/{file}", checksum=checksum)
        monkeypatch.setattr(download, "entry", lambda name: served)
        return tmp_path / "data" / "ml-100k"

    return serve


def refused(message: str, name: str = "ml-100k", error: type[Exception] = DownloadError) -> None:
    with pytest.raises(error, match=message):
        download.fetch(name)


def test_a_download_unpacks_and_replaces_another_only_when_complete(place) -> None:
    folder = place(GOOD)
    old, fresh = folder.parent / ".ml-100k-old", folder.parent / ".ml-100k-fresh"
    for leftover in (old, fresh):  # of a fetch that was killed
        leftover.mkdir(parents=True)
    os.utime(old, (1, 1))
    progress: list[tuple[int, int]] = []
    assert download.fetch("ml-100k", lambda *step: progress.append(step)) == folder
    assert (folder / "u.data").read_bytes().startswith(b"1\t1\t5")
    assert (folder / "deep" / "readme").read_text() == "hello"
    assert progress[-1] == (len(GOOD), len(GOOD))
    # nothing temporary is left, but what another fetch may be using
    assert {p.name for p in folder.parent.iterdir()} == {"ml-100k", fresh.name}
    (folder / "mark").write_text("first")
    for part, claimed, message in (
        (GOOD[:-100], None, "wrong checksum"),
        (GOOD[:3000], len(GOOD), "the connection was lost|wrong checksum"),
    ):
        place(part, whole=GOOD, claimed=claimed)
        refused(message)
        assert (folder / "mark").exists()
    place(tarred("u.data"), file="set.tar.gz")
    download.fetch("ml-100k")
    assert not (folder / "mark").exists()
    assert (folder / "u.data").read_bytes() == b"hello"


UNSAFE = "unsafe member"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        *(
            (zipped({name: b"x"}), UNSAFE)
            for name in (
                *("../evil.txt", "ml-100k/../../evil.txt", "/abs/evil.txt", "..\\evil.txt"),
                "C:/evil.txt",
            )
        ),
        (zipped({"ml-100k/u.data": b"x", link("ml-100k/link"): b"/etc/passwd"}), UNSAFE),
        (b"<html>please log in</html>", "not a complete zip"),
        (zipped({"ml-100k/other": b"x"}), r"holds no u\.data"),
        (tarred("../evil.txt"), UNSAFE),
        (tarred("u.data", tarfile.SYMTYPE, b""), UNSAFE),
        (tarred("u.data", body=random.Random(0).randbytes(9999))[:-100], "not a complete archive"),
        (tarred("other"), r"holds no u\.data"),
    ],
)
def test_what_is_refused_leaves_nothing(place, body: bytes, message: str, tmp_path: Path) -> None:
    """Members that leave the folder, and wrong contents."""
    folder = place(body, file="set.tar.gz" if body.startswith(b"\x1f\x8b") else "set.zip")
    refused(message)
    assert not folder.exists()
    assert not list(tmp_path.rglob("evil*"))


def test_without_a_server_or_when_cancelled_nothing_is_left(place) -> None:
    folder = place(GOOD, url="http://127.0.0.1:9")
    refused(r"no connection.*synthetic")
    place(GOOD)
    with pytest.raises(download.Cancelled, match="cancelled"):
        download.fetch("ml-100k", cancelled=lambda: True)
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_said(
    place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(GOOD)
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path / "file" / "data"))
    refused("cannot be stored")
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(Path, "mkdir", raising(PermissionError(13, "Permission denied")))
    refused(r"read-only.*DPMC_DATA_DIR")


def test_sets_that_are_not_downloaded_say_where_they_are(tmp_path: Path) -> None:
    refused("need no download", "low-rank", ParameterError)
    refused("bundled", "lee", ParameterError)
    refused(r"Get it from http://cbcl.*CBCL_Face.mat", "cbcl")  # no checksum is known
    (tmp_path / "x").write_bytes(b"hello\n")  # a Git blob's id is Git's
    assert download.git_blob(tmp_path / "x") == "ce013625030ba8dba906f756967f9e9ca394464a"
