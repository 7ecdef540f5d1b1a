"""What goes to browsers ahead, and the font of icons that goes out small."""

import io
import re
from typing import Any

import pytest
from fontTools import ttLib
from starlette.middleware.gzip import GZipMiddleware

import app
from dpmc_core.paths import DATA
from pages.parts.server import loading
from pages.parts.server.layers import compressed, early, icons
from tests.apart import run_apart


def answer(
    layer: Any,
    path: str,
    *,
    content: bytes = b"behind",
    kind: bytes = b"text/html; charset=utf-8",
    status: int = 200,
    extra: list[tuple[bytes, bytes]] | None = None,
    method: str = "GET",
    **headers: str,
) -> tuple[int, dict[str, str], bytes]:
    """What ``layer`` answers, in front of a server that answers in two pieces."""
    said: list[Any] = []

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        its = [(b"content-type", kind), *(extra or [])]
        await send({"type": "http.response.start", "status": status, "headers": its})
        await send({"type": "http.response.body", "body": content[:9], "more_body": True})
        await send({"type": "http.response.body", "body": content[9:]})

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    raw = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": raw}
    run_apart(layer(behind)(scope, receive, send))
    found = {k.decode(): v.decode() for k, v in said[0]["headers"]}
    return said[0]["status"], found, b"".join(m.get("body", b"") for m in said[1:])


PAGE = b"<html><head><title>x</title></head><body></head></body></html>"


def test_scripts_of_figures_are_named_in_the_page_and_exist() -> None:
    _, headers, body = answer(early.Early, "/", content=PAGE, accept="text/html,*/*")
    assert int(headers["content-length"]) == len(body) > len(PAGE)
    head, rest = body.split(b"</head>", 1)
    assert rest == b"<body></head></body></html>"
    assert head.count(f"<script>{early.WHERE}</script>".encode()) == 1
    named = re.findall(r'href="\./static/(js/[^"]+)"', head.decode())
    assert len(named) == head.count(b"<link ") == head.count(b'fetchpriority="low"')
    assert all((early._FOLDER.parent / name).is_file() for name in named)
    assert not [name for name in named if name.startswith("js/index.")]  # named by the page
    for stem in early._NEEDED:  # Streamlit still calls them so
        assert len([name for name in named if name.startswith(f"js/{stem}.")]) == 1, stem


@pytest.mark.parametrize(
    "how",
    [
        {"status": 304},
        {"kind": b"text/plain"},
        {"extra": [(b"content-disposition", b"attachment")]},
        {"extra": [(b"content-encoding", b"gzip")]},
        {"method": "HEAD"},
    ],
    ids=str,
)
def test_what_is_no_page_stays_as_it_is(how: dict[str, Any]) -> None:
    assert answer(early.Early, "/", content=PAGE, **{"accept": "text/html", **how})[2] == PAGE


@pytest.mark.parametrize(("accept", "named"), [("text/html,*/*", True), ("*/*", False)])
def test_pages_for_browsers_that_take_gzip_have_the_names_too(accept: str, named: bool) -> None:
    def layer(inner: Any) -> early.Early:
        return early.Early(GZipMiddleware(inner, minimum_size=1))  # as Streamlit compresses

    _, headers, body = answer(layer, "/", content=PAGE, accept=accept, accept_encoding="gzip")
    assert (b"modulepreload" in body) == named
    assert (headers.get("content-encoding") == "gzip") == (not named)


def test_code_loaded_first_exists() -> None:
    """A name that is wrong would be passed over, and the first visitor would wait."""
    for name in app.FIRST:
        __import__(name)
    assert loading.done() is None


@pytest.fixture(scope="module")
def small() -> bytes:
    path = icons._font()
    assert path is not None
    return icons.with_only(icons.words_of_the_app(), path.read_bytes())


def shown(font: bytes) -> set[str]:
    """Names of the icons of a font, read by HarfBuzz's rules: ligatures of letters."""
    read = ttLib.TTFont(io.BytesIO(font))
    letter = {glyph: chr(code) for code, glyph in read.getBestCmap().items() if 0x5F <= code < 0x7B}
    letter |= {g: chr(c) for c, g in read.getBestCmap().items() if chr(c) in "0123456789_"}
    return {
        "".join(letter.get(part, "?") for part in (first, *ligature.Component))
        for lookup in read["GSUB"].table.LookupList.Lookup
        for one in lookup.SubTable
        for first, found in getattr(one, "ExtSubTable", one).ligatures.items()
        for ligature in found
    }


@pytest.mark.long
def test_the_small_font_has_every_icon_that_is_named_and_few_others(small: bytes) -> None:
    path = icons._font()
    assert path is not None
    whole = path.read_bytes()
    assert len(small) < 0.25 * len(whole)
    texts = [p.read_text(encoding="utf-8") for p in (icons._OWN / "pages").rglob("*.py")]
    own_files = len(texts)
    texts += [p.read_text(encoding="utf-8") for p in (icons._STATIC / "js").glob("*.js")]
    named = {name for text in texts for name in re.findall(r":material/([a-z0-9_]+):", text)}
    pages = (DATA / "pages.toml").read_text(encoding="utf-8")
    named |= set(re.findall(r'^icon = "([a-z0-9_]+)"', pages, re.M))
    assert len(named) > 40
    own = {n for text in texts[:own_files] for n in re.findall(r":material/([a-z0-9_]+):", text)}
    assert own <= shown(whole)  # none is mistyped
    assert named & shown(whole) <= shown(small)
    assert shown(small) <= shown(whole)
    assert "keyboard_double_arrow_left" in shown(small)  # Streamlit's own, of the sidebar
    assert "zone_person_alert" not in shown(small)


def test_a_font_without_icons_comes_back_as_it_is() -> None:
    path = next(icons._STATIC.glob("media/SourceCodeVF-Upright*.woff2"))
    assert icons.with_only({"home"}, path.read_bytes()) == path.read_bytes()


def test_the_first_gets_the_whole_font_and_later_ones_the_small(
    small: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = icons._font()
    assert path is not None
    address = f"/lab/static/media/{path.name}"
    asked: list[Any] = []
    monkeypatch.setattr(compressed.SLOWLY, "submit", lambda *work: asked.append(work))
    layer = icons.Icons(None)  # type: ignore[arg-type]

    def same(behind: Any) -> Any:
        layer._app = behind
        return layer

    assert answer(same, address)[2] == answer(same, address)[2] == b"behind"
    assert len(asked) == 1  # made once
    layer._small = small
    status, headers, body = answer(same, address)
    assert (status, body, headers["cache-control"]) == (200, small, "no-cache")
    again, _, nothing = answer(same, address, if_none_match=headers["etag"])
    assert (again, nothing) == (304, b"")
    assert answer(same, address, range="bytes=0-9")[2] == b"behind"
    assert answer(same, "/static/media/other.woff2")[2] == b"behind"
