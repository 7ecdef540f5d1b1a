"""How soon figures follow a slider that is dragged, while twenty others use the app.

``python -m benchmarks.server.drag [--visitors 20]``.

Chromium drags each slider; the page's own script notes when a value changes and when the next
picture of each figure stands. Prints, for each slider, the time from one drawn frame of the screen
to the next while it is dragged, and from a value to its figures, and how long after the mouse came
near all of them were there.
"""

import argparse
import asyncio
import random
import shutil
import tempfile
import threading
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.server.visitor import running_app
from benchmarks.server.visitors import browse

_SLIDERS = {
    "": "home_epsilon",
    "mechanisms": "m_alpha",
    "mechanisms?m_alpha=1.2": "m_variance",
    "budget": "u_count",
    "plan": "n_margin_mean",
}
_NOTE = """() => {
  window.noted = [];
  const note = (what) => noted.push([what, performance.now()]);
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    plot.on?.("plotly_afterplot", () => note("figure"));
  }
  new MutationObserver(() => note("value"))
    .observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext"] });
  const frame = () => { note("frame"); requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}"""
_THUMB = "key => { const box = document.querySelector(`.st-key-${key} input`).parentElement\n"
_THUMB += ".parentElement.getBoundingClientRect();\n"
_THUMB += "return [box.x + box.width / 2, box.y + box.height / 2]; }"


def dragged(page: Page, address: str, key: str) -> tuple[float, list[float], list[float]]:
    """Seconds until what follows ``key`` has been fetched, and milliseconds between frames, and
    from a value to its figures, while it is dragged.
    """
    page.goto(address)
    page.locator(f".st-key-{key} input").wait_for(state="attached")
    page.wait_for_timeout(4000)
    x, y = page.evaluate(_THUMB, key)
    began = time.monotonic()
    with page.expect_response(lambda answer: "/ahead/" in answer.url, timeout=120_000):
        page.mouse.move(x, y)  # what follows is fetched now
    fetched = time.monotonic() - began
    page.wait_for_timeout(2000)
    page.evaluate(_NOTE)
    page.mouse.down()
    for k in range(60):
        x += 2 if k % 20 < 10 else -2
        page.mouse.move(x, y)
        page.wait_for_timeout(40)
    page.mouse.up()
    noted = page.evaluate("noted")
    frames = [at for what, at in noted if what == "frame"]
    figures = [at for what, at in noted if what == "figure"]
    values = [at for what, at in noted if what == "value"]
    late = [min(f for f in figures if f >= v) - v for v in values if figures and v <= figures[-1]]
    return fetched, sorted(b - a for a, b in pairwise(frames)), sorted(late)


def main() -> None:
    """Print one line for each slider."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--visitors", type=int, default=20)
    visitors = options.parse_args().visitors
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder)) as app,
        sync_playwright() as playwright,
    ):
        until = time.monotonic() + 40 * len(_SLIDERS)

        async def others() -> None:
            await asyncio.gather(
                *(
                    browse(app, until, random.Random(k), [], defaultdict(list))
                    for k in range(visitors)
                )
            )

        threading.Thread(target=asyncio.run, args=(others(),), daemon=True).start()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for path, key in _SLIDERS.items():
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            fetched, gaps, late = dragged(page, f"{app.url}/{path}", key)
            page.close()
            print(f"{key}: {fetched:.1f} s, frames {_of(gaps)}; from value to figure {_of(late)}")
        browser.close()


def _of(times: list[float]) -> str:
    if not times:
        return "none"
    return (
        f"median {times[len(times) // 2]:.0f} ms, p95 {times[int(0.95 * len(times))]:.0f} ms of "
        f"{len(times)}"
    )


if __name__ == "__main__":
    main()
