"""What a sweep's runs show together, against independent arithmetic."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpmc_core.experiments import TASKS, RunSpec
from dpmc_core.experiments.store.records import Record, record_for
from dpmc_core.experiments.sweeps.spec import Planned
from dpmc_core.experiments.sweeps.tradeoff import Point, frontier, needed, points_of

SIZES = [100.0, 1000.0, 10_000.0]
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


@pytest.mark.parametrize("together", [1, 20])
def test_paired_differences_equal_scipys(together: int) -> None:
    """Of twenty at once, each is asked at 0.25 %."""
    rng = np.random.default_rng(5)
    b = rng.normal(size=12)
    a = b + 0.01 * rng.normal(size=12) + 0.02
    pair, test = point(list(a)).minus(point(list(b)), together), stats.ttest_rel(a, b)
    ends = pair.mean - pair.half_width, pair.mean + pair.half_width
    expected = tuple(test.confidence_interval(1 - 0.05 / together))
    assert ends == pytest.approx(expected, rel=1e-9)
    assert pair.detected == (test.pvalue < 0.05 / together)


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
        end = {"error": "It overflowed."} if value is None else {"baseline": 1 - 0.1 * replicate}
        amounts = {"epsilon": epsilon, "epsilon_published": epsilon and 2 * epsilon}
        return (
            Planned(cell=rank, settings=(("rank", rank),), replicate=replicate, spec=own),
            record_for(own, value=value, **amounts, **end),
        )

    hopeless = planned(2, 2, None, None)
    runs = [planned(2, 0, 0.5, 2.0), planned(1, 0, 0.7, 3.0), planned(2, 1, 0.7, 4.0), hopeless]
    first, second = points_of(runs)
    shown, table = first.as_dict(), second.as_dict()
    assert (shown["settings"], shown["half_width_95"]) == ({"rank": 1}, None)
    assert shown["against_baseline"] is None
    assert (second.epsilon_published, table["epsilon"], table["failures"]) == (8.0, 4.0, 1)
    assert (table["mean"], table["trivial"]) == pytest.approx((0.6, 0.95))
    assert table["against_baseline"]["mean"] == pytest.approx(-0.35)
    assert table["runs"] == 2
    assert table["half_width_95"] == second.half_width
    (nothing,) = points_of([hopeless])
    assert nothing.as_dict()["mean"] is None


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
    # of recall more is better; nothing finished, nothing said
    low, high = (point([x], 1.0, measure=RECALL) for x in (0.1, 0.3))
    assert frontier([low, point({}, 1.0), high]) == [high]


NOISY, SKEWED = RunSpec.of(mechanism="laplace"), RunSpec.of(dataset="skewed")
CARTOON = RunSpec.of(dataset="cartoon")


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ({}, {"unit": "rating"}),
        ({}, {"nominal": True}),
        ({}, {"measure": TASKS["factorize"].measure}),
        ({}, {"spec": SKEWED}),
        ({}, {"spec": RunSpec.of(n_items=50)}),
        ({}, {"spec": RunSpec.of(n_users=5000)}),
        ({}, {"spec": RunSpec.of(user_share=0.5)}),
        ({"spec": NOISY}, {"spec": NOISY.replace(delta=1e-6)}),
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


def test_a_plan_that_stayed_a_little_below_what_was_asked_is_no_better_trade_off() -> None:
    near, best = point([0.8], 0.9973), point([0.7], 1.0)
    assert frontier([near, best]) == [best]


@pytest.mark.parametrize(
    ("gaps", "power"),
    [
        # crossings: half-way from 1,000 to 10,000 in log; at 1,000; two thirds of the way
        ([{0: 0.3, 1: 0.3, 2: 0.2}, {0: 0.1, 1: 0.0, 2: 0.2}, {0: -0.1, 1: -0.2, 2: -0.1}], 3.5),
        ([{0: 1.0}] * 3, math.inf),
        ([{0: -1.0}] * 3, -math.inf),
        ([{0: -1.0}, {0: 0.5}, {0: -0.5}], 3.5),  # it must stay there
        ([{0: 1.0, 1: 1.0}] * 2 + [{0: 1.0, 1: -1.0}], math.inf),  # half of them never
    ],
)
def test_how_much_data_is_needed(gaps: list[dict[int, float]], power: float) -> None:
    """The median of the repetitions' crossings, as a power of ten."""
    answer = needed(SIZES, gaps)
    assert answer.n == pytest.approx(10.0**power)
    if len(gaps[0]) == 3:
        assert (answer.low, answer.high) == pytest.approx((1000.0, 1000 * 10 ** (2 / 3)))
    for sizes, some in ((SIZES[::-1], gaps), (SIZES, [{}, *gaps[1:]])):
        with pytest.raises(ValueError, match="sizes rise"):
            needed(sizes, some)
