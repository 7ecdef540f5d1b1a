"""The frame of every page: its tabs, and what presenter mode leaves."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.frame.page import _shown_first
from pages.parts.ui import glossary
from tests.app.test_pages import ROOT, blocks, fresh_visitor, verdict_of  # noqa: F401 - a fixture

RESULTS = [n for n in glossary.PAGES if n not in ("lessons", "runs")]


def opened(name: str, **params: str) -> AppTest:
    """A page as a visitor finds it."""
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=60)
    if name != "home":
        app.run()
        app.switch_page(f"{name}.py")
    for key, value in params.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    return app


def strip_of(app: AppTest) -> Any:
    """The strip of tabs."""
    return app.button_group(key="tab")


def content_of(app: AppTest) -> int:
    """How much the chosen tab holds."""
    (content,) = [b for b in blocks(app.main) if "-tab-content" in str(getattr(b.proto, "id", ""))]
    return len(content.children)


@pytest.mark.parametrize("name", glossary.PAGES)
def test_a_page_has_a_verdict_and_tabs_of_which_the_first_is_drawn(name: str) -> None:
    app = opened(name)
    assert verdict_of(app)
    assert not app.warning
    assert len(strip_of(app).options) > 1
    assert content_of(app)
    assert "tab" not in app.query_params


def test_a_link_opens_a_tab_and_keeps_what_stands_in_it() -> None:
    app = opened("completion", tab="top-ten", user="7")
    assert app.number_input(key="user").value == 7
    strip_of(app).set_value("accounts").run()
    assert not [n for n in app.number_input if n.key == "user"]
    assert app.query_params["tab"] in ("accounts", ["accounts"])
    app.query_params["tab"] = "top-ten"  # as a step back does
    app.run()
    assert app.number_input(key="user").value == 7
    closed = opened("completion", user="7")
    assert closed.query_params["user"] in ("7", ["7"])


def test_a_tab_that_is_not_there_is_named_and_the_first_is_drawn() -> None:
    app = opened("budget", tab="nonsense")
    (warning,) = app.warning
    assert "tab = 'nonsense' is not allowed: it must be one of statements," in warning.value
    assert content_of(app)


def test_the_tab_of_numbers_has_those_of_the_figures_above() -> None:
    app = opened("mechanisms", tab="numbers")
    assert len(app.dataframe) == 2
    assert {"alpha", "variance"} <= set(app.dataframe[1].value.columns)
    assert len(app.get("download_button")) >= 4


@pytest.mark.parametrize("name", RESULTS)
def test_presenter_mode_shows_verdict_and_figure_alone(name: str) -> None:
    app = opened(name)
    app.session_state["present"] = True
    app.run()
    assert not app.exception
    assert verdict_of(app)
    assert app.get("plotly_chart")
    assert not [g for g in app.get("button_group") if g.key == "tab"]
    assert not any("-tab-content" in str(getattr(b.proto, "id", "")) for b in blocks(app.main))


def test_steps_go_on_from_what_was_asked_while_the_browser_still_reports_the_value_before() -> None:
    app = opened("home")
    app.session_state["present"] = True
    app.run()
    app.button(key="step-Right").click().run()
    assert app.select_slider(key="home_epsilon").value == 1.2
    app.select_slider(key="home_epsilon").set_value(1.0)  # not drawn there yet
    app.button(key="step-Right").click().run()
    assert app.select_slider(key="home_epsilon").value == 1.5
    app.select_slider(key="home_epsilon").set_value(1.0)
    app.button(key="step-Left").click().run()
    assert app.select_slider(key="home_epsilon").value == 1.2
    app.select_slider(key="home_epsilon").set_value(0.5).run()  # moved by hand: that counts
    app.button(key="step-Left").click().run()
    assert app.select_slider(key="home_epsilon").value == 0.4
    app.select_slider(key="home_epsilon").set_value(1.5).run()
    app.button(key="step-Left").click().run()
    assert app.select_slider(key="home_epsilon").value == 1.2


def test_few_short_observations_are_shown_and_the_others_have_a_tab() -> None:
    short, long = "four words of text", " ".join(["word"] * 44)
    assert _shown_first([], 3) == 0
    assert _shown_first([long + " and more"], 3) == 1  # one at least, however long
    assert _shown_first([short] * 5, 3) == 3
    assert _shown_first([short], 0) == 0
    assert _shown_first([short, long, short], 3) == 1
