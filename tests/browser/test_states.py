"""What axe-core finds during and after a run, and how it is laid out, in both themes."""

from contextlib import suppress
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as NotInTime

from tests.browser.geometry import problems
from tests.browser.test_app import AXE, grave, laid_out, ready, settled
from tests.waiting import until

pytestmark = pytest.mark.nightly
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
RUNS = {  # address that runs for a while -> its button
    "/completion?iterations=500&rank=40": "Run",
    "/completion?n=6&iterations=500&rank=40": "Run",
    "/completion?question=people&seeds=5": "Run",
    "/factorization?f_n=20000": "Run",
    "/tradeoffs?t_users_user=500&t_ratings=20000": "Run",
    "/audit?x_target=als&x_algorithm_runs=10,000": "Attack",
}


def looked_at(page: Page, where: str) -> None:
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        size = page.viewport_size
        settled(page, scheme, size["width"])
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert grave(page) == [], (where, scheme)
        # text of a figure that is just being drawn anew may be anywhere
        until(lambda: not problems(page))


@pytest.mark.parametrize(
    ("path", "width", "height"),
    [(path, *size) for path in RUNS for size in ((1280, 720), (390, 844))],
)
def test_a_run_can_be_followed_by_everybody(
    browser: Browser, app_url: str, path: str, width: int, height: int
) -> None:
    phone = width < 500
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=phone, is_mobile=phone
    )
    page = context.new_page()
    page.goto(app_url + path)
    page.locator("svg.main-svg, canvas").first.wait_for(state="attached", timeout=120_000)
    ready(page)
    run = page.get_by_test_id("stMain").get_by_role("button", name=RUNS[path], exact=True)
    run.tap() if phone else run.click()
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible(timeout=120_000)
    looked_at(page, "during")
    assert len(page.pdf()) > 10_000
    while cancel.count():  # a quick machine may be through, a busy one draws it anew meanwhile
        with suppress(NotInTime):
            cancel.click(timeout=3_000)
            expect(cancel).to_have_count(0)
    ready(page)
    page.emulate_media(color_scheme="light")
    laid_out(page, "light", width)
    looked_at(page, "after")
    context.close()
