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

from .helpers import by_method, ledger, mixed, release

DELTA = 1e-5


@pytest.mark.parametrize("noise", [Huber(alpha=1.5, scale=2.0), Laplace(scale=2.0)], ids=str)
def test_a_vector_is_composed_as_the_fewest_numbers_that_move_by_its_l1(noise: Mechanism) -> None:
    """Its ℓ2 bound, 1, holds for each of its numbers: three of them make up its ℓ1 bound, 3."""
    vector, number = ledger(noise, 5, 3.0, 1.0, 9), ledger(noise, 15, 1.0)
    epsilons = [0.5, 2.0, 6.0]
    assert pld_profile(vector, epsilons) == pytest.approx(pld_profile(number, epsilons), rel=1e-12)
    by_l2, delta, by_l1 = (
        pld_profile(book, [2.0])[0] for book in (ledger(noise, 5), vector, ledger(noise, 5, 3.0))
    )
    assert 1.5 * by_l2 < delta < by_l1


@pytest.mark.parametrize("count", [1, 6])
def test_a_gaussian_vector_is_composed_by_its_l2(count: int) -> None:
    vector = ledger(Gaussian(scale=2.0), count, 3.0, 1.0, 9)
    assert by_method(vector) == pytest.approx(by_method(ledger(Gaussian(scale=2.0), count)))


def test_published_counts_use_published_results_alone() -> None:
    """Laplace noise on a vector: min(ε, a·ε₂²/2) added up and converted, written out here."""
    laplace, huber = (
        ledger(noise, 30, 1.2, 1.0, 4) for noise in (Laplace(scale=1.0), Huber(alpha=2.0))
    )
    for book, pure, slope in ((laplace, 1.2, 0.5), (huber, 2.4, 2.0)):
        by_hand = compute_epsilon(ORDERS, 30 * np.minimum(pure, ORDERS * slope), DELTA)[0]
        assert by_method(book)["renyi-published"] == pytest.approx(by_hand)
    answers = {a.method: a for a in account(laplace, DELTA)}
    assert not answers["renyi"].published
    assert not answers["pld"].published
    assert answers["renyi"].epsilon < answers["renyi-published"].epsilon
    published = [a.epsilon for a in answers.values() if a.published]
    assert state(laplace, DELTA).epsilon_published == min(published)
    assert zcdp(release(Huber(alpha=2.0), 1, 1.2, 1.0, 4), published=True) == 2.0


def test_a_mixed_ledger_is_sound_only_if_all_of_it_is() -> None:
    sound, assumed = release(Laplace(scale=1.0)), release(Laplace(scale=4.0), 3, sound=False)
    assert not state(Ledger((sound,))).nominal
    mixed = state(Ledger((sound, assumed)))
    assert mixed.nominal
    assert mixed.epsilon_per_draw == 1.0  # the dearest draw
    assert mixed.accounts[0].epsilon == pytest.approx(1.75)


def test_staircase_ledgers_take_the_best_of_what_applies() -> None:
    book = ledger(Staircase(epsilon=0.2, sensitivity=1.0), 100)
    epsilons = by_method(book)
    assert tightest(book, DELTA) == best(account(book, DELTA)).epsilon
    assert tightest(book, DELTA) == epsilons["advanced"] < epsilons["renyi"]
    least = least_noise(book, 2.0, DELTA)
    assert tightest(least, DELTA) <= 2.0
    less = scaled(least.releases[0].mechanism, 0.95)
    assert tightest(ledger(less, 100), DELTA) > 2.0


@pytest.mark.parametrize(
    "book",
    [
        ledger(Huber(alpha=1.5), 1_000_000),
        mixed((Gaussian(scale=1e-6), 1000), (Laplace(scale=100.0), 1000)),
        mixed(*((Huber(alpha=1.5, scale=5 + k), 10) for k in range(40))),
        ledger(Laplace(scale=1e9), 3),
        ledger(Gaussian(scale=1e-9), 3),
    ],
    ids=[
        "a million draws",
        "losses too unlike",
        "forty kinds",
        "next to nothing",
        "next to everything",
    ],
)
def test_ledgers_that_would_take_too_long_are_counted_by_what_is_quick(book: Ledger) -> None:
    answers = account(book, DELTA)
    assert 0 <= best(answers).epsilon < math.inf
    assert tightest(book, DELTA) == pytest.approx(best(answers).epsilon, rel=0.05)


def test_equal_parameters_of_different_noises_are_not_confused() -> None:
    """A cache keyed by parameters alone would take Laplace(10) for Gaussian(10)."""
    laplace, gaussian = release(Laplace(scale=10.0)), release(Gaussian(scale=10.0))
    for computed in (
        lambda release: epsilon_curve(release, (10, 100), DELTA),
        lambda release: variance_curve(release, (10, 100), 1.0, DELTA),
        lambda release: account(Ledger((release,)), DELTA),
    ):
        assert computed(laplace) != computed(gaussian)


@pytest.mark.parametrize("count", [2, 100, 5000])
def test_epsilon_read_from_a_distribution_leaves_room_for_rounding(count: int) -> None:
    """δ at the returned ε, with the allowance for rounding added, is at most the δ that was asked
    for.
    """
    book = ledger(Huber(alpha=1.5, scale=20.0), count)
    delta = 300 * rounding(book)
    assert pld_profile(book, [pld_epsilon(book, delta)])[0] <= delta * (1 + 1e-6)
