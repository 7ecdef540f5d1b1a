"""The running app inside another site: what is offered there, and what never is."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import reads

pytestmark = pytest.mark.browser


class _Site(BaseHTTPRequestHandler):
    """A page with the address that it is asked for in a frame."""

    def do_GET(self) -> None:
        (framed,) = parse_qs(urlsplit(self.path).query).get("show", ["about:blank"])
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(
            f'<h1>Course</h1><iframe src="{framed}" width="1200" height="900"></iframe>'.encode()
        )

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def course() -> Iterator[str]:
    """Another site: the app is at 127.0.0.1, and no cookie of it is sent from here."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/?show="
    server.shutdown()
    server.server_close()


def test_a_page_in_another_site_works_without_the_menu(
    page: Page, app_url: str, course: str
) -> None:
    page.goto(f"{course}{app_url}/mechanisms")
    frame = page.frame_locator("iframe")
    expect(frame.locator("h1")).to_be_visible()
    expect(frame.locator(".js-plotly-plot").first).to_be_visible()
    for role, name in (("button", "Share"), ("switch", "Presenter mode"), ("link", "Budget")):
        assert frame.get_by_role(role, name=name).count() == 0
    assert frame.get_by_test_id("stSidebarNav").count() == 0
    assert "embed=true" in page.frames[1].url


def test_no_file_is_asked_for_where_none_can_be_taken(
    page: Page, app_url: str, course: str
) -> None:
    page.goto(f"{course}{app_url}/datasets?d_view=own")
    frame = page.frame_locator("iframe")
    reads(frame, "No file can be taken here")
    assert frame.locator("input[type=file]").count() == 0
    with page.expect_popup() as opened:
        frame.get_by_role("link", name="Open this page").click()
    alone = opened.value
    expect(alone.locator("input[type=file]")).to_have_count(1)
    assert "embed" not in alone.url
    alone.close()


def test_past_runs_are_in_no_frame(page: Page, app_url: str, course: str) -> None:
    refused: list[str] = []
    page.on("console", lambda said: refused.append(said.text))
    page.goto(f"{course}{app_url}/runs")
    assert any("frame-ancestors" in text for text in refused), refused
    # nor by way of another page: the app knows that it is in a frame
    page.goto(f"{app_url}/runs?embed=true")
    reads(page, "Past runs are shown in a tab of their own only")
    assert page.get_by_role("button", name="Delete").count() == 0
