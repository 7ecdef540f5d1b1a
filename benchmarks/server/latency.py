"""What a visitor waits for.

Server time of a slider move on *Mechanisms*, and the time until a cold and a warm page is readable.

Server time is the script's own run under Streamlit's test runner (no browser, no network). Page
times are taken in headless Chromium against the real server, from navigation until the script has
stopped and the first chart is drawn.
"""

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright
from streamlit.testing.v1 import AppTest

from benchmarks.server.visitor import PAGES, ROOT, running_app


def server_times() -> None:
    """Slider moves in process."""
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=60).run()
    app.switch_page("mechanisms.py").run()
    taken = []
    for k in range(30):
        app.slider(key="m_alpha").set_value(round(0.3 + 0.1 * k, 2))
        start = time.perf_counter()
        app.run()
        taken.append(1000 * (time.perf_counter() - start))
    print(
        f"slider move on Mechanisms, server: median {np.median(taken):.0f} ms, worst "
        f"{max(taken):.0f} ms of {len(taken)}"
    )


def page_times() -> None:
    """Cold and warm pages in Chromium."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        started = time.perf_counter()
        with running_app(Path(folder), DPMC_STORE=str(Path(folder) / "runs.sqlite")) as app:
            healthy = time.perf_counter() - started
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(app.url)
            page.locator("h1").first.wait_for()
            readable = time.perf_counter() - started
            page.locator("svg.main-svg").first.wait_for(state="attached")
            print(
                f"cold start: server answers after {healthy:.2f} s, Home's title readable "
                f"{readable:.2f} s, its first chart {time.perf_counter() - started:.2f} s after "
                "the command"
            )
            page.close()
            for name in PAGES:
                seconds = []
                context = browser.new_context(
                    viewport={"width": 1440, "height": 900}
                )  # an empty cache, as a newcomer's
                for _ in range(6):
                    page = context.new_page()
                    start = time.perf_counter()
                    page.goto(f"{app.url}/{name}")
                    page.locator("h1").first.wait_for()
                    readable = time.perf_counter() - start
                    page.locator("svg.main-svg, canvas").first.wait_for(state="attached")
                    seconds.append((readable, time.perf_counter() - start))
                    page.close()
                context.close()
                readable, drawn = np.median(np.array(seconds[1:]), axis=0)
                print(
                    f"/{name}: in a browser that was never here {seconds[0][0]:.2f} and "
                    f"{seconds[0][1]:.2f} s; then title readable {readable:.2f} s, first chart "
                    f"or table {drawn:.2f} s (medians of 5)"
                )
            slider_moves(browser.new_page(viewport={"width": 1440, "height": 900}), app.url)
        browser.close()


def slider_moves(page: Page, url: str) -> None:
    """Key presses on a slider in the browser."""
    page.goto(f"{url}/mechanisms")
    page.locator("svg.main-svg").first.wait_for(state="attached")
    page.get_by_role("slider").first.focus()
    moves = []
    for _ in range(12):
        start = time.perf_counter()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(
            '[data-testid="stApp"][data-test-script-state="running"]', timeout=5000
        )
        page.wait_for_selector(
            '[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=5000
        )
        moves.append(1000 * (time.perf_counter() - start))
    print(
        f"slider move on Mechanisms, browser: median {np.median(moves):.0f} ms from key press "
        "to script end"
    )


if __name__ == "__main__":
    server_times()
    page_times()
