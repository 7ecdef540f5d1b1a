"""The *Factorization* page.

It runs live, and says what is and what is not private; its questions are in
``test_user_questions``.
"""

import math

import numpy as np
import pytest

from dpmc_core.experiments import RunSpec, run
from dpmc_core.metrics.factors import W2V_WARNING
from pages.parts.factorization import charts as factor_charts
from pages.parts.factorization.charts import shown_words
from pages.parts.factorization.controls import QUESTIONS
from pages.parts.factorization.view import factor_observations, factor_verdict
from tests.app.visits import Visit, open_page, shows

pytestmark = pytest.mark.long


def ask(query: str = "", question: str = "compare") -> Visit:
    return open_page(f"factorization?f_question={question}&{query}")


def test_faces_four_ways_side_by_side() -> None:
    app = ask("f_data=cartoon&f_n=400&f_k=6&f_epsilon=10").press()
    assert not app.example
    assert app.verdict.startswith("At ε = 10 (one draw), one-shot moment NMF finds ")
    assert len(app.metric) == 4
    ways = ("NMF, not private", "As published, not private", "Corrected", "One-shot moment NMF")
    shows(app, *(f"**{way}**" for way in ways), "As published is not private")
    shows(app, "Not private", kinds=["warning"])
    assert app.texts("markdown").count("guaranteed ε = 10 in total") == 2
    labels = [button.proto.label for button in app.get("download_button")]
    assert sum(label.startswith("Release of ") for label in labels) == 4
    assert any("from 2 parts" in chart.proto.alt for chart in app.set(f_used=2).charts)
    shows(app.set(f_k=7), "settings have changed")


def test_articles_show_both_coherences_and_the_warning() -> None:
    """Methods are compared over one list of words: a run that chooses its own is not offered."""
    app = ask("f_data=lee&f_k=12&f_word_list=private")
    assert app.widget("f_word_list").value == "english"
    assert not any("private" in title for title in app.widget("f_word_list").options)
    shows(app.press(), W2V_WARNING)
    scores = app.table_with("NPMI")
    assert list(scores.columns) == ["method", "NPMI", "TC-W2V"]
    assert list(scores["method"])[-1] == "random words"
    assert not app.set(f_topic=3, f_document=3).error


@pytest.mark.parametrize(
    "query",
    [
        "f_data=lfw&f_epsilon=0.1&f_seed=24",  # every part of moment NMF is empty
        "f_data=topics&f_n=20&f_k=12&f_epsilon=1",  # top words that no document holds
        "f_data=topics&f_n=2&f_k=1",
        "f_data=cartoon&f_n=3&f_k=2&f_spoil=true&f_spoiled=0.4",
        "f_data=lfw&f_k=1",
    ],
)
def test_the_ends_of_the_ranges(query: str) -> None:
    app = ask(query).press()
    assert not app.error
    assert len(app.metric) >= 4
    assert max(map(len, app.texts("markdown", "caption").split())) <= 60


def test_switching_back_and_forth_loses_nothing() -> None:
    app = ask().set(f_noise="huber").set(f_alpha=0.7).set(f_noise="laplace").set(f_spoil=True)
    for key, values in (("f_data", ("lee", "topics", "cartoon", "lfw")), ("f_question", QUESTIONS)):
        for value in values:
            assert not app.set(**{key: value}).error


def test_bad_settings_get_a_sentence() -> None:
    app = ask("f_data=lfw&f_k=101")
    shows(app, "How many parts K = 101", "at most 100", kinds=["error"])
    assert app.widget("go").disabled
    app = ask("f_data=lee&f_word_list=from the documents (not covered by ε)&f_min_df=900")
    shows(app.press(), "the filter leaves no word", kinds=["error"])
    shows(ask("f_data=netflix"), "netflix", kinds=["warning"])


def test_a_documents_topics_are_bars_with_names() -> None:
    """The names begin with a number: on a numeric axis plotly drew nothing."""
    item = factor_charts.learned([run(RunSpec.of(dataset="topics", n_samples=200, rank=4))])[0]
    figure, numbers = factor_charts.document_bars(item, 3)
    assert figure.layout.yaxis.type == "category"
    assert numbers["share"].sum() == pytest.approx(1.0, abs=0.03)
    assert len(figure.data[0].x) == len(numbers) >= 1


def test_more_parts_are_all_used_until_somebody_asks_for_fewer() -> None:
    app = ask("f_data=cartoon&f_n=200")
    for k in (4, 7, 5):
        assert app.set(f_k=k).press().widget("f_used").value == k
    assert app.set(f_used=2).widget("f_used").value == 2
    shows(app, "Made of the 2 most used parts", kinds=["caption"])


def test_parts_are_shown_beside_their_likes() -> None:
    base = RunSpec.of(dataset="cartoon", n_samples=300, rank=5)
    results = [
        run(base),
        run(base.replace(algorithm="moment-nmf", mechanism="gaussian", epsilon=50.0)),
    ]
    items = factor_charts.learned(results)
    first, second = (
        i.dictionary / np.maximum(np.linalg.norm(i.dictionary, axis=0), 1e-12) for i in items
    )
    np.testing.assert_allclose((first * second).sum(axis=0), items[1].likeness, atol=1e-9)
    whole, left = factor_charts.rebuilt(results[0], 3, 5)
    assert left == pytest.approx(np.linalg.norm(np.asarray(results[0].clean.values)[:, 3] - whole))
    assert factor_charts.rebuilt(results[0], 3, 1)[1] >= left - 1e-9
    assert factor_verdict(items).startswith("At ε = 50 (one draw), one-shot moment NMF finds")
    assert "True parts found" in " ".join(factor_observations(items))
    assert math.isnan(items[0].likeness[0])


def test_the_published_form_stands_beside_itself_without_noise() -> None:
    base = {"dataset": "cartoon", "n_samples": 200, "rank": 4, "rounds": 6}
    quiet = RunSpec.of(**base, algorithm="private-nmf-published")
    noisy = quiet.replace(mechanism="gaussian", epsilon=0.5)
    results = [run(s) for s in (quiet, noisy, noisy.replace(dictionary_start="random"))]
    items = factor_charts.learned(results)
    ends = ("no noise", "not private", "random start")
    assert [item.name for item in items] == [f"As published, {end}" for end in ends]
    figure, numbers = factor_charts.moved_curves(items)
    assert [*numbers["moved"]] == [m.moved for r in results for m in r.metrics]
    assert figure.data[0].y[-1] == pytest.approx(100 * results[0].final.moved)
    assert "is not private" in factor_observations(items[:2])[0]
    assert "begins without the data" in factor_observations(items[2:])[0]


def test_steps_starts_solvers_and_corruption_are_chosen() -> None:
    small = "f_data=cartoon&f_n=100&f_k=3&f_published_rounds=5&f_sound_rounds=2"
    more = "f_quiet=true&f_spoil=true&f_corruption=salt-and-pepper&f_solver=admm"
    more += "&f_normalisation=maximum"
    app = ask(f"{small}&{more}&f_dictionary_start=random&f_dictionary_steps=3").press()
    assert len(app.metric) == 6
    shows(app, *(f"As published, {which}" for which in ("no noise", "random start")))
    shows(app, "salt and pepper", "Unit maximum")
    shows(app, "No guarantee", "a random start", kinds=["warning"])
    shows(app, "How far the dictionary W is from its start", without=["e+"], kinds=["caption"])
    shows(app, "took up", kinds=["subheader"])
    shows(app, "robust parts", "10 of 100 images have 70 % of their pixels corrupted")
    studied = ask("f_corruption=salt-and-pepper", "outliers")
    assert studied.widget("f_corruption").value == "salt-and-pepper"


def test_coarse_words_are_left_out_and_harmless_ones_take_their_place() -> None:
    words = ("class", "shitty", "scrap", "cocktail", "assess", "fucking", "shirt", "dickens")
    (topic,) = shown_words(np.arange(8.0, 0, -1)[:, None], words, 5)
    harmless = ("class", "scrap", "cocktail", "assess", "shirt")
    assert topic == list(zip(harmless, (8, 6, 5, 4, 2), strict=True))
