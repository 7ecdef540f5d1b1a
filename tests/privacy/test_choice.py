"""A private choice: its chances, its ε on every neighbour, and what the ledger holds."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from dpmc_core.errors import DPMCError
from dpmc_core.privacy import Ledger, account, state
from dpmc_core.privacy.choice import WAYS, chances, choose
from dpmc_core.privacy.distinguish.tradeoff import of_ledger

EPSILON = 0.8


def noisy_max(totals: np.ndarray, epsilon: float) -> np.ndarray:
    """P(each wins), integrated: the winner's noise is above all others'."""
    law = stats.laplace(scale=1 / epsilon)

    def one(c: int) -> float:
        def density(x: float) -> float:
            others = [law.cdf(totals[c] + x - t) for k, t in enumerate(totals) if k != c]
            return float(law.pdf(x) * np.prod(others))

        kinks = sorted({t - totals[c] for t in totals} | {0.0})
        return float(integrate.quad(density, -300, 300, points=kinks, limit=400)[0])

    return np.array([one(c) for c in range(len(totals))])


@pytest.mark.parametrize("way", [chances, noisy_max], ids=list(WAYS))
def test_every_outcome_is_within_epsilon_on_all_neighbours(way: Any) -> None:
    """A row more, at every corner of [0, 1]³ (the worst are corners), and a row of halves."""
    totals = np.array([3.2, 2.9, 1.0])
    before = way(totals, EPSILON)
    assert before.sum() == pytest.approx(1, abs=1e-6)
    worst = 0.0
    for row in [*itertools.product((0.0, 1.0), repeat=3), (0.5, 0.5, 0.5)]:
        after = way(totals + np.array(row), EPSILON)
        worst = max(worst, float(np.abs(np.log(after / before)).max()))
    assert EPSILON / 2 < worst <= EPSILON + 1e-6


@pytest.mark.parametrize("way", WAYS)
def test_choices_follow_their_distribution(way: str) -> None:
    """30,000 choices; a share misses its expectation by 5 standard deviations once in 10⁶."""
    scores = np.array([[1.0, 0.4, 0.0], [0.5, 1.0, 0.0], [1.0, 0.0, 1.0]])
    rng = np.random.default_rng(5)
    made = [choose(scores, EPSILON, way=way, rng=rng)[0] for _ in range(30_000)]
    expected = (chances if way == "exponential" else noisy_max)(scores.sum(axis=0), EPSILON)
    shares = np.bincount(made, minlength=3) / 30_000
    assert np.all(np.abs(shares - expected) < 5 * np.sqrt(expected * (1 - expected) / 30_000))


def test_the_ledger_accounts_for_it_as_randomised_response() -> None:
    _, release = choose([[1, 0]], EPSILON, names=("a", "b"))
    assert release.what == "a choice among a, b"
    assert release.mechanism.epsilon(1.0) == pytest.approx(EPSILON, rel=1e-12)
    for epsilon in (0.1, 0.4, 0.7):  # δ(ε') of randomised response: (e^ε − e^ε')/(1 + e^ε)
        exact = (np.exp(EPSILON) - np.exp(epsilon)) / (1 + np.exp(EPSILON))
        assert release.mechanism.delta(epsilon, 1.0) == pytest.approx(exact, rel=1e-12)
    alarms = np.array([0.05, 0.3, 0.6])
    exact = np.minimum(np.exp(EPSILON) * alarms, 1 - np.exp(-EPSILON) * (1 - alarms))
    assert of_ledger(Ledger((release,))).found(alarms) == pytest.approx(exact, abs=1e-3)
    once, ten = (state(Ledger((release,) * k), 1e-5) for k in (1, 10))
    exact = np.log(np.exp(EPSILON) - 1e-5 * (1 + np.exp(EPSILON)))
    assert once.epsilon == pytest.approx(exact, rel=1e-6)
    assert EPSILON < ten.epsilon < 10 * EPSILON
    assert not ten.nominal
    assert all(a.epsilon >= ten.epsilon for a in account(Ledger((release,) * 10), 1e-5))


def test_secret_choices_differ_and_scores_are_cut() -> None:
    assert {choose([[0, 0]], 1.0)[0] for _ in range(60)} == {0, 1}
    assert chances([1e9, 0], 1.0)[0] == 1.0
    assert choose([[1e9, 0.0]] + [[0, 1]] * 500, 5.0)[0] == 1  # one row is worth at most 1


@pytest.mark.parametrize(
    ("scores", "given", "said"),
    [
        ([[1.0]], {}, "two candidates"),
        ([1.0, 2.0], {}, "a table"),
        ([["a", "b"]], {}, "must be numbers"),
        ([[np.nan, 1]], {}, "finite"),
        ([[1, 0]], {"way": "argmax"}, "one of exponential, noisy-max"),
        ([[1, 0]], {"names": ("a",)}, "one for each of 2"),
        ([[1, 0]], {"epsilon": -1}, "epsilon = -1"),
    ],
)
def test_bad_input_is_one_sentence(scores: object, given: dict[str, object], said: str) -> None:
    with pytest.raises(DPMCError, match=said):
        choose(scores, **{"epsilon": 1.0, **given})  # type: ignore[arg-type]
