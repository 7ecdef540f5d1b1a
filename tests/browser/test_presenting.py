"""Presenter mode, Play, lessons, print-outs and handouts in the browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_app import grave, ran, ready
from tests.browser.test_every_page import VERDICT, seen
from tests.browser.test_tasks import slid

pytestmark = pytest.mark.browser


def test_arrows_move_the_control_and_pages_turn(page: Page, app_url: str) -> None:
    seen(page, f"{app_url}/?present=true")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.locator(VERDICT)).to_contain_text("At ε = 1,")
    expect(page.get_by_role("button", name="Next page")).to_be_enabled()
    page.keyboard.press("ArrowRight")
    expect(page.locator(VERDICT)).to_contain_text("At ε = 1.2,")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(VERDICT)).to_contain_text("At ε = 1,")
    page.keyboard.press("PageDown")
    expect(page.get_by_role("heading", name="Which noise, and how much?")).to_be_visible()
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    ready(page)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()


# ← is pressed in the moment in which the new verdict is drawn, before the slider has followed
PRESS_AT_ONCE = """() => {
  const said = () => document.querySelector('.st-key-verdict').innerText;
  window.verdicts = [said()];
  const watch = new MutationObserver(() => {
    if (said() === window.verdicts.at(-1)) return;
    window.verdicts.push(said());
    if (window.verdicts.length > 2) watch.disconnect();
    else document.dispatchEvent(new KeyboardEvent(
      'keydown', {key: 'ArrowLeft', code: 'ArrowLeft', bubbles: true}));
  });
  watch.observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


def test_an_arrow_pressed_before_the_slider_followed_goes_one_step(
    page: Page, app_url: str
) -> None:
    seen(page, f"{app_url}/?present=true&home_epsilon=1.5")
    expect(page.locator(VERDICT)).to_contain_text("At ε = 1.5,")
    page.evaluate(PRESS_AT_ONCE)
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => window.verdicts.length === 3")
    before, stepped, after = page.evaluate("window.verdicts")
    assert "At ε = 1.75," in stepped.replace("\xa0", " ")
    assert after == before


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_a_lesson_shows_figure_and_question_at_once(
    browser: Browser, app_url: str, width: int, height: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    for step in ("/?lesson=epsilon&step=1", "/factorization?lesson=cost&step=3"):
        seen(page, app_url + step)
        expect(page.locator(VERDICT)).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("radiogroup").first).to_be_in_viewport(ratio=0.9)
        expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
        box = page.locator(".stPlotlyChart").first.bounding_box()
        lesson = page.locator(".st-key-lesson").bounding_box()
        assert box is not None
        assert lesson is not None
        # beside the box, or above it on a phone
        seen_to = lesson["y"] if width < 500 else float(height)
        assert seen_to - box["y"] >= 60, (box, lesson)
        assert grave(page) == [], step
        ran(page, lambda: page.get_by_role("radiogroup").first.locator("label").first.click())
        expect(page.get_by_role("button", name="Next")).to_be_in_viewport(ratio=1)
    context.close()


@pytest.mark.parametrize("query", ["x_target=als", "lesson=class&step=1"])
def test_a_game_presented_shows_its_rounds_on_a_projector(
    browser: Browser, app_url: str, query: str
) -> None:
    context = browser.new_context(viewport={"width": 1024, "height": 768})
    page = seen(context.new_page(), f"{app_url}/game?present=true&{query}")
    ran(page, lambda: page.locator(".st-key-guess-in button").click())
    rounds = page.get_by_text("Last ten").bounding_box()
    bar = page.locator(".st-key-presenter-bar").bounding_box()
    assert rounds is not None
    assert bar is not None
    assert rounds["y"] + rounds["height"] <= bar["y"]
    films = page.locator('[data-testid="stPlotlyChart"]').first.locator(".xaxislayer-above text")
    turned = [name.get_attribute("transform") for name in films.all()]
    assert turned
    assert all("rotate" not in (one or "") for one in turned)
    context.close()


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1024, 768)])
def test_a_presented_run_is_replayed_above_the_bar(
    browser: Browser, app_url: str, width: int, height: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    seen(page, f"{app_url}/completion?run=1&present=true")
    expect(page.locator(VERDICT)).to_contain_text("After iteration", timeout=180_000)
    replay, bar, figure = (
        page.locator(name).first.bounding_box()
        for name in (".st-key-replay", ".st-key-main-control", ".stPlotlyChart")
    )
    assert replay is not None
    assert bar is not None
    assert figure is not None
    assert replay["y"] + replay["height"] <= bar["y"] + 2
    assert figure["height"] >= 0.645 * height  # beside two lines of verdict on a narrow projector
    context.close()


def test_a_lesson_ends_with_a_score_to_keep(page: Page, app_url: str) -> None:
    seen(page, f"{app_url}/papers?p_entry_huber=huber-table-4&lesson=cost&step=4")
    ran(page, lambda: page.get_by_text("A baseline beside it").click())
    page.get_by_role("button", name="Finish").click()
    expect(page.locator(VERDICT)).to_contain_text("You answered 1 of 4 questions correctly")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Summary (Markdown)").click()
    assert "A baseline beside it" in Path(saved.value.path()).read_text(encoding="utf-8")


def test_a_step_that_does_not_exist_is_named(page: Page, app_url: str) -> None:
    seen(page, f"{app_url}/?lesson=epsilon&step=99")
    expect(page.get_by_text("There is no step '99' in this lesson")).to_be_visible()
    expect(page.get_by_text("Step 1 of 6")).to_be_visible()


def test_a_page_is_printed_while_it_runs(page: Page, app_url: str, tmp_path: Path) -> None:
    seen(page, f"{app_url}/completion?iterations=400&rank=20")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible(timeout=60_000)
    page.pdf(path=tmp_path / "running.pdf", format="A4")
    assert (tmp_path / "running.pdf").stat().st_size > 10_000
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled after")).to_be_visible()


def test_a_handout_is_one_file_with_the_figures(
    browser: Browser, page: Page, app_url: str, tmp_path: Path
) -> None:
    seen(page, f"{app_url}/mechanisms?m_variance=3")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Handout (HTML)").click()
    file = tmp_path / "handout.html"
    saved.value.save_as(file)
    text = file.read_text(encoding="utf-8")
    assert "m_variance=3" in text
    context = browser.new_context(offline=True)
    offline = context.new_page()
    asked: list[str] = []
    offline.on("request", lambda sent: asked.append(sent.url))
    offline.goto(file.as_uri())
    expect(offline.get_by_role("heading", name="Which noise, and how much?")).to_be_visible()
    expect(offline.get_by_text("At equal variance 3")).to_be_visible()
    expect(offline.locator("svg.main-svg").first).to_be_visible()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


def test_back_works_once(page: Page, app_url: str) -> None:
    """A link with names in the place of titles is translated; Back leads out of it at once."""
    seen(page, app_url)
    page.get_by_role("link", name="Budget", exact=True).first.click()
    expect(page.get_by_role("heading", name="What is the total privacy cost?")).to_be_visible()
    ready(page)
    page.go_back()
    expect(page.get_by_role("heading", name="How much noise hides one person?")).to_be_visible()


def test_back_returns_to_a_page_with_its_settings(page: Page, app_url: str) -> None:
    seen(page, f"{app_url}/budget")
    slid("ArrowLeft", 8)(page)
    expect(page.get_by_text("10 releases cost").first).to_be_visible()
    page.get_by_role("link", name="Mechanisms", exact=True).first.click()
    expect(page.get_by_role("heading", name="Which noise, and how much?")).to_be_visible()
    ready(page)
    page.go_back()
    expect(page.get_by_text("10 releases cost").first).to_be_visible()
    assert "u_count=10" in page.url
