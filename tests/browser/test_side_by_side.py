"""Two visitors at once, in one server and real browsers: neither meets what the other chooses."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_app import METRIC, arrive, finished, laid_out, press, reads, ready
from tests.browser.test_words import bring
from tests.own.files import long_csv

pytestmark = pytest.mark.browser
LARGE = "dataset=low-rank&n=2&n_users=200000&n_items=200000&observed=0.0001&rank=256&iterations=1"
LONG = "n=2&dataset=skewed&n_users=2500&n_items=1500&n_ratings=300000&rank=128&iterations=500"
COLOURS = """() => [...new Set([...document.querySelectorAll('.js-plotly-plot text')]
    .map(text => getComputedStyle(text).fill))].sort()"""


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens the app as somebody else each time."""
    contexts = []

    def come(**browser_settings: object) -> Page:
        chosen: Any = {"viewport": {"width": 1440, "height": 900}, **browser_settings}
        contexts.append(browser.new_context(**chosen))
        page = contexts[-1].new_page()
        page.set_default_timeout(60_000)
        return page

    yield come
    for context in contexts:
        context.close()


def test_a_theme_colours_ones_own_figures(app_url: str, visitor: Callable[..., Page]) -> None:
    def colours(scheme: str) -> list[str]:
        page = visitor(color_scheme=scheme)
        page.goto(f"{app_url}/mechanisms")
        page.locator(".js-plotly-plot text").first.wait_for(state="attached")
        laid_out(page, scheme, 1440)
        found: list[str] = page.evaluate(COLOURS)
        return found

    before, dark, after = colours("light"), colours("dark"), colours("light")
    assert before == after
    assert not set(before) & set(dark)


def test_files_keep_apart(app_url: str, visitor: Callable[..., Page]) -> None:
    """One brings so much that it is read in the slow line, the other little; each sees theirs."""
    one, other = visitor(), visitor()
    much = long_csv(40_000, 300)
    assert len(much) > 4_000_000
    bring(one, app_url, "ratings", "much.csv", much)
    bring(other, app_url, "ratings", "little.csv", long_csv(30, 12))
    for mine, theirs, page in (("much", "little", one), ("little", "much", other)):
        reads(page, "can be chosen on every page that takes ratings")
        reads(page, f"{mine}.csv")
        expect(page.get_by_text(f"{theirs}.csv")).to_have_count(0)
    press(other, "Remove")
    expect(other.get_by_text("can be chosen on every page")).to_have_count(0)
    reads(one, "can be chosen on every page that takes ratings")


def test_runs_keep_apart(app_url: str, visitor: Callable[..., Page]) -> None:
    """One asks for more than may be held, and then for a long run; the other's run ends, and stays
    when the first is cancelled.
    """
    one, other = visitor(), visitor()
    arrive(one, f"{app_url}/completion?{LARGE}")
    press(one, "Run")
    reads(one, re.compile("The results would take [0-9,]+ MB"))
    arrive(one, f"{app_url}/completion?{LONG}")
    press(one, "Run")
    cancel = one.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible()
    other.goto(f"{app_url}/completion?n=2&rank=6&iterations=8&seed=3&run=1&tab=accounts")
    finished(other)
    expect(other.get_by_role("button", name="Cancel")).to_have_count(0, timeout=180_000)
    ready(other)  # what a run shows while it goes on is drawn again when it has ended
    expect(other.locator(METRIC)).to_have_count(2)
    found = other.locator(METRIC).all_inner_texts()
    cancel.click()
    reads(one, re.compile("Cancelled"))
    ready(other)
    expect(other.locator(METRIC)).to_have_text(found)
    expect(other.get_by_text("Cancelled")).to_have_count(0)
