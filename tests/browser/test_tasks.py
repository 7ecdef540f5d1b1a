"""Twenty things that people come for, each in three interactions at most from *Home*.

An interaction is a press, a choice from a list, a number typed or a slider moved; ``docs/pages.md``
has the table.
"""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.parts.ui.glossary import PAGES
from tests.browser.test_app import opened, ready, turn_to

pytestmark = pytest.mark.browser
MOST = 3
Act = Callable[[Page], None]


def menu(name: str) -> Act:
    question = next(page.question for page in PAGES.values() if page.title == name)

    def act(page: Page) -> None:
        page.get_by_role("link", name=name, exact=True).first.click()
        expect(page.get_by_role("heading", name=question)).to_be_visible()
        ready(page)

    return act


def press(name: str) -> Act:
    return lambda page: page.get_by_role("button", name=name, exact=True).first.click()


def radio(name: str) -> Act:
    return lambda page: page.get_by_role("radio", name=name, exact=True).first.click()


def tab(name: str) -> Act:
    return lambda page: turn_to(page, name)


def choose(box: str, option: str) -> Act:
    def act(page: Page) -> None:
        opened(page, box)
        page.get_by_role("option", name=option).first.click()

    return act


def enter(box: str, text: str) -> Act:
    def act(page: Page) -> None:
        page.get_by_label(box, exact=True).first.fill(text)
        page.get_by_label(box, exact=True).first.press("Enter")
        ready(page)

    return act


def slid(key: str, times: int = 1) -> Act:
    """Move the first slider of the bar, by the keyboard."""

    def act(page: Page) -> None:
        for _ in range(times):
            page.locator(".st-key-main-control").get_by_role("slider").first.press(key)

    return act


def plays(page: Page) -> None:
    """Wait for the last value, which stands there for a moment, at each picture of the screen."""
    text = "document.querySelector('.st-key-verdict').innerText"
    page.wait_for_function(rf"() => /ε.=.0\.1,/.test({text})", timeout=120_000)


def verdict(page: Page) -> Locator:
    return page.locator(".st-key-verdict")


TASKS: dict[str, tuple[list[Act], Callable[[Page], None]]] = {
    "show the class what ε = 0.1 does": (
        [slid("Home")],
        lambda page: expect(verdict(page)).to_contain_text("At ε = 0.1,"),
    ),
    "let ε move by itself": ([press("Play")], plays),
    "which noise for 10 releases?": (
        [menu("Budget"), slid("ArrowLeft", 8)],
        lambda page: expect(verdict(page)).to_contain_text("10 releases cost a nominal total ε of"),
    ),
    "how much noise does a budget need?": (
        [menu("Budget"), tab("Least noise")],
        lambda page: expect(page.get_by_test_id("stDataFrame")).to_be_visible(),
    ),
    "which noise is best at one ε?": (
        [menu("Mechanisms"), radio("ε")],
        lambda page: expect(verdict(page)).to_contain_text("At equal ε = 1"),
    ),
    "show variance against α": (
        [menu("Mechanisms")],
        lambda page: expect(page.get_by_text("variance at scale s")).to_be_in_viewport(ratio=1),
    ),
    "how many people do I need?": (
        [menu("Tradeoffs"), choose("Vary", "how many people")],
        lambda page: expect(page.get_by_test_id("stDataFrame")).to_be_visible(),
    ),
    "what ε does my accuracy take?": (
        [menu("Plan"), slid("ArrowRight", 2)],
        lambda page: expect(verdict(page)).to_contain_text("±2 points (95 %): the mean of"),
    ),
    "from which ε on is a model worth having?": (
        [menu("Plan"), radio("A model")],
        lambda page: expect(verdict(page)).to_contain_text("is better than the best baseline from"),
    ),
    "share one budget among my statistics": (
        [menu("Plan"), radio("Several statistics")],
        lambda page: expect(verdict(page)).to_contain_text("bring the total ε to"),
    ),
    "go on in my own notebook": (
        [press("Open as notebook")],
        lambda page: expect(
            page.get_by_role("button", name="Open as notebook", exact=True)
        ).to_be_visible(),
    ),
    "what does privacy cost, and is it worth it?": (
        [menu("Tradeoffs")],
        lambda page: expect(verdict(page)).to_contain_text("than the best baseline"),
    ),
    "which mechanism costs least accuracy?": (
        [menu("Tradeoffs"), radio("Differences")],
        lambda page: expect(verdict(page)).to_contain_text(re.compile(r"\d+ of (its )?\d+")),
    ),
    "protect whole users in a recommender": (
        [menu("Completion")],
        lambda page: expect(verdict(page)).to_contain_text("At total ε = 5 (one draw),"),
    ),
    "what is one person recommended?": (
        [menu("Completion"), choose("Question", "What does one person see?")],
        lambda page: expect(verdict(page)).to_contain_text("stay the same"),
    ),
    "run a completion of my own": (
        [menu("Completion"), press("Run")],
        lambda page: expect(page.get_by_text("Your run")).to_be_visible(timeout=120_000),
    ),
    "IRLS against ALS at the same total ε": (
        [menu("Completion"), press("ALS against IRLS")],
        lambda page: expect(verdict(page)).to_contain_text("IRLS's", timeout=120_000),
    ),
    "compare five algorithms": (
        [menu("Completion"), press("Six algorithms")],
        lambda page: expect(
            page.locator(".st-key-results .st-key-chart-rmse").get_by_text("E · DPALS")
        ).to_be_visible(timeout=120_000),
    ),
    "can faces be learned privately?": (
        [menu("Factorization")],
        lambda page: expect(verdict(page)).to_contain_text("one-shot moment NMF finds 20"),
    ),
    "learn topics of news articles": (
        [menu("Factorization"), choose("Data", "Lee")],
        lambda page: expect(page.get_by_test_id("stTable").first).to_be_visible(),
    ),
    "attack a published algorithm": (
        [menu("Audit"), choose("Target", "ALS, as published"), press("Attack")],
        lambda page: expect(verdict(page)).to_contain_text("the attack proves", timeout=180_000),
    ),
    "play against the noise": (
        [menu("Game"), lambda page: page.keyboard.press("i")],
        lambda page: expect(verdict(page)).to_contain_text("You were right in"),
    ),
    "audit my own mechanism": (
        [menu("Audit"), tab("Your own mechanism")],
        lambda page: expect(page.get_by_text("Outputs (CSV)").first).to_be_visible(),
    ),
    "can a paper's table be reproduced?": (
        [menu("Papers"), choose("Table or figure", "Table 4")],
        lambda page: expect(verdict(page)).to_contain_text("Table 4: of"),
    ),
    "bring my own data": (
        [menu("Datasets"), radio("Your own data")],
        lambda page: expect(page.locator('input[type="file"]')).to_be_attached(),
    ),
    "take a lesson": (
        [menu("Lessons"), press("Begin")],
        lambda page: expect(page.get_by_text("Step 1 of")).to_be_visible(),
    ),
    "get the agenda of a class": (
        [menu("Lessons"), radio("Teach a class")],
        lambda page: expect(verdict(page)).to_contain_text("with expected answers"),
    ),
    "present a page": (
        [lambda page: page.get_by_text("Presenter mode").first.click()],
        lambda page: expect(page.get_by_test_id("stSidebar")).to_be_hidden(),
    ),
    "send somebody this page": (
        [press("Share")],
        lambda page: expect(
            page.get_by_text("opens this page with all its settings")
        ).to_be_visible(),
    ),
}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_three_interactions(page: Page, app_url: str, task: str) -> None:
    acts, done = TASKS[task]
    assert len(acts) <= MOST
    page.goto(app_url)
    page.locator("svg.main-svg").first.wait_for(state="attached", timeout=120_000)
    ready(page)
    for act in acts:
        act(page)
        ready(page)
    done(page)


def test_there_are_twenty() -> None:
    assert len(TASKS) >= 20
