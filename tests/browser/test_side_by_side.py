"""Two visitors at once, in one server and real browsers: neither meets what the other chooses."""

import re
from typing import Literal

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from tests.browser.test_app import METRIC, arrive, finished, laid_out, press, reads, ready

pytestmark = pytest.mark.nightly
COLOURS = """() => [...new Set([...document.querySelectorAll('.js-plotly-plot text')]
    .map(text => getComputedStyle(text).fill))].sort()"""
VIEWPORT: ViewportSize = {"width": 1440, "height": 900}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark", "light")
LONG = "n=2&dataset=skewed&n_users=2500&n_items=1500&n_ratings=300000&rank=128&iterations=500"


def test_a_theme_colours_ones_own_figures(app_url: str, browser: Browser) -> None:
    colours = []
    for scheme in SCHEMES:
        page = browser.new_context(color_scheme=scheme, viewport=VIEWPORT).new_page()
        page.goto(f"{app_url}/mechanisms")
        page.locator(".js-plotly-plot text").first.wait_for(state="attached")
        laid_out(page, scheme, 1440)
        colours.append(page.evaluate(COLOURS))
        page.context.close()
    before, dark, after = colours
    assert before == after
    assert not set(before) & set(dark)


def test_runs_keep_apart(app_url: str, browser: Browser) -> None:
    """One asks for a long run; the other's run ends, and stays when the first is cancelled."""
    profiles = [browser.new_context() for _ in range(2)]
    one, other = (profile.new_page() for profile in profiles)
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
    for profile in profiles:
        profile.close()
