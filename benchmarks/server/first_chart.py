"""How long a newcomer on a slow line waits for the first chart of each page, and what is moved.

``python -m benchmarks.server.first_chart http://127.0.0.1:8501``, with the app running there. The
line is Chromium's own simulation: 10 Mbit/s, each answer 40 ms late, nothing in the cache. Time is
the browser's, from the start of the navigation until the chart stands in the page.
"""

import shutil
import statistics
import sys
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from benchmarks.server.reading import PATHS

_VISITS = 5
_LINE = {
    "offline": False,
    "latency": 40,
    "downloadThroughput": 10e6 / 8,
    "uploadThroughput": 10e6 / 8,
}
_WATCH = """(() => { const look = () => {
  const chart = document.querySelector('svg.main-svg, [data-testid="stDataFrame"] canvas');
  if (chart) window.firstChart = performance.now(); else requestAnimationFrame(look);
}; requestAnimationFrame(look); })()"""


def visit(browser: Browser, address: str) -> tuple[float, float]:
    """Seconds until the first chart, and megabytes over the line until then."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.add_init_script(_WATCH)
    session = context.new_cdp_session(page)
    moved = [0.0]

    def count(event: Any) -> None:
        moved[0] += event["encodedDataLength"] / 1e6

    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", _LINE)
    session.on("Network.loadingFinished", count)
    page.goto(address, wait_until="commit")
    # looked at now and then from here, each frame from inside: asking takes the page's time
    for _ in range(240):
        page.wait_for_timeout(250)
        if seen := float(page.evaluate("() => window.firstChart || 0")):
            break
    else:
        raise RuntimeError(f"no chart on {address} after a minute")
    context.close()
    return seen / 1000, moved[0]


def main(base: str) -> None:
    """Print one line for each page; before, all are visited once, so that the server is warm."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for path in PATHS:
            visit(browser, base + path)
        for path in PATHS:
            visits = [visit(browser, base + path) for _ in range(_VISITS)]
            seconds = [one[0] for one in visits]
            print(
                f"{path}: first chart after {statistics.median(seconds):.2f} s "
                f"({min(seconds):.2f} to {max(seconds):.2f}), "
                f"{statistics.median(one[1] for one in visits):.2f} MB"
            )
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
