"""A visitor's own data, the keyboard, and each page's main job on a phone, in a real browser."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.test_app import METRIC, PAGES, finished, opened, ready, turn_to
from tests.own.files import long_csv

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}

STRANGE = (
    "![x](http://evil.example/p.png)",
    "[free](https://evil.example)",
    "<https://evil.example>",
    "https://evil.example/a",
    "HTTP://EVIL.EXAMPLE",
    "www.evil.example",
    "WWW.evil.example",
    "mail@evil.example",
    "<img src=http://evil.example/i.png>",
    "<b>bold</b>",
    "&lt;i&gt; &#33; &amp;",
    "**b** __b__ *i* _i_ ~~s~~ `c` ``c``",
    "$x^2$ $$y$$ \\(z\\)",
    ":material/home: :smile: :+1: :streamlit: :red[r] :blue-background[b] :small[s]",
    "[^1] [ ] [x] | a | b | # h > q - l + l 1. l === ---",
    "-> <- -- ©",
)


def test_ratings_are_uploaded_corrected_used_and_seen_by_nobody_else(
    browser: Browser, page: Page, app_url: str, tmp_path: Path
) -> None:
    file, bad = tmp_path / "mine.csv", tmp_path / "bad.csv"
    file.write_bytes(long_csv(30, 12))
    bad.write_bytes(b"\x80\x04nothing")
    page.goto(f"{app_url}/datasets?d_view=own")
    ready(page)
    page.locator('input[type="file"]').set_input_files(str(bad))
    expect(page.get_by_text("is a Python pickle")).to_be_visible()
    page.locator('input[type="file"]').set_input_files(str(file))
    expect(page.get_by_text("can be chosen on every page that takes ratings")).to_be_visible()
    expect(page.get_by_text("Whatever is computed without noise leaks.")).to_be_visible()
    ready(page)
    page.get_by_text("The scale and the number of users", exact=True).first.click()
    lowest = page.get_by_label("Lowest possible rating")
    lowest.fill("0")
    lowest.press("Enter")
    ready(page)
    expect(page.get_by_label("Highest possible rating")).to_be_visible()  # what is open stays open
    opened(page, "If a user rates an item twice")
    page.get_by_role("option", name="their mean counts").click()
    ready(page)
    page.get_by_role("link", name="Use it on the Completion page").click()
    ready(page)
    opened(page, "Dataset")
    page.get_by_role("option", name="Your ratings").click()
    ready(page)
    page.locator(".st-key-go button").click()
    finished(page)
    turn_to(page, "Protection and errors")
    expect(page.locator(METRIC)).to_have_count(3, timeout=120_000)
    shown, link = page.locator(METRIC).all_inner_texts(), page.url
    assert "Your+ratings" in link
    page.reload()  # the visit goes on, in this tab alone
    ready(page)
    expect(page.locator(METRIC)).to_have_text(shown)
    twin = page.context.new_page()
    twin.goto(link)
    expect(twin.get_by_text("“Your ratings” are not here")).to_be_visible(timeout=120_000)
    twin.close()
    context = browser.new_context()
    other = context.new_page()
    other.goto(link)
    expect(other.get_by_text("“Your ratings” are not here")).to_be_visible(timeout=120_000)
    context.close()
    page.get_by_role("link", name="Datasets").first.click()
    page.get_by_text("Your own data", exact=True).click()
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("can be chosen on every page")).to_have_count(0)
    page.get_by_text(
        "Documents", exact=True
    ).click()  # and it does not come back from the browser's own field
    ready(page)
    page.get_by_text("Ratings", exact=True).click()
    ready(page)
    expect(page.get_by_text("How it is read")).to_have_count(0)
    expect(page.get_by_text("can be chosen on every page")).to_have_count(0)


def test_a_strangers_words_are_shown_as_they_are(page: Page, app_url: str, tmp_path: Path) -> None:
    """In a real browser: the library that reads Markdown there has its own ideas of links."""
    people = [""]  # of names as long as they are kept
    for words in STRANGE:
        if len(people[-1]) + len(words) > 78:
            people.append("")
        people[-1] += f"{words} "
    people = [f"{who}." for who in people]
    rows = [(who, f"book {k}", 1 + (k + len(who)) % 5) for who in people for k in range(9)]
    file = tmp_path / "strange.csv"
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([("user", "item", "rating"), *rows])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{app_url}/datasets?d_view=own")
    ready(page)
    page.locator('input[type="file"]').set_input_files(str(file))
    page.get_by_role("link", name="Use it on the Completion page").click()
    ready(page)
    opened(page, "Dataset")
    page.get_by_role("option", name="Your ratings").click()
    ready(page)
    page.locator(".st-key-go button").click()
    finished(page)
    turn_to(page, "Top ten")
    captions = page.locator('[data-testid="stCaptionContainer"]')
    said = captions.filter(has_text=re.compile(r"\. rated \d"))  # not of the example
    expect(said).to_be_visible(timeout=120_000)
    found: list[str] = []
    for number in range(1, len(people) + 1):
        if found:
            before = said.inner_text()
            page.get_by_label("User", exact=True).fill(str(number))
            page.get_by_label("User", exact=True).press("Enter")
            expect(said).not_to_have_text(before)
        found.append(said.inner_text().replace("\u2060", "").partition(" rated ")[0])
        for made in ("a", "img", "em", "strong", "code", "del", ".katex", "[role=img]"):
            expect(said.locator(made)).to_have_count(0)
    assert sorted(found) == sorted(people)
    assert not [url for url in asked if "evil" in url]


def test_boxes_keep_their_place_when_the_first_rows_come_late(
    page: Page, app_url: str, tmp_path: Path
) -> None:
    """The browser fetches what draws tables when the first one comes, which may be after a box was
    opened: one that moved would be out of sight, and to scroll there closes it.
    """
    file, held = tmp_path / "mine.csv", list[Route]()
    file.write_bytes(long_csv(30, 12))
    page.route(re.compile(r"/DataFrame\.[^/]*\.js$"), lambda route: held.append(route))
    page.goto(f"{app_url}/datasets?d_view=own")
    ready(page)
    page.locator('input[type="file"]').set_input_files(str(file))
    expect(page.get_by_text("can be chosen on every page that takes ratings")).to_be_visible()
    box = opened(page, "If a user rates an item twice")
    picked = page.get_by_role("option", name="their mean counts")
    expect(picked).to_be_visible()
    before = box.bounding_box()
    assert held, "nothing was held back: the table's code has another name now"
    for one in held:
        one.continue_()
    expect(page.locator('[data-testid="stDataFrame"] canvas').first).to_be_visible()
    ready(page)
    assert box.bounding_box() == before
    picked.click()
    expect(box).to_have_value("their mean counts")


def test_each_page_does_its_main_job_on_a_phone(browser: Browser, app_url: str) -> None:
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.set_default_timeout(120_000)

    def narrow() -> None:
        ready(page)
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, (
            page.url
        )
        assert page.locator('[data-testid="stException"]').count() == 0

    page.goto(f"{app_url}/?home_epsilon=0.5")
    expect(page.get_by_text("guesses right at most 62 times in 100").first).to_be_visible()
    narrow()
    page.goto(f"{app_url}/mechanisms?m_alpha=0.72")
    expect(page.get_by_text("noise is best on average").first).to_be_visible()
    narrow()
    page.goto(f"{app_url}/budget?tab=statements")
    expect(page.locator(METRIC).first).to_be_visible()
    narrow()
    page.goto(f"{app_url}/completion?iterations=3&rank=3&tab=accounts")
    ready(page)
    page.locator(".st-key-go button").tap()
    expect(page.get_by_text("over 3 releases").first).to_be_visible()
    narrow()
    page.goto(f"{app_url}/factorization?f_k=4&tab=accounts")
    ready(page)
    page.locator(".st-key-go button").tap()
    expect(page.locator(METRIC)).to_have_count(4, timeout=180_000)
    narrow()
    page.goto(f"{app_url}/tradeoffs")
    page.get_by_text("Differences").first.tap()
    narrow()
    page.goto(f"{app_url}/audit?x_runs=1,000")
    page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Attack").tap()
    expect(page.get_by_text(re.compile(r"the attack proves ε\s≥")).first).to_be_visible(
        timeout=120_000
    )
    narrow()
    page.goto(f"{app_url}/papers?p_entry_huber=huber-table-1")
    page.locator(".st-key-tab").get_by_role("radio", name="Run a row again").tap()
    page.get_by_role("button", name="Run", exact=True).tap()
    expect(page.get_by_text("exactly as stored").first).to_be_visible()
    narrow()
    page.goto(f"{app_url}/runs")
    narrow()
    page.goto(f"{app_url}/lessons")
    page.get_by_role("button", name="Begin").first.tap()
    expect(page.get_by_text("Step 1 of 6")).to_be_visible()
    narrow()
    context.close()


def test_the_last_step_of_a_lesson_leads_home(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/papers?p_entry_huber=huber-table-4&lesson=cost&step=4")
    ready(page)
    page.get_by_role("button", name="Finish").click()
    expect(page.get_by_role("heading", name=PAGES["/lessons"])).to_be_visible()
    expect(page).to_have_url(re.compile(r"/lessons\?done=cost$"))
    expect(page.get_by_text("You answered 0 of 4 questions correctly")).to_be_visible()
    page.goto(f"{app_url}/tradeoffs?lesson=cost&step=2&t_vary=people")
    ready(page)
    page.get_by_role("button", name="Back").click()
    expect(page).to_have_url(re.compile("step=1"))
    expect(page.get_by_text("total ε of the run").first).to_be_visible()


def test_words_are_one_hover_away(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/budget")
    ready(page)
    page.locator(
        'h1 ~ * [data-testid="stTooltipHoverTarget"], h1 [data-testid="stTooltipHoverTarget"], '
        '[data-testid="stHeading"] [data-testid="stTooltipHoverTarget"]'
    ).first.hover()
    expect(
        page.get_by_text("the list of all releases with noise that a run made").first
    ).to_be_visible()
