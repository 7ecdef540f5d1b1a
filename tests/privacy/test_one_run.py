"""Bounds from one run: against exact sums and a linear programme, and how often they are wrong."""

import math
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import pytest
from scipy import optimize, stats

from dpmc_core.mechanisms import Gaussian
from dpmc_core.privacy import one_run
from dpmc_core.privacy.tradeoff import of_ledger, of_profile

from .helpers import ledger

CONFIGURATIONS = [(6, 6, 6), (6, 6, 4), (9, 5, 5), (10, 7, 4), (10, 10, 9), (10, 10, 1)]


@pytest.mark.parametrize(("canaries", "guesses", "right"), CONFIGURATIONS)
@pytest.mark.parametrize("odds", [1, 3, 20])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6), Fraction(1, 100)])
def test_the_chance_under_epsilon_and_delta_by_exact_sums(
    canaries: int, guesses: int, right: int, odds: int, delta: Fraction
) -> None:
    share = Fraction(odds, odds + 1)
    mass = [
        math.comb(guesses, k) * share**k * (1 - share) ** (guesses - k) for k in range(guesses + 1)
    ]
    failing = sum(mass[right:]) * sum(mass[:right]) / (right * mass[right])
    exact = min(sum(mass[right:]) + canaries * delta * failing, 1)
    chance = one_run.chance_at_most(canaries, guesses, right, math.log(odds), float(delta))
    assert chance == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(("canaries", "guesses"), [(4, 4), (9, 5), (30, 30)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.01), (1.0, 0.0), (1.0, 1e-3), (3.0, 0.2)])
def test_the_chance_is_that_of_the_best_mechanism(
    canaries: int, guesses: int, epsilon: float, delta: float
) -> None:
    """By linear programming. It may be taken to treat all canaries and both answers alike: P[W = w]
    for each w, and by how much right guesses exceed e^ε times wrong ones, and the reverse.
    """
    w, odds = np.arange(1, guesses + 1), math.exp(epsilon)
    right, wrong = (np.zeros((guesses, guesses + 1)) for _ in range(2))
    right[w - 1, w], wrong[w - 1, w - 1] = w / canaries, (guesses - w + 1) / canaries
    beyond, nothing = np.eye(guesses), np.zeros((guesses, guesses))
    curve = of_profile([epsilon], [delta])
    above = np.block(
        [[right - odds * wrong, -beyond, nothing], [wrong - odds * right, nothing, -beyond]]
    )
    all_beyond = np.repeat([0.0, 1.0], [guesses + 1, 2 * guesses])
    for least in range(1, guesses + 1):
        solved = optimize.linprog(
            -np.repeat([0.0, 1.0, 0.0], [least, guesses + 1 - least, 2 * guesses]),
            A_ub=np.vstack([above, all_beyond]),
            b_ub=np.append(np.zeros(2 * guesses), delta),
            A_eq=1 - all_beyond[None],
            b_eq=[1.0],
        )
        assert solved.success
        chance = one_run.chance_at_most(canaries, guesses, least, epsilon, delta)
        assert chance == pytest.approx(-solved.fun, abs=1e-6)
        assert not one_run.excludes(curve.misses, canaries, guesses, least, chance * (1 - 1e-9))


def most_likely(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """The largest P[W ≥ v] that the inequalities of (ε, δ) allow, by linear programming."""
    e = math.exp(epsilon)
    lines = [(e, delta), (1 / e, 1 - (1 - delta) / e), (0.0, 1.0)]
    at = np.arange(r + 1)
    rows = [
        (at >= i) * at / m - slope * (at >= i - 1) * (r - at) / m
        for i in range(1, r + 1)
        for slope, _ in lines
    ]
    solved = optimize.linprog(
        -(at >= v).astype(float),
        A_ub=np.array(rows),
        b_ub=[base for _ in range(r) for _, base in lines],
        A_eq=np.ones((1, r + 1)),
        b_eq=[1.0],
    )
    assert solved.success
    return float(-solved.fun)


@pytest.mark.parametrize(("canaries", "guesses", "right"), CONFIGURATIONS)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.01), (3.0, 0.1)])
def test_the_recursion_solves_the_linear_programme(
    canaries: int, guesses: int, right: int, epsilon: float, delta: float
) -> None:
    most = most_likely(canaries, guesses, right, epsilon, delta)
    curve = of_profile([epsilon], [delta])
    for error in (0.001, 0.05, 0.3, 0.9, most * 0.999, most * 1.001):
        excluded = one_run.excludes(curve.misses, canaries, guesses, right, error)
        assert excluded == (error > most), (error, most)


@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_of_a_thousand_audits_few_are_wrong(
    epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gaussian noise of a known ε; each proof is wrong with probability 0.05 at most, so more wrong
    ones than the limit have probability 1e-4.
    """
    for name in ("epsilon_at_least", "epsilon_if_gaussian"):
        monkeypatch.setattr(one_run, name, lru_cache(getattr(one_run, name)))
    delta, audits, m, error = 1e-5, 1000, 60, 0.05
    sigma = Gaussian.with_epsilon(epsilon, 1.0, delta=delta).scale
    curve = of_ledger(ledger(Gaussian(scale=sigma))).misses
    excluded = lru_cache(partial(one_run.excludes, curve, m, error=error))
    rng = np.random.default_rng([8, int(epsilon)])
    wrong, proved = np.zeros(3), np.zeros(2)
    for _ in range(audits):
        inside = rng.random(m) < 0.5
        scores = inside - 0.5 + sigma * rng.standard_normal(m)
        proofs = one_run.prove(scores, inside, epsilon=epsilon, delta=delta, error=error)
        beaten = excluded(guesses=proofs[1].guesses, right=proofs[1].right)
        wrong += [*(proof.epsilon > epsilon for proof in proofs), beaten]
        proved += [proof.epsilon for proof in proofs]
    assert wrong.max() <= stats.binom.isf(1e-4, audits, error)
    if epsilon == 5:  # they prove something, and both could have been wrong
        assert proved[1] > proved[0] > 0.4 * audits
