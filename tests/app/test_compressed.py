"""Streamlit's scripts go out compressed, and come back whole."""

import gzip
import time
from threading import Lock
from typing import Any

import brotli
import pytest

from pages.parts.server.layers import compressed
from tests.app.answers import Behind, answer
from tests.waiting import until

BR = {"accept_encoding": "br"}
SCRIPT = next(name for name in compressed._files() if name.startswith("js/protobuf"))


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
    behind = Behind()
    script = answer(
        compressed.Compressed(behind), f"{base}/static/{SCRIPT}", accept_encoding=accept
    )
    whole = compressed._files()[SCRIPT].path.read_bytes()
    assert back(script.body) == whole
    assert behind.requests == 0
    assert len(script.body) < 0.31 * len(whole)
    assert script.headers["content-encoding"] == encoding
    assert script.headers["content-length"] == str(len(script.body))
    assert script.headers["vary"] == "Accept-Encoding"
    assert "immutable" in script.headers["cache-control"]
    assert script.headers["content-type"].startswith("text/javascript")


@pytest.mark.long
def test_it_gets_smaller_behind_the_visitors_back_once_the_server_has_started() -> None:
    file = compressed._File(compressed._files()[SCRIPT].path, Lock(), {})
    compressed.hold_back(1.0)
    first = file.compressed("br")
    time.sleep(0.5)
    assert file.compressed("br") == first
    until(lambda: file.compressed("br") != first)
    assert len(file.compressed("br")) < 0.95 * len(first)
    assert brotli.decompress(file.compressed("br")) == file.path.read_bytes()


def test_a_file_is_compressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, path = compressed.Compressed(Behind()), f"/static/{SCRIPT}"
    answer(layer, path, **BR)
    monkeypatch.setitem(compressed._WAYS, "br", lambda content: pytest.fail("again"))
    assert answer(layer, path, **BR).headers["content-encoding"] == "br"


@pytest.mark.parametrize(
    ("path", "others"),
    [
        (f"/static/{SCRIPT}", {}),
        (f"/static/{SCRIPT}", {"accept_encoding": "identity"}),
        (f"/static/{SCRIPT}", {**BR, "method": "POST"}),
        (f"/static/{SCRIPT}", {**BR, "range": "bytes=0-9"}),
        ("/static/js/none.js", BR),
        ("/static/../../__init__.py", BR),
        ("/static/js/../../../config.py", BR),
        ("/", BR),
        ("/media/x.js", BR),
    ],
)
def test_all_else_is_left_to_streamlit(path: str, others: dict[str, str]) -> None:
    behind = Behind()
    plain = answer(compressed.Compressed(behind), path, **others)
    assert (behind.requests, plain.body) == (1, b"behind")
    assert "content-encoding" not in plain.headers
