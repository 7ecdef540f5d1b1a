"""What all layers around Streamlit's server have in common (``app.py`` puts them there)."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send


class Layer:
    """ASGI middleware that passes on all requests; a layer overrides one kind or both."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kinds = {"http": self.answer, "websocket": self.connect}
        await kinds.get(scope["type"], self.app)(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by HTTP."""
        await self.app(scope, receive, send)

    async def connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection by WebSocket."""
        await self.app(scope, receive, send)


def is_for_page(scope: Scope) -> bool:
    """Whether a browser asks for a page, and not for a file of one."""
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")
