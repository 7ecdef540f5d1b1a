"""*Plan* in the browser: a table that is edited."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import DRAWN, arrive, ran, ready, verdict_says
from tests.browser.test_every_page import VERDICT, open_whole

pytestmark = pytest.mark.nightly


def test_a_project_is_edited_and_linked(page: Page, app_url: str) -> None:
    open_whole(page, f"{app_url}/plan?n_kind=project&tab=numbers")
    verdict_says(page, "bring the total ε to 1.77")
    table = page.get_by_test_id("stDataFrame").first
    ready(page)
    table.scroll_into_view_if_needed()
    before, box = None, table.bounding_box()
    while box is None or box != before:  # figures above it may still be drawn
        page.wait_for_timeout(300)
        before, box = box, table.bounding_box()
    # the second row's "Releases"
    page.mouse.dblclick(box["x"] + 290, box["y"] + 35 * 2 + 18)
    expect(page.locator("#portal .gdg-input")).to_have_value("12")  # the cell's own box
    page.keyboard.press("Control+a")
    page.keyboard.type("3")
    expect(page.locator("#portal .gdg-input")).to_have_value("3")
    page.evaluate(DRAWN)  # Enter takes what the table has drawn: no person is faster than a frame
    ran(page, lambda: page.keyboard.press("Enter"))
    expect(page).to_have_url(re.compile("n_project="))
    said = page.locator(VERDICT).inner_text()
    for other in ("A statistic", "Several statistics"):  # another view takes nothing away
        page.get_by_role("radio", name=other, exact=True).click()
        ready(page)
    expect(page.locator(VERDICT)).to_have_text(said)
    expect(page).to_have_url(re.compile("releases%22%3A3"))
    arrive(page, page.url)
    expect(page.locator(VERDICT)).to_have_text(said)
