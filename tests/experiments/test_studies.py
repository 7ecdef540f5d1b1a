"""Studies: their runs, their rows, and the stored examples."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpmc_core.completion.dpals.preprocessing import lottery, spreads
from dpmc_core.datasets.data import split_of
from dpmc_core.datasets.ratings import random_split, some_users
from dpmc_core.datasets.synthetic.ratings import skewed
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments import run
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
    # no scale bounds what a few users' noisy sums predict, where nothing is clipped to it
    most = math.inf if kind in ("regressions", "rate-epsilon") else 4
    for point, cell in zip(result.points(), cells(spec), strict=True):
        assert (point.series, point.x) == (cell.series, cell.x)
        if not KINDS[kind].protected:
            assert point.epsilon is None
            continue
        assert 0 < point.mean < most
        assert (point.epsilon is None) == (cell.spec.noise.mechanism == "none")
        assert point.epsilon is None or point.epsilon <= cell.spec.noise.epsilon
    assert result.measures == spec.study.measures
    stated = json.loads(json.dumps(result.summary()))
    assert stated["runs"] == stated["total"] == len(stated["points"])
    for measure in result.measures:
        means = [[p.mean] for p in result.points(measure)]
        assert [p["values"][measure] for p in stated["points"]] == means


def test_noise_that_ends_is_compared_with_the_same_start_without_noise() -> None:
    lines = study(requested("minima", 2, iterations=10, n_items=20, n_ratings=1_500)).lines()
    assert [*lines] == ["no noise", "Huber", "Laplace", "Gaussian"]
    assert [[*p.values.values()] for p in lines["no noise"]] == [[0.0, 0.0]] * 2
    last = lines["Laplace"][-1]
    assert (last.x, last.epsilon, last.spec.noise.variance) == (128.0, None, 128.0)
    assert last.spec.algorithm.noisy_iterations == 2
    for seed, apart in last.values.items():
        noisy = last.spec.replace(seed=seed)
        quiet = noisy.replace(mechanism="none", variance=None)
        ratio = run(noisy).final.objective / run(quiet).final.objective
        assert apart == pytest.approx(100 * (ratio - 1), rel=1e-9)


def test_a_point_is_the_mean_of_plain_runs_over_seeds() -> None:
    spec = requested("projection", 2, seed=7)
    store = PassingRuns()
    first, *_, last = study_steps(spec, store)
    assert (len(first.runs), len(last.runs), last.total) == (1, 2 * len(cells(spec)), last.total)
    assert not first.finished
    assert math.isnan(first.points()[0].half_width)
    (again,) = study_steps(spec, store)  # what is kept is not made again
    assert again.runs == last.runs
    point, plain = last.points()[0], cells(spec)[0].spec
    errors = [run(plain.replace(seed=s)).final.test_rmse_clipped for s in (7, 8)]
    assert list(point.values.values()) == pytest.approx(errors, rel=1e-12)
    # two numbers: the t-quantile with one degree of freedom, 12.7062, times |a − b|/2
    assert point.half_width == pytest.approx(12.7062 * abs(errors[0] - errors[1]) / 2, rel=1e-4)


@pytest.mark.parametrize(
    ("room", "kind"), [(r, kind) for r, kinds in STUDIES.items() for kind in kinds]
)
def test_a_quick_look_makes_some_of_the_studys_runs(room: str, kind: str) -> None:
    spec = example(room, kind).study.spec
    runs, few = ({key_of(p.spec) for p in some.plan()} for some in (spec, spec.quick))
    assert few < runs
    for line in {cell.series for cell in cells(spec.quick)}:
        whole, short = (
            {cell.x for cell in cells(some) if cell.series == line} for some in (spec, spec.quick)
        )
        assert {min(whole), max(whole)} <= short <= whole, line
        assert len(short) <= 3
    assert StudySpec.from_dict(json.loads(spec.quick.to_json())) == spec.quick


def test_some_users_stay_with_all_their_ratings() -> None:
    split = random_split(skewed(200, 50, 3_000, seed=1), 0.2, 0)
    part = some_users(split, 0.25, 3)
    assert part.train.n_users == part.test.n_users == 50
    whole, some = (
        {tuple(sorted(t.items[t.users == u])) for u in range(t.n_users)}
        for t in (split.train, part.train)
    )
    assert some <= whole
    truth, test = part.train.truth, part.test
    exact = np.einsum("kr,kr->k", truth.left[test.users], truth.right[test.items])
    assert abs(np.std(test.values - exact) - 0.5) < 5 * 0.5 / math.sqrt(2 * len(test))
    assert some_users(split, 1.0, 0) is split
    with pytest.raises(DataError, match="leaves no held-out rating"):
        some_users(random_split(skewed(200, 50, 300, seed=1), 0.01, 0), 0.01, 1)


@pytest.mark.parametrize("seed", range(4))
def test_who_is_there_does_not_move_the_others_in_or_out(seed: int) -> None:
    split = random_split(skewed(200, 50, 3_000, seed=1), 0.2, 0, each_alone=True)
    parts = split.train, split.test
    train, test = (part.take(part.users != parts[0].users[0]) for part in parts)
    whole, fewer = (
        some_users(one, 0.5, seed).train for one in (split, replace(split, train=train, test=test))
    )
    assert whole.n_users == fewer.n_users == 100
    rows, left = (set(zip(p.users, p.items, p.values, strict=True)) for p in (whole, fewer))
    assert left <= rows
    assert len({user for user, _, _ in rows - left}) <= 1


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
    assert result.measures == ("recall",)
    assert result.baselines.keys() == {"most liked", "by chance"}
    titles = ["One-shot moments", "Most liked", "DPALS"]
    assert [*result.lines()] == [*titles, "One-shot moments, no noise", "DPALS, no noise"]
    point, (planned, _) = result.points()[-1], result.runs[-1]
    assert planned.spec.task == "recommend"
    assert point.values[1] == pytest.approx(run(planned.spec).final.recall)
    gap = [point.values[k] - point.baselines[k] for k in (0, 1)]
    assert point.against_baseline.mean == pytest.approx(np.mean(gap))
    assert not point.against_baseline.less_is_better


def test_a_figure_holds_each_sampling_projected_or_not_and_what_sampling_alone_costs() -> None:
    specs = {c.series: c.spec for c in cells(requested("sampling")) if c.x == 1}
    values = {
        name: (s.noise.epsilon, c.sampling, c.projection == "off", c.items_per_user)
        for name, s in specs.items()
        for c in [s.algorithm]
    }
    assert values == {
        "uniform": (10, "uniform", False, 20),
        "adaptive": (10, "adaptive", False, 20),
        "by weights": (10, "weights", False, 20),
        "adaptive, no projection": (10, "adaptive", True, 20),
        "uniform, no noise": (None, "uniform", False, 20),
        "adaptive, no noise": (None, "adaptive", False, 20),
        "all ratings, no noise": (None, "uniform", False, 10_000),
    }


def test_a_power_is_fitted_to_each_seed() -> None:
    """Errors c·n^−a with another a for each of three seeds; a seed that one point lacks is out."""
    old = example("completion", "rate").study.points()[0]
    points = [
        replace(
            old,
            settings=(("series", "a"), ("x", n)),
            values={0: 3 / n, 1: 3 * n**-1.2, 2: 3 * n**-1.4} | ({3: n**-9} if n > 10 else {}),
        )
        for n in (10.0, 20.0, 80.0)
    ]
    half = 4.302653 * 0.2 / math.sqrt(3)  # Student's t with two degrees of freedom
    assert power_of(points) == pytest.approx((-1.2, half), rel=1e-6)
    assert math.isnan(power_of(points[:1])[0])


@pytest.mark.parametrize("kind", BOUNDS)
def test_studies_of_rates_vary_what_they_say_beside_the_papers_bounds(kind: str) -> None:
    result = example("completion", kind).study
    for name, points in result.lines().items():
        noisy = not name.endswith("no noise")
        for point in points if noisy else ():
            data = point.spec.data
            varied = {"rate-epsilon": point.spec.noise.epsilon, "rate-items": data.n_items}
            assert varied.get(kind, data.n_users) == point.x
        bound = bound_on(kind, points)
        assert (bound is not None) == (noisy and points[0].spec.card.name in BOUNDS[kind])
        if bound is not None:  # through the first error of the larger half
            assert bound[2][0] == pytest.approx(points[len(points) // 2].mean)
    seeds = {(r.spec.seed, r.spec.data.data_seed) for r, _ in result.runs}
    assert len(seeds) == result.spec.seeds  # data of its own for each


def test_bounds_are_those_of_theorem_2_and_remark_4() -> None:
    """DPALS m·log²n/(εn), Frank–Wolfe (m^{5/4}/(nε))^{1/5}, regressions the root of 1/n."""
    at = np.array([math.e, math.e**2])
    logs = {(k, a): np.diff(np.log(f(at)))[0] for k, b in BOUNDS.items() for a, (_, f) in b.items()}
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
    first, last = (result.points()[k] for k in (0, 4))
    for point, k, users in (first, 0, 50), (last, 4, 800):
        assert split_of(result.runs[k][0].spec.data, 0).train.n_users == point.x == users
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
    rarest = np.zeros(120)
    # of each user, the eight of the rarest items
    order = np.lexsort((lottery(ratings, 4), counts[ratings.items], ratings.users))
    for own in np.split(order, np.flatnonzero(np.diff(ratings.users[order])) + 1):
        rarest[ratings.items[own[:8]]] += 1
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
        assert (spread.cells.sum(), spread.shares[-1]) == pytest.approx((1.0, 1.0))
    with pytest.raises(ParameterError, match="items_per_user"):
        spreads(ratings, 0)
