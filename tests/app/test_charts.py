"""Figures hold the numbers they claim to.

The builders are pure, so they are tested without a page.
"""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.presets import PEOPLE
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Staircase
from dpmc_core.metrics import clipped
from pages.parts.completion import charts as run_charts
from pages.parts.completion import texts as run_texts
from pages.parts.completion.charts import Named
from pages.parts.datasets.ratings_view import popularity, sparsity
from pages.parts.mechanisms import charts, texts
from pages.parts.mechanisms.controls import Asked
from pages.parts.runs.view import distances as run_distances
from pages.parts.ui import densities, labels
from pages.parts.ui import figures as style
from pages.parts.ui.figures import whole
from pages.parts.ui.looks import IDENTITY

TRIO = [
    Huber(alpha=1.5),
    Laplace(scale=1.0),
    Gaussian(scale=1.0),
    Staircase(epsilon=1.0, sensitivity=1.0),
]


@pytest.fixture(scope="module")
def results() -> list[Named]:
    base = RunSpec.of(n_users=60, n_items=50, observed=0.4, rank=5, reg=0.5, iterations=4)
    return [
        Named("A", "ALS, no noise", run(base)),
        Named("B", "ALS + Huber", run(base.replace(mechanism="huber", variance=2.0))),
        Named(
            "C",
            "IRLS + Gaussian",
            run(base.replace(algorithm="irls-2", mechanism="gaussian", epsilon=3.0)),
        ),
    ]


def test_a_band_is_an_area_without_dots(results: list[Named]) -> None:
    """Plotly marks the points of a short line that does not say how it is drawn."""
    fig, _ = run_charts.rmse_curves(results, True)
    bands = [trace for trace in fig.data if trace.fill == "toself"]
    assert [trace.mode for trace in bands] == ["lines"] * len(results)


def test_densities_draw_what_the_mechanism_says() -> None:
    for view, (_, method) in densities.VIEWS.items():
        _, numbers = densities.densities(TRIO, view)
        for m in TRIO:
            expected = np.asarray(getattr(m, method)(numbers["x"].to_numpy()))
            np.testing.assert_allclose(numbers[m.name], expected)


def test_each_mechanism_keeps_its_colour_dash_and_marker() -> None:
    assert len({(i.colour, i.dash, i.marker) for i in IDENTITY.values()}) == 5
    for each in ("colour", "dash", "marker"):
        assert len({getattr(i, each) for i in IDENTITY.values()}) == 5
    fig, _ = densities.densities(TRIO)
    lines = {t.name: (t.line.color, t.line.dash) for t in fig.data}
    assert lines["Huber"] == ("#0072B2", "solid")
    assert lines["Laplace"] == ("#D55E00", "dash")


def test_profile_reaches_zero_at_pure_epsilon() -> None:
    _, numbers = charts.privacy_profile(TRIO, 2.0)
    assert (np.diff(numbers["huber"]) <= 1e-15).all()
    assert numbers.loc[numbers["epsilon"] >= 3.0, "huber"].abs().max() == 0


def test_privacy_loss_stays_within_its_bound() -> None:
    _, numbers = charts.privacy_loss(TRIO[:3], 2.0)
    assert numbers["huber"].abs().max() <= 3.0 * (1 + 1e-12)


def test_table_1_values() -> None:
    table = charts.table_1()
    assert table["Gaussian printed"].tolist() == [15.964, 11.288, 9.217, 7.982]
    np.testing.assert_allclose(table["Gaussian exact"], [33.10, 20.68, 15.87, 13.21], atol=6e-3)
    np.testing.assert_allclose(table["Huber exact"], [15.0, 5.380, 4.216, 3.601], atol=6e-4)


def test_rmse_chart_has_every_run_and_the_best_baseline(results: list[Named]) -> None:
    fig, numbers = run_charts.rmse_curves(results, clip=False)
    assert len(numbers) == 12
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


def test_what_has_ended_stays_as_it_is_while_others_go_on() -> None:
    base = RunSpec.of(n_users=60, n_items=50, observed=0.4, rank=5, reg=0.5, iterations=2)
    results = [Named("A", "ALS", run(base)), Named("B", "ALS", run(base.replace(iterations=4)))]
    fig, _ = run_charts.rmse_curves(results, clip=False)
    dotted = [line for line in fig.data if line.line.dash == "dot" and line.line.width == 1]
    end = results[0].result.final.test_rmse
    assert (tuple(dotted[0].x), tuple(dotted[0].y)) == ((2, 4), (end, end))


def test_a_run_with_secret_noise_stands_against_the_same_without() -> None:
    small = {**PEOPLE, "n_users": 200, "n_items": 40, "n_ratings": 3000, "rank": 3}
    secret = run(RunSpec.fitting({**small, "secret": True, "split_seed": 1}))
    bare = run(RunSpec.fitting({**small, "mechanism": "none", "epsilon": None, "seed": 1}))
    said = run_texts.verdict([Named("A", "with", secret), Named("B", "without", bare)])
    assert "Gaussian noise raises one-shot moments' error by" in said


def test_names_of_lines_stay_apart_where_a_figure_is_drawn_lower(results: list[Named]) -> None:
    fig, _ = run_charts.rmse_curves(results, clip=False)
    low, high = fig.layout.yaxis.range
    for room in (350.0, 150.0):
        notes = whole(fig, room)["layout"]["annotations"]
        places = sorted(
            (room * (note["y"] - low) / (high - low) + note["yshift"], note["text"])
            for note in notes
        )
        for (below, one), (above, other) in itertools.pairwise(places):
            lines = 2 + one.count("<br>") + other.count("<br>")
            assert above - below >= 17 * lines / 2 - 1e-6


def test_labels_never_overlap() -> None:
    heights = [100.0, 101.0, 102.0, 150.0, 151.0]
    moved = labels._apart(heights, [15.0] * 5, 300.0)
    assert np.diff(moved).min() >= 15 - 1e-9
    assert sum(moved) == pytest.approx(sum(heights))
    # a name of two lines needs more room, and all stay within the figure
    tall = [15.0, 30.0, 15.0, 15.0, 30.0]
    for start in ([0.0, 1.0, 2.0, 50.0, 51.0], [280.0, 290.0, 295.0, 299.0, 300.0]):
        moved = labels._apart(start, tall, 300.0)
        needed = (np.array(tall[:-1]) + tall[1:]) / 2
        assert (np.diff(moved) - needed).min() >= -1e-9
        assert moved[0] >= tall[0] / 2 - 1e-9
        assert moved[-1] <= 300 - tall[-1] / 2 + 1e-9


def test_completed_matrices_and_top_ten(results: list[Named]) -> None:
    drawn = run_charts.completed(results)
    assert drawn is not None
    fig, numbers = drawn
    truth = results[0].result.split.test.truth
    assert truth is not None
    assert len(fig.data) == 4 + 3  # and errors
    assert numbers.shape == (truth.left[:40].shape[0] * truth.right[:40].shape[0], 6 + 3)
    across = len(truth.right[:40])
    assert numbers["truth"].iloc[across + 1] == truth.left[1] @ truth.right[1]
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
    said = run_texts.observations(results)
    nominal = next(s for s in said if "nominal" in s and "for each of 4 releases" in s)
    assert "not a guarantee" in nominal
    for named in results:
        sentence = run_texts.beaten_sentence(named)
        assert sentence in said
        name, against = named.result.best_baseline, named.result.against_baseline
        apart, half = against.mean, against.half_width
        assert f"the best baseline, {name}" in " ".join(sentence.split())
        assert ("is better than" in sentence) == (apart < -half)
        assert ("is worse than" in sentence) == (apart > half)
        assert ("is not significantly different" in sentence) == (abs(apart) <= half)
    out = texts.observations(
        [Huber.with_variance(2, alpha=1.5), Laplace.with_variance(2)], 1.0, 1e-5
    )
    assert any(
        "tends to 1.1 and 2." in s and "costs 1.07 (Huber) or 1.47 (Laplace) times" in s
        for s in out
    )
    out = texts.observations(
        [Huber.with_epsilon(1, 1, alpha=1.5), Laplace.with_epsilon(1, 1)], 1.0, 1e-5
    )
    assert any("1.48" in s for s in out)
    pair = [Laplace.with_variance(2), Gaussian.with_variance(2)]
    asked = Asked(
        compare="variance",
        alpha=1.5,
        variance=2.0,
        epsilon=1.0,
        scales={},
        sensitivity=1.0,
        with_staircase=False,
        delta=1e-5,
        samples=100,
        seed=0,
        view="density",
    )
    said = texts.verdict(pair, asked)
    assert said.startswith("At equal variance 2 (Δ = 1), Gaussian noise protects one release best")
    assert "best: at most 63.8 % right guesses (Laplace 69.7)" in said


def test_the_verdict_of_runs_follows_their_numbers(results: list[Named]) -> None:
    quiet, noisy, other = results
    for shown in ([quiet, noisy], [noisy], [other], [quiet]):
        said = run_texts.verdict(shown)
        best = shown[-1]
        against = best.result.against_baseline
        apart, half = against.mean, against.half_width
        lost = "no longer significantly better than the best baseline"
        assert ("better than the best baseline" in said.replace(lost, "")) == (apart < -half)
        assert (lost in said) <= (abs(apart) <= half and quiet in shown)
        assert ("worse than the best baseline" in said) == (apart > half)
        assert best.result.spec.card.title in said
    # without the same algorithm free of noise, the error itself is said
    assert re.search(
        r"raises ALS's error by [\d.]+ ± [\d.]+ %, ", run_texts.verdict([quiet, noisy])
    )
    assert "has RMSE" in run_texts.verdict([quiet, other])
    # the noise on single ratings is nominal, and said to be
    assert run_texts.verdict([quiet, noisy]).startswith("At nominal total ε = ")
    # of runs that are not as far along, no difference is said; nor that one is finished
    part = replace(noisy.result, metrics=noisy.result.metrics[:1], finished=False)
    said = run_texts.verdict([quiet, replace(noisy, result=part)])
    assert said.startswith(f"After 1 of {part.spec.length} iterations, at nominal total ε = ")
    assert "has RMSE" in said
    # the least error among different ε is mostly the largest's: of how many it is the best is said
    twice = noisy.result.ledger.plus(noisy.result.ledger.releases)
    longer = replace(noisy, result=replace(noisy.result, ledger=twice))
    both = run_texts.verdict([noisy, longer])
    assert both.startswith("The best of 2 runs: at nominal total ε = ")


def test_the_verdict_of_a_comparison_names_both_their_difference_and_the_baseline(
    results: list[Named],
) -> None:
    base = results[0].result.spec.replace(mechanism="huber", total_epsilon=50.0)
    als, irls = (run(base.replace(algorithm=name)) for name in ("als", "irls"))
    less = 100 * (1 - als.final.test_rmse_clipped / irls.final.test_rmse_clipped)
    test = als.split.test
    squares = [
        (clipped(one.model.predict(test.users, test.items), test) - test.values) ** 2
        for one in (als, irls)
    ]
    rng = np.random.default_rng(0)
    roots = [
        [np.sqrt(each[k].mean()) for each in squares]
        for k in rng.integers(0, len(test), (2000, len(test)))
    ]
    half = 1.96 * np.std([one - other for one, other in roots]) / irls.final.test_rmse_clipped
    for pair in ([als, irls], [irls, als]):
        said = run_texts.verdict([Named("A", "", pair[0]), Named("B", "", pair[1])])
        size = re.search(r"In one draw .*, ALS's error is (\S+) ± (\S+) % below IRLS's, and", said)
        assert size is not None
        assert float(size[1]) == pytest.approx(less, rel=0.05)
        assert float(size[2]) == pytest.approx(100 * half, rel=0.2)
        assert said.endswith(f"{als.against_baseline.than('the best baseline')}.")
    quiet = results[0].result
    said = run_texts.verdict([Named("A", "", quiet), Named("B", "", quiet)])
    assert "ALS (A)'s error is not significantly different from ALS (B)'s, and" in said
    # an ε of one user is none of one rating
    releases = (replace(one, unit="user") for one in irls.ledger.releases)
    of_users = replace(irls, ledger=replace(irls.ledger, releases=tuple(releases)))
    said = run_texts.verdict([Named("A", "", als), Named("B", "", of_users)])
    assert said.startswith("The best of 2 runs: at nominal total ε = ")
    assert "IRLS" not in said
    gaussian = run(base.replace(mechanism="gaussian"))
    said = run_texts.verdict([Named("A", "", als), Named("B", "", gaussian)])
    assert {"ALS (Huber)", "ALS (Gaussian)"} <= set(re.findall(r"ALS \(\w+\)", said))


def test_noise_is_judged_by_paired_differences_and_only_like_with_like(
    results: list[Named],
) -> None:
    quiet, noisy, other = results
    said = run_texts.observations([quiet, noisy, other])
    judged = [s for s in said if s.startswith("Noise (")]
    assert len(judged) == 1  # C differs in its algorithm too, so its difference is not called noise
    test = quiet.result.split.test
    errors = [n.result.model.predict(test.users, test.items) - test.values for n in (quiet, noisy)]
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(4000):
        k = rng.integers(0, len(test), len(test))
        draws.append(np.sqrt(np.mean(errors[1][k] ** 2)) - np.sqrt(np.mean(errors[0][k] ** 2)))
    half = float(judged[0].split("±")[1].split(",")[0].split(":")[0])
    assert half == pytest.approx(
        1.96 * np.std(draws), rel=0.1
    )  # the bootstrap of the same difference


def test_a_dark_visit_leaves_the_figures_of_light_ones_alone() -> None:
    """Figures are shared between visitors; each has its own theme."""
    fig, _ = densities.densities(TRIO, "density")
    colours = ("#D5DDE4", "#2B3741", "#D5DDE4")
    drawn = [style.ready(fig, (colour, 1.0, False)).to_dict() for colour in colours]
    for colour, found in zip(colours, drawn, strict=True):
        assert found["layout"]["template"]["layout"]["font"]["color"] == colour
        assert ("#0072B2" in str(found["data"])) == (colour == "#2B3741")
    presented = style.ready(fig, (colours[0], 1.3, False)).to_dict()["layout"]["template"]
    assert presented["layout"]["font"]["size"] >= 18


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
