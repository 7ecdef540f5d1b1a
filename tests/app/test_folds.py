"""The frame of every page: what stands open, what a fold hides, and what presenter mode leaves."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.frame.page import _shown_first
from pages.parts.ui import glossary
from tests.app.test_pages import ROOT, blocks, fresh_visitor, verdict_of  # noqa: F401 - a fixture

RESULTS = [n for n in glossary.PAGES if n not in ("lessons", "runs")]


def opened(name: str, **params: str) -> AppTest:
    """A page as a visitor finds it: its folds closed."""
    app = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=60)
    if name != "home":
        app.run()
        app.switch_page(f"{name}.py")
    for key, value in params.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    return app


def folds_of(app: AppTest) -> dict[str, int]:
    """How many things stand in each fold, by its key."""
    return {
        block.proto.id.split("-show-")[1]: len(block.children)
        for block in blocks(app.main)
        if "-show-" in str(getattr(block.proto, "id", ""))
    }


@pytest.mark.parametrize("name", glossary.PAGES)
def test_folds_are_closed_and_empty_until_opened(name: str) -> None:
    app = opened(name)
    assert verdict_of(app)
    assert folds_of(app)
    assert not any(folds_of(app).values())


def test_a_link_opens_a_fold_and_what_stands_in_it_is_kept() -> None:
    app = opened("completion", **{"show-top-ten": "true", "user": "7"})
    assert [key for key, size in folds_of(app).items() if size] == ["top-ten"]
    assert app.number_input(key="user").value == 7
    closed = opened("completion", user="7")
    assert not any(folds_of(closed).values())
    assert closed.query_params["user"] in ("7", ["7"])


@pytest.mark.parametrize("name", RESULTS)
def test_presenter_mode_shows_verdict_and_figure_alone(name: str) -> None:
    app = opened(name)
    app.session_state["present"] = True
    app.run()
    assert not app.exception
    assert verdict_of(app)
    assert app.get("plotly_chart")
    assert not folds_of(app)
    assert not any("-numbers-" in str(getattr(b.proto, "id", "")) for b in blocks(app.main))


def test_steps_go_on_from_what_was_asked_while_the_browser_still_reports_the_value_before() -> None:
    app = opened("home")
    app.session_state["present"] = True
    app.run()
    app.button(key="step-Right").click().run()
    assert app.select_slider(key="home_epsilon").value == 1.5
    app.select_slider(key="home_epsilon").set_value(1.0)  # not drawn there yet
    app.button(key="step-Right").click().run()
    assert app.select_slider(key="home_epsilon").value == 2.0
    app.select_slider(key="home_epsilon").set_value(1.0)
    app.button(key="step-Left").click().run()
    assert app.select_slider(key="home_epsilon").value == 1.5
    app.select_slider(key="home_epsilon").set_value(0.5).run()  # moved by hand: that counts
    app.button(key="step-Left").click().run()
    assert app.select_slider(key="home_epsilon").value == 0.3
    app.select_slider(key="home_epsilon").set_value(1.5).run()
    app.button(key="step-Left").click().run()
    assert app.select_slider(key="home_epsilon").value == 1.0


def test_few_short_observations_are_shown_and_all_others_folded() -> None:
    short, long = "four words of text", " ".join(["word"] * 44)
    assert _shown_first([]) == 0
    assert _shown_first([long + " and more"]) == 1  # one at least, however long
    assert _shown_first([short] * 5) == 3
    assert _shown_first([short, long, short]) == 1
