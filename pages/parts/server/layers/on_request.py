"""What is made once a browser asks for it, each thing once.

What a page may show next (``offer``), which the visit's own script would have to wait for, and
files that a button makes when it is pressed (``hold_made_files``), which are let go again:
Streamlit makes one again for each message that asks for it, and holds all of them by nobody. Two
scripts of others that end before the browser fetches a file take it away.
"""

import gzip
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import lru_cache
from pathlib import PurePath
from threading import Lock
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Scope

from pages.parts.server import logs
from pages.parts.server.layers.layer import Layer

_ROUTE = "/ahead/"
_MOST_OFFERS = 500  # offers that are remembered
_MOST_FILES = 40  # files that are held at once for all visits, the latest
_offers = OrderedDict[str, Callable[[], str]]()
_changing = Lock()


def offer(name: str, make: Callable[[], str]) -> str:
    """Serve the JSON that ``make`` returns under ``name``; returns its address.

    ``make`` is called in another thread, once for all who ask for it soon.
    """
    with _changing:
        _offers[name] = _offers.pop(name, make)
        while len(_offers) > _MOST_OFFERS:
            _offers.popitem(last=False)
    return f"{_ROUTE.strip('/')}/{name}"


class Ahead(Layer):
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._turns = CapacityLimiter(1)  # visitors' scripts come first

    async def answer(self, scope: Scope) -> Response | None:
        """Send what is on offer under the name that the path ends with."""
        _, here, name = scope["path"].rpartition(_ROUTE)
        if scope["method"] != "GET" or not here:
            return None
        make = _offers.get(name)
        if make is None:
            return PlainTextResponse("This is no longer on offer.", 404)
        content = await to_thread.run_sync(_compressed, name, make, limiter=self._turns)
        headers = {"Content-Encoding": "gzip", "Cache-Control": "private, max-age=600"}
        return Response(content, headers=headers, media_type="application/json")


@lru_cache(maxsize=40)
def _compressed(name: str, make: Callable[[], str]) -> bytes:
    """The offer called ``name``, compressed."""
    return gzip.compress(make().encode(), 5)


def hold_made_files(manager: Any) -> None:
    """Have Streamlit's ``manager`` of files make each once, and hold it for its visit.

    Until the page is drawn again, the visit ends, or there are too many. Much of this is of the
    inside of ``manager``: tests hold that it is there.
    """
    make = manager.execute_deferred
    held = deque[Any]()

    def address(name: str) -> str:
        button = manager._deferred_callables.get(name, {})
        with button.setdefault("lock", Lock()):
            path = button.get("address", "")
            if manager.read_file(PurePath(path).name) is None:
                path = button["address"] = make(name)
            with manager._lock:
                files = manager._files_by_session_and_coord.get(button["session_id"], {})
                if name not in files:
                    held.append((files, name))
                files[name] = PurePath(path).stem
                if len(held) > _MOST_FILES:
                    of_one, oldest = held.popleft()
                    of_one.pop(oldest, None)
        return path

    manager.execute_deferred = address
    # for requests for a file that no button makes
    logs.hush("streamlit.runtime.backend_operation_handler", "Deferred file ")
