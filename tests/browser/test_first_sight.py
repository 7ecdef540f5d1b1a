"""What a visitor sees first, in light and dark, on a desktop and on a phone."""

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.geometry import problems, words_in_sight
from tests.browser.test_app import laid_out, ready

pytestmark = pytest.mark.browser

PAGES = (
    "/",
    "/mechanisms",
    "/budget",
    "/plan",
    "/plan?n_kind=model",
    "/plan?n_kind=project",
    "/completion",
    "/completion?protect=user",
    "/factorization",
    "/tradeoffs",
    "/audit",
    "/papers",
    "/runs",
    "/datasets",
    "/lessons",
)
MORE = (  # other figures of the pages
    "/mechanisms?m_view=log-density",
    "/mechanisms?m_view=cdf",
    "/completion?protect=user&question=people",
    "/completion?protect=user&question=lists",
    "/completion?protect=user&question=recommend",
    "/factorization?f_question=people",
    "/tradeoffs?t_view=pairs",
    "/tradeoffs?t_view=frontier",
    "/tradeoffs?t_vary=people",
    "/lessons?l_view=teach",
)
SIZES = ((1280, 720), (390, 844))
MOST_WORDS, MOST_IN_VERDICT = 120, 21  # "Example:" stands before some
FIGURE = '[data-testid="stMain"] .stPlotlyChart, [data-testid="stMain"] [data-testid="stDataFrame"]'
Scheme = Literal["light", "dark"]


@pytest.fixture(params=SIZES, ids=["desktop", "phone"], scope="module")
def visitor(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """One profile for each size: scripts are fetched once."""
    width, height = request.param
    phone = width < 500
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=phone, is_mobile=phone
    )
    yield context
    context.close()


def seen(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.goto(address)
    page.locator("svg.main-svg, canvas").first.wait_for(state="attached", timeout=60_000)
    ready(page)
    return page


@pytest.mark.parametrize("path", PAGES)
def test_the_point_is_seen_without_scrolling(
    visitor: BrowserContext, app_url: str, path: str
) -> None:
    """Verdict, the one control and most of the figure; few words before the folds."""
    page = seen(visitor, app_url + path)
    size = page.viewport_size
    assert size is not None
    verdict = page.locator(".st-key-verdict")
    expect(verdict).to_be_in_viewport(ratio=1)
    said = [word for word in verdict.inner_text().split() if any(map(str.isalnum, word))]
    assert 3 <= len(said) <= MOST_IN_VERDICT, " ".join(said)
    if page.locator(".st-key-main-control").count() and path != "/runs":
        expect(page.locator(".st-key-main-control")).to_be_in_viewport(ratio=1)
    box = page.locator(FIGURE).first.bounding_box()
    assert box is not None
    in_sight = min(box["y"] + box["height"], size["height"]) - box["y"]
    assert in_sight >= 0.5 * min(box["height"], size["height"]), (box, size)
    assert len(words_in_sight(page)) <= MOST_WORDS
    page.close()


@pytest.mark.parametrize("path", [*PAGES, *MORE])
def test_nothing_meets_leaves_or_is_cut(visitor: BrowserContext, app_url: str, path: str) -> None:
    """Texts of figures, names in boxes, and the page itself, in light and dark."""
    page = seen(visitor, app_url + path)
    size = page.viewport_size
    assert size is not None
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        laid_out(page, scheme, size["width"])
        assert problems(page) == [], scheme
    page.close()


def test_each_tab_has_the_name_of_its_page(visitor: BrowserContext, app_url: str) -> None:
    for path, name in (("/", "Home"), ("/audit", "Audit")):
        page = seen(visitor, app_url + path)
        expect(page).to_have_title(f"{name} · DPMC Lab")
        page.close()


def test_a_touch_meets_no_toolbar(browser: Browser, app_url: str) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = seen(context, f"{app_url}/tradeoffs?t_view=frontier")
    page.locator(".stPlotlyChart").first.tap()
    assert page.locator(".modebar-container:visible").count() == 0
    context.close()


def test_twice_as_large_still_fits(browser: Browser, app_url: str) -> None:
    """A browser's zoom of 200 % halves the room in pixels."""
    context = browser.new_context(viewport={"width": 640, "height": 360}, device_scale_factor=2)
    for path in PAGES:
        page = seen(context, app_url + path)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
        page.close()
    context.close()


def test_forced_colours_keep_the_verdict_and_the_controls(browser: Browser, app_url: str) -> None:
    """Windows's high contrast."""
    context = browser.new_context(forced_colors="active")
    page = seen(context, f"{app_url}/completion")
    expect(page.locator(".st-key-verdict")).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    context.close()


def test_another_language_of_the_browser_changes_nothing(browser: Browser, app_url: str) -> None:
    """A comma is no decimal point in an address, whatever the browser speaks."""
    context = browser.new_context(locale="de-DE")
    page = seen(context, f"{app_url}/mechanisms?m_variance=2.5")
    expect(page.locator(".st-key-verdict")).to_contain_text("variance 2.5")
    context.close()
