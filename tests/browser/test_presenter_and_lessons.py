"""Presenter mode, Play, lessons, print-outs and handouts in the browser."""

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_app import grave, press, ran, reads, ready, verdict_says
from tests.browser.test_every_page import TOO_WIDE, VERDICT, open_whole
from tests.browser.test_tasks import menu, slid

pytestmark = pytest.mark.nightly


def test_arrows_move_the_control_and_pages_turn(page: Page, app_url: str) -> None:
    open_whole(page, f"{app_url}/?present=true")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    verdict_says(page, "At ε = 1,")
    expect(page.get_by_role("button", name="Next page")).to_be_enabled()
    page.keyboard.press("ArrowRight")
    verdict_says(page, "At ε = 1.2,")
    page.keyboard.press("ArrowLeft")
    verdict_says(page, "At ε = 1,")
    page.keyboard.press("PageDown")
    expect(page.get_by_role("heading", name="Which noise, and how much?")).to_be_visible()
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    ready(page)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()


# ← is pressed in the moment in which the new verdict is drawn, before the slider has followed
PRESS_AT_ONCE = """() => {
  const verdict = () => document.querySelector('.st-key-verdict').innerText;
  window.verdicts = [verdict()];
  const watch = new MutationObserver(() => {
    if (verdict() === window.verdicts.at(-1)) return;
    window.verdicts.push(verdict());
    if (window.verdicts.length > 2) watch.disconnect();
    else document.dispatchEvent(new KeyboardEvent(
      'keydown', {key: 'ArrowLeft', code: 'ArrowLeft', bubbles: true}));
  });
  watch.observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


def test_an_arrow_pressed_before_the_slider_followed_goes_one_step(
    page: Page, app_url: str
) -> None:
    open_whole(page, f"{app_url}/?present=true&home_epsilon=1.5")
    verdict_says(page, "At ε = 1.5,")
    page.evaluate(PRESS_AT_ONCE)
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => window.verdicts.length === 3")
    before, stepped, after = page.evaluate("window.verdicts")
    assert "At ε = 1.75," in stepped.replace("\xa0", " ")
    assert after == before


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_a_lesson_shows_figure_and_question_at_once(
    page: Page, app_url: str, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    for step in ("/?lesson=epsilon&step=2", "/factorization?lesson=cost&step=3"):
        open_whole(page, app_url + step)
        expect(page.locator(VERDICT)).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("radiogroup").first).to_be_in_viewport(ratio=0.9)
        expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
        box = page.locator(".stPlotlyChart").first.bounding_box()
        lesson = page.locator(".st-key-lesson").bounding_box()
        assert lesson is not None
        # beside the box, or above it on a phone
        visible_to = lesson["y"] if width < 500 else float(height)
        assert visible_to - box["y"] >= 60, (box, lesson)
        assert grave(page) == [], step
        assert page.evaluate(TOO_WIDE) <= 0, step
        ran(page, lambda: page.get_by_role("radiogroup").first.locator("label").first.click())
        expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("query", ["x_target=als", "lesson=class&step=1"])
def test_a_game_presented_shows_its_rounds_on_a_projector(
    page: Page, app_url: str, query: str
) -> None:
    page.set_viewport_size({"width": 1024, "height": 768})
    open_whole(page, f"{app_url}/game?present=true&{query}")
    ran(page, lambda: page.locator(".st-key-guess-in button").click())
    rounds = page.get_by_text("Last ten").bounding_box()
    bar = page.locator(".st-key-presenter-bar").bounding_box()
    assert rounds["y"] + rounds["height"] <= bar["y"]
    films = page.locator('[data-testid="stPlotlyChart"]').first.locator(".xaxislayer-above text")
    turned = [name.get_attribute("transform") for name in films.all()]
    assert turned
    assert all("rotate" not in (one or "") for one in turned)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1024, 768)])
def test_a_presented_run_is_replayed_above_the_bar(
    browser: Browser, app_url: str, width: int, height: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    open_whole(page, f"{app_url}/completion?run=1&present=true")
    verdict_says(page, "After iteration", timeout=180_000)
    replay, bar, figure = (
        page.locator(name).first.bounding_box()
        for name in (".st-key-replay", ".st-key-main-control", ".stPlotlyChart")
    )
    assert replay["y"] + replay["height"] <= bar["y"] + 2
    assert figure["height"] >= 0.645 * height  # beside two lines of verdict on a narrow projector
    context.close()


def test_a_lesson_ends_with_a_score_to_keep(page: Page, app_url: str) -> None:
    open_whole(page, f"{app_url}/plan?n_kind=project&lesson=cost&step=5")
    ran(page, lambda: page.get_by_text("more accurate, not more private").click())
    press(page, "Finish")
    verdict_says(page, "You answered 1 of 5 questions correctly")
    with page.expect_download() as saved:
        press(page, "Summary (Markdown)")
    assert "more accurate, not more private" in Path(saved.value.path()).read_text(encoding="utf-8")


def test_a_handout_is_one_file_with_the_figures_and_a_notebook_has_the_page(
    browser: Browser, page: Page, app_url: str, tmp_path: Path
) -> None:
    open_whole(page, f"{app_url}/mechanisms?m_variance=3&m_delta=0.01")
    with page.expect_download() as saved:
        press(page, "Handout (HTML)")
    file = tmp_path / "handout.html"
    saved.value.save_as(file)
    text = file.read_text(encoding="utf-8")
    assert "m_variance=3" in text
    with page.expect_download() as saved:
        press(page, "Open as notebook")
    assert saved.value.suggested_filename == "dpmc-mechanisms.ipynb"
    cells = nbformat.read(saved.value.path(), as_version=4).cells
    assert "m_variance=3" in cells[1].source
    assert "delta = 1.0, 0.01" in cells[-1].source
    context = browser.new_context(offline=True)
    offline = context.new_page()
    requests: list[str] = []
    offline.on("request", lambda sent: requests.append(sent.url))
    offline.goto(file.as_uri())
    expect(offline.get_by_role("heading", name="Which noise, and how much?")).to_be_visible()
    reads(offline, "At equal variance 3")
    expect(offline.locator("svg.main-svg").first).to_be_visible()
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


def test_back_returns_to_a_page_with_its_settings(page: Page, app_url: str) -> None:
    """A link with names in the place of titles is translated; Back leads out of it at once."""
    open_whole(page, app_url)
    menu(page, "Budget")
    page.go_back()
    expect(page.get_by_role("heading", name="How much noise hides one person?")).to_be_visible()
    ready(page)
    menu(page, "Budget")
    slid(page, "ArrowLeft", 8)
    reads(page, "10 releases cost")
    menu(page, "Mechanisms")
    page.go_back()
    reads(page, "10 releases cost")
    assert "u_count=10" in page.url
