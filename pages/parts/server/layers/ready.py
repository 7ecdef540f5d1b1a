"""Whether this server can take visitors: ``/ready``, for whoever stands before several of them.

Provides the layer that answers it: 200 once the code of the first page is loaded, 503 before.
Streamlit's own ``/_stcore/health`` says that it runs.
"""

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pages.parts.server import loading


class Ready:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not str(scope["path"]).endswith("/ready"):
            await self._app(scope, receive, send)
            return
        said, status = ("ready", 200) if loading.is_done() else ("loading", 503)
        answer = PlainTextResponse(said, status, {"Cache-Control": "no-store"})
        await answer(scope, receive, send)
