"""The attack's statistics.

Bounds that hold, rules chosen on other data, and what it can and cannot prove.
"""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpmc_core.errors import DPMCError
from dpmc_core.mechanisms import Laplace
from dpmc_core.privacy import attack as attack_module
from dpmc_core.privacy.attack import (
    Bound,
    Event,
    attack,
    choose,
    clopper_pearson,
    linear_scores,
    proved,
    proves_at_most,
)
from dpmc_core.privacy.tradeoff import of_mechanism

UNIT = Laplace(scale=1.0)
GOOD = np.zeros(100)


def lower_bound(*outputs: np.ndarray, **options: float) -> Bound:
    return attack(*outputs, **options).bound


def both(
    noise: Laplace, runs: int, rng: np.random.Generator, moved: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Outputs with somebody, who moves them, and without."""
    return moved + np.asarray(noise.sample(runs, rng)), np.asarray(noise.sample(runs, rng))


@pytest.mark.parametrize("runs", [10, 333])
@pytest.mark.parametrize("error", [0.0005, 0.05])
def test_clopper_pearson_is_scipys(runs: int, error: float) -> None:
    for hits in {0, 1, runs // 3, runs - 1, runs}:
        bounds = clopper_pearson(hits, runs, error)
        for pick, side in enumerate(("greater", "less")):
            test = stats.binomtest(hits, runs, alternative=side)
            interval = test.proportion_ci(1 - error, "exact")
            assert float(bounds[pick]) == pytest.approx(interval[pick], abs=1e-10)


def of_randomised_response(rng: np.random.Generator) -> bool:
    """A bound above the ε that is known."""
    p = math.e / (1 + math.e)
    outputs = ((rng.random(400) < chance).astype(float) for chance in (p, 1 - p))
    return lower_bound(*outputs, confidence=0.8).epsilon > 1.0


def of_rare_events(rng: np.random.Generator) -> bool:
    """Both tails of Laplace noise of scale 1 are exactly e times likelier on their own side."""
    inside, outside = both(UNIT, 4000, rng)
    return proved(Event(3.0, True, True, -2.0), (inside, outside), 0.0, 0.2)[0] > 1.0


def of_accuracy(rng: np.random.Generator) -> bool:
    """The chosen rule is at best the best one: only the lower end can be too high for it."""
    bound = lower_bound(*both(UNIT, 2000, rng), confidence=0.8)
    return bound.accuracy_low > UNIT.best_guess(1.0)


@pytest.mark.parametrize(
    ("wrong", "runs", "most"),
    [(of_randomised_response, 600, 0.2), (of_rare_events, 600, 0.2), (of_accuracy, 200, 0.1)],
)
def test_bounds_are_wrong_as_seldom_as_they_say(wrong: Any, runs: int, most: float) -> None:
    rng = np.random.default_rng(5)
    over = sum(wrong(rng) for _ in range(runs))
    # binomial with p ≤ ``most``: four standard deviations above its mean
    assert over <= runs * most + 4 * math.sqrt(runs * most * (1 - most))
    assert over > 0  # and the bound is not idle


def test_rule_and_weights_are_chosen_on_outputs_that_are_not_counted() -> None:
    """Two equal datasets prove nothing, though the outputs that choose are rigged to look
    separable, or more numbers than outputs separate whatever they are fitted on.
    """
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(size=(2, 4000))
    inside[:2000] += 10
    assert lower_bound(inside, outside).epsilon == 0.0
    bound = lower_bound(*rng.normal(size=(2, 400, 500)), confidence=0.95)
    assert bound.epsilon == 0.0
    # chance ± five standard deviations of the mean of two rates over 200 outputs each
    assert abs(bound.accuracy - 0.5) < 5 * 0.5 / math.sqrt(400)
    assert bound.accuracy_low < 0.5 < bound.accuracy_high


def test_perfect_separation_proves_what_the_counts_allow() -> None:
    bound = lower_bound(np.ones(2000), np.zeros(2000), confidence=0.95)
    assert bound.epsilon == pytest.approx(proves_at_most(1000, 0.95))
    assert (bound.hits_likely, bound.hits_unlikely, bound.accuracy) == (1000, 0, 1.0)
    assert bound.accuracy_low < 1 == bound.accuracy_high


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_either_direction_is_found(sign: float) -> None:
    noise = Laplace(scale=0.5)
    result = attack(*both(noise, 40_000, np.random.default_rng(3), sign))
    assert 1.8 < result.bound.epsilon <= 2.0
    assert result.bound.accuracy == pytest.approx(noise.best_guess(1.0), abs=0.02)
    assert result.scores_in.size == 32_000  # a fifth chooses the threshold


def test_delta_is_taken_off() -> None:
    inside = (np.random.default_rng(1).random(100_000) < 0.01).astype(float)
    without, with_delta = (
        lower_bound(inside, np.zeros(100_000), delta=delta).epsilon for delta in (0.0, 0.02)
    )
    assert without > 3
    assert with_delta == 0.0


def test_a_linear_score_finds_the_direction_among_many_numbers() -> None:
    rng = np.random.default_rng(2)
    direction, variances = rng.normal(size=60), rng.uniform(0.1, 9, 60)
    inside, outside = (
        middle + np.sqrt(variances) * rng.normal(size=(3000, 60))
        for middle in (direction, np.zeros(60))
    )
    weights, best = linear_scores(inside, outside), direction / variances
    assert weights @ best / np.linalg.norm(weights) / np.linalg.norm(best) > 0.95
    assert np.all(linear_scores(np.ones((9, 3)), np.zeros((9, 3))) == 1)  # no noise at all


@pytest.mark.parametrize("width", [1, 3])
def test_events_are_chosen_on_outputs_that_are_not_counted(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def recorded(chosen: Any, counted: Any, worth: Any) -> Any:
        seen.append((chosen, counted))
        return choose(chosen, counted, worth)

    monkeypatch.setattr(attack_module, "choose", recorded)
    inside, outside = np.random.default_rng(3).normal(size=(2, 300, width))
    attack(inside, outside, claim=of_mechanism(UNIT, 1.0))
    assert len(seen) >= 2
    for chosen, counted in seen:
        for first, second, outputs in zip(chosen, counted, (inside, outside), strict=True):
            assert first.size + second.size <= len(outputs)
            assert not np.isin(first, second).any()
            if width == 1:
                assert np.array_equal(np.concatenate([first, second]), outputs[:, 0])


def test_a_claim_beside_has_half_of_the_error() -> None:
    outputs = both(UNIT, 4000, np.random.default_rng(4))
    beside = attack(*outputs, confidence=0.98, claim=of_mechanism(UNIT, 1.0))
    assert beside.bound.epsilon == lower_bound(*outputs, confidence=0.99).epsilon
    hits, runs = beside.test.hits_likely, beside.test.runs_likely
    exact = stats.beta.ppf(0.005, hits, runs - hits + 1)
    assert beside.test.found == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("inside", "outside", "options", "message"),
    [
        (GOOD[:4], GOOD, {}, "at least 8"),
        (np.zeros((50, 2)), np.zeros((50, 3)), {}, "one length"),
        (np.full(100, math.nan), GOOD, {}, "not finite"),
        (GOOD, GOOD, {"delta": 1.0}, "delta"),
        (GOOD, GOOD, {"confidence": 1.0}, "confidence"),
    ],
)
def test_refusals(inside: Any, outside: Any, options: dict[str, float], message: str) -> None:
    with pytest.raises(DPMCError, match=message):
        attack(inside, outside, **options)
