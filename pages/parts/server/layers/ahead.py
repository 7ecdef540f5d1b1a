"""What a page may show next, made once a browser asks for it and not in the visit's own script,
which would have to wait for that.
"""

import gzip
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from threading import Lock

from anyio import CapacityLimiter, to_thread
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

_ROUTE = "/ahead/"
_MOST = 500  # offers that are remembered
_offers: OrderedDict[str, Callable[[], str]] = OrderedDict()
_changing = Lock()


def offer(name: str, make: Callable[[], str]) -> str:
    """Serve the JSON that ``make`` returns under ``name``; returns its address.

    ``make`` is called in another thread, once for all who ask for it soon.
    """
    with _changing:
        _offers[name] = _offers.pop(name, make)
        while len(_offers) > _MOST:
            _offers.popitem(last=False)
    return f"{_ROUTE.strip('/')}/{name}"


class Ahead:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turns = CapacityLimiter(1)  # visitors' scripts come first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _, here, name = str(scope.get("path", "")).rpartition(_ROUTE)
        if scope["type"] != "http" or scope["method"] != "GET" or not here:
            await self._app(scope, receive, send)
            return
        make = _offers.get(name)
        if make is None:
            answer: Response = PlainTextResponse("This is no longer on offer.", 404)
        else:
            content = await to_thread.run_sync(_made, name, make, limiter=self._turns)
            headers = {"Content-Encoding": "gzip", "Cache-Control": "private, max-age=600"}
            answer = Response(content, headers=headers, media_type="application/json")
        await answer(scope, receive, send)


@lru_cache(maxsize=40)
def _made(name: str, make: Callable[[], str]) -> bytes:
    """The offer called ``name``, compressed."""
    return gzip.compress(make().encode(), 5)
