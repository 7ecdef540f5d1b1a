"""Streamlit's font of icons, sent with those icons that anything here can show: a fifth of it.

The font holds 4,000 icons, and draws one in the place of its name. Kept are those whose name is a
word of Streamlit's own code or of the pages.
"""

import hashlib
import io
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import streamlit
from fontTools import subset, ttLib
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker.process import Share
from dpmc_core.experiments.worker.reading import call
from dpmc_core.experiments.worker.worker import Worker
from dpmc_core.paths import DATA
from pages.parts.server import logs
from pages.parts.server.layers.layer import Layer

_STATIC = Path(streamlit.__file__).parent / "static" / "static"
_OWN = Path(__file__).parents[4]
_MAKING = ThreadPoolExecutor(1, "dpmc-icons")
_NAME = re.compile(r"[a-z0-9_]+")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"
_LIGATURES = 4  # the type of lookup in a font's table of substitutions


class Icons(Layer):
    """ASGI middleware. Who asks before the small font is made gets Streamlit's."""

    _small: bytes | None = None
    _requested = False

    async def answer(self, scope: Scope) -> Response | None:
        """Send the small font to who asks for the large one."""
        path, here = _font(), scope["path"]
        if not (
            path is not None
            and scope["method"] == "GET"
            and here.endswith(f"/static/media/{path.name}")
            and "range" not in Headers(scope=scope)
        ):
            return None
        if self._small is not None:
            return _answer(self._small, Headers(scope=scope))
        if not self._requested:
            self._requested = True
            _MAKING.submit(self._make, path)
        return None

    def _make(self, path: Path) -> None:
        # in a process of its own: seconds of Python's here would keep every page waiting
        worker = Worker(Share(nice=19))
        try:
            for output in worker.draw(call, ((small_font, path),)):
                if output is not None and output[1] is not None:
                    self._small = output[1]
        except (DPMCError, MemoryError) as error:
            logs.note("icons", problem=f"the whole font goes out: {error}")
        finally:
            worker.close()


def small_font(path: Path) -> bytes:
    """The font of ``path`` with the icons that the app can show. Raises ``DPMCError``."""
    try:
        return with_only(words_of_the_app(), path.read_bytes())
    except (ttLib.TTLibError, OSError, LookupError, ValueError) as error:
        raise DPMCError(str(error)) from None


def with_only(words: set[str], font: bytes) -> bytes:
    """A font (WOFF2) of the icons of ``font`` that are called as one of ``words``.

    Without icons of that kind in it (ligatures of small letters) it comes back as it is.
    """
    parsed_font = ttLib.TTFont(io.BytesIO(font))
    letters = {parsed_font.getBestCmap().get(ord(letter)): letter for letter in _LETTERS}
    icons = [glyph for name, glyph in _named(parsed_font, letters) if name in words]
    if not icons:
        return font
    # "closure" would add every icon again: all are made of the letters that are kept
    options = subset.Options(flavor="woff2", layout_features=["*"], layout_closure=False)
    cutter = subset.Subsetter(options)
    cutter.populate(glyphs=[glyph for glyph in letters if glyph is not None] + icons)
    cutter.subset(parsed_font)
    buffer = io.BytesIO()
    subset.save_font(parsed_font, buffer, options)
    return buffer.getvalue()


def _named(font: ttLib.TTFont, letters: dict[str | None, str]) -> Iterator[tuple[str, str]]:
    """The name and the glyph of each icon."""
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in (getattr(one, "ExtSubTable", one) for one in lookup.SubTable):
            if table.LookupType == _LIGATURES:
                for first, ligatures in table.ligatures.items():
                    for ligature in ligatures:
                        parts = (first, *ligature.Component)
                        yield "".join(letters.get(part, " ") for part in parts), ligature.LigGlyph


def words_of_the_app() -> set[str]:
    """All words of Streamlit's scripts and of the pages that could name an icon."""
    texts = (
        *_STATIC.glob("js/*.js"),
        *(Path(streamlit.__file__).parent / "elements").rglob("*.py"),
        *(_OWN / "pages").rglob("*.py"),
        *(_OWN / "pages").rglob("*.toml"),
        *DATA.glob("*.toml"),
    )
    return {word for path in texts for word in _NAME.findall(path.read_text(encoding="utf-8"))}


@cache
def _font() -> Path | None:
    return next(iter(_STATIC.glob("media/MaterialSymbols-*.woff2")), None)


def _answer(font: bytes, request_headers: Headers) -> Response:
    """To be asked for again: another release of the app may show other icons under this name."""
    tag = f'"{hashlib.sha256(font).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request_headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(font, headers=headers, media_type="font/woff2")
