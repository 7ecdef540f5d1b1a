"""A visitor's own data, the keyboard, and each page's main job on a phone, in a real browser."""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, Route, expect

from tests.browser.test_app import METRIC, arrive, finished, opened, press, reads, ready, turn_to
from tests.own.files import long_csv

pytestmark = pytest.mark.browser

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


def bring(page: Page, app_url: str, holds: str, name: str, data: bytes) -> None:
    arrive(page, f"{app_url}/datasets?d_view=own&d_holds={holds}")
    file: FilePayload = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    page.locator('input[type="file"]').first.set_input_files(file)
    read = page.get_by_text("can be chosen on every page")
    expect(read.or_(page.get_by_role("alert")).first).to_be_visible(timeout=120_000)
    ready(page)


def use_for_completion(page: Page) -> None:
    """Run the *Completion* page on the ratings that were brought, and wait for the results."""
    page.get_by_role("link", name="Use it on the Completion page").click()
    ready(page)
    opened(page, "Dataset")
    page.get_by_role("option", name="Your ratings").click()
    ready(page)
    page.locator(".st-key-go button").click()
    finished(page)


def enter(box: Locator, text: str) -> None:
    """Write ``text`` into a ``box``, in the place of what is there."""
    box.fill(text)
    box.press("Enter")


def test_ratings_are_uploaded_corrected_used_and_in_one_tab_alone(page: Page, app_url: str) -> None:
    bring(page, app_url, "ratings", "mine.csv", long_csv(30, 12))
    reads(page, "can be chosen on every page that takes ratings")
    reads(page, "Whatever is computed without noise leaks.")
    ready(page)
    page.get_by_text("The scale and the number of users", exact=True).first.click()
    enter(page.get_by_label("Lowest possible rating"), "0")
    ready(page)
    expect(page.get_by_label("Highest possible rating")).to_be_visible()  # what is open stays open
    opened(page, "If a user rates an item twice")
    page.get_by_role("option", name="their mean counts").click()
    ready(page)
    use_for_completion(page)
    turn_to(page, "Protection and errors")
    expect(page.locator(METRIC)).to_have_count(3, timeout=120_000)
    shown, link = page.locator(METRIC).all_inner_texts(), page.url
    assert "Your+ratings" in link
    page.reload()  # the visit goes on, in this tab alone
    ready(page)
    expect(page.locator(METRIC)).to_have_text(shown)
    twin = page.context.new_page()
    twin.goto(link)
    reads(twin, "“Your ratings” are not here", 120_000)
    twin.close()
    page.get_by_role("link", name="Datasets").first.click()
    page.get_by_text("Your own data", exact=True).click()
    press(page, "Remove")
    expect(page.get_by_text("can be chosen on every page")).to_have_count(0)
    page.get_by_text(
        "Documents", exact=True
    ).click()  # and it does not come back from the browser's own field
    ready(page)
    page.get_by_text("Ratings", exact=True).click()
    ready(page)
    expect(page.get_by_text("How it is read")).to_have_count(0)
    expect(page.get_by_text("can be chosen on every page")).to_have_count(0)


@pytest.mark.usefixtures("nothing_from_strangers")
def test_a_strangers_words_are_shown_as_they_are(page: Page, app_url: str) -> None:
    """In a real browser: the library that reads Markdown there has its own ideas of links."""
    people = [""]  # of names as long as they are kept
    for words in STRANGE:
        if len(people[-1]) + len(words) > 78:
            people.append("")
        people[-1] += f"{words} "
    people = [f"{who}." for who in people]
    rows = [(who, f"book {k}", 1 + (k + len(who)) % 5) for who in people for k in range(9)]
    table = io.StringIO(newline="")
    csv.writer(table).writerows([("user", "item", "rating"), *rows])
    bring(page, app_url, "ratings", "strange.csv", table.getvalue().encode())
    use_for_completion(page)
    turn_to(page, "Top ten")
    captions = page.locator('[data-testid="stCaptionContainer"]')
    said = captions.filter(has_text=re.compile(r"\. rated \d"))  # not of the example
    expect(said).to_be_visible(timeout=120_000)
    found: list[str] = []
    for number in range(1, len(people) + 1):
        if found:
            before = said.inner_text()
            enter(page.get_by_label("User", exact=True), str(number))
            expect(said).not_to_have_text(before)
        found.append(said.inner_text().replace("\u2060", "").partition(" rated ")[0])
        for made in ("a", "img", "em", "strong", "code", "del", ".katex", "[role=img]"):
            expect(said.locator(made)).to_have_count(0)
    assert sorted(found) == sorted(people)


def test_boxes_keep_their_place_when_the_first_rows_come_late(
    page: Page, app_url: str, tmp_path: Path
) -> None:
    """The browser fetches what draws tables when the first one comes, which may be after a box was
    opened: one that moved would be out of sight, and to scroll there closes it.
    """
    file, held = tmp_path / "mine.csv", list[Route]()
    file.write_bytes(long_csv(30, 12))
    page.route(re.compile(r"/DataFrame\.[^/]*\.js$"), lambda route: held.append(route))
    arrive(page, f"{app_url}/datasets?d_view=own")
    page.locator('input[type="file"]').set_input_files(str(file))
    reads(page, "can be chosen on every page that takes ratings")
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
