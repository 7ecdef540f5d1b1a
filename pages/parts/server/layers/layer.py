"""What all layers around Streamlit's server have in common (``app.py`` puts them there)."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send


class Layer:
    """ASGI middleware around ``app`` that says who serves a request in its place, if anybody; a
    layer overrides one kind or both.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kinds = {"http": self.answer, "websocket": self.connect}
        other = await kinds[scope["type"]](scope) if scope["type"] in kinds else None
        await (other or self.app)(scope, receive, send)

    async def answer(self, scope: Scope) -> ASGIApp | None:
        """Return what answers a request by HTTP; None for what is behind this layer."""
        del scope
        return None

    async def connect(self, scope: Scope) -> ASGIApp | None:
        """Return what serves a connection by WebSocket; None for what is behind this layer."""
        del scope
        return None


def is_for_page(scope: Scope) -> bool:
    """Whether a browser asks for a page, and not for a file of one."""
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")
