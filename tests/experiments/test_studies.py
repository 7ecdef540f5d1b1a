"""Studies: their runs, their rows, and the stored examples."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpmc_core.completion.dpals.preprocessing import lottery, spreads
from dpmc_core.datasets.data import split_of
from dpmc_core.datasets.ratings import random_split, some_users
from dpmc_core.datasets.synthetic.ratings import skewed
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.examples import example, names
from dpmc_core.experiments.store.records import PassingRuns, key_of
from dpmc_core.experiments.studies.engine import BOUNDS, bound_on, power_of, study, study_steps
from dpmc_core.experiments.studies.spec import STUDIES, StudySpec, cells

BASE = dict(  # noqa: C408
    dataset="skewed", n_users=300, n_items=60, n_ratings=4_000, algorithm="moments",
    mechanism="gaussian", epsilon=5.0, rank=3, reg=10.0, iterations=2, centring="user",
    clip_norm=0.5, items_per_user=20, item_share=1.0,
)  # fmt: skip
KINDS = STUDIES["completion"]


def requested(kind: str, seeds: int = 3, **changes: object) -> StudySpec:
    own = {"dataset": KINDS[kind].dataset or "skewed"} if kind in KINDS else {}
    return StudySpec.of("completion", kind, {**BASE, **own, **changes}, seeds)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_every_study_makes_its_runs_and_keeps_to_its_epsilon(kind: str) -> None:
    spec = requested(kind, 1)
    result = study(spec)
    assert result.finished
    assert len(result.runs) == result.total == len(cells(spec))
    for point, cell in zip(result.points(), cells(spec), strict=True):
        assert (point.series, point.x) == (cell.series, cell.x)
        assert math.isnan(point.half_width)
        if not KINDS[kind].protected:
            assert point.epsilon is None
            continue
        # no scale bounds what a few users' noisy sums predict, where nothing is clipped to it
        unbounded = kind in ("regressions", "rate-epsilon")
        assert 0 < point.mean < (math.inf if unbounded else 4)
        assert (point.epsilon is None) == (cell.spec.noise.mechanism == "none")
        assert point.epsilon is None or point.epsilon <= cell.spec.noise.epsilon
    assert result.measures == spec.study.measures
    stated = json.loads(json.dumps(result.summary()))
    assert stated["runs"] == stated["total"] == len(stated["points"]) == len(result.runs)
    for measure in spec.study.measures:
        means = [[p.mean] for p in result.points(measure)]
        assert [p["values"][measure] for p in stated["points"]] == means


def test_noise_that_ends_is_compared_with_the_same_start_without_noise() -> None:
    spec = requested("minima", 2, iterations=10, n_items=20, n_ratings=1_500)
    result = study(spec)
    quiet, *_ = by_series = result.lines().values()
    assert [list(p.values.values()) for p in quiet] == [[0.0, 0.0]] * 2
    assert [line[0].series for line in by_series] == ["no noise", "Huber", "Laplace", "Gaussian"]
    last = result.lines()["Laplace"][-1]
    assert (last.x, last.epsilon, last.spec.noise.variance) == (128.0, None, 128.0)
    assert last.spec.algorithm.noisy_iterations == 2
    for seed, apart in last.values.items():
        ends = [
            run(one.replace(seed=seed)).final.objective
            for one in (last.spec, last.spec.replace(mechanism="none", variance=None))
        ]
        assert apart == pytest.approx(100 * (ends[0] / ends[1] - 1), rel=1e-9)


def test_a_point_is_the_mean_of_plain_runs_over_seeds() -> None:
    spec = requested("projection", 2, seed=7)
    store = PassingRuns()
    *partial, last = study_steps(spec, store)
    assert [len(r.runs) for r in (*partial, last)] == list(range(1, 2 * len(cells(spec)) + 1))
    assert not partial[0].finished
    assert len(partial[0].points()) == 1
    (again,) = study_steps(spec, store)  # what is kept is not made again
    assert again.runs == last.runs
    first, point = cells(spec)[0], last.points()[0]
    errors = [run(first.spec.replace(seed=s)).final.test_rmse_clipped for s in (7, 8)]
    assert list(point.values.values()) == pytest.approx(errors, rel=1e-12)
    # two numbers: the t-quantile with one degree of freedom, 12.7062, times |a − b|/2
    assert point.half_width == pytest.approx(12.7062 * abs(errors[0] - errors[1]) / 2, rel=1e-4)


def test_a_quick_look_makes_some_of_the_studys_runs() -> None:
    for room, kinds in STUDIES.items():
        for kind in kinds:
            spec = example(room, kind).study.spec
            quick = spec.quick
            runs, few = ({key_of(p.spec) for p in some.plan()} for some in (spec, quick))
            assert few < runs, kind
            whole, short = (
                {
                    line: {cell.x for cell in cells(some) if cell.series == line}
                    for line in {cell.series for cell in cells(quick)}
                }
                for some in (spec, quick)
            )
            for line, places in short.items():
                assert {min(whole[line]), max(whole[line])} <= places, line
                assert len(places) <= 3
            assert StudySpec.from_dict(json.loads(quick.to_json())) == quick


def test_some_users_stay_with_all_their_ratings() -> None:
    split = random_split(skewed(200, 50, 3_000, seed=1), 0.2, 0)
    part = some_users(split, 0.25, 3)
    assert part.train.n_users == part.test.n_users == 50
    whole, some = (
        [tuple(sorted(t.items[t.users == u])) for u in range(t.n_users)]
        for t in (split.train, part.train)
    )
    assert set(some) <= set(whole)
    truth, test = part.train.truth, part.test
    exact = np.einsum("kr,kr->k", truth.left[test.users], truth.right[test.items])
    assert abs(np.std(test.values - exact) - 0.5) < 5 * 0.5 / math.sqrt(2 * len(test))
    assert some_users(split, 1.0, 0) is split
    with pytest.raises(DataError, match="leaves no held-out rating"):
        some_users(random_split(skewed(200, 50, 300, seed=1), 0.01, 0), 0.01, 1)


def test_who_is_there_does_not_move_the_others_in_or_out() -> None:
    ratings = skewed(200, 50, 3_000, seed=1)
    gone = int(ratings.users[0])
    split = random_split(ratings, 0.2, 0, each_alone=True)
    train, test = (part.take(part.users != gone) for part in (split.train, split.test))
    fewer = replace(split, train=train, test=test)
    for seed in range(4):
        both = some_users(split, 0.5, seed), some_users(fewer, 0.5, seed)
        assert both[0].train.n_users == both[1].train.n_users == 100
        rows = [set(zip(p.train.users, p.train.items, p.train.values, strict=True)) for p in both]
        assert rows[1] <= rows[0]
        assert len({user for user, _, _ in rows[0] - rows[1]}) <= 1


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("nothing", {}, "study = 'nothing'"),
        ("rank", {"seeds": 0}, "seeds = 0"),
        ("rank", {"task": "recommend"}, "task = 'recommend' is not allowed: it must be rate"),
        ("recall-rank", {"task": "rate"}, "task = 'rate' is not allowed: it must be recommend"),
        ("recall-rank", {"algorithm": "als"}, "one of moments, dpals, popular for the task"),
        ("rank", {"algorithm": "popular"}, "for the task rate"),
        ("rate", {"dataset": "skewed"}, "dataset = 'skewed' is not allowed: it must be orthogonal"),
        ("rank", {"seeds": 2, "seed": 2**32 - 1}, "seed = 4294967296"),
        (
            "rank",
            {"dataset": "ml-100k", "split": "u1"},
            "every seed of a study has a split of its own",
        ),
        ("items", {"rank": 61}, r"rank = 61.*at most 60 here, for any point of the"),
    ],
)
def test_bad_studies_are_refused_before_the_first_run(
    kind: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        requested(kind, **changes)


def test_a_study_of_recall_is_of_plain_runs_that_recommend() -> None:
    result = study(replace(requested("recall-epsilon", 2), short=True))
    (measure,) = result.measures
    assert measure == "recall"
    assert result.baselines.keys() == {"most liked", "by chance"}
    names = ["One-shot moments", "Most liked", "DPALS"]
    assert list(result.lines()) == [*names, "One-shot moments, no noise", "DPALS, no noise"]
    point, (planned, _) = result.points()[-1], result.runs[-1]
    assert planned.spec.task == "recommend"
    last = run(planned.spec)
    assert point.values[1] == pytest.approx(last.final.recall)
    gap = [point.values[k] - point.baselines[k] for k in (0, 1)]
    assert point.against_baseline.mean == pytest.approx(np.mean(gap))
    assert not point.against_baseline.less_is_better


def test_a_figure_holds_each_sampling_projected_or_not_and_what_sampling_alone_costs() -> None:
    specs = {c.series: c.spec for c in cells(requested("sampling", item_share=1.0)) if c.x == 1}
    noisy = {name: spec for name, spec in specs.items() if not name.endswith(", no noise")}
    assert {(s.algorithm.sampling, s.algorithm.projection) for s in noisy.values()} == {
        *((name, "inner") for name in ("uniform", "adaptive", "weights")),
        ("adaptive", "off"),
    }
    assert {s.noise.epsilon for s in noisy.values()} == {10}
    quiet = {name: specs[name].algorithm for name in specs.keys() - noisy}
    limits = {n: (config.sampling, config.items_per_user) for n, config in quiet.items()}
    assert limits == {
        "uniform, no noise": ("uniform", 20),
        "adaptive, no noise": ("adaptive", 20),
        "all ratings, no noise": ("uniform", 10_000),
    }


def test_a_power_is_fitted_to_each_seed() -> None:
    """Errors c·n^−a with another a for each of three seeds; a seed that one point lacks is out."""
    old = example("completion", "rate").study.points()[0]
    powers = {0: -1.0, 1: -1.2, 2: -1.4, 3: -9.0}
    points = [
        replace(
            old,
            settings=(("series", "a"), ("x", n)),
            values={k: 3 * n**a for k, a in powers.items() if k < 3 or n > 10},
        )
        for n in (10.0, 20.0, 80.0)
    ]
    half = 4.302653 * 0.2 / math.sqrt(3)  # Student's t with two degrees of freedom
    assert power_of(points) == pytest.approx((-1.2, half), rel=1e-6)
    assert math.isnan(power_of(points[:1])[0])


@pytest.mark.parametrize("kind", BOUNDS)
def test_studies_of_rates_vary_what_they_say_beside_the_papers_bounds(kind: str) -> None:
    varied: dict[str, Callable[[RunSpec], float | None]] = {
        "rate-epsilon": lambda spec: spec.noise.epsilon,
        "rate-items": lambda spec: spec.data.n_items,
    }
    value = varied.get(kind, lambda spec: spec.data.n_users)
    result = example("completion", kind).study
    for name, points in result.lines().items():
        noisy = not name.endswith("no noise")
        assert all(value(p.spec) == p.x for p in points if noisy)
        bound = bound_on(kind, points)
        assert (bound is not None) == (noisy and points[0].spec.card.name in BOUNDS[kind])
        if bound is not None:  # through the first error of the larger half
            assert bound[2][0] == pytest.approx(points[len(points) // 2].mean)
    seeds = {(r.spec.seed, r.spec.data.data_seed) for r, _ in result.runs}
    assert len(seeds) == result.spec.seeds  # data of its own for each


def test_bounds_are_those_of_theorem_2_and_remark_4() -> None:
    """DPALS m·log²n/(εn), Frank–Wolfe (m^{5/4}/(nε))^{1/5}, regressions the root of 1/n."""
    at = np.array([math.e, math.e**2])
    ratios = {k: {a: f(at) for a, (_, f) in of.items()} for k, of in BOUNDS.items()}
    logs = {(k, a): math.log(y[1] / y[0]) for k, of in ratios.items() for a, y in of.items()}
    assert logs == pytest.approx(
        {
            ("rate", "dpals"): math.log(4) - 1,
            ("rate", "private-fw"): -0.2,
            ("rate-epsilon", "dpals"): -1,
            ("rate-epsilon", "private-fw"): -0.2,
            ("rate-items", "dpals"): 1,
            ("rate-items", "private-fw"): 0.25,
            ("regressions", "dpals"): -0.5,
        }
    )


def test_given_vectors_make_one_iteration_a_regression_for_each_item() -> None:
    """Without noise the items' factors are those that made the data, none of which are clipped."""
    spec = requested("regressions", n_users=40, n_items=8, reg=0.001)
    cell = next(c for c in cells(spec) if c.series.endswith("no noise") and c.x == 40)
    quiet = cell.spec.replace(value_clip=100.0, clip_norm=1000.0, test_fraction=0.01)
    result = run(quiet)
    assert quiet.algorithm.iterations == 1
    assert result.truth < 1e-4
    with pytest.raises(ParameterError, match="vectors of this rank are not known"):
        run(quiet.replace(rank=4))


def test_points_that_a_small_matrix_cannot_have_are_left_out() -> None:
    """SweetRS has 77 items: β = 0.05 keeps four of them, fewer than rank 12."""
    base = {"dataset": "sweetrs", "rank": 12}
    assert {cell.x for cell in cells(requested("items", **base))} == {0.2, 0.4, 0.7, 1.0}
    ranks = cells(requested("rank", **base, item_share=0.15))
    assert {cell.x for cell in ranks} == {2, 4, 8, 16, 32}
    assert {cell.x for cell in ranks if cell.series.startswith("DPALS")} == {2, 4, 8}


def test_a_fifth_of_the_people_is_compared_with_its_own_baseline() -> None:
    result = study(requested("people", 1, n_users=800, n_ratings=10_000))
    first, last = result.points()[0], result.points()[4]
    assert (first.x, last.x) == (50, 800)
    for point, (planned, _) in zip((first, last), (result.runs[0], result.runs[4]), strict=True):
        assert split_of(planned.spec.data, 0).train.n_users == point.x
    assert first.baseline != last.baseline
    assert last.baseline == pytest.approx(min(result.baselines.values()))
    against = first.against_baseline
    assert against.mean == pytest.approx(first.values[0] - first.baselines[0])
    assert against.half_width == math.inf


@pytest.mark.parametrize(
    ("room", "again"),
    [
        ("completion", {("epsilon", 5)}),
        pytest.param(
            "factorization",
            {("epsilon", 10), ("parts", 8), ("outliers", 0.1), ("start", 30)},
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_stored_examples_are_what_the_code_computes(
    room: str, again: set[tuple[str, float]]
) -> None:
    """The first run of each line at some points, made again."""
    assert {*names(room)} == {*STUDIES[room]}
    computed = set()
    for kind in STUDIES[room]:
        result = example(room, kind).study
        assert result.finished
        for planned, record in result.runs:
            line, x = (value for _, value in planned.settings)
            if (kind, x) in again and not planned.replicate and not line.startswith("Private"):
                assert run(planned.spec).value == pytest.approx(record.value, rel=1e-6), planned
                computed.add((kind, x))
    assert computed == again


def test_stored_runs_of_a_plan_in_another_order_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    example.cache_clear()
    plan = StudySpec.plan
    monkeypatch.setattr(StudySpec, "plan", lambda spec: [*plan(spec)][::-1])
    with pytest.raises(DataError, match="people, are of a plan in another order"):
        example("completion", "people")


def test_spreads_against_a_plain_count() -> None:
    ratings = skewed(400, 120, 9_000, seed=2)
    everything, uniform, adaptive, weights = spreads(ratings, 8, 4)
    counts = np.bincount(ratings.items, minlength=120)
    rarest, drawn = np.zeros(120), lottery(ratings, 4)
    for user in range(400):
        own = np.flatnonzero(ratings.users == user)
        for k in sorted(own, key=lambda k: (counts[ratings.items[k]], drawn[k]))[:8]:
            rarest[ratings.items[k]] += 1
    for spread, by_hand in ((everything, counts), (adaptive, rarest)):
        shares = np.cumsum(np.sort(by_hand)[::-1]) / by_hand.sum()
        assert np.allclose(spread.shares, [0, *shares])
    assert adaptive.top < uniform.top < everything.top + 0.05
    assert weights.top < everything.top
    of_users = np.bincount(ratings.users)[ratings.users]
    plain = np.corrcoef(of_users, counts[ratings.items])[0, 1]
    assert everything.correlation == pytest.approx(plain, abs=1e-12)
    assert plain < -0.05  # whoever rates much rates rare items too
    for spread in (everything, uniform, adaptive, weights):
        assert spread.cells.sum() == pytest.approx(1.0)
        assert spread.shares[0] == 0
        assert spread.shares[-1] == pytest.approx(1.0)
    with pytest.raises(ParameterError, match="items_per_user"):
        spreads(ratings, 0)
