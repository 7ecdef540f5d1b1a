"""The frame of every page: its verdict, figures and tabs, and what presenter mode leaves."""

import pytest

from pages.parts.ui import glossary
from tests.app.visits import Visit, blocks, id_of, opened

RESULTS = [n for n in glossary.PAGES if n not in ("lessons", "runs")]


def content_of(app: Visit) -> list[int]:
    """How much the chosen tab holds, where there are tabs."""
    return [len(b.children) for b in blocks(app.main) if "-tab-content" in id_of(b)]


@pytest.mark.parametrize("name", glossary.PAGES)
def test_a_page_has_a_verdict_figures_and_tabs_of_which_the_first_is_drawn(name: str) -> None:
    app = opened(name)
    assert [title.value for title in app.title] == [glossary.PAGES[name].question]
    assert app.verdict.removeprefix("Example: ").endswith((".", "?"))
    assert not [*app.warning, *app.error]
    assert len(app.widget("tab").options) > 1
    assert all(content_of(app))
    assert "tab" not in app.query_params
    app.session_state["open_all"] = True
    assert not app.run().error
    assert app.charts
    assert all(chart.proto.alt for chart in app.charts)
    if name in RESULTS:
        presented(app)


def presented(app: Visit) -> None:
    """Presenter mode shows verdict and figure alone."""
    app.session_state["open_all"], app.session_state["present"] = False, True
    assert app.run().verdict
    assert app.charts
    assert "tab" not in [group.key for group in app.get("button_group")]
    assert not content_of(app)


def test_a_link_opens_a_tab_and_keeps_what_stands_in_it() -> None:
    app = opened("completion?tab=top-ten&user=7")
    assert app.widget("user").value == 7
    app.set(tab="accounts")
    assert "user" not in [box.key for box in app.number_input]
    assert app.query_params["tab"] in ("accounts", ["accounts"])
    app.query_params["tab"] = "top-ten"  # as a step back does
    assert app.run().widget("user").value == 7
    assert opened("completion?user=7").query_params["user"] in ("7", ["7"])


def test_a_tab_that_is_not_there_is_named_and_the_first_is_drawn() -> None:
    app = opened("budget?tab=nonsense")
    assert len(app.warning) == 1
    needed = "it must be one of statements,"
    assert f"tab = 'nonsense' is not allowed: {needed}" in app.texts("warning")
    assert all(content_of(app))


def test_the_tab_of_numbers_has_those_of_the_figures_above() -> None:
    app = opened("mechanisms?tab=numbers")
    assert len(app.dataframe) == 2
    assert {"alpha", "variance"} <= set(app.dataframe[1].value.columns)
    assert len(app.get("download_button")) >= 4


def test_steps_go_on_from_what_was_asked_while_the_browser_still_reports_the_value_before() -> None:
    app = opened("home")
    app.session_state["present"] = True
    app.run()
    for reported, key, value in (
        (None, "step-Right", 1.2),
        (1.0, "step-Right", 1.5),  # not drawn there yet
        (1.0, "step-Left", 1.2),
    ):
        if reported:
            app.widget("home_epsilon").set_value(reported)
        assert app.press(key).widget("home_epsilon").value == value
    for moved, value in ((0.5, 0.4), (1.5, 1.2)):  # by hand: that counts
        app.set(home_epsilon=moved)
        assert app.press("step-Left").widget("home_epsilon").value == value
