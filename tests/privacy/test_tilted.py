"""ε at tiny δ: exact Gaussian answers, bounds by sums that cannot cancel, and dp-accounting."""

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism
from dpmc_core.privacy.account import tightest
from dpmc_core.privacy.ledger import Ledger
from dpmc_core.privacy.losses import (
    COARSE,
    FINE,
    _distribution,
    _Sum,
    composed_epsilon,
    numbers_of,
    pld_epsilon,
    pld_profile,
)
from tests.privacy.helpers import (
    by_method,
    ledger,
    losses_below_and_above,
    mixed,
    profile,
    release,
    sums_below_and_above,
)

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


def epsilon_of(masses: np.ndarray, step: float, delta: float) -> float:
    """ε at ``delta`` of losses on −J…J times ``step``."""

    def log_excess(epsilon: float) -> float:
        return math.log(max(profile(masses, step, epsilon), 1e-300) / delta)

    return float(optimize.brentq(log_excess, 0.0, masses.size // 2 * step, xtol=1e-13))


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


UNIT = Laplace(scale=1.0)
UNLIKE: dict[str, tuple[float, float, list[tuple[Mechanism, float, int]]]] = {
    # 6.182 on one grid
    "Huber": (4.4e-8, 1.18e-4 / 4, [(Huber(alpha=1.5), 3.81, 1), (UNIT, 1.18e-4, 183_147)]),
    "Laplace": (5e-6, 1.92e-3 / 16, [(UNIT, 2.494, 1), (UNIT, 1.92e-3, 10_000)]),
    "Gaussian but for e⁻²⁰⁰": (
        4e-7,
        4.07e-3 / 16,
        [(Huber(alpha=20.0), 0.857, 1), (UNIT, 4.07e-3, 5_000)],
    ),
    "few": (1e-9, 5.28e-3 / 64, [(Huber(alpha=0.7), 2.046, 1), (UNIT, 5.28e-3, 55)]),
    # by Rényi divergences ε is 7 % more
    **{
        f"{kinds} kinds": (1e-5, 1e-3 / 4, [(UNIT, 1e-3 * k, 1 + k % 3) for k in range(1, kinds)])
        for kinds in (61, 151)
    },
}


@pytest.mark.parametrize("case", UNLIKE)
def test_losses_unlike_each_other(case: str) -> None:
    delta, step, numbers = UNLIKE[case]
    # what is below is rounding of the transforms
    sums = [np.where(masses > 1e-16, masses, 0) for masses in sums_below_and_above(numbers, step)]
    least, most = (epsilon_of(masses, step, delta) for masses in sums)
    assert most <= least * (1 + (5e-3 if "kinds" in case else 1e-3))
    book = mixed(*((noise, count, shift) for noise, shift, count in numbers))
    for points in (FINE, COARSE):
        assert least * (1 - 1e-9) <= pld_epsilon(book, delta, points) <= most * (1 + 1e-4)
    assert tightest(book, delta) <= min(by_method(book, delta).values())


@settings(max_examples=50)
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
        deltas = [float(p @ np.maximum(-np.expm1(epsilon - at), 0)) for p, at in sums]
        assert deltas[1] >= deltas[0] * (1 - 1e-9) - 1e-300


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
    assert release(Huber(alpha=1.5), 1, 3.0, 1.0, 9).most_uneven == ((1.0, 3),)  # by its ℓ2 bound
