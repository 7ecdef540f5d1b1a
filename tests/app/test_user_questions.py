"""The questions of the *Completion* and *Factorization* pages.

Each draws an answer, runs, and keeps what it showed.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpmc_core.datasets.data import split_of
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.examples import example
from dpmc_core.experiments.presets import PEOPLE
from dpmc_core.experiments.store.records import record_for
from dpmc_core.experiments.studies.engine import StudyResult
from dpmc_core.experiments.studies.spec import STUDIES
from dpmc_core.experiments.sweeps.spec import Planned
from pages.parts.completion import recommend_view, study_view
from pages.parts.completion.controls import QUESTIONS
from pages.parts.factorization import study_view as factor_view
from pages.parts.factorization.controls import QUESTIONS as OF_FACTORS
from pages.parts.frame.study import study_curves
from pages.parts.server import jobs
from pages.parts.ui.figures import whole
from pages.parts.ui.labels import wrapped
from tests.app.visits import Visit, open_page, shows

SMALL = "n_users=300&n_items=60&n_ratings=4000&user_rank=3"
TINY_USERS = "n_users=50&n_items=40&n_ratings=500"
OTHER = "not your settings"


def ask(question: str, query: str = "") -> Visit:
    return open_page(f"completion?question={question}&{query}")


@pytest.mark.parametrize(
    ("page", "key", "question"),
    [
        *(("completion", "question", question) for question in QUESTIONS),
        *(("factorization", "f_question", question) for question in OF_FACTORS),
    ],
)
def test_every_question_has_an_answer_before_anything_is_run(
    page: str, key: str, question: str
) -> None:
    app = open_page(f"{page}?{key}={question}")
    assert not app.error
    assert app.charts or (app.dataframe and page == "completion")
    assert all(chart.proto.alt for chart in app.charts)
    assert bool(app.example) == (question != "skew")
    observations = [m.value for m in app.markdown if m.value.startswith("- ")]
    if page == "completion":
        assert observations
    elif question == "compare":
        shows(app, "**As published is not private**")
    else:
        first, *others = factor_view.factor_sentences(example(page, question).study)
        assert app.verdict == "Example: " + first.replace("**", "")
        shows(app, *(f"- {sentence}".replace("\N{NO-BREAK SPACE}", " ") for sentence in others))


def test_recommendations_and_lists_are_run() -> None:
    app = ask("recommend", SMALL).press().wait("done")
    assert not app.example
    shows(app, "guaranteed ε")
    lines = app.texts("markdown").split("\n")
    assert sum("Recall@20" in line and "most liked (" in line for line in lines) == 3
    app.set(recall_at=7)
    table = app.table_with("k")
    assert list(table["k"]) == ["5", "7", "10", "20", "50", "100"]
    assert set(table.iloc[-1, 1:]) == {"1", "1 ± 0"}  # of 60 items
    shows(app.set(b_like_algorithm="popular"), "The settings have changed", kinds=["info"])
    app.set(question="lists").press().wait("done")
    assert not app.example
    shows(app, "guaranteed ε")
    table, amounts = app.dataframe[0].value, ["ε = 10", "ε = 2", "ε = 0.5"]
    assert list(table.columns)[1:] == ["non-private", *amounts]
    shared = [f"{table[name].str.startswith('●').sum()} at {name}" for name in amounts]
    assert f"items, {', '.join(shared)} stay the same" in app.verdict


@pytest.mark.nightly
def test_a_study_is_run_and_another_question_does_not_show_it() -> None:
    app = ask("projection", f"seeds=1&{SMALL}").press().wait("done")
    assert not app.example
    shows(app, "15 runs on", kinds=["caption"])
    assert app.set(question="rank").example
    assert "run" not in app.query_params  # who gets this link sees what is on the page
    shows(app.set(question="projection"), "15 runs on", kinds=["caption"])
    link = "factorization?f_question=epsilon&f_data=cartoon&f_n=100&f_seeds=1&f_k=2"
    assert not open_page(link).press().wait("done").example


def test_a_question_about_one_dataset_brings_its_numbers_and_what_is_chosen_stays() -> None:
    app = ask("rank", "dataset=low-rank").set(user_rank=5)
    app.set(question="people")
    assert [app.widget(key).value for key in ("dataset", "user_rank")] == ["low-rank", 5]
    app.set(question="recommend")
    assert app.widget("user_rank").value == 16  # likes have usual numbers of their own
    app.set(question="rate")
    assert [app.widget(key).value for key in ("dataset", "beta")] == ["orthogonal", 1]
    assert app.set(question="recall-rank").widget("penalty").value == 1.5


def test_a_bad_study_says_so_and_keeps_the_example() -> None:
    app = ask("items", f"user_rank=100&{TINY_USERS}")
    shows(app, "for any point of the study to exist", kinds=["error"])
    assert app.widget("go").disabled
    assert OTHER in app.example
    shows(ask("skew", "n_ratings=9000000"), "at most half of the 4000 × 300 cells")


def test_the_house_says_which_model_it_would_take() -> None:
    shows(ask("compare"), "Recommended method: One-shot moments")
    shows(ask("recommend", f"total_epsilon=0.1&{TINY_USERS}"), "Recommended method: Most liked")


def test_an_example_passes_for_ones_settings_only_where_its_epsilon_is_the_sliders() -> None:
    app = ask("people")
    assert app.widget("total_epsilon").value == example("completion", "people").spec.one_epsilon
    assert OTHER not in app.example
    assert OTHER in app.set(total_epsilon=1.0).example


def test_a_list_that_holds_all_items_is_no_success() -> None:
    small = {**PEOPLE, "n_users": 200, "n_items": 18, "n_ratings": 1500, "rank": 2}
    spec = RunSpec.fitting(small, task="recommend")
    verdict = recommend_view._verdict(recommend_view.lettered([run(spec)]))
    assert verdict.startswith("There are only 18 items: a list of 20 holds all that a user has not")


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


BETTER, WORSE, SAME = (0.70, 0.71, 0.72), (0.90, 0.91, 0.92), (0.75, 0.85, 0.80)
BASELINE = (0.80, 0.81, 0.82)


@pytest.mark.parametrize(("errors", "end"), [(WORSE, ", worse than the baseline."), (BETTER, ".")])
def test_the_least_error_of_a_study_is_no_victory_over_the_baseline(
    errors: tuple[float, ...], end: str
) -> None:
    lines = {"ε = 1": [(0.05, errors, BASELINE), (0.5, (0.95, 0.96, 0.97), BASELINE)]}
    (first, *_) = study_view.study_sentences(made_up("items", lines))
    assert first == f"The mean error is least with 5 % of the items (ε = 1){end}"


def test_words_of_a_study_follow_its_numbers() -> None:
    lines = {
        "Good": [(1.0, BETTER), (5.0, BETTER)],
        "Bad": [(1.0, WORSE), (5.0, WORSE)],
        "Mixed": [(1.0, WORSE), (2.0, SAME), (5.0, BETTER)],
        "Vague": [(1.0, SAME), (5.0, WORSE)],
    }
    with_baseline = {
        name: [(x, errors, BASELINE) for x, errors in points] for name, points in lines.items()
    }
    first, good, _, mixed, _, last = study_view.study_sentences(made_up("epsilon", with_baseline))
    assert first == (
        "Good is better than the best baseline from ε = 1 on, mixed from 5, bad and vague nowhere."
    )
    assert good == "**Good** is better than the best baseline throughout."
    end = " at ε = 5 and worse at ε = 1; elsewhere not significantly different."
    assert mixed.endswith(end)
    assert last == "The best baseline, on the same ratings, protects nobody."


@pytest.mark.parametrize("kind", STUDIES["completion"])
def test_one_seed_is_no_victory_no_defeat_and_no_slogan(kind: str) -> None:
    lines = {"Good": [(1.0, (0.1,), (0.8,)), (5.0, (0.01,), (0.8,))]}
    (sentence,) = study_view.study_sentences(made_up(kind, lines))
    assert "One seed gives no interval" in sentence


def test_words_of_noise_that_ends_follow_its_numbers() -> None:
    old = example("completion", "minima").study
    runs = []
    for planned, record in old.runs:
        series, x = (value for _, value in planned.settings)
        factor = {("Huber", 8.0): 0.9, ("Laplace", 0.5): 1.1}.get((series, x), 1.0)
        end = factor * (100 + planned.replicate)
        runs.append((planned, replace(record, summary={**record.summary, "objective": end})))
    first, *others = study_view.study_sentences(replace(old, runs=tuple(runs)))
    assert first == "Noise at the start can bring ALS to a lower objective: Huber."
    assert others[:3] == [
        "**Huber** against no noise: lower at variance 8.",
        "**Laplace** against no noise: higher at variance 0.5.",
        "**Gaussian** against no noise: no difference detected.",
    ]
    assert others[3] == "**Huber** against Laplace: lower at variance 0.5, 8."


NOWHERE = "Noisy gradient steps nowhere have significantly less error than noisy sums."


@pytest.mark.parametrize(
    ("two", "ten", "verdict", "worse"),
    [
        ((0, 0.1), (0, 0), NOWHERE, ["2"]),
        (
            (-0.1, 0.1),
            (-0.1, 0.05),
            "Noisy gradient steps have less error at ε = 1 than noisy sums.",
            ["2", "10"],
        ),
    ],
)
def test_words_of_gradient_steps_follow_their_numbers(
    two: tuple[float, float], ten: tuple[float, float], verdict: str, worse: list[str]
) -> None:
    lines = {
        name: [
            (x, tuple(e + by for e in BETTER), BASELINE)
            for x, by in zip((1.0, 5.0), moved, strict=True)
        ]
        for name, moved in (("noisy sums", (0, 0)), ("2", two), ("10", ten))
    }
    sentences = study_view.study_sentences(made_up("gradient", lines))
    expected = [f"**{line}** have more error at ε = 5 than noisy sums." for line in worse]
    assert sentences[0] == verdict
    assert [one for one in sentences if "more error" in one] == expected


WORDS = {
    ("completion", "people"): "More people, same privacy, less error",
    ("completion", "minima"): "never brings ALS to a significantly lower objective",
    ("completion", "gradient"): "less error at ε = 1 than noisy sums, worse than the baseline.",
    ("factorization", "rounds"): "It leaves out the start",
    ("factorization", "people"): "finds nine in ten true parts from",
}


@pytest.mark.parametrize(
    ("page", "kind"), [(p, k) for p in ("completion", "factorization") for k in STUDIES[p]]
)
def test_a_study_is_drawn_with_every_line_named_and_put_in_words(page: str, kind: str) -> None:
    result = example(page, kind).study
    of_users = page == "completion"
    sentences = study_view.study_sentences if of_users else factor_view.factor_sentences
    figure, numbers = study_curves(result)
    assert study_curves(result)[0] is figure  # drawn once
    written = {note["text"] for note in whole(figure)["layout"]["annotations"]}
    assert {wrapped(name) for name in {p.series for p in result.points()}} <= written
    if of_users:
        assert set(numbers["line"]) == set(result.lines())
    assert WORDS.get((page, kind), "") in " ".join(sentences(result))
    for runs in range(1, len(result.runs)):  # a study may be stopped after any of its runs
        part = replace(result, runs=result.runs[:runs])
        if runs % 5 == 1:
            study_curves(part)
        sentences(part)


def test_points_stand_where_their_items_hold_that_share_of_the_ratings() -> None:
    result = example("completion", "items").study
    base = result.spec.base
    counts = np.sort(np.bincount(split_of(base.data, base.seed).train.items))[::-1]
    moved = study_view.by_ratings(result).points()
    for old, new in zip(result.points(), moved, strict=True):
        share = counts[: math.ceil(old.x * base.data.n_items)].sum() / counts.sum()
        assert (new.x, new.values) == (pytest.approx(share), old.values)


def test_a_link_to_a_question_without_a_run_starts_nothing() -> None:
    ask("skew", f"run=1&{SMALL}").set(question="lists")
    assert jobs.current("lists") is None
