"""What a sweep's runs show together, against independent arithmetic."""

import math

import numpy as np
import pytest
from scipy import stats

from dpmc_core.experiments import TASKS, RunSpec
from dpmc_core.experiments.store.records import Record, key_of
from dpmc_core.experiments.sweeps.spec import Planned
from dpmc_core.experiments.sweeps.tradeoff import Point, frontier, largest, needed, points_of

RMSE, RECALL = TASKS["rate"].measure, TASKS["recommend"].measure


def point(
    values: list[float] | dict[int, float], epsilon: float | None = None, **more: object
) -> Point:
    given = dict(enumerate(values)) if isinstance(values, list) else values
    usual = {
        "settings": (),
        "spec": RunSpec.of(),
        "measure": RMSE,
        "baselines": dict.fromkeys(given, 1.0),
        "truths": {},
        "nominal": False,
        "unit": "user",
        "failures": 0,
    }
    return Point(values=given, epsilon=epsilon, epsilon_published=epsilon, **{**usual, **more})


def test_paired_differences_equal_scipys() -> None:
    rng = np.random.default_rng(5)
    shared = rng.normal(size=12)
    a, b = shared + 0.01 * rng.normal(size=12) + 0.02, shared + 0.01 * rng.normal(size=12)
    found = point(list(a)).minus(point(list(b)))
    test = stats.ttest_rel(a, b)
    low, high = test.confidence_interval(0.95)
    assert found.mean == pytest.approx((a - b).mean(), rel=1e-12)
    assert (found.mean - found.half_width, found.mean + found.half_width) == pytest.approx(
        (low, high), rel=1e-9
    )
    assert found.detected == (test.pvalue < 0.05)
    # of twenty at once, each is asked at 0.25 %
    together = point(list(a)).minus(point(list(b)), 20)
    low, high = test.confidence_interval(1 - 0.05 / 20)
    assert together.half_width == pytest.approx((high - low) / 2, rel=1e-9)


def test_only_repetitions_that_both_have_are_paired() -> None:
    found = point({0: 1.0, 1: 2.0, 3: 9.0}).minus(point({0: 0.5, 1: 1.0, 2: 7.0}))
    assert (found.mean, found.pairs) == (0.75, 2)
    alone, none = (point({0: 1.0}).minus(point({k: 2.0})) for k in (0, 1))
    assert (alone.mean, alone.half_width, alone.pairs) == (-1.0, math.inf, 1)
    assert (math.isnan(none.mean), none.pairs, none.detected) == (True, 0, False)


@pytest.mark.nightly
def test_an_interval_covers_as_often_as_it_says() -> None:
    """10,000 paired differences of five normal pairs.

    At 95 % the misses are Binomial(10000, .05), sd 21.8; within 4.5 of them.
    """
    rng = np.random.default_rng(11)
    misses = 0
    for apart in rng.normal(size=(10_000, 5)):
        found = point(list(apart)).minus(point([0.0] * 5))
        misses += found.detected
    assert abs(misses - 500) < 98


def test_runs_become_points() -> None:
    def record(value: float | None, epsilon: float | None = 2.0, error: str = "") -> Record:
        return Record(
            key=key_of(RunSpec.of()),
            kind="completion",
            dataset="low-rank",
            algorithm="als",
            mechanism="huber",
            seed=0,
            measure=RMSE,
            value=value,
            baseline=None if value is None else 1.0,
            truth=None,
            epsilon=epsilon,
            epsilon_published=None if epsilon is None else 2 * epsilon,
            delta=1e-5,
            nominal=True,
            unit="rating",
            seconds=1.0,
            version="0",
            created="",
            error=error,
            spec="",
            summary={},
        )

    runs = [
        (
            Planned(cell=1, settings=(("rank", 2),), replicate=0, spec=RunSpec.of(rank=2)),
            record(0.5),
        ),
        (
            Planned(cell=0, settings=(("rank", 1),), replicate=0, spec=RunSpec.of(rank=1)),
            record(0.7, 3.0),
        ),
        (
            Planned(cell=1, settings=(("rank", 2),), replicate=1, spec=RunSpec.of(rank=2)),
            record(0.7, 4.0),
        ),
        (
            Planned(cell=1, settings=(("rank", 2),), replicate=2, spec=RunSpec.of(rank=2)),
            record(None, None, "It overflowed."),
        ),
    ]
    first, second = points_of(runs)
    assert dict(first.settings) == {"rank": 1}
    assert math.isnan(first.half_width)
    assert first.against_baseline.pairs < 2
    assert first.as_dict()["against_baseline"] is None
    assert (second.mean, second.epsilon, second.epsilon_published, second.failures) == (
        pytest.approx(0.6),
        4.0,
        8.0,
        1,
    )
    assert second.against_baseline.mean == pytest.approx(-0.4)
    assert second.as_dict()["runs"] == 2
    (hopeless,) = points_of(runs[3:])
    assert math.isnan(hopeless.mean)
    assert hopeless.as_dict()["mean"] is None


def test_the_frontier_is_what_nothing_betters() -> None:
    rng = np.random.default_rng(3)
    cloud = [point([float(v)], float(e)) for e, v in rng.random((60, 2)) + 0.1]
    front = frontier([*cloud, point([0.0], None)])
    for p in cloud:  # by brute force
        beaten = any(
            (q.mean < p.mean and q.epsilon <= 1.02 * p.epsilon)
            or (q.mean <= p.mean and 1.02 * q.epsilon < p.epsilon)
            for q in cloud
        )
        assert (p in front) == (not beaten)
    assert [p.epsilon for p in front] == sorted(p.epsilon for p in front)
    # units and standings are not mixed
    nominal, sound = point([0.1], 1.0, nominal=True, unit="rating"), point([0.5], 2.0)
    assert frontier([nominal, sound]) == [nominal, sound]
    # of recall more is better
    low, high = point([0.1], 1.0, measure=RECALL), point([0.3], 1.0, measure=RECALL)
    assert frontier([low, high]) == [high]


def test_kinds_differ_in_any_one_thing() -> None:
    worse, better = point([0.8], 1.0), {"values": [0.7], "epsilon": 1.0}
    for other in (
        {"unit": "rating"},
        {"nominal": True},
        {"measure": TASKS["factorize"].measure},
        {"spec": RunSpec.of(dataset="skewed")},
        {"spec": RunSpec.of(n_items=50)},
        {"spec": RunSpec.of(mechanism="laplace", delta=1e-6)},
    ):
        assert len(frontier([worse, point(**better, **other)])) == 2, other
    for one, other in (
        (RunSpec.of(dataset="skewed"), RunSpec.of(dataset="skewed", n_ratings=50)),
        (RunSpec.of(dataset="cartoon"), RunSpec.of(dataset="cartoon", n_samples=50)),
    ):
        pair = [point([0.8], 1.0, spec=one), point(**better, spec=other)]
        assert len(frontier(pair)) == 2, other
        assert len(frontier([pair[0], point(**better, spec=one)])) == 1
    assert frontier([worse, point(**better)]) != [worse]
    assert frontier([point({}, 1.0), worse]) == [worse]  # nothing finished, nothing said
    assert [p.mean for p in frontier([point([1.0], 0.95), point([0.8], 1.0)])] == [
        1.0,
        0.8,
    ]  # 5 % apart are two


def test_one_run_without_a_finite_epsilon_leaves_none() -> None:
    assert largest([1.0, None]) is None
    assert largest([]) is None
    assert largest([1.0, 3.0, 2.0]) == 3.0
    one = point([0.5, 0.7], 2.0, baselines={0: 0.9, 1: 1.0})
    assert one.baseline == pytest.approx(0.95)
    assert one.as_dict()["half_width_95"] == pytest.approx(one.half_width)


def test_the_frontier_compares_like_with_like() -> None:
    # a plan that stayed a little below what was asked is no better trade-off
    assert [p.mean for p in frontier([point([1.0], 0.9973), point([0.8], 1.0)])] == [0.8]
    # another δ, other sizes: other questions
    strict, loose = (
        point([0.8], 1.0, spec=RunSpec.of(mechanism="laplace", delta=1e-8)),
        point([0.7], 1.0, spec=RunSpec.of(mechanism="laplace", delta=1e-2)),
    )
    assert len(frontier([strict, loose])) == 2
    few, many = (
        point([0.8], 1.0, spec=RunSpec.of(n_users=50)),
        point([0.7], 1.0, spec=RunSpec.of(n_users=5000)),
    )
    assert len(frontier([few, many])) == 2


def test_how_much_data_is_needed() -> None:
    sizes = [100.0, 1000.0, 10_000.0]
    gaps = [{0: 0.3, 1: 0.3, 2: 0.2}, {0: 0.1, 1: 0.0, 2: 0.2}, {0: -0.1, 1: -0.2, 2: -0.1}]
    # crossings: half-way from 1,000 to 10,000 in log; at 1,000; two thirds of the way
    found = needed(sizes, gaps)
    assert found.n == pytest.approx(1000 * 10**0.5)
    assert (found.low, found.high) == (pytest.approx(1000.0), pytest.approx(1000 * 10 ** (2 / 3)))
    assert needed(sizes, [{0: 1.0}] * 3).n == math.inf
    assert needed(sizes, [{0: -1.0}] * 3).n == 0.0
    assert needed(sizes, [{0: -1.0}, {0: 0.5}, {0: -0.5}]).n == pytest.approx(
        1000 * 10**0.5
    )  # it must stay there
    assert (
        needed(sizes, [{0: 1.0, 1: 1.0}, {0: 1.0, 1: 1.0}, {0: 1.0, 1: -1.0}]).n == math.inf
    )  # half of them never
    with pytest.raises(ValueError, match="sizes rise"):
        needed([2.0, 1.0], gaps[:2])
    with pytest.raises(ValueError, match="some repetition has all"):
        needed([1.0, 2.0], [{0: 1.0}, {1: 1.0}])
