"""Has browsers fetch the scripts of figures and controls along with the page.

Streamlit's own scripts ask for them only when the server has sent a figure: on a slow line that is
after everything else, with a wait for each turn. At low priority: first what the page names itself.
"""

import re
from functools import cache
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Early"]

_FOLDER = Path(streamlit.__file__).parent / "static" / "static" / "js"
# what the pages show first, by the names of Streamlit's scripts, before their digests
_NEEDED = (
    *("PlotlyChart", "Selectbox", "NumberInput", "Html", "Slider", "Button", "PageLink"),
    *("DownloadButton", "Checkbox", "ButtonGroup", "Multiselect", "TextInput"),
)
_IMPORTED = re.compile(r'(?:from|import)\s*"\./([^"]+\.js)"')


class Early:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers["Link"] = _links()
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)


@cache
def _links() -> str:
    """The header: relative, as all addresses in Streamlit's page are."""
    return ", ".join(
        f"<./static/js/{name}>; rel=modulepreload; fetchpriority=low" for name in _scripts()
    )


def _scripts() -> tuple[str, ...]:
    """The scripts needed and what they import, but for those that the page names itself."""
    found: dict[str, None] = {}
    for stem in _NEEDED:
        for path in _FOLDER.glob(f"{stem}.*.js"):
            _with_imports(path.name, found)
    page = (_FOLDER.parents[1] / "index.html").read_text(encoding="utf-8")
    return tuple(name for name in found if f"/{name}" not in page)


def _with_imports(name: str, found: dict[str, None]) -> None:
    if name not in found and (_FOLDER / name).is_file():
        found[name] = None
        for imported in _IMPORTED.findall((_FOLDER / name).read_text(encoding="utf-8")[:20_000]):
            _with_imports(imported, found)
