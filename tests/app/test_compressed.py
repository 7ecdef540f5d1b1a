"""Streamlit's scripts go out compressed, and come back whole."""

import gzip
import time
from threading import Lock
from typing import Any

import brotli
import pytest

from pages.parts.server.layers import compressed
from tests.apart import run_apart

SCRIPT = next(name for name in compressed._files() if name.startswith("js/protobuf"))


class Behind:
    """What stands behind: counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"plain"})


def answer(path: str, accept: str | None, **named: Any) -> tuple[dict[str, str], bytes, int]:
    """Headers, body, and how often what stands behind was asked."""
    behind, said = Behind(), []

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    headers = [] if accept is None else [(b"accept-encoding", accept.encode())]
    headers += named.pop("headers", [])
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers, **named}
    run_apart(compressed.Compressed(behind)(scope, receive, send))
    found = {k.decode(): v.decode() for k, v in said[0]["headers"]}
    return found, b"".join(m.get("body", b"") for m in said[1:]), behind.asked


@pytest.mark.parametrize("base", ["", "/lab"])
@pytest.mark.parametrize(
    ("accept", "encoding", "back"),
    [
        ("gzip, deflate, br, zstd", "br", brotli.decompress),
        ("gzip", "gzip", gzip.decompress),
        ("br;q=0, GZIP;q=0.3", "gzip", gzip.decompress),
    ],
)
def test_what_comes_back_is_the_file(base: str, accept: str, encoding: str, back: Any) -> None:
    headers, body, asked = answer(f"{base}/static/{SCRIPT}", accept)
    whole = compressed._files()[SCRIPT].path.read_bytes()
    assert back(body) == whole
    assert asked == 0
    assert len(body) < 0.31 * len(whole)
    assert headers["content-encoding"] == encoding
    assert headers["content-length"] == str(len(body))
    assert headers["vary"] == "Accept-Encoding"
    assert "immutable" in headers["cache-control"]
    assert headers["content-type"].startswith("text/javascript")


@pytest.mark.long
def test_it_gets_smaller_behind_the_visitors_back_once_the_server_has_started() -> None:
    file = compressed._File(compressed._files()[SCRIPT].path, Lock(), {})
    compressed.hold_back(1.0)
    first = file.compressed("br")
    compressed.SLOWLY.submit(lambda: None).result(timeout=120)
    assert file.compressed("br") == first
    until = time.monotonic() + 120
    while file.compressed("br") == first and time.monotonic() < until:
        time.sleep(0.1)
    assert len(file.compressed("br")) < 0.95 * len(first)
    assert brotli.decompress(file.compressed("br")) == file.path.read_bytes()


def test_a_file_is_compressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(f"/static/{SCRIPT}", "br")
    monkeypatch.setitem(compressed._WAYS, "br", lambda content: pytest.fail("again"))
    assert answer(f"/static/{SCRIPT}", "br")[0]["content-encoding"] == "br"


@pytest.mark.parametrize(
    ("path", "accept", "named"),
    [
        (f"/static/{SCRIPT}", None, {}),
        (f"/static/{SCRIPT}", "identity", {}),
        (f"/static/{SCRIPT}", "br", {"method": "POST"}),
        (f"/static/{SCRIPT}", "br", {"headers": [(b"range", b"bytes=0-9")]}),
        ("/static/js/none.js", "br", {}),
        ("/static/../../__init__.py", "br", {}),
        ("/static/js/../../../config.py", "br", {}),
        ("/", "br", {}),
        ("/media/x.js", "br", {}),
    ],
)
def test_all_else_is_left_to_streamlit(path: str, accept: str | None, named: Any) -> None:
    headers, body, asked = answer(path, accept, **named)
    assert asked == 1
    assert body == b"plain"
    assert "content-encoding" not in headers
