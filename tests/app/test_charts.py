"""Figures hold the numbers they claim to.

The builders are pure, so they are tested without a page.
"""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from dpmc_core.experiments import RunResult, RunSpec, run
from dpmc_core.experiments.presets import PEOPLE
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.metrics import clipped
from dpmc_core.wording import three
from pages.parts.audit import charts as audit_charts
from pages.parts.completion import charts as run_charts
from pages.parts.completion import texts as run_texts
from pages.parts.completion.charts import Named
from pages.parts.completion.compare_view import title_of
from pages.parts.datasets.ratings_view import popularity, sparsity
from pages.parts.mechanisms import charts, texts
from pages.parts.runs.view import distances as run_distances
from pages.parts.ui import densities, labels
from pages.parts.ui import figures as style
from pages.parts.ui.figures import Drawn, whole
from pages.parts.ui.looks import IDENTITY

TRIO = [
    Huber(alpha=1.5),
    Laplace(scale=1.0),
    Gaussian(scale=1.0),
    Staircase(epsilon=1.0, sensitivity=1.0),
]


BASE = RunSpec.of(n_users=60, n_items=50, observed=0.4, rank=5, reg=0.5, iterations=4)


@pytest.fixture(scope="module")
def results() -> list[Named]:
    noisy = {"mechanism": "huber", "variance": 2.0}
    other = {"algorithm": "irls-2", "mechanism": "gaussian", "epsilon": 3.0}
    changes = {"ALS, no noise": {}, "ALS + Huber": noisy, "IRLS + Gaussian": other}
    return [
        Named(letter, name, run(BASE.replace(**fields)))
        for letter, (name, fields) in zip("ABC", changes.items(), strict=True)
    ]


def verdict(*runs: Named | RunResult) -> str:
    """What is said of runs beside each other, named by letters if they have no name."""
    named = [
        each if isinstance(each, Named) else Named(letter, "", each)
        for letter, each in zip("ABC", runs, strict=False)
    ]
    return run_texts.verdict(named)


def test_figures_of_mechanisms_draw_what_the_mechanisms_say() -> None:
    figures: list[tuple[Drawn, str, str, tuple[float, ...]]] = [
        *((densities.densities(TRIO, v), "x", m, ()) for v, (_, m) in densities.VIEWS.items()),
        (charts.privacy_profile(TRIO, 2.0), "epsilon", "delta", (2.0,)),
        (charts.privacy_loss(TRIO, 2.0), "x", "privacy_loss", (2.0,)),
    ]
    for (_, numbers), across, method, settings in figures:
        for m in TRIO:
            expected = np.asarray(getattr(m, method)(numbers[across].to_numpy(), *settings))
            np.testing.assert_allclose(numbers[m.name], expected)


def test_each_mechanism_keeps_its_colour_dash_and_marker() -> None:
    for each in ("colour", "dash", "marker"):
        assert len({getattr(i, each) for i in IDENTITY.values()}) == 5
    fig, _ = densities.densities(TRIO)
    lines = {t.name: (t.line.color, t.line.dash) for t in fig.data}
    assert lines["Huber"] == ("#0072B2", "solid")
    assert lines["Laplace"] == ("#D55E00", "dash")


def test_rmse_chart_has_every_run_and_the_best_baseline(results: list[Named]) -> None:
    fig, numbers = run_charts.rmse_curves(results, clip=False)
    assert numbers.query("configuration == 'B · ALS + Huber'")["test_rmse"].tolist() == [
        m.test_rmse for m in results[1].result.metrics
    ]
    written = [note["text"] for note in whole(fig)["layout"]["annotations"]]
    name, value = min(results[0].result.baselines.items(), key=lambda one: one[1])
    said = (*(named.label for named in results), f"best baseline: {name}")
    assert sorted(written) == sorted(map(labels.wrapped, said))
    assert [shape["y0"] for shape in whole(fig)["layout"]["shapes"]] == [value]
    figure, _ = run_charts.rmse_curves(results, clip=True)
    assert figure.data[1].y[-1] == results[0].result.final.test_rmse_clipped


def test_a_run_with_a_given_sigma_has_its_epsilon_at_every_step() -> None:
    """That of a run planned with so many steps, written on the first, middle and last."""
    given = {"algorithm": "dpals", "mechanism": "gaussian", "sigma": 30.0, "iterations": 4}
    spec = BASE.replace(**given)
    ended = run(spec)
    spent = [m.epsilon for m in ended.metrics]
    shorter = [run(spec.replace(iterations=n)).statement.epsilon for n in (1, 2, 3, 4)]
    assert spent == pytest.approx(shorter, rel=1e-9)
    named = Named("A", title_of(spec), ended)
    fig, numbers = run_charts.rmse_curves([named], clip=True)
    assert numbers["epsilon"].tolist() == spent
    (texts,) = [trace.text for trace in fig.data if trace.text]
    assert texts == (f"ε {three(spent[0])}", "", *(f"ε {three(e)}" for e in spent[2:]))
    longer = Named("B", "longer", run(BASE.replace(iterations=16)))
    fig, _ = run_charts.rmse_curves([named, longer], clip=True)
    (texts,) = [trace.text for trace in fig.data if trace.text]
    assert texts == ("", "", "", f"ε {three(spent[-1])}")  # others would lie on each other
    of_vectors = run(spec.replace(mechanism="laplace", iterations=2))
    assert of_vectors.final.epsilon == pytest.approx(of_vectors.statement.epsilon, rel=1e-9)
    assert named.title == "DPALS, Gaussian, σ 30"
    assert f"total ε = {three(spent[-1])}" in verdict(named)


def test_a_run_with_secret_noise_stands_against_the_same_without() -> None:
    small = {**PEOPLE, "n_users": 200, "n_items": 40, "n_ratings": 3000, "rank": 3}
    secret = run(RunSpec.fitting({**small, "secret": True, "split_seed": 1}))
    bare = run(RunSpec.fitting({**small, "mechanism": "none", "epsilon": None, "seed": 1}))
    assert "Gaussian noise raises one-shot moments' error by" in verdict(secret, bare)


def test_completed_matrices_and_top_ten(results: list[Named]) -> None:
    _, numbers = run_charts.completed(results)
    truth = results[0].result.split.test.truth
    np.testing.assert_allclose(numbers["truth"], (truth.left[:40] @ truth.right[:40].T).ravel())
    table = run_charts.top_ten(results, 3)
    assert len(table) == 10
    train = results[0].result.split.train
    seen = {train.item_label(int(j)) for j in train.items[train.users == 3]}
    assert not any(cell.split("  (")[0] in seen for cell in table.iloc[:, 1])


def test_other_run_charts(results: list[Named]) -> None:
    _, numbers = run_charts.actual_vs_predicted(results)
    assert (numbers["p10"] <= numbers["mean"]).mean() > 0.9
    _, numbers = run_charts.errors(results)
    width = numbers["error"].diff().iloc[1]
    np.testing.assert_allclose(numbers.iloc[:, 1:].sum() * width, 1, atol=1e-6)
    ratings = results[0].result.split.train
    _, numbers = popularity(ratings)
    assert numbers["ratings"].max() == max(
        np.bincount(ratings.items).max(), np.bincount(ratings.users).max()
    )
    share = sparsity(ratings)[0].data[0].z
    assert np.mean(share) == pytest.approx(100 * ratings.density, rel=1e-3)


def test_words_match_the_numbers(results: list[Named]) -> None:
    sentences = run_texts.observations(results)
    nominal = next(s for s in sentences if "nominal" in s and "for each of 4 releases" in s)
    assert "not a guarantee" in nominal
    for named in results:
        sentence = run_texts.beaten_sentence(named)
        assert sentence in sentences
        name, against = named.result.best_baseline, named.result.against_baseline
        apart, half = against.mean, against.half_width
        assert f"the best baseline, {name}" in " ".join(sentence.split())
        assert ("is better than" in sentence) == (apart < -half)
        assert ("is worse than" in sentence) == (apart > half)
        assert ("is not significantly different" in sentence) == (abs(apart) <= half)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (
            [Huber.with_variance(2, alpha=1.5), Laplace.with_variance(2)],
            ["tends to 1.1 and 2.", "costs 1.07 (Huber) or 1.47 (Laplace) times"],
        ),
        ([Huber.with_epsilon(1, 1, alpha=1.5), Laplace.with_epsilon(1, 1)], ["1.48"]),
    ],
)
def test_words_on_mechanisms_match_their_numbers(pair: list[Mechanism], words: list[str]) -> None:
    sentences = texts.observations(pair, 1.0, 1e-5)
    assert any(all(word in sentence for word in words) for sentence in sentences), sentences


def test_the_verdict_of_runs_follows_their_numbers(results: list[Named]) -> None:
    quiet, noisy, other = results
    lost = "no longer significantly better than the best baseline"
    for shown in ([quiet, noisy], [noisy], [other], [quiet]):
        sentence, best = verdict(*shown), shown[-1].result
        apart, half = best.against_baseline.mean, best.against_baseline.half_width
        assert ("better than the best baseline" in sentence.replace(lost, "")) == (apart < -half)
        assert (lost in sentence) <= (abs(apart) <= half and quiet in shown)
        assert ("worse than the best baseline" in sentence) == (apart > half)
    # the noise on single ratings is nominal, and said to be
    assert verdict(quiet, noisy).startswith("At nominal total ε = ")
    assert re.search(r"raises ALS's error by [\d.]+ ± [\d.]+ %, ", verdict(quiet, noisy))
    # without the same algorithm free of noise, the error itself is said
    sentence = verdict(quiet, other)
    size, way = re.findall(r"IRLS-2's RMSE is (\S+) ± \S+ % (\w+) noiseless ALS's", sentence)[0]
    ours, free = (n.result.final.test_rmse_clipped for n in (other, quiet))
    assert float(size) == pytest.approx(100 * abs(ours / free - 1), rel=0.06)
    assert (way == "above") == (ours > free)
    # of runs that are not as far along, no difference is said; nor that one is finished
    part = replace(noisy.result, metrics=noisy.result.metrics[:1], finished=False)
    sentence = verdict(quiet, replace(noisy, result=part))
    start = f"After 1 of {part.spec.length} iterations, at nominal total ε = "
    assert sentence.startswith(start)
    assert "has RMSE" in sentence


def half_width(ours: RunResult, theirs: RunResult, clip: bool) -> float:
    """Half of a 95 % interval of their difference in RMSE, by the bootstrap over test ratings."""
    test = ours.split.test
    predicted = [each.model.predict(test.users, test.items) for each in (ours, theirs)]
    squares = [((clipped(p, test) if clip else p) - test.values) ** 2 for p in predicted]
    draws = np.random.default_rng(0).integers(0, len(test), (3000, len(test)))
    roots = [[np.sqrt(each[k].mean()) for k in draws] for each in squares]
    return float(1.96 * np.std(np.subtract(*roots)))


def test_the_verdict_of_a_comparison_names_both_their_difference_and_the_baseline(
    results: list[Named],
) -> None:
    base = BASE.replace(mechanism="huber", total_epsilon=50.0)
    als, irls = (run(base.replace(algorithm=name)) for name in ("als", "irls"))
    ours, theirs = als.final.test_rmse_clipped, irls.final.test_rmse_clipped
    for pair in ((als, irls), (irls, als)):
        sentence = verdict(*pair)
        size = re.search(
            r"At .* \(one draw\), ALS's error is (\S+) ± (\S+) % below IRLS's, and", sentence
        )
        assert float(size[1]) == pytest.approx(100 * (1 - ours / theirs), rel=0.05)
        half = 100 * half_width(als, irls, clip=True) / theirs
        assert float(size[2]) == pytest.approx(half, rel=0.2)
        assert sentence.endswith(f"{als.against_baseline.than('the best baseline')}.")
    quiet = results[0].result
    same = "ALS (A)'s error is not significantly different from ALS (B)'s, and"
    assert same in verdict(quiet, quiet)
    # an ε of one user is none of one rating
    releases = (replace(each, unit="user") for each in irls.ledger.releases)
    of_users = replace(irls, ledger=replace(irls.ledger, releases=tuple(releases)))
    sentence = verdict(als, of_users)
    assert sentence.startswith("The best of 2 runs: at nominal total ε = ")
    assert "IRLS" not in sentence
    names = re.findall(r"ALS \(\w+\)", verdict(als, run(base.replace(mechanism="gaussian"))))
    assert {"ALS (Huber)", "ALS (Gaussian)"} <= {*names}


def test_noise_is_judged_by_paired_differences_and_only_like_with_like(
    results: list[Named],
) -> None:
    sentences = [s for s in run_texts.observations(results) if s.startswith("Noise (")]
    # C differs in its algorithm too, so its difference is not called noise
    (judged,) = sentences
    half = float(re.split("[,:]", judged.split("±")[1])[0])
    quiet, noisy, _ = (named.result for named in results)
    assert half == pytest.approx(half_width(noisy, quiet, clip=False), rel=0.1)


def test_a_dark_visit_leaves_the_figures_of_light_ones_alone() -> None:
    """Figures are shared between visitors; each has its own theme."""
    fig, _ = densities.densities(TRIO, "density")
    for colour in ("#D5DDE4", "#2B3741", "#D5DDE4"):
        drawn = style.ready(fig, (colour, 1.0, False)).to_dict()
        assert drawn["layout"]["template"]["layout"]["font"]["color"] == colour
        assert ("#0072B2" in str(drawn["data"])) == (colour == "#2B3741")


@pytest.mark.parametrize("most", [0.02, 1.0, 7.0, 300.0, 43_000.0, 1e7])
@pytest.mark.parametrize("least", [0.02, 0.9, 7.0])
def test_numbers_of_runs_keep_clear_of_those_without(least: float, most: float) -> None:
    """An axis of any length has a number, and none that would meet *no ε* beside it."""
    row = {"dataset": "example", "algorithm": "als", "mechanism": "none", "seed": 0}
    row |= {"measure": "RMSE", "value": 1.0, "baseline": 0.9}
    rows = [row | {"epsilon": each} for each in (min(least, most), most, None)]
    axis = run_distances(rows, "RMSE")[0].layout.xaxis
    start, end = axis.range
    places = [math.log10(each) for each in axis.tickvals]
    assert axis.ticktext[-1] == "no ε"
    assert len(places) > 1
    assert start <= places[0]
    assert (places[-1] - places[-2]) / (end - start) > 0.12


def test_of_few_scores_the_histogram_has_all() -> None:
    groups = {"in": np.arange(25.0), "out": np.arange(20.0) - 100.0}
    _, numbers, _ = audit_charts._histograms("score", "share", groups)
    np.testing.assert_allclose(numbers[["in (%)", "out (%)"]].sum(), 100)
