"""What a sweep's runs show together, against independent arithmetic."""

import math

import numpy as np
import pytest
from scipy import stats

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.records import MEASURES, Record, key_of
from dpmc_core.experiments.sweep_spec import Planned
from dpmc_core.experiments.tradeoff import Point, frontier, needed, paired, points_of

RMSE, RECALL = MEASURES["rate"], MEASURES["recommend"]


def point(values: list[float] | dict[int, float], epsilon: float | None = None, **more: object) -> Point:
    given = dict(enumerate(values)) if isinstance(values, list) else values
    usual = {
        "settings": (),
        "spec": RunSpec(),
        "measure": RMSE,
        "trivials": dict.fromkeys(given, 1.0),
        "truths": {},
        "nominal": False,
        "unit": "user",
        "failures": 0,
    }
    return Point(values=given, epsilon=epsilon, **{**usual, **more})


def test_paired_differences_equal_scipys() -> None:
    rng = np.random.default_rng(5)
    shared = rng.normal(size=12)
    a, b = shared + 0.01 * rng.normal(size=12) + 0.02, shared + 0.01 * rng.normal(size=12)
    found = paired(point(list(a)), point(list(b)))
    test = stats.ttest_rel(a, b)
    low, high = test.confidence_interval(0.95)
    assert found.mean == pytest.approx((a - b).mean(), rel=1e-12)
    assert (found.mean - found.half_width, found.mean + found.half_width) == pytest.approx((low, high), rel=1e-9)
    assert found.detected == (test.pvalue < 0.05)
    # of twenty at once, each is asked at 0.25 %
    together = paired(point(list(a)), point(list(b)), 20)
    low, high = test.confidence_interval(1 - 0.05 / 20)
    assert together.half_width == pytest.approx((high - low) / 2, rel=1e-9)


def test_only_repetitions_that_both_have_are_paired() -> None:
    found = paired(point({0: 1.0, 1: 2.0, 3: 9.0}), point({0: 0.5, 1: 1.0, 2: 7.0}))
    assert (found.mean, found.pairs) == (0.75, 2)
    assert paired(point({0: 1.0}), point({0: 2.0})) is None


def test_an_interval_covers_as_often_as_it_says() -> None:
    """10,000 paired differences of five normal pairs: at 95 % the misses are Binomial(10000, .05), sd 21.8; within 4.5 of them."""
    rng = np.random.default_rng(11)
    misses = 0
    for apart in rng.normal(size=(10_000, 5)):
        found = paired(point(list(apart)), point([0.0] * 5))
        misses += found.detected
    assert abs(misses - 500) < 98


def test_runs_become_points() -> None:
    def record(value: float | None, epsilon: float | None = 2.0, error: str = "") -> Record:
        return Record(
            key=key_of(RunSpec()),
            kind="completion",
            dataset="low-rank",
            algorithm="als",
            mechanism="huber",
            seed=0,
            measure=RMSE,
            value=value,
            trivial=None if value is None else 1.0,
            truth=None,
            epsilon=epsilon,
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
        (Planned(cell=1, settings=(("rank", 2),), replicate=0, spec=RunSpec(rank=2)), record(0.5)),
        (Planned(cell=0, settings=(("rank", 1),), replicate=0, spec=RunSpec(rank=1)), record(0.7, 3.0)),
        (Planned(cell=1, settings=(("rank", 2),), replicate=1, spec=RunSpec(rank=2)), record(0.7, 4.0)),
        (
            Planned(cell=1, settings=(("rank", 2),), replicate=2, spec=RunSpec(rank=2)),
            record(None, None, "It overflowed."),
        ),
    ]
    first, second = points_of(runs)
    assert dict(first.settings) == {"rank": 1}
    assert math.isnan(first.half_width)
    assert first.against_trivial is None
    assert (second.mean, second.epsilon, second.failures) == (pytest.approx(0.6), 4.0, 1)
    assert second.against_trivial.mean == pytest.approx(-0.4)
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
            q is not p and q.epsilon <= p.epsilon and q.mean <= p.mean and (q.epsilon, q.mean) != (p.epsilon, p.mean)
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


def test_how_much_data_is_needed() -> None:
    sizes = [100.0, 1000.0, 10_000.0]
    line = [point([0.9, 0.9]), point([0.7, 0.6]), point([0.5, 0.4])]
    found = needed(sizes, line, 0.6)
    # means .9, .65, .45: between 1,000 and 10,000, a quarter of the way in log
    assert found.n == pytest.approx(1000 * 10**0.25)
    assert (found.low, found.high) == (pytest.approx(1000.0), pytest.approx(1000 * 10**0.5))
    assert needed(sizes, line, 0.3).n == math.inf
    assert needed(sizes, line, 1.0).n == 0.0
    up_and_down = [point([0.5]), point([0.9]), point([0.4])]
    assert needed(sizes, up_and_down, 0.6).n > 1000  # it must stay there
    recall = [point([0.1], measure=RECALL), point([0.2], measure=RECALL), point([0.3], measure=RECALL)]
    assert needed(sizes, recall, 0.2).n == pytest.approx(1000.0)
    with pytest.raises(ValueError, match="sizes rise"):
        needed([2.0, 1.0], line[:2], 0.5)
