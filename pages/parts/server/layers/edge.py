"""What browsers are told about the app: who may show it in a frame, and what it may load.

The layer in front of everything else that sets headers, asks each connection where its page has
come from, and keeps the server's own figures in the house; and whether a visit is inside another
site.
"""

import base64
import hashlib
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit import config

from dpmc_core.errors import ParameterError
from pages.parts.server import logs, settings
from pages.parts.server.layers import early
from pages.parts.server.layers.layer import Layer

# the one script of ours that is in the page
SCRIPT = "".join(
    (Path(__file__).parents[2] / "frame" / name).read_text(encoding="utf-8")
    for name in ("browser.js", "drag.js")
)
NEVER_FRAMED = ("runs",)  # there a visitor can delete what is everybody's
_FRAMES = ("iframe", "frame", "embed", "object", "fencedframe")
_NONE = "'none'"
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
_COOKIE = "_streamlit_xsrf"  # Streamlit takes no file without it


class Edge(Layer):
    """ASGI middleware."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_headers(scope["path"]))
            await send(message)

        await super().__call__(scope, receive, sending if scope["type"] == "http" else send)

    async def connect(self, scope: Scope) -> ASGIApp | None:
        """Refuse a connection that a page of another site opened."""
        headers = Headers(scope=scope)
        origin, host = headers.get("origin"), headers.get("host", "")
        allowed = not config.get_option("server.enableCORS") or may_open(
            origin, host, tuple(config.get_option("server.corsAllowedOrigins"))
        )
        if allowed and _is_called(host):
            return None
        # the operator can see why; a request cannot write into the log
        logs.note_rarely("refused", origin=_site(str(origin)), host=_site(host))
        return WebSocketClose(1008, "opened from another site")

    async def answer(self, scope: Scope) -> ASGIApp | None:
        """Answer with headers; send a frame to the page without its menu."""
        if scope["path"].endswith("/_stcore/metrics") and not _metrics_are_open():
            return PlainTextResponse("Closed here: set DPMC_METRICS=1 to open it.", 404)
        if _framed_as_a_whole(scope):
            # without the menu, and known as a frame to the pages; by the question alone: before a
            # proxy the path may be another
            query = str(scope["query_string"], "latin-1")
            address = f"?{query}&embed=true" if query else "?embed=true"
            return RedirectResponse(address)
        return None


def may_open(origin: str | None, host: str, others: tuple[str, ...] = ()) -> bool:
    """Whether a page of ``origin`` may talk to the app, which it knows as ``host``.

    Browsers always say where a page comes from; what is no browser may leave it out, and is
    nobody's tool against its owner. Scheme aside: TLS may end at a proxy.

    >>> may_open("http://lab:8501", "lab:8501"), may_open("http://lab:9000", "lab:8501")
    (True, False)
    >>> may_open("https://lab", "lab:443"), may_open("https://a.org", "b", ("https://a.org",))
    (True, True)
    >>> may_open("https://a.org:1", "b", ("https://a.org",))
    False
    """
    if origin is None:
        return True
    try:
        asking = urlsplit(origin)
        usual = {"http": 80, "https": 443}.get(asking.scheme)
        own = urlsplit(f"{asking.scheme}://{host}")
        same = (asking.hostname, asking.port or usual) == (own.hostname, own.port or usual)
    except ValueError:
        return False
    return (same and bool(asking.hostname) and usual is not None) or origin in others


def _is_called(host: str) -> bool:
    """Whether the app may be known as ``host``.

    Where it listens on this machine alone, by this machine's names and by those that the settings
    say (of a proxy): anybody's name can be made to lead here, and its pages would have that origin.
    Streamlit asks by ``server.allowedHosts`` itself.
    """
    if not listens_here_alone():
        return True
    with suppress(ValueError):
        here = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        return here in _THIS_MACHINE or here.endswith(".localhost")
    return False


def for_this_machine() -> bool:
    """Whether only who is on this machine reaches the app: it listens here alone, goes by no other
    name, and takes requests from no other site's pages, as behind a proxy.
    """
    return (
        listens_here_alone()
        and not config.get_option("server.corsAllowedOrigins")
        and config.get_option("server.enableCORS")
    )


def listens_here_alone() -> bool:
    """Whether it does, and goes by no other name."""
    named = config.get_option("server.allowedHosts")
    return not named and config.get_option("server.address") in _THIS_MACHINE


def in_another_site() -> bool:
    """Whether the page is shown inside another site's, as far as can be told.

    A frame is told to say so in its address. Besides, browsers keep cookies from frames of other
    sites; a browser that keeps no cookies at all looks the same, and can do as little.
    """
    return st.context.is_embedded or not takes_files()


def takes_files() -> bool:
    """Whether Streamlit will take a file from this browser."""
    asks = config.get_option("server.enableXsrfProtection") and bool(st.context.headers)
    return not asks or _COOKIE in st.context.cookies


def _site(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.:/\[\]-]", "?", text)[:100]


def _metrics_are_open() -> bool:
    with suppress(ParameterError):  # the page says what is wrong
        return settings.of("DPMC_METRICS") == 1
    return False


def _framed_as_a_whole(scope: Scope) -> bool:
    """Whether a browser asks for a page to show it in a frame, and the address does not say so."""
    if Headers(scope=scope).get("sec-fetch-dest", "") not in _FRAMES:
        return False
    query = dict(parse_qsl(str(scope["query_string"], "latin-1")))
    return query.get("embed", "").lower() != "true"


def _headers(path: str) -> dict[str, str]:
    allowed: tuple[str, ...] = ()
    if path.rstrip("/").rpartition("/")[2] not in NEVER_FRAMED:
        with suppress(ParameterError):
            allowed = settings.framers()
    return {
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",  # an address holds all settings
        "Content-Security-Policy": f"{_policy()}; frame-ancestors {' '.join(allowed) or _NONE}",
    }


@cache
def _policy() -> str:
    """All from here and nothing from elsewhere; of scripts in the page Streamlit's and ours."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    own = (
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in (*re.findall(r"<script>(.*?)</script>", page, re.DOTALL), SCRIPT, early.WHERE)
    )
    return "; ".join(
        (
            "default-src 'self'",
            " ".join(["script-src 'self'", *(f"'sha256-{one}'" for one in own)]),
            "style-src 'self' 'unsafe-inline'",  # components and figures set their own
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
        )
    )
