"""What a visitor waits for: server time of a slider move on *Mechanisms*, and the time until a warm page is readable.

Server time is the script's own run under Streamlit's test runner (no browser, no network). Page times are taken in headless
Chromium against the real server, from navigation until the script has stopped and the first chart is drawn.
"""

import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["", "mechanisms", "budget", "completion", "factorization", "audit", "datasets"]


def server_times() -> None:
    """Slider moves in process."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("app_pages/mechanisms.py").run()
    taken = []
    for k in range(30):
        app.slider(key="m_alpha").set_value(round(0.3 + 0.1 * k, 2))
        start = time.perf_counter()
        app.run()
        taken.append(1000 * (time.perf_counter() - start))
    print(
        f"slider move on Mechanisms, server: median {np.median(taken):.0f} ms, worst {max(taken):.0f} ms of {len(taken)}"
    )


def page_times() -> None:
    """Warm pages in Chromium."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.port",
        str(port),
        "--server.address",
        "127.0.0.1",
    ]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.2)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
            )
            for name in PAGES:
                seconds = []
                for _ in range(6):
                    page = browser.new_page(viewport={"width": 1440, "height": 900})
                    start = time.perf_counter()
                    page.goto(f"{url}/{name}")
                    page.locator("h1").first.wait_for()
                    readable = time.perf_counter() - start
                    page.locator("svg.main-svg").first.wait_for(state="attached")
                    seconds.append((readable, time.perf_counter() - start))
                    page.close()
                readable, drawn = np.median(np.array(seconds[1:]), axis=0)
                print(f"/{name}: title readable {readable:.2f} s, first chart {drawn:.2f} s (medians of 5 warm loads)")
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{url}/mechanisms")
            page.locator("svg.main-svg").first.wait_for(state="attached")
            handle = page.get_by_role("slider").first
            handle.focus()
            moves = []
            for _ in range(12):
                start = time.perf_counter()
                page.keyboard.press("ArrowRight")
                page.wait_for_selector('[data-testid="stApp"][data-test-script-state="running"]', timeout=5000)
                page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=5000)
                moves.append(1000 * (time.perf_counter() - start))
            print(f"slider move on Mechanisms, browser: median {np.median(moves):.0f} ms from key press to script end")
            browser.close()
    finally:
        server.terminate()


if __name__ == "__main__":
    server_times()
    page_times()
