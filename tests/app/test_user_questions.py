"""The questions of the *Completion* page where users are protected.

Each draws an answer, runs, and keeps what it showed.
"""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.examples import example
from dpmc_core.experiments.store.records import record_for
from dpmc_core.experiments.studies.engine import StudyResult
from dpmc_core.experiments.studies.spec import STUDIES
from dpmc_core.experiments.sweeps.spec import Planned
from pages.parts.completion import recommend_view, study_view
from pages.parts.completion.controls import QUESTIONS
from pages.parts.server import jobs
from pages.parts.ui.figures import whole
from pages.parts.ui.labels import wrapped
from tests.app.test_pages import example_note, fresh_visitor, open_page, verdict_of

__all__ = ["fresh_visitor"]  # each test is a visitor of its own
SMALL = {"n_users": "300", "n_items": "60", "n_ratings": "4000", "user_rank": "3"}


def ask(question: str, **params: str) -> AppTest:
    return open_page("completion", question=question, **params)


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
    assert verdict_of(app)
    assert any(m.value.startswith("- ") for m in app.markdown)  # observations
    assert bool(example_note(app)) == (question != "skew")


@pytest.mark.parametrize("question", ["recommend", "lists"])
def test_runs_of_one_question(question: str) -> None:
    app = ask(question, **SMALL)
    app.button(key="go").click().run()
    finish(app, question)
    assert not app.error
    assert not example_note(app)
    assert any("guaranteed ε" in m.value for m in app.markdown)
    if question == "lists":
        table = app.dataframe[0].value
        assert list(table.columns)[1:] == ["non-private", "ε = 10", "ε = 2", "ε = 0.5"]
        shared = [int(table[name].str.startswith("●").sum()) for name in table.columns[2:]]
        said = ", ".join(
            f"{n} at {name}" for n, name in zip(shared, table.columns[2:], strict=True)
        )
        assert f"items, {said} stay the same" in verdict_of(app)
    else:
        assert (
            sum(
                "Recall@20" in line and "most liked (" in line
                for m in app.markdown
                for line in m.value.split("\n")
            )
            == 3
        )
        app.selectbox(key="b_like_algorithm").set_value("popular").run()
        assert any("The settings have changed" in i.value for i in app.info)


def test_which_configuration_cannot_be_run_is_said_by_its_letter() -> None:
    app = ask("compare", n_users="200", n_items="12", n_ratings="900", user_rank="50", n="4")
    app.button(key="go").click().run()
    finish(app, "run")
    said = [e.value.replace("\\", "") for e in app.error]
    assert any(one.startswith("D: Rank") and "at most 12" in one for one in said), said


@pytest.mark.long
def test_a_study_is_run_and_another_question_does_not_show_it() -> None:
    app = ask("projection", seeds="1", **SMALL)
    assert example_note(app)
    app.button(key="go").click().run()
    finish(app, "study-projection")
    assert not example_note(app)
    assert any("15 runs on" in c.value for c in app.caption)
    assert app.query_params["run"] in ("1", ["1"])
    app.selectbox(key="question").set_value("rank").run()
    assert example_note(app)
    assert "run" not in app.query_params  # who gets this link sees what is on the page
    app.selectbox(key="question").set_value("projection").run()
    assert any("15 runs on" in c.value for c in app.caption)


def test_a_bad_study_says_so_and_keeps_the_example() -> None:
    app = ask("items", user_rank="100", n_users="50", n_items="40", n_ratings="500")
    assert any("for any point of the study to exist" in e.value for e in app.error)
    assert app.button(key="go").disabled
    assert "not your settings" in example_note(app)
    app = ask("skew", n_ratings="9000000")
    assert any(
        "at most half of the 4000 × 300 cells" in e.value.replace("\\", "") for e in app.error
    )


def test_the_house_says_which_model_it_would_take() -> None:
    app = ask("compare")
    assert any("Recommended method: One-shot moments" in m.value for m in app.markdown)
    app = ask("recommend", total_epsilon="0.1", n_users="50", n_items="40", n_ratings="500")
    assert any("Recommended method: Most liked" in m.value for m in app.markdown)


def test_an_example_passes_for_ones_settings_only_where_its_epsilon_is_the_sliders() -> None:
    stored_epsilon = example("completion", "people").spec.one_epsilon
    app = ask("people")
    assert app.select_slider(key="total_epsilon").value == stored_epsilon
    amounts = "4,000 users, 300 items, 160,000 ratings"
    assert sum(amounts in one.value for one in app.caption) == 2  # of the example, and its method
    assert "not your settings" not in example_note(app)
    app.select_slider(key="total_epsilon").set_value(1.0).run()
    assert "not your settings" in example_note(app)


def test_a_list_that_holds_all_items_is_no_success() -> None:
    spec = RunSpec.of(
        algorithm="moments", task="recommend", mechanism="gaussian", epsilon=5.0, dataset="skewed",
        n_users=200, n_items=18, n_ratings=1500, rank=2,
    )  # fmt: skip
    said = recommend_view._verdict(recommend_view.lettered([run(spec)]))
    assert said.startswith("There are only 18 items: a list of 20 holds all that a user has not")


def test_the_least_error_of_a_study_is_no_victory_over_the_baseline() -> None:
    low, high, baseline = (0.90, 0.91, 0.92), (0.95, 0.96, 0.97), (0.80, 0.81, 0.82)
    lines = {"ε = 1": [(0.05, low, baseline), (0.5, high, baseline)]}
    (first, *_) = study_view.study_sentences(made_up("items", lines))
    assert first == "Least error is at β = 0.05 (ε = 1), worse than the baseline."
    lines = {"ε = 1": [(0.05, low, high), (0.5, high, high)]}
    (first, *_) = study_view.study_sentences(made_up("items", lines))
    assert first == "Least error is at β = 0.05 (ε = 1)."


def made_up(
    kind: str, lines: dict[str, list[tuple[float, tuple[float, ...], tuple[float, ...]]]]
) -> StudyResult:
    """A study with these points: x, errors, and the baseline's errors."""
    old = example("completion", kind).study
    spec, summary = old.spec.base, {"baselines": old.baselines}
    runs, cell = [], 0
    for name, some in lines.items():
        for x, errors, baselines in some:
            cell, settings = cell + 1, (("series", name), ("x", x))
            for k, (error, baseline) in enumerate(zip(errors, baselines, strict=True)):
                record = record_for(spec, value=error, baseline=baseline, summary=summary)
                planned = Planned(cell=cell, settings=settings, replicate=k, spec=spec)
                runs.append((planned, record))
    seeds = 1 + max(planned.replicate for planned, _ in runs)
    return replace(old, spec=replace(old.spec, seeds=seeds), runs=tuple(runs))


def test_words_of_a_study_follow_its_numbers() -> None:
    better, worse, same = (0.70, 0.71, 0.72), (0.90, 0.91, 0.92), (0.75, 0.85, 0.80)
    baseline = (0.80, 0.81, 0.82)
    first, *said = study_view.study_sentences(
        made_up(
            "epsilon",
            {
                "Good": [(1.0, better, baseline), (5.0, better, baseline)],
                "Bad": [(1.0, worse, baseline), (5.0, worse, baseline)],
                "Mixed": [(1.0, worse, baseline), (2.0, same, baseline), (5.0, better, baseline)],
                "Vague": [(1.0, same, baseline), (5.0, worse, baseline)],
            },
        )
    )
    assert first == (
        "Good is better than the best baseline from ε = 1 on, mixed from 5, bad and vague nowhere."
    )
    assert [s.split("**")[2].split(" the best baseline")[0].strip() for s in said[:-1]] == [
        "is better than", "is worse than", "is better than", "is nowhere significantly better than",
    ]  # fmt: skip
    assert said[0].endswith("throughout.")
    assert said[2].endswith("at ε = 5 and worse at ε = 1; elsewhere not significantly different.")
    assert said[3].endswith("and worse at ε = 5; elsewhere not significantly different.")
    assert said[4] == "The best baseline, on the same ratings, protects nobody."
    # one seed: no victory, no defeat, and no slogan
    for kind in STUDIES["completion"]:
        (only,) = study_view.study_sentences(
            made_up(kind, {"Good": [(1.0, (0.1,), (0.8,)), (5.0, (0.01,), (0.8,))]})
        )
        assert "One seed gives no interval" in only


@pytest.mark.parametrize("kind", STUDIES["completion"])
def test_a_study_is_drawn_with_every_line_named(kind: str) -> None:
    result = example("completion", kind).study
    if kind == "people":
        assert "More people, same privacy, less error" in " ".join(
            study_view.study_sentences(result)
        )
    figure, numbers = study_view.STUDY.curves(result)
    assert set(numbers["line"]) == set(result.lines())
    written = {note["text"] for note in whole(figure)["layout"]["annotations"]}
    assert {wrapped(name) for name in numbers["line"]} <= written


def test_results_of_another_question_are_not_shown() -> None:
    app = open_page("completion", iterations="2", n="1")
    app.button(key="go").click().run()
    finish(app, "run")
    app.selectbox(key="question").set_value("recommend").run()
    assert example_note(app)
    assert not any("A · ALS" in m.value for m in app.markdown)


def test_a_link_to_a_question_without_a_run_starts_nothing() -> None:
    app = ask("skew", run="1", **SMALL)
    app.selectbox(key="question").set_value("lists").run()
    assert jobs.current("lists") is None


def test_a_chosen_dataset_and_rank_stay() -> None:
    app = ask("epsilon")
    app.selectbox(key="dataset").set_value("low-rank").run()
    assert app.selectbox(key="dataset").value == "low-rank"
    app.number_input(key="user_rank").set_value(5).run()
    app.selectbox(key="question").set_value("people").run()
    assert app.number_input(key="user_rank").value == 5
    app.selectbox(key="question").set_value("recommend").run()
    assert app.number_input(key="user_rank").value == 16  # likes have usual numbers of their own
    assert "sensitivity" not in {n.key for n in app.number_input}


@pytest.mark.long
@pytest.mark.data
def test_studies_of_a_set_with_few_items(data_dir: Path) -> None:
    app = ask("items", seeds="1", dataset="sweetrs", iterations="1")
    app.button(key="go").click().run()
    finish(app, "study-items")
    assert not app.error
    assert any("runs on" in c.value and "left out" in c.value for c in app.caption)
