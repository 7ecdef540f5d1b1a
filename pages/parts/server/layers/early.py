"""Has browsers fetch the scripts of figures and controls along with the page, tells Streamlit's
where the server is, and has a tab that is loaded again show which visit is its own (``visits``).

Streamlit's own scripts ask for them only when the server has sent a figure: on a slow line that is
after everything else, with a wait for each turn. At low priority: first what the page names itself.
"""

import re
from functools import cache
from pathlib import Path

import streamlit
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.parts.server.layers.layer import Layer, is_for_page

COOKIE = "dpmc-visit"
# the folder of the page's address: Streamlit would first ask below the page, and be told 404 twice
WHERE = """window.__streamlit = {BACKEND_BASE_URL: new URL(".", location).href};
window.WebSocket = class extends WebSocket {
  constructor(address, ...others) {
    const url = new URL(address, location);
    try { url.searchParams.set("visit", sessionStorage.getItem("dpmc-visit") ?? ""); } catch {}
    super(url, ...others);
  }
};"""
_FOLDER = Path(streamlit.__file__).parent / "static" / "static" / "js"
# what the pages show first, by the names of Streamlit's scripts, before their digests
_NEEDED = (
    "PlotlyChart",
    "Selectbox",
    "NumberInput",
    "Html",
    "Slider",
    "Button",
    "PageLink",
    "DownloadButton",
    "Checkbox",
    "ButtonGroup",
    "Multiselect",
    "TextInput",
)
_IMPORTED = re.compile(r'(?:from|import)\s*"\./([^"]+\.js)"')


class Early(Layer):
    """ASGI middleware: names the scripts in Streamlit's page.

    Not in a header, which would be longer than some proxies take.
    """

    async def answer(self, scope: Scope) -> ASGIApp | None:
        """Answer a request for a page with the scripts named in it."""
        return self._with_scripts if is_for_page(scope) else None

    async def _with_scripts(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun: list[Message] = []  # the start of an answer whose body is to come
        body = b""

        async def sending(message: Message) -> None:
            nonlocal body
            if message["type"] == "http.response.start" and _is_page(message):
                begun.append(message)
            elif message["type"] == "http.response.body" and begun:
                body += message.get("body", b"")
                if message.get("more_body", False):
                    return
                body = body.replace(b"</head>", _links() + b"</head>", 1)
                start = begun.pop()
                MutableHeaders(scope=start)["Content-Length"] = str(len(body))
                await send(start)
                await send({"type": "http.response.body", "body": body})
            else:
                await send(message)

        # nothing can be put into a compressed one
        headers = [(k, v) for k, v in scope["headers"] if k.lower() != b"accept-encoding"]
        await self.app({**scope, "headers": headers}, receive, sending)

    async def connect(self, scope: Scope) -> None:
        """Put the token that a tab's connection has in its address where ``visits`` reads it: in a
        cookie, which no browser keeps and no other tab can show.
        """
        token = QueryParams(scope["query_string"]).get("visit", "")
        headers = Headers(scope=scope)
        own = [one for one in headers.get("cookie", "").split("; ") if not one.startswith(COOKIE)]
        cookie = "; ".join([*own, f"{COOKIE}={token}"]).encode("latin-1", "ignore")
        rest = [(name, value) for name, value in headers.raw if name != b"cookie"]
        scope["headers"] = [*rest, (b"cookie", cookie)]


def _is_page(start: Message) -> bool:
    """Whether it is a whole page, and no file to keep."""
    headers = Headers(raw=start["headers"])
    return (
        start["status"] == 200
        and headers.get("content-type", "").startswith("text/html")
        and not {"content-encoding", "content-disposition"} & set(headers.keys())
    )


@cache
def _links() -> bytes:
    """Relative, as all addresses in Streamlit's page are; its own scripts wait for ours."""
    how = 'rel="modulepreload" fetchpriority="low" crossorigin'
    links = "".join(f'<link {how} href="./static/js/{name}">' for name in _scripts())
    return f"<script>{WHERE}</script>{links}".encode()


def _scripts() -> tuple[str, ...]:
    """The scripts needed and what they import, but for those that the page names itself."""
    names: dict[str, None] = {}
    for stem in _NEEDED:
        for path in _FOLDER.glob(f"{stem}.*.js"):
            _with_imports(path.name, names)
    page = (_FOLDER.parents[1] / "index.html").read_text(encoding="utf-8")
    return tuple(name for name in names if f"/{name}" not in page)


def _with_imports(name: str, names: dict[str, None]) -> None:
    if name not in names and (_FOLDER / name).is_file():
        names[name] = None
        for imported in _IMPORTED.findall((_FOLDER / name).read_text(encoding="utf-8")[:20_000]):
            _with_imports(imported, names)
