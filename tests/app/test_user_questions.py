"""The questions of the *Completion* page where users are protected: each draws an answer, runs, and keeps what it showed."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from app_pages.parts import jobs, study_charts
from app_pages.parts.study_view import stored
from app_pages.parts.user_controls import QUESTIONS
from dpmc_core.experiments.studies import STUDIES
from tests.app.test_pages import fresh_visitor, open_page

__all__ = ["fresh_visitor"]  # each test is a visitor of its own
SMALL = {"n_users": "300", "n_items": "60", "n_ratings": "4000", "rank": "3"}


def ask(question: str, **params: str) -> AppTest:
    return open_page("completion", protect="user", question=question, **params)


def finish(app: AppTest, kind: str) -> None:
    for _ in range(1200):
        job = jobs.current(kind)
        if job is not None and not job.active:
            break
        time.sleep(0.1)
    app.run()
    assert not app.exception


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_has_an_answer_before_anything_is_run(question: str) -> None:
    app = ask(question)
    assert not app.error
    shown = [*app.get("plotly_chart"), *app.dataframe]
    assert shown
    assert all(chart.proto.alt for chart in app.get("plotly_chart"))
    assert any("What to notice" in m.value for m in app.markdown)
    assert any("xample" in c.value or question == "skew" for c in app.caption)


@pytest.mark.parametrize("question", ["recommend", "lists"])
def test_runs_of_one_question(question: str) -> None:
    app = ask(question, **SMALL)
    app.button(key="go").click().run()
    finish(app, question)
    assert not app.error
    assert not any("Example" in c.value for c in app.caption)
    assert any("sound ε" in m.value for m in app.markdown)
    if question == "lists":
        names = list(app.dataframe[-1].value.columns)
        assert names[1:] == ["Moments once, without privacy", "Moments once, total ε = 10", "Moments once, total ε = 1"]
        assert sum("are also in the list without privacy" in m.value for m in app.markdown) == 2
    else:
        assert sum("held-out users like" in m.value for m in app.markdown) == 2
        app.selectbox(key="b_like_algorithm").set_value("popular").run()
        assert any("The settings have changed" in i.value for i in app.info)


def test_a_study_is_run_and_another_question_does_not_show_it() -> None:
    app = ask("projection", seeds="1", **SMALL)
    assert any("Stored example" in c.value for c in app.caption)
    app.button(key="go").click().run()
    finish(app, "study-projection")
    assert any("15 runs in" in c.value for c in app.caption)
    assert app.query_params["run"] in ("1", ["1"])
    app.selectbox(key="question").set_value("rank").run()
    assert any("Stored example" in c.value for c in app.caption)
    assert "run" not in app.query_params  # who gets this link sees what is on the page
    app.selectbox(key="question").set_value("projection").run()
    assert any("15 runs in" in c.value for c in app.caption)


def test_a_bad_study_says_so_and_keeps_the_example() -> None:
    app = ask("items", beta="0.005", rank="100", n_users="50", n_items="40", n_ratings="500")
    app.button(key="go").click().run()
    finish(app, "study-items")
    assert any("at most 40" in e.value or "fewer than the rank" in e.value for e in app.error)
    assert any("Stored example" in c.value for c in app.caption)
    app = ask("skew", n_ratings="9000000")
    assert any("at most half of the 4000 × 300 cells" in e.value.replace("\\", "") for e in app.error)


def test_the_house_says_which_model_it_would_take() -> None:
    app = ask("compare")
    assert any("The house's choice here: Moments once" in c.value for c in app.caption)
    app = ask("recommend", total_epsilon="0.1", n_users="50", n_items="40", n_ratings="500")
    assert any("The house's choice here: Most liked, privately" in c.value for c in app.caption)


@pytest.mark.parametrize("kind", STUDIES)
def test_words_of_a_study_follow_its_numbers(kind: str) -> None:
    result = stored()[kind]
    said = " ".join(study_charts.study_sentences(result))
    name, best = min(result.trivial.items(), key=lambda pair: pair[1])
    for line, points in study_charts.series_of(result).items():
        won = [p for p in points if p.mean + p.half_width < best]
        throughout = f"**{line}** beats the best trivial predictor ({name} means" in said and len(won) == len(points)
        assert (
            throughout
            or f"**{line}** never beats" in said
            or f"**{line}** is nowhere" in said
            or f"**{line}** beats" in said
        )
        assert (f"**{line}** beats" in said) == bool(won)
    if kind == "people":
        assert "more people, same privacy, less error" in said
    figure, numbers = study_charts.study_curves(result)
    assert set(numbers["line"]) == set(study_charts.series_of(result))
    labels = {a.text for a in figure.layout.annotations}
    assert set(numbers["line"]) <= labels
