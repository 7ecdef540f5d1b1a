"""What a sweep's runs show together, against independent arithmetic."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpmc_core.experiments import TASKS, RunSpec
from dpmc_core.experiments.store.records import Record, record_for
from dpmc_core.experiments.sweeps.spec import Planned
from dpmc_core.experiments.sweeps.tradeoff import Point, frontier, needed, points_of

RMSE, RECALL = TASKS["rate"].measure, TASKS["recommend"].measure


def point(
    values: list[float] | dict[int, float], epsilon: float | None = None, **more: object
) -> Point:
    by_trial = dict(enumerate(values)) if isinstance(values, list) else values
    usual = {
        "settings": (),
        "spec": RunSpec.of(),
        "measure": RMSE,
        "baselines": dict.fromkeys(by_trial, 1.0),
        "truths": {},
        "nominal": False,
        "unit": "user",
        "failures": 0,
    }
    return Point(values=by_trial, epsilon=epsilon, epsilon_published=epsilon, **{**usual, **more})


def test_paired_differences_equal_scipys() -> None:
    rng = np.random.default_rng(5)
    shared = rng.normal(size=12)
    a, b = shared + 0.01 * rng.normal(size=12) + 0.02, shared + 0.01 * rng.normal(size=12)
    pair, test = point(list(a)).minus(point(list(b))), stats.ttest_rel(a, b)
    assert pair.mean == pytest.approx((a - b).mean(), rel=1e-12)
    ends = pair.mean - pair.half_width, pair.mean + pair.half_width
    assert ends == pytest.approx(tuple(test.confidence_interval(0.95)), rel=1e-9)
    assert pair.detected == (test.pvalue < 0.05)
    # of twenty at once, each is asked at 0.25 %
    together = point(list(a)).minus(point(list(b)), 20)
    low, high = test.confidence_interval(1 - 0.05 / 20)
    assert together.half_width == pytest.approx((high - low) / 2, rel=1e-9)


def test_only_repetitions_that_both_have_are_paired() -> None:
    pair = point({0: 1.0, 1: 2.0, 3: 9.0}).minus(point({0: 0.5, 1: 1.0, 2: 7.0}))
    assert (pair.mean, pair.pairs) == (0.75, 2)
    alone, none = (point({0: 1.0}).minus(point({k: 2.0})) for k in (0, 1))
    assert (alone.mean, alone.half_width, alone.pairs) == (-1.0, math.inf, 1)
    assert (math.isnan(none.mean), none.pairs, none.detected) == (True, 0, False)


@pytest.mark.parametrize(("measure", "better"), [(RMSE, False), (RECALL, True)])
def test_more_is_better_of_recall_alone(measure: str, better: bool) -> None:
    high, low = (point([x, x + 0.01, x + 0.02], measure=measure) for x in (1.5, 0.5))
    assert [high.against_baseline.better, low.against_baseline.better] == [better, not better]
    assert high.minus(low).better == better


def test_runs_become_points() -> None:
    spec = RunSpec.of(mechanism="huber", variance=2.0)

    def planned(
        rank: int, replicate: int, value: float | None, epsilon: float | None
    ) -> tuple[Planned, Record]:
        own = spec.replace(rank=rank)
        failed = {"error": "It overflowed."} if value is None else {"baseline": 1.0}
        amounts = {"epsilon": epsilon, "epsilon_published": epsilon and 2 * epsilon}
        settings = (("rank", rank),)
        return (
            Planned(cell=rank - 1, settings=settings, replicate=replicate, spec=own),
            record_for(own, value=value, **amounts, **failed),
        )

    runs = [planned(2, 0, 0.5, 2.0), planned(1, 0, 0.7, 3.0), planned(2, 1, 0.7, 4.0)]
    hopeless = planned(2, 2, None, None)
    first, second = points_of([*runs, hopeless])
    assert dict(first.settings) == {"rank": 1}
    assert math.isnan(first.half_width)
    assert first.against_baseline.pairs < 2
    assert first.as_dict()["against_baseline"] is None
    assert second.mean == pytest.approx(0.6)
    assert (second.epsilon, second.epsilon_published, second.failures) == (4.0, 8.0, 1)
    assert second.against_baseline.mean == pytest.approx(-0.4)
    assert second.as_dict()["runs"] == 2
    (nothing,) = points_of([hopeless])
    assert math.isnan(nothing.mean)
    assert nothing.as_dict()["mean"] is None
    both = point([0.5, 0.7], 2.0, baselines={0: 0.9, 1: 1.0})
    assert both.baseline == pytest.approx(0.95)
    assert both.as_dict()["half_width_95"] == pytest.approx(both.half_width)


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
    # of recall more is better
    low, high = point([0.1], 1.0, measure=RECALL), point([0.3], 1.0, measure=RECALL)
    assert frontier([low, high]) == [high]
    # nothing finished, nothing said
    assert frontier([point({}, 1.0), high]) == [high]


NOISY, SKEWED = RunSpec.of(mechanism="laplace"), RunSpec.of(dataset="skewed")
CARTOON = RunSpec.of(dataset="cartoon")


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ({}, {"unit": "rating"}),
        ({}, {"nominal": True}),
        ({}, {"nominal": True, "unit": "rating", "epsilon": 0.5}),
        ({}, {"measure": TASKS["factorize"].measure}),
        ({}, {"spec": SKEWED}),
        ({}, {"spec": RunSpec.of(n_items=50)}),
        ({"spec": NOISY}, {"spec": NOISY.replace(delta=1e-6)}),
        ({"spec": NOISY.replace(delta=1e-8)}, {"spec": NOISY.replace(delta=1e-2)}),
        ({"spec": RunSpec.of(n_users=50)}, {"spec": RunSpec.of(n_users=5000)}),
        ({"spec": SKEWED}, {"spec": SKEWED.replace(n_ratings=50)}),
        ({"spec": CARTOON}, {"spec": CARTOON.replace(n_samples=50)}),
        ({"epsilon": 0.95}, {}),  # 5 % apart are two
    ],
    ids=str,
)
def test_the_frontier_compares_like_with_like(
    worse: dict[str, Any], better: dict[str, Any]
) -> None:
    """Other units, standings, measures, data, sizes and δ are other questions."""
    pair = [point(**{"values": [v], "epsilon": 1.0, **c}) for v, c in ((0.8, worse), (0.7, better))]
    assert len(frontier(pair)) == 2
    alike = [point([v], 1.0, spec=pair[0].spec) for v in (0.8, 0.7)]
    assert frontier(alike) == alike[1:]
    # a plan that stayed a little below what was asked is no better trade-off
    near = replace(alike[0], epsilon=0.9973)
    assert frontier([near, alike[1]]) == alike[1:]


def test_how_much_data_is_needed() -> None:
    sizes = [100.0, 1000.0, 10_000.0]
    gaps = [{0: 0.3, 1: 0.3, 2: 0.2}, {0: 0.1, 1: 0.0, 2: 0.2}, {0: -0.1, 1: -0.2, 2: -0.1}]
    # crossings: half-way from 1,000 to 10,000 in log; at 1,000; two thirds of the way
    answer = needed(sizes, gaps)
    assert answer.n == pytest.approx(1000 * 10**0.5)
    assert (answer.low, answer.high) == pytest.approx((1000.0, 1000 * 10 ** (2 / 3)))
    for by_size, expected in (
        ([{0: 1.0}] * 3, math.inf),
        ([{0: -1.0}] * 3, 0.0),
        ([{0: -1.0}, {0: 0.5}, {0: -0.5}], 1000 * 10**0.5),  # it must stay there
        ([{0: 1.0, 1: 1.0}] * 2 + [{0: 1.0, 1: -1.0}], math.inf),  # half of them never
    ):
        assert needed(sizes, by_size).n == pytest.approx(expected)
    with pytest.raises(ValueError, match="sizes rise"):
        needed([2.0, 1.0], gaps[:2])
    with pytest.raises(ValueError, match="some repetition has all"):
        needed([1.0, 2.0], [{0: 1.0}, {1: 1.0}])
