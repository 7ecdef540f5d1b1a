"""The *Factorization* page.

Every question has an answer before anything is run, runs live, and says what is and what is not
private.
"""

import math
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.examples import example, names
from dpmc_core.experiments.studies.spec import STUDIES
from dpmc_core.metrics.factors import W2V_WARNING
from pages.parts.factorization import charts as factor_charts
from pages.parts.factorization import study_view
from pages.parts.factorization.charts import shown_words
from pages.parts.factorization.controls import QUESTIONS
from pages.parts.factorization.view import factor_observations, factor_verdict
from pages.parts.server import jobs
from pages.parts.ui import figures as style
from pages.parts.ui import labels, pictures
from tests.app.test_pages import example_note, fresh_visitor, open_page, verdict_of

__all__ = ["fresh_visitor"]  # each test is a visitor of its own


def ask(question: str = "compare", **params: str) -> AppTest:
    return open_page("factorization", f_question=question, **params)


def finish(app: AppTest, kind: str) -> None:
    for _ in range(1500):
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
    charts = app.get("plotly_chart")
    assert charts
    assert all(chart.proto.alt for chart in charts)
    assert example_note(app)
    said = "\n".join(m.value for m in app.markdown)
    if question == "compare":
        assert "**As published is not private**" in said
    else:
        first, *others = study_view.factor_sentences(example("factorization", question).study)
        assert verdict_of(app) == "Example: " + first.replace("**", "")
        assert all(f"- {sentence}" in said for sentence in others)


@pytest.mark.long
def test_faces_four_ways_side_by_side() -> None:
    app = ask(f_data="cartoon", f_n="400", f_k="6", f_epsilon="10")
    app.button(key="go").click().run()
    finish(app, "factors")
    assert not example_note(app)
    assert verdict_of(app).startswith("At ε = 10, one-shot moment NMF finds ")
    assert len(app.metric) == 4
    said = " ".join(m.value for m in app.markdown)
    for name in (
        "NMF, not private",
        "As published, not private",
        "Corrected",
        "One-shot moment NMF",
    ):
        assert f"**{name}**" in said
    assert sum("guaranteed ε = 10 in total" in m.value for m in app.markdown) == 2
    assert any("Not private" in w.value for w in app.warning)
    assert any("As published is not private" in m.value for m in app.markdown)
    before = [chart.proto.alt for chart in app.get("plotly_chart")]
    app.slider(key="f_used").set_value(2).run()
    after = [chart.proto.alt for chart in app.get("plotly_chart")]
    assert any("from 2 parts" in alt for alt in after)
    assert before != after
    app.number_input(key="f_k").set_value(7).run()
    assert any("settings have changed" in i.value for i in app.info)


@pytest.mark.long
def test_spoiled_faces_show_what_the_outlier_matrix_took_up() -> None:
    app = ask(f_data="cartoon", f_n="300", f_k="5", f_spoil="true")
    app.button(key="go").click().run()
    finish(app, "factors")
    assert len(app.metric) == 5
    assert any("took up" in s.value for s in app.subheader)
    assert any("robust parts" in m.value for m in app.markdown)
    assert any(
        "30 of 300 images have 70 % of their pixels corrupted" in m.value for m in app.markdown
    )


@pytest.mark.long
def test_topics_beside_each_other() -> None:
    app = ask(f_data="topics", f_n="400")
    assert app.number_input(key="f_k").value == 12
    app.button(key="go").click().run()
    finish(app, "factors")
    assert any("NPMI from −1" in m.value for m in app.markdown)
    assert app.number_input(key="f_topic").value == 1
    app.number_input(key="f_topic").set_value(9).run()
    assert not app.exception
    app.number_input(key="f_document").set_value(3).run()
    assert any("Class in the data" in c.value for c in app.caption)


@pytest.mark.long
def test_articles_show_both_coherences_and_the_warning() -> None:
    app = ask(f_data="lee", f_k="4")
    app.button(key="go").click().run()
    finish(app, "factors")
    assert not app.exception
    (scores,) = [d.value for d in app.dataframe if "NPMI" in d.value.columns]
    assert list(scores.columns) == ["method", "NPMI", "TC-W2V"]
    assert list(scores["method"])[-1] == "random words"
    assert any(W2V_WARNING in m.value for m in app.markdown)


@pytest.mark.long
def test_methods_are_compared_over_one_list_of_words() -> None:
    """A run that chooses its words has a list of its own: the page does not offer it."""
    app = ask(f_data="lee", f_k="4")
    assert not any("private" in title for title in app.selectbox(key="f_word_list").options)
    app = ask(f_data="lee", f_k="4", f_word_list="private")
    assert app.selectbox(key="f_word_list").value == "english"


@pytest.mark.long
@pytest.mark.parametrize(
    "params",
    [
        {"f_data": "lfw", "f_epsilon": "0.1", "f_seed": "24"},  # every part of moment NMF is empty
        {
            "f_data": "topics",
            "f_n": "20",
            "f_k": "12",
            "f_epsilon": "1",
        },  # top words that no document holds
        {"f_data": "topics", "f_n": "2", "f_k": "1"},
        {"f_data": "cartoon", "f_n": "3", "f_k": "2", "f_spoil": "true", "f_spoiled": "0.4"},
        {"f_data": "lfw", "f_k": "1"},
    ],
)
def test_the_ends_of_the_ranges(params: dict[str, str]) -> None:
    app = ask(**params)
    app.button(key="go").click().run()
    finish(app, "factors")
    assert not app.error
    assert len(app.metric) >= 4
    assert not any(
        len(word) > 60 for m in [*app.markdown, *app.caption] for word in m.value.split()
    )


def test_switching_back_and_forth_loses_nothing() -> None:
    app = ask()
    app.selectbox(key="f_noise").set_value("huber").run()
    app.number_input(key="f_alpha").set_value(0.7).run()
    app.selectbox(key="f_noise").set_value("laplace").run()
    app.toggle(key="f_spoil").set_value(True).run()
    for name in ("lee", "topics", "cartoon", "lfw"):
        app.selectbox(key="f_data").set_value(name).run()
        assert not app.exception
        assert not app.error
    for question in QUESTIONS:
        app.selectbox(key="f_question").set_value(question).run()
        assert not app.exception
        assert not app.error


@pytest.mark.long
def test_a_study_runs_live() -> None:
    app = ask("people", f_data="topics", f_seeds="1", f_k="3")
    assert set(app.selectbox(key="f_data").options) == {
        "Cartoon faces, any number",
        "Synthetic topics, any number",
    }
    app.button(key="go").click().run()
    finish(app, "factor-study-people")
    assert not app.error
    assert not example_note(app)


def test_bad_settings_get_a_sentence() -> None:
    app = ask(f_data="lfw", f_k="101")
    assert any("How many parts K = 101" in e.value and "at most 100" in e.value for e in app.error)
    assert app.button(key="go").disabled
    app = ask(f_data="lee", f_word_list="from the documents (not covered by ε)", f_min_df="900")
    app.button(key="go").click().run()
    finish(app, "factors")
    assert any("the filter leaves no word" in e.value for e in app.error)
    app = ask(f_data="netflix")
    assert any("netflix" in w.value for w in app.warning)


def test_a_missing_set_says_where_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPMC_DATA_DIR", str(tmp_path))
    for name, words in (("cbcl", "where to get it"), ("guardian", "fetch it on the Datasets page")):
        app = ask(f_data=name)
        assert any(words in e.value for e in app.error)
        page = open_page("datasets", d_name=name)
        assert not page.exception
    assert any("Guardian 2016 (23 MB)" in b.label for b in page.button)
    earlier = open_page("datasets", d_name="Guardian 2016 (to fetch, 22.5 MB)")  # another size
    assert earlier.selectbox(key="d_name").value == "guardian"
    assert not earlier.warning
    page = open_page("datasets", d_name="cbcl")
    assert any("put `CBCL_Face.mat` into the folder `cbcl`" in m.value for m in page.markdown)
    assert {"Guardian 2016 (to fetch, 23 MB)", "Cartoon faces, any number"} <= set(
        page.selectbox(key="d_name").options
    )


@pytest.mark.parametrize("name", ["lfw", "cartoon", "lee", "topics"])
def test_the_datasets_page_shows_faces_and_texts(name: str) -> None:
    app = open_page("datasets", d_name=name)
    assert not app.exception
    assert not app.error
    assert app.get("plotly_chart")
    assert re.search(r": [\d,]+ (image|document)s of [\d,]+ (pixels|words)\.$", verdict_of(app))


@pytest.mark.nightly
def test_stored_studies_are_what_running_them_again_gives() -> None:
    """A few runs of the stored file, made again from their specs."""
    checked = 0
    assert set(names("factorization")) == set(STUDIES["factorization"])
    for kind in names("factorization"):
        result = example("factorization", kind).study
        assert result.finished
        for planned, record in result.runs:
            series, x = (value for _, value in planned.settings)
            wanted = (kind, x) in (("epsilon", 10), ("parts", 8), ("outliers", 0.1))
            if not wanted or series.startswith("Private") or planned.replicate:
                continue
            again = run(planned.spec, compare=False)
            assert again.final.objective == pytest.approx(record.value, rel=1e-6), (kind, planned)
            checked += 1
    assert checked >= 5


@pytest.mark.parametrize("kind", STUDIES["factorization"])
def test_study_figures_and_sentences(kind: str) -> None:
    result = example("factorization", kind).study
    figure, numbers = study_view.STUDY.curves(result)
    assert study_view.STUDY.curves(result)[0] is figure  # drawn once
    assert len(numbers)
    assert {note["text"] for note in style.whole(figure)["layout"]["annotations"]} >= {
        labels.wrapped(p.series) for p in result.points()
    }
    sentences = study_view.factor_sentences(result)
    assert sentences
    if kind == "rounds":
        assert any("It leaves out the start" in s for s in sentences)
    if kind == "people":
        assert any("finds nine in ten true parts from" in s for s in sentences)
    for runs in range(1, len(result.runs)):  # a study may be stopped after any of its runs
        part = replace(result, runs=result.runs[:runs])
        if runs % 5 == 1:
            study_view.STUDY.curves(part)
        study_view.factor_sentences(part)


def test_a_documents_topics_are_bars_with_names() -> None:
    """The names begin with a number: on a numeric axis plotly drew nothing."""
    item = factor_charts.learned([run(RunSpec.of(dataset="topics", n_samples=200, rank=4))])[0]
    figure, numbers = factor_charts.document_bars(item, 3)
    assert figure.layout.yaxis.type == "category"
    assert numbers["share"].sum() == pytest.approx(1.0, abs=0.03)
    assert len(figure.data[0].x) == len(numbers) >= 1


@pytest.mark.long
def test_more_parts_are_all_used_until_somebody_asks_for_fewer() -> None:
    app = ask(f_data="cartoon", f_n="200", f_k="4")
    for k, used in ((4, 4), (7, 7), (5, 5)):
        app.number_input(key="f_k").set_value(k).run()
        app.button(key="go").click().run()
        finish(app, "factors")
        assert app.slider(key="f_used").value == used
    app.slider(key="f_used").set_value(2).run()
    assert app.slider(key="f_used").value == 2
    assert any("Made of the 2 most used parts" in c.value for c in app.caption)


def test_parts_are_shown_beside_their_likes() -> None:
    base = RunSpec.of(dataset="cartoon", n_samples=300, rank=5)
    results = [
        run(base),
        run(base.replace(algorithm="moment-nmf", mechanism="gaussian", epsilon=50.0)),
    ]
    items = factor_charts.learned(results)
    assert sorted(items[1].order) == list(range(5))
    first, second = (
        i.dictionary / np.maximum(np.linalg.norm(i.dictionary, axis=0), 1e-12) for i in items
    )
    np.testing.assert_allclose((first * second).sum(axis=0), items[1].likeness, atol=1e-9)
    whole, left = factor_charts.rebuilt(results[0], 3, 5)
    assert left == pytest.approx(np.linalg.norm(np.asarray(results[0].clean.values)[:, 3] - whole))
    assert factor_charts.rebuilt(results[0], 3, 1)[1] >= left - 1e-9
    sheet = pictures.tiles(results[0].dictionary, (24, 24), 3)
    assert sheet.shape == (2 * 25 + 1, 3 * 25 + 1)
    assert factor_verdict(items).startswith("At ε = 50, one-shot moment NMF finds")
    said = " ".join(factor_observations(items))
    assert "True parts found" in said
    assert math.isnan(items[0].likeness[0])


def test_coarse_words_are_left_out_and_harmless_ones_take_their_place() -> None:
    words = ("class", "shitty", "scrap", "cocktail", "assess", "fucking", "shirt", "dickens")
    (topic,) = shown_words(np.arange(8.0, 0, -1)[:, None], words, 5)
    assert topic == [
        ("class", 8.0),
        ("scrap", 6.0),
        ("cocktail", 5.0),
        ("assess", 4.0),
        ("shirt", 2.0),
    ]
