"""Vectors, mixed ledgers, what is published, and ledgers that would take too long."""

import math

import numpy as np
import pytest
from dp_accounting.rdp import compute_epsilon

from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.privacy import Ledger, account, best, least_noise, state
from dpmc_core.privacy.account import ORDERS, tightest, zcdp
from dpmc_core.privacy.calibrate import scaled
from dpmc_core.privacy.compare import epsilon_curve, variance_curve
from dpmc_core.privacy.losses import pld_epsilon, pld_profile, rounding
from dpmc_core.privacy.tradeoff import of_ledger

from .helpers import by_method, ledger, mixed, release

DELTA = 1e-5
UNIT: list[Mechanism] = [Laplace(scale=1.0), Gaussian(scale=1.0)]


def test_gaussian_releases_are_one_number_that_moves_by_their_l2() -> None:
    """√(6·2²/3² + 2·½²) standard deviations."""
    book = mixed((Gaussian(scale=3.0), 6, 5.0, 2.0, 9), (Gaussian(scale=1.0), 2, 0.5))
    mu, curve = math.sqrt(6 * 4 / 9 + 2 * 0.25), of_ledger(book)
    assert (curve.mu, curve.exact) == (pytest.approx(mu, rel=1e-14), True)
    answers = by_method(book)
    assert answers == pytest.approx(by_method(ledger(Gaussian(scale=1.0), 1, mu)), rel=1e-5)
    assert answers["exact"] == pytest.approx(answers["pld"], rel=1e-5)


@pytest.mark.parametrize(
    ("noise", "pure", "slope"), [(Laplace(scale=1.0), 1.2, 0.5), (Huber(alpha=2.0), 2.4, 2.0)]
)
def test_published_counts_use_published_results_alone(
    noise: Mechanism, pure: float, slope: float
) -> None:
    """Of a vector min(ε, a·ε₂²/2) added up and converted, written out here; and what rests on our
    own proof says so.
    """
    book = ledger(noise, 30, 1.2, 1.0, 4)
    by_hand = compute_epsilon(ORDERS, 30 * np.minimum(pure, ORDERS * slope), DELTA)[0]
    assert by_method(book)["renyi-published"] == pytest.approx(by_hand)
    assert zcdp(book.releases[0], published=True) == slope
    answers = {a.method: a for a in account(book, DELTA)}
    assert {name for name, a in answers.items() if not a.published} == {"renyi", "pld"}
    assert answers["renyi"].epsilon < answers["renyi-published"].epsilon
    statement = state(book, DELTA)
    published = min(a.epsilon for a in answers.values() if a.published)
    assert statement.epsilon_published == published > statement.epsilon
    assert "not been peer-reviewed" in statement.how
    assert "By published results alone" in statement.how
    number = state(ledger(noise, 30), DELTA)
    assert all(answer.published for answer in number.accounts)
    assert "peer" not in number.how


def test_staircase_ledgers_take_the_best_of_what_applies() -> None:
    book = ledger(Staircase(epsilon=0.2, sensitivity=1.0), 100)
    epsilons = by_method(book)
    assert tightest(book, DELTA) == best(account(book, DELTA)).epsilon
    assert tightest(book, DELTA) == epsilons["advanced"] < epsilons["renyi"]
    least = least_noise(book, 2.0, DELTA)
    assert tightest(least, DELTA) <= 2.0
    less = scaled(least.releases[0].mechanism, 0.95)
    assert tightest(ledger(less, 100), DELTA) > 2.0


@pytest.mark.parametrize("noise", [Laplace(scale=10.0), Gaussian(scale=10.0)], ids=str)
def test_curves_answer_each_other(noise: Mechanism) -> None:
    counts = (10, 100)
    (epsilon, _), (variance, _) = (
        epsilon_curve(release(noise), counts, DELTA),
        variance_curve(release(noise), counts, 1.0, DELTA),
    )
    assert epsilon == pytest.approx(tightest(ledger(noise, 10), DELTA), rel=1e-3)
    least = scaled(noise, math.sqrt(variance / noise.variance))
    assert tightest(ledger(least, 10), DELTA) == pytest.approx(1.0, rel=3e-3)


@pytest.mark.parametrize("count", [2, 100, 5000])
def test_epsilon_read_from_a_distribution_leaves_room_for_rounding(count: int) -> None:
    """δ at the returned ε, with the allowance for rounding added, is at most the δ that was asked
    for.
    """
    book = ledger(Huber(alpha=1.5, scale=20.0), count)
    delta = 300 * rounding(book)
    assert pld_profile(book, [pld_epsilon(book, delta)])[0] <= delta * (1 + 1e-6)


@pytest.mark.parametrize(
    ("book", "delta", "least"),
    [
        (ledger(Huber(alpha=1.5), 1_000_000), DELTA, 0.0),
        (mixed((Gaussian(scale=1e-6), 1000), (Laplace(scale=100.0), 1000)), DELTA, 0.0),
        (mixed(*((Huber(alpha=1.5, scale=5 + k), 10) for k in range(40))), DELTA, 0.0),
        (ledger(Laplace(scale=1e9), 3), DELTA, 0.0),
        (ledger(Gaussian(scale=1e-9), 3), DELTA, 0.0),
        (mixed((Laplace(scale=1e-3),), (Huber(scale=1e4, alpha=1.5), 10)), 1e-13, 0.0),
        (ledger(Huber(alpha=1.5), 30), 1e-14, 0.0),
        (ledger(Staircase(epsilon=1.0, sensitivity=1.0), 3, sampling_rate=0.5), DELTA, 0.0),
        (ledger(Huber(alpha=20.0), 8, 34.0), 1e-12, 0.5 * 8 * 20 * 34),
        # a window of a single cell
        *((ledger(noise, 10**6, l1=1e12, coordinates=20), DELTA, 1e9) for noise in UNIT),
    ],
    ids=[
        "a million draws",
        "losses too unlike",
        "forty kinds",
        "next to nothing",
        "next to everything",
        "losses that no grid holds",
        "tiny delta",
        "samples without a distribution",
        "losses of hundreds",
        "losses that are all one number",
        "and of Gaussian noise",
    ],
)
def test_ledgers_that_would_take_too_long_are_counted_by_what_is_quick(
    book: Ledger, delta: float, least: float
) -> None:
    epsilon = best(account(book, delta)).epsilon  # warnings are errors in tests
    assert least <= epsilon < math.inf
    assert tightest(book, delta) == pytest.approx(epsilon, rel=0.05)
