"""Every page in one visit for each size: as it is met, with all of it open, and presented."""

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pages.parts.ui import glossary
from tests.browser.geometry import problems, words_in_sight
from tests.browser.test_app import AXE, address, grave, laid_out, ready, verdict_says
from tests.browser.test_app import PAGES as QUESTIONS

pytestmark = pytest.mark.browser

PAGES = (
    *(path for path in QUESTIONS if "?" not in path),
    "/plan?n_kind=model",
    "/plan?n_kind=project",
)
OTHER_FIGURES = (  # other figures of the pages
    "/mechanisms?m_view=log-density",
    "/mechanisms?m_view=cdf",
    "/completion?question=people",
    "/completion?question=lists",
    "/completion?question=recommend",
    "/factorization?f_question=people",
    "/tradeoffs?t_view=pairs",
    "/tradeoffs?t_view=frontier",
    "/tradeoffs?t_vary=people",
    "/lessons?l_view=teach",
)
PRINTED = ("/", "/factorization", "/papers")
TABBED_THROUGH = ("/", "/audit")
PAPERS = {"A4": 794, "Letter": 816}  # pixels of their width at 96 dpi
MOST_WORDS, MOST_IN_VERDICT = 70, 21  # "Example:" stands before some
FIGURE = '[data-testid="stMain"] .stPlotlyChart, [data-testid="stMain"] [data-testid="stDataFrame"]'
VERDICT, BAR = ".st-key-verdict", ".st-key-presenter-bar"
Scheme = Literal["light", "dark"]
# a tablet, a projector, a phone that was turned
OTHER_SCREENS = ((820, 1180), (1024, 768), (844, 390))
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
SCREENS: tuple[tuple[Scheme, int, int], ...] = (
    ("light", 1920, 1080),
    ("light", 1440, 900),
    ("light", 390, 844),
    ("dark", 390, 844),
    ("dark", 1440, 900),
)
LOCAL = ("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:")
TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"
LEAST_SHARE = {"/factorization": 0.44, "/game": 0.44}  # of the screen, presented
SMALLEST_TEXT = """Math.min(...[...document.querySelectorAll('.stPlotlyChart svg text')]
    .map(e => parseFloat(getComputedStyle(e).fontSize)).filter(size => size))"""
MOVING = "document.getAnimations().filter(a => a.playState === 'running').length"


@pytest.fixture(scope="module")
def profiles(browser: Browser) -> Iterator[dict[str, BrowserContext]]:
    """One profile for each size: scripts are fetched once. Whoever has it asked for less motion."""
    made = {
        name: browser.new_context(
            viewport={"width": width, "height": height},
            has_touch=name == "phone",
            is_mobile=name == "phone",
            reduced_motion="reduce",
        )
        for name, width, height in (("desktop", 1280, 720), ("phone", 390, 844))
    }
    yield made
    for one in made.values():
        one.close()


@pytest.fixture
def visit(profiles: dict[str, BrowserContext], size: str) -> Iterator[Page]:
    """A tab that is known to nobody else.

    No picture, font or script comes from another server, nothing is asked for that is not there,
    and the app needs nothing that its own policy forbids.
    """
    page, wrong = profiles[size].new_page(), list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda sent: None if sent.url.startswith(LOCAL) else wrong.append(sent.url))
    page.on("response", lambda sent: None if sent.status < 400 else wrong.append(sent.url))
    page.on(
        "console", lambda line: wrong.append(line.text) if "Security Policy" in line.text else None
    )
    yield page
    assert wrong == []
    page.close()


def open_whole(page: Page, address: str) -> Page:
    """Open a page, wait until its figure is drawn, and have axe-core in it."""
    page.goto(address)
    page.locator("svg.main-svg, canvas").first.wait_for(state="attached", timeout=120_000)
    ready(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page


def size_of(page: Page) -> tuple[int, int]:
    size = page.viewport_size
    return size["width"], size["height"]


def show_as(page: Page, scheme: Scheme, width: int, height: int) -> None:
    page.emulate_media(color_scheme=scheme, media="screen")
    page.set_viewport_size({"width": width, "height": height})
    laid_out(page, scheme, width)


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("path", [*PAGES, *OTHER_FIGURES])
def test_a_page_as_it_is_met(visit: Page, app_url: str, path: str, size: str) -> None:
    """Its point is seen without scrolling; in light and dark nothing meets, leaves or is cut, of
    texts of figures, names in boxes, and the page itself; twice as large, and on paper, it fits.
    """
    page = open_whole(visit, app_url + path)
    window = size_of(page)
    if path in PAGES:
        require_the_point_in_sight(page, path)
        named = glossary.PAGES[re.split(r"[/?]", path)[1] or "home"]
        expect(page).to_have_title(f"{named.title} · DPMC Lab")
    for scheme in SCHEMES:
        show_as(page, scheme, *window)
        assert problems(page) == [], scheme
        if path in PAGES and (size, scheme) == ("desktop", "light"):
            assert grave(page) == []
    if size == "phone" or path not in PAGES:
        return
    for screen in OTHER_SCREENS:
        show_as(page, "light", *screen)
        assert problems(page) == [], screen
    # a zoom of 200 % halves the room in pixels
    show_as(page, "light", window[0] // 2, window[1] // 2)
    assert page.evaluate(TOO_WIDE) <= 0
    show_as(page, "light", *window)
    if path in PRINTED:
        require_fit_on_paper(page)
    if path in TABBED_THROUGH:
        require_all_by_keyboard(page)


def require_the_point_in_sight(page: Page, path: str) -> None:
    """Verdict, the one control and most of the figure; few words before the folds."""
    verdict, control = page.locator(VERDICT), page.locator(".st-key-main-control")
    expect(verdict).to_be_in_viewport(ratio=1)
    words = [word for word in verdict.inner_text().split() if any(map(str.isalnum, word))]
    assert 3 <= len(words) <= MOST_IN_VERDICT, " ".join(words)
    if control.count() and path != "/runs":
        expect(control).to_be_in_viewport(ratio=1)
    box, (_, height) = page.locator(FIGURE).first.bounding_box(), size_of(page)
    in_sight = min(box["y"] + box["height"], height) - box["y"]
    assert in_sight >= 0.5 * min(box["height"], height), (box, height)
    assert len(words_in_sight(page)) <= MOST_WORDS


def require_fit_on_paper(page: Page) -> None:
    """There is no sidebar, and nothing is cut; figures are no wider than on screen."""
    widths = "[...document.querySelectorAll('.svg-container')].map(e => e.clientWidth)"
    on_screen, (width, height) = page.evaluate(widths), size_of(page)
    for paper, pixels in PAPERS.items():
        room = pixels - 96  # half an inch at each side
        assert page.pdf(format=paper).startswith(b"%PDF")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": room, "height": 1000})
        expect(page.get_by_test_id("stSidebar")).to_be_hidden()
        expect(page.locator(".st-key-page-bar")).to_be_hidden()
        assert page.evaluate(TOO_WIDE) <= 0, paper
        for before, after in zip(on_screen, page.evaluate(widths), strict=True):
            assert after <= min(max(before, 1) + 1, room), paper
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        show_as(page, "light", width, height)


@pytest.mark.nightly
@pytest.mark.parametrize("size", ["desktop"])
@pytest.mark.parametrize("path", QUESTIONS)
def test_a_page_with_all_of_it_open(visit: Page, app_url: str, path: str, size: str) -> None:
    """In light and dark, on desktop, phone and projector axe-core finds nothing; nothing moves for
    whoever asked for less motion; on paper it fits; the keyboard reaches every control.
    """
    page = visit
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(address(app_url + path, open_all="true"))
    if path in QUESTIONS:
        expect(page.get_by_role("heading", name=QUESTIONS[path])).to_be_visible(timeout=60_000)
    ready(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for scheme, width, height in SCREENS:
        show_as(page, scheme, width, height)
        assert page.locator('[data-testid="stException"]').count() == 0
        assert page.evaluate(TOO_WIDE) <= 0, width
        if width != 1920:
            # names, roles and order are the same in both themes: only colours change
            rules = ["color-contrast"] if scheme == "dark" else []
            assert grave(page, *rules) == [], (scheme, width)
    assert page.evaluate(MOVING) == 0
    show_as(page, "light", 1440, 900)
    if path == "/completion":
        require_fit_on_paper(page)
    require_all_by_keyboard(page)


def require_all_by_keyboard(page: Page) -> None:
    page.evaluate(
        """() => {
            const wanted = 'input, button, select, textarea, summary, a[href], [role="slider"], '
                + '[role="combobox"], [role="radio"]';
            const aside = '[data-testid="stHeader"], .modebar, [data-testid="stDataFrame"], '
                + '[data-testid="stElementToolbar"]';
            const boxes = '[data-testid="stSelectbox"], [data-testid="stMultiSelect"]';
            window.controls = [...document.querySelectorAll(wanted)].filter(e =>
                e.checkVisibility() && !e.disabled
                && !e.closest(aside)
                // the arrow keys do what these do
                && !/StepUp|StepDown/.test(e.dataset.testid || '')
                // Streamlit's own, shown while the mouse is there
                && e.dataset.testid !== 'stBaseButton-headerNoPadding'
                // the box itself opens by the arrow keys
                && !(e.tabIndex < 0 && e.closest(boxes))
                && e.type !== 'file');
            window.reached = new Set();
            document.addEventListener('focusin', e => window.reached.add(e.target));
        }"""
    )
    count = page.evaluate("window.controls.length")
    assert count > 10
    for k in range(2 * count + 40):
        page.keyboard.press("Tab")
        if k % 20 == 19 and not not_reached(page):
            break
    assert not_reached(page) == []


def not_reached(page: Page) -> list[str]:
    """Controls that have not had the keyboard's focus yet."""
    found: list[str] = page.evaluate(
        """() => window.controls.filter(e => !window.reached.has(e)
            && !(e.closest('[role="radiogroup"]')
                && [...e.closest('[role="radiogroup"]').querySelectorAll('*')].some(
                    x => window.reached.has(x)))
            && ![...window.reached].some(x => x.contains(e) || e.contains(x))
        ).map(e => e.outerHTML.slice(0, 160))"""
    )
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("size", ["desktop"])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_presented(visit: Page, app_url: str, path: str, size: str) -> None:
    """Large, no sidebar, no folds, and nothing that a screen reader could not tell; a figure takes
    65 % of the height, but learned parts, for which four in a row leave less room, and the game's
    number, which has buttons below.
    """
    page = visit
    page.emulate_media(color_scheme="light")
    open_whole(page, address(app_url + path, present="true"))
    expect(page.locator(VERDICT)).to_be_in_viewport(ratio=1)
    assert page.locator('[data-testid="stMain"] details:visible').count() == 0
    large = page.locator(f"{VERDICT} p").evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
    assert large >= 24
    bar = page.locator(BAR).bounding_box()
    figure = page.locator(".stPlotlyChart").first.bounding_box()
    assert figure["y"] + figure["height"] <= bar["y"] + 1
    assert figure["height"] >= LEAST_SHARE.get(path, 0.65) * size_of(page)[1]
    assert page.evaluate(SMALLEST_TEXT) >= 18
    assert problems(page) == []
    assert grave(page) == []


def test_a_touch_meets_no_toolbar(profiles: dict[str, BrowserContext], app_url: str) -> None:
    page = open_whole(profiles["phone"].new_page(), f"{app_url}/tradeoffs?t_view=frontier")
    page.locator(".stPlotlyChart").first.tap()
    assert page.locator(".modebar-container:visible").count() == 0
    open_whole(page, f"{app_url}/papers")
    page.locator('[data-testid="stDataFrame"]').first.tap()
    assert page.locator('[data-testid="stElementToolbar"]:visible').count() == 0
    page.close()


def test_forced_colours_keep_the_verdict_and_the_controls(page: Page, app_url: str) -> None:
    """Windows's high contrast."""
    page.emulate_media(forced_colors="active")
    open_whole(page, f"{app_url}/completion")
    expect(page.locator(VERDICT)).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")


def test_another_language_of_the_browser_changes_nothing(browser: Browser, app_url: str) -> None:
    """A comma is no decimal point in an address, whatever the browser speaks."""
    context = browser.new_context(locale="de-DE")
    page = open_whole(context.new_page(), f"{app_url}/mechanisms?m_variance=2.5")
    verdict_says(page, "variance 2.5")
    context.close()
