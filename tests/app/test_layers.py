"""What goes to browsers ahead, and the font of icons that goes out small."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from fontTools import ttLib
from starlette.middleware.gzip import GZipMiddleware

import app
from dpmc_core.paths import DATA
from pages.parts.server import loading
from pages.parts.server.layers import early, icons
from pages.parts.server.layers.layer import Layer
from tests.app.answers import Behind, answer

PAGE = b"<html><head><title>x</title></head><body></head></body></html>"


def test_every_layer_stands_in_front_of_the_server() -> None:
    ours = {one for one in Layer.__subclasses__() if one.__module__.startswith("pages.")}
    assert {each.cls for each in app.LAYERS} == ours


def test_scripts_of_figures_are_named_in_the_page_and_exist() -> None:
    page = answer(early.Early(Behind(PAGE)), accept="text/html,*/*")
    assert int(page.headers["content-length"]) == len(page.body) > len(PAGE)
    head, rest = page.body.split(b"</head>", 1)
    assert rest == b"<body></head></body></html>"
    assert head.count(f"<script>{early.WHERE}</script>".encode()) == 1
    named = re.findall(r'href="\./static/(js/[^"]+)"', head.decode())
    assert len(named) == head.count(b"<link ") == head.count(b'fetchpriority="low"')
    assert all((early._FOLDER.parent / name).is_file() for name in named)
    assert not [name for name in named if name.startswith("js/index.")]  # named by the page
    for stem in early._NEEDED:  # Streamlit still calls them so
        assert len([name for name in named if name.startswith(f"js/{stem}.")]) == 1, stem


@pytest.mark.parametrize(
    ("behind", "method"),
    [
        (Behind(PAGE, status=304), "GET"),
        (Behind(PAGE, b"text/plain"), "GET"),
        (Behind(PAGE, extra=((b"content-disposition", b"attachment"),)), "GET"),
        (Behind(PAGE, extra=((b"content-encoding", b"gzip"),)), "GET"),
        (Behind(PAGE), "HEAD"),
    ],
    ids=str,
)
def test_what_is_no_page_stays_as_it_is(behind: Behind, method: str) -> None:
    assert answer(early.Early(behind), method=method, accept="text/html").body == PAGE


@pytest.mark.parametrize(("accept", "named"), [("text/html,*/*", True), ("*/*", False)])
def test_pages_for_browsers_that_take_gzip_have_the_names_too(accept: str, named: bool) -> None:
    layer = early.Early(GZipMiddleware(Behind(PAGE), minimum_size=1))  # as Streamlit compresses
    page = answer(layer, accept=accept, accept_encoding="gzip")
    assert (b"modulepreload" in page.body) == named
    assert (page.headers.get("content-encoding") == "gzip") == (not named)


def test_code_loaded_first_exists() -> None:
    """A name that is wrong would be passed over, and the first visitor would wait."""
    for name in app.FIRST:
        __import__(name)
    assert loading.done() is None


@pytest.fixture(scope="module")
def small() -> bytes:
    path = icons._font()
    layer = icons.Icons(Behind())
    layer._make(path)
    return layer._small


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


def icons_named(folder: Path, files: str) -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in folder.rglob(files))
    return {name for text in texts for name in re.findall(r":material/([a-z0-9_]+):", text)}


@pytest.mark.long
def test_the_small_font_has_every_icon_that_is_named_and_few_others(small: bytes) -> None:
    path = icons._font()
    whole = path.read_bytes()
    assert len(small) < 0.25 * len(whole)
    own = icons_named(icons._OWN / "pages", "*.py")
    pages = (DATA / "pages.toml").read_text(encoding="utf-8")
    named = own | icons_named(icons._STATIC / "js", "*.js")
    named |= set(re.findall(r'^icon = "([a-z0-9_]+)"', pages, re.M))
    assert len(named) > 40
    assert own <= shown(whole)  # none is mistyped
    assert named & shown(whole) <= shown(small)
    assert shown(small) <= shown(whole)
    assert "keyboard_double_arrow_left" in shown(small)  # Streamlit's own, of the sidebar
    assert "zone_person_alert" not in shown(small)


def test_a_font_without_icons_comes_back_as_it_is() -> None:
    path = next(icons._STATIC.glob("media/SourceCodeVF-Upright*.woff2"))
    assert icons.with_only({"home"}, path.read_bytes()) == path.read_bytes()


@pytest.mark.long
def test_the_first_gets_the_whole_font_and_later_ones_the_small(
    small: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = icons._font()
    address = f"/lab/static/media/{path.name}"
    works: list[Any] = []
    monkeypatch.setattr(icons._MAKING, "submit", lambda *work: works.append(work))
    layer = icons.Icons(Behind())
    assert [answer(layer, address).body for _ in range(2)] == [b"behind"] * 2
    assert len(works) == 1  # made once
    layer._small = small
    font = answer(layer, address)
    assert (font.status, font.body, font.headers["cache-control"]) == (200, small, "no-cache")
    again = answer(layer, address, if_none_match=font.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert answer(layer, address, range="bytes=0-9").body == b"behind"
    assert answer(layer, "/static/media/other.woff2").body == b"behind"
