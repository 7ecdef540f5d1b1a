"""Streamlit's own scripts and styles, sent compressed: each file once, not per visit.

Streamlit leaves that to a proxy; where there is none, a class of fifty would fetch half a gigabyte.
The first request gets a file at once; then it is compressed again, slowly, a tenth smaller.
"""

import gzip
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue

import brotli
import streamlit
from anyio import to_thread
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from pages.parts.server.layers.layer import Layer

_FOLDER = Path(streamlit.__file__).parent / "static" / "static"
_ROUTE = "/static/"
# fonts and pictures are compressed already
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".wasm": "application/wasm",
}
_FEWEST_BYTES = 1000
_WAYS: dict[str, Callable[[bytes], bytes]] = {
    "br": lambda content: brotli.compress(content, quality=9),
    "gzip": lambda content: gzip.compress(content, 9, mtime=0),
}
# names hold a digest of the content, so that what a name stands for never changes
_FOR_EVER = "public, max-age=31536000, immutable"


@dataclass
class _File:
    path: Path
    lock: threading.Lock
    encoded: dict[str, bytes]

    def compressed(self, encoding: str) -> bytes:
        """The content, compressed the first time somebody asks for it so."""
        with self.lock:
            if encoding not in self.encoded:
                self.encoded[encoding] = _WAYS[encoding](self.path.read_bytes())
                if encoding == "br":
                    _later.put(self)
            return self.encoded[encoding]


_later = SimpleQueue[_File]()  # what is to be compressed again


def hold_back(seconds: float) -> None:
    """Compress nothing again for so long: processes that compute, whose turn comes last too, load
    what the first runs need.
    """
    threading.Thread(target=_again, args=(seconds,), name="dpmc-compress", daemon=True).start()


def _again(after: float) -> None:
    """Compress as far as brotli can, behind everything else, one after the other."""
    with suppress(OSError, AttributeError):  # where threads have no priority of their own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
    time.sleep(after)
    while True:
        file = _later.get()
        with suppress(OSError, MemoryError, brotli.error):
            file.encoded["br"] = brotli.compress(file.path.read_bytes(), quality=11)


class Compressed(Layer):
    """ASGI middleware."""

    async def answer(self, scope: Scope) -> Response | None:
        """Send a file of Streamlit's compressed; none is looked for that is not in the list."""
        _, here, name = scope["path"].rpartition(_ROUTE)
        file = _files().get(name) if here and scope["method"] in ("GET", "HEAD") else None
        encoding = encoding_for(Headers(scope=scope))
        if file is None or encoding is None:
            return None
        # elsewhere: the first time takes up to half a second
        content = await to_thread.run_sync(file.compressed, encoding)
        headers = {
            "Content-Encoding": encoding,
            "Vary": "Accept-Encoding",
            "Cache-Control": _FOR_EVER,
            "Content-Type": _TYPES[file.path.suffix],
        }
        return Response(content, headers=headers)


def encoding_for(headers: Headers) -> str | None:
    """The best encoding that a browser takes, None for none or where it asks for a part of a file.

    >>> encoding_for(Headers({"Accept-Encoding": "gzip, deflate, br"}))
    'br'
    >>> encoding_for(Headers({"Accept-Encoding": "br;q=0, gzip;q=0.5"}))
    'gzip'
    """
    if "range" in headers:
        return None
    taken = set()
    for word in headers.get("accept-encoding", "").split(","):
        name, _, weight = word.partition(";")
        if weight.replace(" ", "").lower() not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            taken.add(name.strip().lower())
    return next((way for way in _WAYS if way in taken), None)


@cache
def _files() -> dict[str, _File]:
    return {
        path.relative_to(_FOLDER).as_posix(): _File(path, threading.Lock(), {})
        for path in sorted(_FOLDER.rglob("*"))
        if path.suffix in _TYPES and path.stat().st_size >= _FEWEST_BYTES
    }
