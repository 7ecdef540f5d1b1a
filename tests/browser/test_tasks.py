"""Twenty things that people come for, each in three interactions at most from *Home*.

An interaction is a press, a choice from a list, a number typed or a slider moved; ``docs/pages.md``
has the table.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from pages.parts.ui.glossary import PAGES
from tests.browser.test_app import opened, press, reads, ready, turn_to, verdict_says

pytestmark = pytest.mark.nightly
MOST = 3
Step = tuple[Callable[..., None], *tuple[Any, ...]]


def menu(page: Page, name: str) -> None:
    """Go to the page called ``name``."""
    question = next(each.question for each in PAGES.values() if each.title == name)
    page.get_by_role("link", name=name, exact=True).first.click()
    expect(page.get_by_role("heading", name=question)).to_be_visible()
    ready(page)


def radio(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).first.click()


def choose(page: Page, box: str, option: str) -> None:
    opened(page, box)
    page.get_by_role("option", name=option).first.click()


def slid(page: Page, key: str, times: int = 1) -> None:
    """Move the first slider of the bar, by the keyboard."""
    for _ in range(times):
        page.locator(".st-key-main-control").get_by_role("slider").first.press(key)


def named_in_figure(page: Page, figure: str, name: str) -> None:
    drawn = page.locator(f".st-key-results .st-key-chart-{figure}")
    expect(drawn.get_by_text(name)).to_be_visible(timeout=120_000)


def plays(page: Page) -> None:
    """Wait for the last value, which stands there for a moment, at each picture of the screen."""
    text = "document.querySelector('.st-key-verdict').innerText"
    page.wait_for_function(rf"() => /ε.=.0\.1,/.test({text})", timeout=120_000)


def shown_whole(page: Page, text: str) -> None:
    expect(page.get_by_text(text)).to_be_in_viewport(ratio=1)


def table(page: Page, test_id: str = "stDataFrame") -> None:
    expect(page.get_by_test_id(test_id).first).to_be_visible()


# what is done, and what is there at the end
TASKS: dict[str, list[Step]] = {
    "show the class what ε = 0.1 does": [(slid, "Home"), (verdict_says, "At ε = 0.1,")],
    "let ε move by itself": [(press, "Play"), (plays,)],
    "which noise for 10 releases?": [
        *((menu, "Budget"), (slid, "ArrowLeft", 8)),
        (verdict_says, "10 releases cost a nominal total ε of"),
    ],
    "how much noise does a budget need?": [(menu, "Budget"), (turn_to, "Least noise"), (table,)],
    "which noise is best at one ε?": [
        *((menu, "Mechanisms"), (radio, "ε")),
        (verdict_says, "At equal ε = 1"),
    ],
    "show variance against α": [(menu, "Mechanisms"), (shown_whole, "variance at scale s")],
    "how many people do I need?": [
        *((menu, "Tradeoffs"), (choose, "Vary", "how many people")),
        (table,),
    ],
    "what ε does my accuracy take?": [
        *((menu, "Plan"), (slid, "ArrowRight", 2)),
        (verdict_says, "±2 points (95 %): the mean of"),
    ],
    "from which ε on is a model worth having?": [
        *((menu, "Plan"), (radio, "A model")),
        (verdict_says, "is better than the best baseline from"),
    ],
    "share one budget among my statistics": [
        *((menu, "Plan"), (radio, "Several statistics")),
        (verdict_says, "bring the total ε to"),
    ],
    "go on in my own notebook": [(press, "Open as notebook"), (reads, "Open as notebook")],
    "which mechanism costs least accuracy?": [
        *((menu, "Tradeoffs"), (radio, "Differences")),
        (verdict_says, re.compile(r"\d+ of (its )?\d+")),
    ],
    "what is one person recommended?": [
        *((menu, "Completion"), (choose, "Question", "What does one person see?")),
        (verdict_says, "stay the same"),
    ],
    "run a completion of my own": [
        *((menu, "Completion"), (press, "Run")),
        (reads, "Your run", 120_000),
    ],
    "IRLS against ALS at the same total ε": [
        *((menu, "Completion"), (press, "ALS against IRLS")),
        (verdict_says, "IRLS's", 120_000),
    ],
    "compare five algorithms": [
        *((menu, "Completion"), (press, "Six algorithms")),
        (named_in_figure, "rmse", "E · DPALS"),
    ],
    "learn topics of news articles": [
        *((menu, "Factorization"), (choose, "Data", "Lee")),
        (table, "stTable"),
    ],
    "attack a published algorithm": [
        *((menu, "Audit"), (choose, "Target", "ALS, as published"), (press, "Attack")),
        (verdict_says, "the attack proves", 180_000),
    ],
    "play against the noise": [
        *((menu, "Game"), (lambda page: page.keyboard.press("i"),)),
        (verdict_says, "You were right in"),
    ],
    "audit my own mechanism": [
        *((menu, "Audit"), (turn_to, "Your own mechanism")),
        (reads, "Outputs (CSV)"),
    ],
    "can a paper's table be reproduced?": [
        *((menu, "Papers"), (choose, "Table or figure", "Table 4")),
        (verdict_says, "Table 4: of"),
    ],
    "bring my own data": [
        *((menu, "Datasets"), (radio, "Your own data")),
        (lambda page: expect(page.locator('input[type="file"]')).to_be_attached(),),
    ],
    "take a lesson": [(menu, "Lessons"), (press, "Begin"), (reads, "Step 1 of")],
    "get the agenda of a class": [
        *((menu, "Lessons"), (radio, "Teach a class")),
        (verdict_says, "with expected answers"),
    ],
    "present a page": [
        (lambda page: page.get_by_text("Presenter mode").first.click(),),
        (lambda page: expect(page.get_by_test_id("stSidebar")).to_be_hidden(),),
    ],
    "send somebody this page": [(press, "Share"), (reads, "opens this page with all its settings")],
}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_three_interactions(page: Page, app_url: str, task: str) -> None:
    *acts, done = TASKS[task]
    assert len(acts) <= MOST
    page.goto(app_url)
    page.locator("svg.main-svg").first.wait_for(state="attached", timeout=120_000)
    ready(page)
    for act, *given in acts:
        act(page, *given)
        ready(page)
    check, *given = done
    check(page, *given)
