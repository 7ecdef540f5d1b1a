"""ε at tiny δ: exact Gaussian answers, bounds by sums that cannot cancel, and dp-accounting."""

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import fft, optimize

from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.ledger import Ledger
from dpmc_core.privacy.losses.distribution import _distribution, pld_epsilon, pld_profile
from dpmc_core.privacy.losses.grid import COARSE, FINE, numbers_of
from dpmc_core.privacy.losses.tilted import _Sum, composed_epsilon
from tests.privacy.helpers import by_method, ledger, losses_below_and_above, mixed, profile, release

TINY = (1e-9, 1e-12, 1e-15)


@pytest.mark.parametrize(
    ("count", "mu", "delta", "slack"),
    [
        *(
            (count, mu, delta, 1e-4)
            for count, mu in ((1, 1.0), (10, 0.3), (100_000, 0.005), (10**6, 0.001))
            for delta in (1e-5, *TINY)
        ),
        # the smallest epsilons are never too small
        *(
            (4, shift / 2, share * shift, 1e-5)
            for shift in (1e-3, 1e-7, 1e-11)
            for share in (0.01, 0.1, 0.3)
        ),
        (1, 40.0, 1e-12, 1e-4),  # losses of hundreds
    ],
)
def test_many_gaussian_draws_are_one(count: int, mu: float, delta: float, slack: float) -> None:
    exact = Gaussian(scale=1.0).epsilon_at_delta(delta, mu * math.sqrt(count))
    ours = composed_epsilon([(Gaussian(scale=1.0), mu, count)], delta, FINE)
    assert exact <= ours <= exact * (1 + slack)


def bounds_of_laplace(shifts: dict[float, int], parts: int, base: float) -> list[np.ndarray]:
    """The masses of the sum of so many Laplace losses (scale 1) of each shift, a multiple of
    ``base``, at −J…J times ``base``/``parts``, J being the sum of all: rounded down and up.

    The two largest losses are on the grid: rounding moves only what lies between, where a draw
    seldom is.
    """
    most = parts * round(sum(shift * count for shift, count in shifts.items()) / base)
    size = fft.next_fast_len(2 * most + 1)
    sums = []
    for side in (0, 1):
        transform = np.ones(size // 2 + 1, dtype=np.complex128)
        for shift, count in shifts.items():
            cells = parts * round(shift / base)
            ends = np.arange(-cells, cells + 1) * shift / cells
            # P(loss ≤ l) = P(x ≤ (l − s)/2) = e^{(l − s)/2}/2 for −s < l < s (x + s/2 = l/2)
            inside = np.exp((ends - shift) / 2) / 2
            inside[-1] = 0.5  # below s, and an atom of ½ at s
            masses = np.zeros(2 * cells + 1)
            masses[side : 2 * cells + side] += np.diff(inside)
            masses[0] += inside[0]
            masses[-1] += 0.5
            places = np.arange(-cells, cells + 1) % size
            folded = np.bincount(places, weights=masses, minlength=size)
            transform *= fft.rfft(folded) ** count
        sums.append(fft.irfft(transform, n=size)[np.arange(-most, most + 1) % size])
    return sums


def epsilon_beside(
    big: Mechanism, shift: float, masses: np.ndarray, step: float, delta: float
) -> float:
    """ε at ``delta`` of ``big`` noise beside losses on −J…J times ``step``: a mixture of its δ."""
    half, often = masses.size // 2, masses > 1e-16  # the rest is rounding of the transforms
    masses, losses = masses[often], (np.arange(-half, half + 1) * step)[often]

    def log_excess(epsilon: float) -> float:
        size = np.abs(epsilon - losses)
        above = np.asarray(big.delta(size, shift))
        spent = np.where(epsilon >= losses, above, -np.expm1(-size) + np.exp(-size) * above)
        return math.log(max(float(masses @ spent), 1e-300) / delta)

    return float(optimize.brentq(log_excess, 1e-9, 100, xtol=1e-10))


def epsilon_of(masses: np.ndarray, step: float, delta: float) -> float:
    """ε at ``delta`` of losses on −J…J times ``step``, by bisection."""
    low, high = 0.0, masses.size // 2 * step
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(masses, step, middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize("noise", [Laplace(scale=2.0), Huber(alpha=1.5, scale=2.0)])
@pytest.mark.parametrize("delta", TINY)
def test_between_sums_of_positive_terms(noise: Mechanism, delta: float) -> None:
    # convolution term by term adds positive numbers only: every mass keeps its digits, however rare
    count, shift, step = 12, 0.8, 3.7e-4
    below, above = losses_below_and_above(noise, shift, step)
    assert below.sum() == pytest.approx(1.0, rel=1e-12)
    assert above.sum() == pytest.approx(1.0, rel=1e-12)
    least, most = (
        epsilon_of(reduce(np.convolve, [once] * count), step, delta) for once in (below, above)
    )
    assert most - least <= count * step * (1 + 1e-9)
    ours = pld_epsilon(ledger(noise, count, shift), delta)
    assert least <= ours <= most


@pytest.mark.parametrize(
    ("big", "shift", "small", "count", "delta", "parts"),
    [
        (Huber(alpha=1.5), 3.81, 1.18e-4, 183_147, 4.4e-8, 4),  # 6.182 on one grid
        (Laplace(scale=1.0), 2.494, 1.92e-3, 10_000, 5e-6, 16),
        (Gaussian(scale=1.0), 0.857, 4.07e-3, 5_000, 4e-7, 16),
        (Huber(alpha=0.7), 2.046, 5.28e-3, 55, 1e-9, 64),
    ],
)
def test_tiny_losses_beside_a_large_one(
    big: Mechanism, shift: float, small: float, count: int, delta: float, parts: int
) -> None:
    bounds = bounds_of_laplace({small: count}, parts, small)
    least, most = (epsilon_beside(big, shift, sums, small / parts, delta) for sums in bounds)
    assert most <= least * (1 + 1e-3)
    book = mixed((big, 1, shift), (Laplace(scale=1.0), count, small))
    for points in (FINE, COARSE):
        assert least * (1 - 1e-9) <= pld_epsilon(book, delta, points) <= most * (1 + 5e-5)
    assert tightest(book, delta) <= min(by_method(book, delta).values())


@pytest.mark.parametrize("kinds", [60, 150])
def test_many_kinds_of_release(kinds: int) -> None:
    """By Rényi divergences ε is 7 % more."""
    base, delta = 1e-3, 1e-5
    shifts = {base * k: 1 + k % 3 for k in range(1, kinds + 1)}
    sums = bounds_of_laplace(shifts, 4, base)
    least, most = (epsilon_of(np.maximum(masses, 0), base / 4, delta) for masses in sums)
    assert most <= least * (1 + 5e-3)
    book = mixed(*((Laplace(scale=1.0), count, shift) for shift, count in shifts.items()))
    assert least <= tightest(book, delta) <= most * (1 + 1e-4)


@settings(deadline=None, max_examples=50)
@given(
    masses=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    first=st.integers(-30, 30),
    step=st.floats(0.01, 2),
    coarser=st.floats(0.3, 7),
    tilt=st.floats(0.1, 20),
)
def test_another_grid_never_tells_less(
    masses: list[float], first: int, step: float, coarser: float, tilt: float
) -> None:
    """δ(ε) at any ε, where the unit is present or absent: both masses stay, and δ is not below."""
    fine = _Sum(np.array(masses), first, step, 0.0)
    again = fine.on(step * coarser, tilt)
    sums = [
        (one.tilted * np.exp(-tilt * (one.losses - first * step)), one.losses)
        for one in (fine, again)
    ]
    for power in (0.0, 1.0):
        totals = [float(p @ np.exp(-power * (at - first * step))) for p, at in sums]
        assert totals[1] == pytest.approx(totals[0], rel=1e-9)
    for epsilon in np.linspace(fine.losses[0] - 1, fine.losses[-1] + 1, 31):
        told = [float(p @ np.maximum(-np.expm1(epsilon - at), 0)) for p, at in sums]
        assert told[1] >= told[0] * (1 - 1e-9) - 1e-300


@pytest.mark.parametrize("delta", [1e-5, 1e-8])
@pytest.mark.parametrize(
    "book",
    [
        ledger(Laplace(scale=10.0), 20),
        ledger(Huber(alpha=1.5, scale=10.0), 200),
        mixed(
            (Huber(alpha=1.5, scale=10.0), 50),
            (Laplace(scale=5.0), 30, 0.3),
            (Gaussian(scale=3.0), 2),
        ),
    ],
    ids=["laplace", "huber", "all three"],
)
def test_as_dp_accounting_where_both_can(book: Ledger, delta: float) -> None:
    theirs = _distribution(book, FINE).get_epsilon_for_delta(delta)
    assert composed_epsilon(numbers_of(book), delta, FINE) == pytest.approx(theirs, rel=3e-6)


def test_smaller_delta_costs_more_and_no_step_shows() -> None:
    # from dp-accounting's sums (δ above 1e-11) to tilted ones
    book = ledger(Huber(alpha=1.5, scale=4.0), 30)
    deltas = np.geomspace(1e-13, 1e-9, 41)
    epsilons = [pld_epsilon(book, float(delta)) for delta in deltas]
    falls = -np.diff(epsilons)
    assert np.all(falls > 0)
    # where the sums change, dp-accounting's reserve is 1 % of δ: .01 of the log of a ratio of .23
    assert np.all(np.abs(falls[1:] / falls[:-1] - 1) < 0.01 / 0.23 * 2)


def test_tiny_delta_is_counted_better_than_by_renyi() -> None:
    book = ledger(Huber(alpha=1.5), 30)
    answers = by_method(book, 1e-14)
    assert answers["pld"] < 0.99 * answers["renyi"]
    assert tightest(book, 1e-14) == min(answers.values())


@pytest.mark.nightly
@pytest.mark.parametrize("delta", [1.1e-11, 1e-10, 1e-9, 1e-5])
@pytest.mark.parametrize("numbers", [10_000, 1_000_000])
def test_the_numbers_of_a_vector_count_for_rounding(numbers: int, delta: float) -> None:
    # Huber noise with α = 20 is Gaussian but for e^{-200}: a vector that moves each of its numbers
    # by Δ has exactly the privacy of one Gaussian number with Δ·√numbers
    each = 1 / math.sqrt(numbers)
    vector = ledger(Huber(alpha=20), 1, numbers * each, 1.0, numbers, linf_sensitivity=each)
    exact = Gaussian(scale=1.0).epsilon_at_delta(delta, 1.0)
    assert exact <= pld_epsilon(vector, delta) <= exact * (1 + 1e-3)
    for epsilon in (1.0, 6.0, 7.0):
        delta_there = pld_profile(vector, [epsilon])[0]
        assert float(Gaussian(scale=1.0).delta(epsilon, 1.0)) <= delta_there <= 1


@pytest.mark.parametrize("rest", [-1e-9, -1e-12, 0.0, 1e-12, 0.9e-9])
def test_the_worst_movement_leaves_nothing_out(rest: float) -> None:
    vector = release(Huber(alpha=1.5), 1, 3 * (1 + rest), 2.0, 100, linf_sensitivity=1.0)
    parts = vector.most_uneven
    assert sum(shift * number for shift, number in parts) >= 3 * (1 + rest) * (1 - 1e-15)
    assert all(shift <= 1 + 1e-9 for shift, _ in parts)


def test_losses_of_hundreds_warn_of_nothing() -> None:
    book = ledger(Huber(alpha=20, scale=1.0), 8, 34.0)  # warnings are errors in tests
    assert 0.5 * 8 * 20 * 34.0 < pld_epsilon(book, 1e-12) <= 8 * 20 * 34.0


def test_losses_that_no_grid_holds_leave_the_other_methods() -> None:
    book = mixed((Laplace(scale=1e-3),), (Huber(scale=1e4, alpha=1.5), 10))
    assert math.isfinite(tightest(book, 1e-13))


def test_losses_that_are_all_one_number_are_added_up_too() -> None:
    """A window of a single cell: Laplace noise far smaller than what moves is no protection."""
    for mechanism in (Laplace(scale=1.0), Gaussian(scale=1.0)):
        answers = by_method(ledger(mechanism, 1_000_000, l1=1e12, coordinates=20))
        assert min(answers.values()) > 1e9
