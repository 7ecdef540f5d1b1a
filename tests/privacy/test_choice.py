"""The best of a random number of private runs: bounds against every probability, enumerated."""

import math

import numpy as np
import pytest
from dp_accounting.rdp import compute_epsilon

from dpmc_core.mechanisms import Gaussian, Laplace, Mechanism
from dpmc_core.privacy import Ledger, account
from dpmc_core.privacy.account import ORDERS, choice_epsilon, choice_rdp, release_rdp, tightest
from dpmc_core.privacy.tradeoff import of_ledger
from tests.privacy.helpers import ledger, release
from tests.terminal import Terminal

EPSILON = 0.5
TIMES = math.exp(EPSILON)
# what a run of neighbours releases, rising in its score: randomised response, and one whose middle
# answer is rare
PAIRS = {
    "randomised response": np.array([[TIMES, 1.0], [1.0, TIMES]]) / (1 + TIMES),
    "rare middle": np.array(
        [[0.8 - TIMES * 1e-6, TIMES * 1e-6, 0.2], [1 - 0.2 * TIMES - 1e-6, 1e-6, 0.2 * TIMES]]
    ),
}


def chosen(masses: np.ndarray, mean_runs: float) -> np.ndarray:
    """The distribution of the best of K runs: E F^K at each answer, less that below it."""
    runs = np.arange(1, 200_000)
    law = (1 - 1 / mean_runs) ** (runs - 1) / mean_runs
    at_most = [float(law @ min(f, 1.0) ** runs) for f in np.cumsum(masses)]
    return np.diff([0.0, *at_most])


def divergences(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """D_a of p from q at orders up to 30."""
    orders = ORDERS[(ORDERS > 1.01) & (ORDERS < 30)]
    return np.array([math.log(np.sum(p**a * q ** (1 - a))) / (a - 1) for a in orders])


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("mean_runs", [1.0, 3.0, 1000.0])
def test_no_choice_is_worse_than_its_bounds(pair: np.ndarray, mean_runs: float) -> None:
    assert np.abs(np.log(pair[0] / pair[1])).max() == pytest.approx(EPSILON)
    first, second = (chosen(masses, mean_runs) for masses in pair)
    assert np.abs(np.log(first / second)).max() <= 3 * EPSILON
    inside = (ORDERS > 1.01) & (ORDERS < 30)
    for p, q, a, b in ((*pair, first, second), (*pair[::-1], second, first)):
        one = np.full_like(ORDERS, EPSILON)  # above order 30 the pure ε
        one[inside] = np.maximum(divergences(p, q), divergences(q, p))
        one[ORDERS <= 1.01] = one[inside][0]
        assert np.all(divergences(a, b) <= choice_rdp(one, mean_runs)[inside] + 1e-12)


def test_the_best_costs_more_than_one_run_and_less_than_all() -> None:
    pure = ledger(Laplace(scale=1.0), 1, 1.0)
    assert choice_epsilon(pure, 1e5, 1e-12) == pytest.approx(3.0)
    one = ledger(Gaussian(scale=20.0), 10, 1.0)
    costs = [choice_epsilon(one, runs, 1e-5) for runs in (1, 2, 10, 100)]
    assert costs == sorted(costs)
    assert costs[0] >= tightest(one, 1e-5)
    assert costs[-1] < tightest(ledger(Gaussian(scale=20.0), 1000, 1.0), 1e-5)
    may_fail = ledger(Laplace(scale=1.0), failure=1e-6)
    assert choice_epsilon(may_fail, 3.0, 1e-5) == math.inf


@pytest.mark.parametrize(
    "noise", [Gaussian(scale=4.0), Laplace(scale=2.0)], ids=["gaussian", "laplace"]
)
def test_a_chosen_ledger_is_no_better_than_said(noise: Mechanism) -> None:
    """The best of K numbers, enumerated in intervals: δ at the ε that is said is below δ."""
    cuts = np.linspace(-40, 40, 4001)
    for runs in (2.0, 10.0):
        book, gamma = ledger(noise, mean_runs=runs), 1 / runs
        sides = [
            np.diff(gamma * below / (1 - (1 - gamma) * below), prepend=0.0, append=1.0)
            for below in (noise.cdf(cuts), noise.cdf(cuts - 1.0))
        ]
        for delta in (1e-5, 1e-2):
            epsilon = tightest(book, delta)
            assert epsilon == min(answer.epsilon for answer in account(book, delta))
            for p, q in (sides, sides[::-1]):
                assert np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)) <= delta
            curve = of_ledger(book).misses(np.array([0.05]))
            assert curve <= of_ledger(ledger(noise)).misses(np.array([0.05]))
        assert choice_epsilon(book, 2.0, 1e-5) == math.inf  # no choice among choices


def test_the_command_counts_a_choice(terminal: Terminal) -> None:
    line = "account gaussian --scale 20 --count 10 --best-of 10"
    result = terminal.json(line)
    expected = choice_epsilon(ledger(Gaussian(scale=20.0), 10, 1.0), 10, 1e-5)
    assert result["choice"] == {"mean_runs": 10, "epsilon": pytest.approx(expected)}
    assert (
        "best of 10 such runs on average, by a score that is among the releases: nominal ε = "
        in terminal.output(line)
    )


def test_two_choices_in_one_ledger_cost_at_least_what_both_do() -> None:
    """As somebody joins two exported ledgers; ones that are alike too."""
    first = release(Laplace(scale=8.0), kind="score", mean_runs=3.0)
    other = release(Laplace(scale=9.0), what="another", mean_runs=3.0)
    orders = [tightest(Ledger((first, other) * times), 1e-5) for times in (1, 2)]
    rdp = release_rdp(first) + release_rdp(other)
    both = compute_epsilon(ORDERS, 2 * choice_rdp(rdp, 3.0), 1e-5)[0]
    assert orders[0] < both <= orders[1] + 1e-9
    assert np.all(2 * choice_rdp(rdp, 3.0) <= choice_rdp(2 * rdp, 3.0, 2) + 1e-12)
