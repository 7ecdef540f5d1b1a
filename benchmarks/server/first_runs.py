"""How long a visitor waits for a run: from the press of *Run* to a first frame, and to its result.

``python -m benchmarks.server.first_runs [--rounds 3] [--hurry]``.

Each round starts the app anew and a new visitor opens it in Chromium: *Home*, then a page by the
menu, and presses *Run* there three times, each with a new seed. ``--hurry``: the first press comes
as soon as the page has settled, while the server still prepares what others will ask for.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.server.visitor import running_app

_PAGES = {"Completion": "completion", "Factorization": "factorization"}
_PREPARED = 30_000  # milliseconds after which a server has prepared what it does ahead
_SETTLED = """() => !document.querySelector('[data-testid="stStatusWidget"]')
  && document.querySelector('.js-plotly-plot, img') !== null"""
_WATCH = """() => {
  const began = performance.now(), seen = {};
  const note = what => { seen[what] ??= (performance.now() - began) / 1000; };
  const former = ".st-key-before-results, .st-key-example, .st-key-example-of-others";
  const picture = '[data-testid="stMain"] :is(.js-plotly-plot .main-svg, img)';
  window.watched = new Promise(resolve => {
    let running = false;
    const look = () => {
      const cancel = [...document.querySelectorAll('[data-testid="stButton"] button')]
        .some(button => button.innerText.includes('Cancel'));
      if (cancel) { running = true; note('cancel'); }
      if (running && !document.querySelector(former) && document.querySelector(picture)) {
        note('frame');
      }
      if (running && !cancel && document.querySelector('.st-key-results')) {
        note('result');
        resolve(seen);
      } else if (performance.now() - began > 60_000) resolve(seen);
      else requestAnimationFrame(look);
    };
    look();
  });
}"""


def press(page: Page) -> dict[str, float]:
    """Seconds from the press to the button *Cancel*, the first frame, and the result."""
    button = page.locator(".st-key-go button")
    button.scroll_into_view_if_needed()
    page.evaluate(_WATCH)
    button.click()
    seen: dict[str, float] = page.evaluate("() => window.watched")
    return seen


def main() -> None:
    """Print one line for each press."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--hurry", action="store_true")
    asked = options.parse_args()
    for round_ in range(asked.rounds):
        for title, path in _PAGES.items():
            with (
                tempfile.TemporaryDirectory() as folder,
                running_app(Path(folder), DPMC_STORE=f"{folder}/runs.sqlite") as app,
                sync_playwright() as playwright,
            ):
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
                )
                page = browser.new_page(viewport={"width": 1280, "height": 720})
                page.goto(app.url)
                page.locator(".js-plotly-plot").first.wait_for()
                if not asked.hurry:
                    page.wait_for_timeout(_PREPARED)
                page.locator(f'a[href$="/{path}"]').first.click()
                page.locator(".st-key-go button").wait_for()
                page.wait_for_timeout(1000)
                page.wait_for_function(_SETTLED)
                for k in range(3):
                    page.wait_for_timeout(3000 * (k > 0))
                    seen = press(page)
                    told = ", ".join(f"{what} {seconds:.2f} s" for what, seconds in seen.items())
                    print(f"{title}, round {round_}, press {k + 1}: {told}", flush=True)
                browser.close()


if __name__ == "__main__":
    main()
