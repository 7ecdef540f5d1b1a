"""How easily each page reads: words before the tabs, and Flesch's reading ease of them.

``python -m benchmarks.server.reading http://127.0.0.1:8501``, with the app running there. Flesch
(1948): 206.835 − 1.015 words per sentence − 84.6 syllables per word; above 60 is plain English.
"""

import re
import sys

from playwright.sync_api import Page, sync_playwright

PATHS = (
    *("/", "/mechanisms", "/budget", "/completion", "/factorization", "/tradeoffs", "/audit"),
    *("/game", "/papers", "/runs", "/datasets", "/lessons"),
)
# paragraphs and list items that a visitor reads, outside figures, controls and tabs
_TEXTS = """() => [...document.querySelectorAll(
    '[data-testid="stMain"] [data-testid="stMarkdownContainer"] p,'
    + '[data-testid="stMain"] [data-testid="stMarkdownContainer"] li')]
  .filter(e => !e.closest(
      '.stExpander, .st-key-tab-content, label, button, a, [data-testid="stMetric"]')
    && e.checkVisibility({checkVisibilityCSS: true}))
  .map(e => e.innerText)"""


def syllables(word: str) -> int:
    """Groups of vowels, a silent e left out; a symbol or a number is one.

    >>> [syllables(word) for word in ("noise", "privacy", "release", "ε", "0.5")]
    [1, 3, 2, 1, 1]
    """
    plain = re.sub(r"[^a-z]", "", word.lower())
    if len(plain) > 2:
        plain = re.sub(r"(?<![aeiouy])e$|(?<=[^aeiouy])es$", "", plain) or plain
    return max(len(re.findall(r"[aeiouy]+", plain)), 1)


def flesch(sentences: list[str]) -> float:
    """The reading ease of some sentences."""
    words = [word for sentence in sentences for word in sentence.split()]
    per_word = sum(map(syllables, words)) / len(words)
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * per_word


def sentences_of(texts: list[str]) -> list[str]:
    """The sentences of some paragraphs; numbers and symbols alone are none."""
    parts = [one for text in texts for one in re.split(r"(?<=[.:?!;])\s+", text.strip())]
    return [one for one in parts if len(re.findall(r"[A-Za-z]{2,}", one)) >= 3]


def texts(page: Page, address: str) -> list[str]:
    """What a page says before its tabs."""
    page.goto(address)
    page.locator("svg.main-svg, canvas").first.wait_for(state="attached", timeout=60_000)
    page.wait_for_selector('[data-test-script-state="notRunning"]', timeout=60_000)
    page.wait_for_timeout(700)
    found: list[str] = page.evaluate(_TEXTS)
    return found


def main(base: str) -> None:
    """Print a row for each page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        print("| page | words | words a sentence | reading ease |\n|---|---|---|---|")
        for path in PATHS:
            found = sentences_of(texts(page, base + path))
            words = sum(len(one.split()) for one in found)
            print(
                f"| {path.strip('/') or 'home'} | {words} | {words / len(found):.1f} | "
                f"{flesch(found):.0f} |"
            )
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"))
