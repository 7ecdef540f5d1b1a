"""How much the server takes on: visits open at once, and uploads that nobody has read yet.

A layer around Streamlit's server (``app.py`` puts it there) that turns away what is too much with a
sentence.
"""

from collections import Counter
from functools import partial
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit import config, runtime

from dpmc_core.errors import ParameterError
from pages.parts.server import loading, settings
from pages.parts.server.layers.layer import Layer, is_for_page


class Ready(Layer):
    """ASGI middleware."""

    async def answer(self, scope: Scope) -> Response | None:
        """Say at ``/ready`` whether everything is loaded."""
        if not scope["path"].endswith("/ready"):
            return None
        body, status = ("ready", 200) if loading.is_done() else ("loading", 503)
        return PlainTextResponse(body, status, {"Cache-Control": "no-store"})


UPLOADS_OF_ONE = 4  # files of the largest size that one visit may have here unread
_FILES_OF_ONE = 50  # of any size
_BESIDES = 2000  # bytes that a file takes besides its content, its name and its type
_UPLOAD = "/_stcore/upload_file/"
_FULL = (
    "The lab is full just now: as many people as it can serve are here. Please try again in a "
    "few minutes."
)


class Gate(Layer):
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._open = 0
        self._coming = Counter[str]()  # bytes on their way, by visit

    async def answer(self, scope: Scope) -> ASGIApp | None:
        """Take a file or refuse it; show nobody a page where there is no room for a visit."""
        path = scope["path"]
        if scope["method"] in ("PUT", "POST") and _UPLOAD in path:
            return partial(self._upload, path.partition(_UPLOAD)[2].split("/")[0])
        if self._full() and is_for_page(scope) and "/_stcore/" not in path:
            return PlainTextResponse(_FULL, 503, {"Retry-After": "120"})
        return None

    def _full(self) -> bool:
        try:
            return self._open >= settings.of("DPMC_VISITS")
        except ParameterError:  # the page says what is wrong
            return False

    async def connect(self, scope: Scope) -> ASGIApp | None:
        """Count a visit for as long as it is open; refuse one where there is no room."""
        if not scope.get("path", "").endswith("/_stcore/stream"):
            return None
        return WebSocketClose(1013, "full: try again later") if self._full() else self._visited

    async def _visited(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._open += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._open -= 1

    async def _upload(self, visit: str, scope: Scope, receive: Receive, send: Send) -> None:
        largest = config.get_option("server.maxUploadSize") * 2**20
        declared = Headers(scope=scope).get("content-length", "")
        size = int(declared) if declared.isdecimal() and len(declared) < 20 else largest
        here, everywhere, files = _unread(visit)
        if here + self._coming[visit] + size > UPLOADS_OF_ONE * largest or files >= _FILES_OF_ONE:
            refusal = (
                "Too many files are waiting to be read in this visit: remove some, or reload "
                "the page."
            )
        elif everywhere + self._coming.total() + size > settings.of("DPMC_OWN_MB") * 1_000_000:
            refusal = (
                "The files of all visitors together are as large as is allowed here: try again "
                "later."
            )
        else:
            self._coming[visit] += size
            try:
                await self.app(scope, receive, send)
            finally:
                self._coming[visit] -= size
                if not self._coming[visit]:
                    del self._coming[visit]
            return
        await PlainTextResponse(refusal, 413)(scope, receive, send)


def _unread(visit: str) -> tuple[int, int, int]:
    """Bytes of the uploads that Streamlit holds, of one visit and of all, and how many one has."""
    storage = {name: list(dict(files).values()) for name, files in _storage().items()}
    held = {
        name: sum(len(f.data) + len(f.name) + len(f.type) + _BESIDES for f in files)
        for name, files in storage.items()
    }
    return held.get(visit, 0), sum(held.values()), len(storage.get(visit, ()))


def _storage() -> dict[str, dict[str, Any]]:
    """A copy: files come and go meanwhile."""
    manager = runtime.get_instance().uploaded_file_mgr if runtime.exists() else None
    return dict(getattr(manager, "file_storage", {}))
