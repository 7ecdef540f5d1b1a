"""The app as a visitor meets it: run, cancel, copy the link, go back."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, BrowserContext, FrameLocator, Locator, Page, expect

from benchmarks.server.visitor import running_app
from pages.parts.ui import glossary
from tests.browser.conftest import PATIENCE

pytestmark = pytest.mark.browser

PAGES = {
    path: glossary.PAGES[name].question
    for name, path in (
        *((name, "/" if name == "home" else f"/{name}") for name in glossary.PAGES),
        ("datasets", "/datasets?d_view=own"),
    )
}
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
DRAWN = "new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
METRIC = '[data-testid="stMetricValue"]'


def ready(page: Page) -> None:
    """Wait until the script has stopped running, and nothing on the page waits for the code that
    draws it.
    """
    page.wait_for_selector(
        '[data-testid="stApp"][data-test-script-state="notRunning"]'
        ':not(:has([data-testid="stSkeleton"]))',
        timeout=180_000,
    )  # examples are computed on the first visit


def ran(page: Page, act: Callable[[], None]) -> None:
    """Wait until the script that ``act`` starts has run: just after it none has begun, and what is
    drawn is of the one before.

    By what the server says: a quick run's beginning and end may reach the page as one change.
    """
    answers: list[int] | None = None
    sent = 0

    def asked(_: object) -> None:
        nonlocal answers, sent
        answers, sent = [], sent + 1

    def answered(_: object) -> None:
        if answers is not None:
            answers.append(1)

    session = page.context.new_cdp_session(page)
    session.on("Network.webSocketFrameSent", asked)
    session.on("Network.webSocketFrameReceived", answered)
    session.send("Network.enable")
    act()
    seen = 0
    for _ in range(300):  # a minute
        page.wait_for_timeout(200)
        if answers and len(answers) == seen:  # and what it said is drawn by now
            break
        seen = len(answers or ())
    else:
        focus = page.evaluate("document.activeElement.outerHTML.slice(0, 300)")
        told = f"{sent} messages sent, {len(answers or ())} answers, focus on {focus}"
        raise AssertionError(f"no script has run: {told}")
    session.detach()
    ready(page)


def address(of: str, **settings: str) -> str:
    """The address ``of`` a page with ``settings`` besides those that it has."""
    return f"{of}{'&' if '?' in of else '?'}{urlencode(settings)}"


def arrive(page: Page, address: str) -> None:
    """Open the page, and wait until it is drawn."""
    page.goto(address)
    ready(page)


def reads(
    page: Page | FrameLocator, text: str | re.Pattern[str], timeout: float = PATIENCE
) -> None:
    """Require that ``text`` is, or comes, in sight."""
    expect(page.get_by_text(text).first).to_be_visible(timeout=timeout)


def verdict_says(page: Page, text: str | re.Pattern[str], timeout: float = PATIENCE) -> None:
    """Require ``text`` in the sentence below the title."""
    expect(page.locator(".st-key-verdict")).to_contain_text(text, timeout=timeout)


def press(page: Page, name: str) -> None:
    """Press the button called ``name``."""
    page.get_by_role("button", name=name, exact=True).first.click()


def turn_to(page: Page, title: str) -> None:
    """Choose the tab called ``title``, as a person does, and wait for what it shows."""
    ran(page, page.locator(".st-key-tab").get_by_role("radio", name=title, exact=True).click)


def finished(page: Page) -> None:
    """Wait until what was asked for has been computed and the verdict is about it, not about the
    example.
    """
    verdict = page.locator(".st-key-verdict")
    expect(verdict).to_have_text(re.compile(r"^(?!\s*Example)\s*\S"), timeout=180_000)
    ready(page)


def opened(page: Page, name: str) -> Locator:
    """Open the select box called ``name``, as a person does.

    It is in sight before it is pressed. The browser tells of scrolling a frame later, and its menu
    closes when the page scrolls.
    """
    box = page.get_by_role("combobox", name=name)
    box.scroll_into_view_if_needed()
    page.evaluate(DRAWN)
    box.click()
    return box


def laid_out(page: Page, scheme: str, width: int) -> None:
    """Wait until the page has been drawn, and is in its window as it will be."""
    ready(page)
    settled(page, scheme, width)


def settled(page: Page, scheme: str, width: int) -> None:
    """Wait until the page has the window's colours, and its figures and tables the room that the
    window now gives them.
    """
    page.wait_for_function(
        """([scheme, width]) => {
            const shown = all =>
                [...document.querySelectorAll(all)].filter(e => e.checkVisibility());
            const fills = (part, room, spare) => part
                && Math.abs(part.getBoundingClientRect().width - room.clientWidth) <= spare;
            const app = document.querySelector('[data-testid="stApp"]');
            return window.innerWidth === width
                && getComputedStyle(app).colorScheme === scheme
                && shown('.js-plotly-plot').every(
                    e => fills(e.querySelector('.main-svg'), e.parentElement, 1))
                && shown('[data-testid="stDataFrame"]').every(
                    e => fills(e.querySelector('canvas'), e, 4));
        }""",
        arg=[scheme, width],
    )
    page.evaluate(DRAWN)


def grave(page: Page, *rules: str) -> list[str]:
    """What axe-core calls serious or critical.

    Contrast below 4.5 to 1, controls without a name, text that a screen reader cannot reach … by
    all its rules, or by ``rules``.
    """
    found = page.evaluate(
        """async rules => (await axe.run(document, {
            resultTypes: ['violations'], ...(rules.length ? {runOnly: rules} : {})
        })).violations""",
        list(rules),
    )
    return [
        f"{v['id']}: {v['nodes'][0]['html'][:200]}"
        for v in found
        if v["impact"] in ("serious", "critical")
    ]


def test_run_als_with_huber_noise_then_reload_the_copied_link(
    desktop: BrowserContext, page: Page, app_url: str
) -> None:
    query = "b_by=variance&n=2&rank=6&iterations=8&seed=3&new_seed=false&tab=accounts"
    arrive(page, f"{app_url}/completion?{query}")
    page.get_by_role("button", name="Run", exact=True).press("Enter")
    expect(page.get_by_text("Example", exact=True)).to_have_count(0)
    ready(page)
    expect(page.locator(METRIC)).to_have_count(2, timeout=180_000)  # the run has ended
    # a table names it too, in cells that only readers of screens meet, once it is drawn
    named = page.get_by_text("B · ALS, Huber, variance 2").filter(visible=True)
    expect(named.first).to_be_visible()
    reads(page, "nominal ε = 5.38 per release, 42.8 over 8 releases")
    shown = page.locator(METRIC).all_inner_texts()
    assert shown[0] != shown[1]
    link = page.url
    assert "seed=3" in link
    assert "run=1" in link
    again = desktop.new_page()
    again.goto(link)
    reads(again, "nominal ε = 5.38 per release, 42.8 over 8 releases", 180_000)
    expect(again.locator(METRIC)).to_have_text(
        shown, timeout=180_000
    )  # it may still be running: the count is known before the end
    again.close()


def test_a_first_visit_is_told_of_the_scripts_and_fetches_no_second_font(
    page: Page, app_url: str
) -> None:
    arrive(page, f"{app_url}/mechanisms")
    assert page.locator('head link[rel="modulepreload"][href*="PlotlyChart"]').count() == 1
    fonts = page.evaluate("() => [...document.fonts].map(f => [f.style, f.status].join(' '))")
    assert "normal loaded" in fonts
    assert "italic loaded" not in fonts, "140 kB more before the first figure"


def test_back_to_a_short_link_keeps_the_page_alive(page: Page, app_url: str) -> None:
    arrive(page, f"{app_url}/completion?tab=introduction")
    turn_to(page, "Predictions")
    expect(page.get_by_role("heading", name="Predicted against actual")).to_be_visible()
    expect(page).to_have_url(re.compile("tab=pictures"))
    ready(page)
    page.go_back()
    reads(page, "neighbouring datasets differ in all their ratings")
    ready(page)
    expect(page.get_by_text("This app has encountered an error")).to_have_count(0)
    expect(page.get_by_role("combobox", name="Question")).to_be_visible()


def test_a_row_of_the_papers_overview_opens_its_table(page: Page, app_url: str) -> None:
    arrive(page, f"{app_url}/papers?tab=all")
    overview = page.get_by_test_id("stDataFrame").last
    overview.scroll_into_view_if_needed()
    overview.click(position={"x": 300, "y": 88})  # anywhere in its second row
    verdict_says(page, "Table 2")
    expect(page).to_have_url(re.compile(r"p_entry_huber=Table\+2"))
    expect(page.get_by_text("How ours is made")).to_be_in_viewport()
    page.go_back()
    reads(page, "Click a row to open it")
    expect(page).to_have_url(re.compile("tab=all"))


def test_the_help_of_a_switch_is_read_without_turning_it(browser: Browser, app_url: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    arrive(page, app_url)
    switch = page.get_by_role("switch", name="Open all sections")
    helps = page.locator(".st-key-page-bar").get_by_test_id("stTooltipIcon").get_by_role("button")
    helps.last.tap()
    meaning = page.get_by_text("For a print-out or a handout of everything.")
    expect(meaning).to_be_visible()
    expect(switch).not_to_be_checked()
    page.touchscreen.tap(5, 5)
    expect(meaning).to_be_hidden()
    switch.focus()
    page.keyboard.press("Tab")
    expect(meaning).to_be_visible()
    context.close()


def test_the_game_is_played_with_the_keyboard(page: Page, app_url: str) -> None:
    arrive(page, f"{app_url}/game")
    for k, key in enumerate("ioi", start=1):
        page.keyboard.press(key)
        verdict_says(page, f"of {k} rounds")
    other = page.context.new_page()
    arrive(other, f"{app_url}/game")
    other.keyboard.press("i")
    for _ in range(3):
        verdict_says(page, "of 3 rounds")
        verdict_says(other, "of 1 round")
        for tab in (page, other):  # at once: each goes on with its own visit
            tab.evaluate("location.reload()")
        for tab in (page, other):
            ready(tab)
    other.close()


def test_a_lesson_leads_through_pages_and_back(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/lessons")
    press(page, "Begin")
    reads(page, "Step 1 of 7", 60_000)
    press(page, "Next")
    reads(page, "Step 2 of 7", 60_000)
    press(page, "Next")
    reads(page, "Step 3 of 7", 60_000)
    expect(page).to_have_url(re.compile(r"home_epsilon=0\.1"))  # the same page, its control moved
    press(page, "Back")
    reads(page, "Step 2 of 7", 60_000)
    page.goto(f"{app_url}/?lesson=epsilon&step=4")  # a step's own link
    press(page, "Next")
    # the title makes room for the step; the tab says which page it is
    expect(page).to_have_title("Mechanisms · DPMC Lab", timeout=60_000)
    reads(page, "Step 5 of 7")
    expect(page).to_have_url(re.compile("lesson=epsilon&step=5"))
    press(page, "Back")
    reads(page, "Step 4 of 7")
    expect(page).to_have_title("Home · DPMC Lab")


def test_figures_are_saved_by_the_browser(page: Page, app_url: str) -> None:
    arrive(page, f"{app_url}/lessons")
    page.locator(".js-plotly-plot").first.hover()
    with page.expect_download() as saved:
        page.locator('[data-title*="ownload plot"]').first.click()
    assert saved.value.suggested_filename == "lessons-odds.png"
    turn_to(page, "Numbers & code")
    for label, part in (
        ("Numbers (CSV)", "epsilon,right_in_100"),
        ("Figure (HTML)", "<!doctype html>"),
    ):
        with page.expect_download() as saved:
            page.get_by_role("button", name=label).click()
        assert saved.value.path().read_text(encoding="utf-8").lstrip().startswith(part)


def test_the_first_visitor_of_a_server_who_follows_a_deep_link_sees_the_whole_frame(
    browser: Browser, tmp_path: Path
) -> None:
    """Beside a *script* called app.py, the folder pages/ would cost this visitor the frame."""
    with running_app(tmp_path) as fresh:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.goto(f"{fresh.url}/mechanisms?m_by=epsilon&m_epsilon=2")
        expect(page.get_by_role("heading", name="Which noise, and how much?")).to_be_visible()
        links = page.get_by_test_id("stSidebarNav").get_by_role("link")
        expect(links).to_have_count(len(glossary.PAGES))
        expect(page.get_by_role("button", name="Share", exact=True)).to_be_visible()
        verdict_says(page, "ε = 2")
        expect(page.get_by_role("slider").nth(1)).to_be_visible()
        assert "m_epsilon=2" in page.url
        context.close()


@pytest.mark.parametrize(
    ("path", "others", "key"),
    [
        ("/mechanisms", ("free", "ε", "variance", "free"), "m_delta"),
        ("/budget", ("ε of one release", "variance"), "u_delta"),
    ],
)
def test_settings_that_are_folded_stay_open_and_in_the_address(
    page: Page, app_url: str, path: str, others: tuple[str, ...], key: str
) -> None:
    """Other controls come and go above them when the mode changes."""
    arrive(page, app_url + path)
    page.locator('[data-testid="stSidebar"] summary').filter(has_text="More").click()
    box = page.locator(f".st-key-{key} input")
    for k, name in enumerate(others):
        bar = page.locator(".st-key-main-control")
        ran(page, bar.get_by_role("radio", name=name, exact=True).click)
        expect(box).to_be_visible()
        box.fill(f"0.0{k + 1}")
        box.press("Enter")
        page.wait_for_url(re.compile(rf"{key}=0\.0{k + 1}(&|$)"))
