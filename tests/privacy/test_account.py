"""Accountants against dp-accounting's own, against direct convolution, and their properties."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, LaplaceDpEvent, SelfComposedDpEvent, get_epsilon_gaussian
from dp_accounting.pld import PLDAccountant, accountant, common
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from dpmc_core.errors import NotApplicable
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.privacy import Ledger, account, best, least_noise
from dpmc_core.privacy.account import (
    METHODS,
    ORDERS,
    best_published,
    choice_epsilon,
    release_rdp,
    tightest,
    zcdp,
)
from dpmc_core.privacy.calibrate import scaled
from dpmc_core.privacy.losses import (
    huber_deltas,
    optimal_composition_epsilon,
    pld_profile,
    sampled_deltas,
    sampled_epsilons,
)

from .helpers import by_method, ledger, losses_below_and_above, mixed, profile, release

DELTA = 1e-5
FAMILIES: list[Mechanism] = [Huber(alpha=1.5, scale=2.0), Laplace(scale=2.0), Gaussian(scale=2.0)]

every_noise = pytest.mark.parametrize("noise", FAMILIES, ids=str)


# ---- against dp-accounting -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "count", "delta"), [(0.7, 1, 1e-3), (3.0, 100, 1e-5), (20.0, 7, 1e-8)]
)
@pytest.mark.parametrize(
    ("family", "event"), [(Gaussian, GaussianDpEvent), (Laplace, LaplaceDpEvent)]
)
def test_gaussian_and_laplace_agree_with_dp_accounting(
    family: Any, event: Any, scale: float, count: int, delta: float
) -> None:
    ours = by_method(ledger(family(scale=scale), count), delta)
    events = SelfComposedDpEvent(event(scale), count)
    pld, renyi = (
        theirs.compose(events).get_epsilon(delta)
        for theirs in (PLDAccountant(), RdpAccountant(list(ORDERS)))
    )
    # both are pessimistic; a step of 1e-4 per release adds at most about step²·count/8 of
    # variance, far below 1e-3
    assert ours["pld"] == pytest.approx(pld, rel=1e-3, abs=1e-4)
    assert ours["renyi"] == pytest.approx(renyi, rel=1e-6)
    assert ours["renyi"] >= ours["pld"] * (1 - 1e-6)
    if family is Gaussian:
        exact = get_epsilon_gaussian(scale / math.sqrt(count), delta)
        assert ours["exact"] == pytest.approx(exact, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("count", [2, 10, 60])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_optimal_composition_agrees_with_the_theorem(count: int, epsilon: float) -> None:
    """dp-accounting's Theorem 3.3 answers on the grid ε(k − 2i).

    Ours is between the right grid point and the one below.
    """
    ours = optimal_composition_epsilon(ledger(Laplace(scale=1 / epsilon), count), DELTA)
    theirs = accountant.advanced_composition(
        common.DifferentialPrivacyParameters(epsilon, 0), count, DELTA
    )
    assert theirs - 2 * epsilon <= ours <= theirs * (1 + 1e-6)


def test_optimal_composition_of_different_releases_is_between_all_small_and_all_large() -> None:
    costs = [
        optimal_composition_epsilon(mixed(*((Laplace(scale=scale), 20) for scale in scales)), DELTA)
        for scales in ((4.0, 4.0), (4.0, 2.0), (2.0, 2.0))
    ]
    assert costs == sorted({*costs})


@every_noise
@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_a_release_of_a_sample_costs_what_balle_barthe_and_gaboardi_say(
    noise: Mechanism, rate: float
) -> None:
    """Their Theorem 8: δ at log(1 + q(e^ε − 1)) is q·δ(ε). Never less, on a grid."""
    deltas = (1e-7, 1e-4, rate / 10)
    exact = [
        math.log1p(rate * math.expm1(noise.epsilon_at_delta(delta / rate, 1.0))) for delta in deltas
    ]
    sampled = sampled_epsilons(ledger(noise, sampling_rate=rate), deltas)
    assert sampled == pytest.approx(exact, rel=2e-3)
    assert min(np.subtract(sampled, exact)) > -1e-6


@every_noise
def test_samples_of_nearly_all_cost_what_all_data_do(noise: Mechanism) -> None:
    for count in (1, 60):
        (sampled,) = sampled_epsilons(ledger(noise, count, sampling_rate=1 - 1e-9), (DELTA,))
        assert sampled == pytest.approx(tightest(ledger(noise, count), DELTA), rel=2e-3)


@pytest.mark.parametrize(
    ("changes", "saves"),
    [
        ({}, True),
        ({"count": 19}, False),
        ({"what": "a number"}, False),
        ({"sampling_rate": 0.2}, False),
        ({"neighbours": "replace-one"}, False),
    ],
)
def test_samples_save_something_only_where_it_is_clear_which_are_the_same(
    changes: dict[str, Any], saves: bool
) -> None:
    alone = release(Gaussian(scale=1.0), 20, sampling_rate=0.1)
    book = Ledger((alone, replace(alone, **{"what": "another", **changes})))
    without = Ledger(tuple(replace(one, sampling_rate=1.0) for one in book.releases))
    share = tightest(book, DELTA) / tightest(without, DELTA)
    assert share < 0.5 if saves else share >= 1


@pytest.mark.parametrize("removed", [True, False])
def test_deltas_of_samples_are_their_integrals(removed: bool) -> None:
    noise, rate = Huber(alpha=1.5, scale=1.0), 0.3
    for epsilon in (-0.5, -0.2, 0.0, 0.05, 0.4, 2.0):

        def above(x: float, epsilon: float = epsilon) -> float:
            without, sample = noise.pdf(x), (1 - rate) * noise.pdf(x) + rate * noise.pdf(x - 1)
            laws = (sample, without) if removed else (without, sample)
            return max(float(laws[0] - math.exp(epsilon) * laws[1]), 0.0)

        pieces = (-40.0, -1.5, -0.5, 0.5, 1.5, 2.5, 40.0)
        integral = sum(integrate.quad(above, a, b, limit=200)[0] for a, b in pairwise(pieces))
        (delta,) = sampled_deltas(noise, 1.0, np.array([epsilon]), rate, removed=removed)
        assert delta == pytest.approx(integral, abs=1e-7)


# ---- against direct convolution, and the mechanism's own profile ---------------------------------


@pytest.mark.parametrize(("alpha", "shift"), [(1.5, 1.0), (0.6, 2.5), (3.0, 0.8)])
def test_composed_huber_lies_between_the_bounds_of_direct_convolution(
    alpha: float, shift: float
) -> None:
    noise, step = Huber(alpha=alpha), alpha * shift / 500
    low, high = losses_below_and_above(noise, shift, step)
    for count in (2, 4, 8):
        low, high = np.convolve(low, low), np.convolve(high, high)
        epsilons = np.array([0.1, 0.4, 0.7, 0.9]) * count * alpha * shift
        deltas = pld_profile(ledger(noise, count, shift), epsilons.tolist())
        for epsilon, delta in zip(epsilons, deltas, strict=True):
            least, most = (profile(masses, step, epsilon) for masses in (low, high))
            assert least <= delta <= most + 1e-12
            # the two bounds differ by at most δ's slope times what rounding can move: count steps
            assert most <= least + 2 * count * step


@pytest.mark.parametrize("shift", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("noise", [Huber(alpha=1.076), Huber(alpha=3.0, scale=0.7)], ids=str)
def test_one_huber_release_is_the_mechanisms_own(noise: Huber, shift: float) -> None:
    book = ledger(noise, 1, shift)
    epsilons = np.array([0.1, 0.5, 0.95]) * noise.epsilon(shift)
    deltas = noise.delta(epsilons, shift)
    assert huber_deltas(noise, shift, epsilons) == pytest.approx(deltas, abs=1e-14)
    assert pld_profile(book, epsilons.tolist()) == pytest.approx(deltas, rel=1e-5, abs=1e-9)
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        assert by_method(book, float(delta))["exact"] == pytest.approx(epsilon, rel=1e-9)


# ---- properties ----------------------------------------------------------------------------------

mechanisms = st.one_of(
    st.builds(Huber, alpha=st.floats(0.05, 8), scale=st.floats(0.5, 30)),
    st.builds(Laplace, scale=st.floats(0.5, 30)),
    st.builds(Gaussian, scale=st.floats(0.5, 30)),
)
# relative: discretisation (at most 5e-4 for 50 steps to a standard deviation) in either of two
# ledgers
SLACK = 1e-3


@settings(max_examples=12)
@given(mechanisms, st.integers(1, 200), st.integers(1, 200), st.floats(0.1, 3), st.floats(1, 3))
def test_epsilon_grows_with_count_and_shift_and_falls_with_noise(
    noise: Mechanism, count: int, more: int, shift: float, factor: float
) -> None:
    usual, oftener, further, noisier = (
        tightest(ledger(*parts), DELTA)
        for parts in (
            (noise, count, shift),
            (noise, count + more, shift),
            (noise, count, shift * factor),
            (scaled(noise, factor), count, shift),
        )
    )
    assert usual <= min(oftener, further) * (1 + SLACK)
    assert noisier <= usual * (1 + SLACK)


@settings(max_examples=12)
@given(mechanisms, mechanisms, st.integers(1, 60), st.floats(0.2, 2), st.integers(1, 9))
def test_every_order_between_methods_holds(
    first: Mechanism, second: Mechanism, count: int, l2: float, many: int
) -> None:
    book = mixed((first, count, l2 * math.sqrt(many), l2, many), (second, 1, l2))
    answers, epsilons = account(book, DELTA), by_method(book)
    assert best(answers).epsilon <= epsilons["pure"]
    assert epsilons["renyi"] <= epsilons["renyi-published"] * (1 + 1e-12)
    assert best(answers).epsilon <= best_published(answers).epsilon
    assert tightest(book, DELTA) == pytest.approx(best(answers).epsilon, rel=SLACK)
    assert 0 <= best(answers).epsilon < math.inf
    assert [a.method for a in answers] == list(METHODS)


@every_noise
def test_rdp_of_a_vector(noise: Mechanism) -> None:
    """With ℓ1 = ℓ2 it is the scalar's.

    With many coordinates never above adding them up one by one, nor below their sum.
    """
    exact, quarter = (
        np.array([noise.rdp(float(a), shift) for a in ORDERS]) for shift in (1.0, 0.25)
    )
    assert release_rdp(release(noise, 1, 1.0, 1.0, 50)) == pytest.approx(exact, rel=1e-12)
    # the shift (¼, …, ¼): ℓ1 = 4, ℓ2 = 1
    bound = release_rdp(release(noise, 1, 4.0, 1.0, 16))
    assert np.all(16 * quarter <= bound * (1 + 1e-9))
    assert zcdp(release(noise)) == pytest.approx(noise.rdp(1.0, 1.0))
    assert zcdp(release(Staircase(epsilon=2.0, sensitivity=1.0))) == 2.0


# ---- the other way -------------------------------------------------------------------------------


@every_noise
@pytest.mark.parametrize(
    ("epsilon", "delta", "count"), [(0.1, 1e-6, 1), (1.0, 1e-5, 50), (8.0, 1e-5, 1000)]
)
def test_least_noise_meets_the_budget_and_no_less_noise_does(
    noise: Mechanism, epsilon: float, delta: float, count: int
) -> None:
    least = least_noise(ledger(noise, count, 2.0), epsilon, delta)
    assert epsilon * (1 - 1e-3) <= tightest(least, delta) <= epsilon
    assert best(account(least, delta)).epsilon <= epsilon
    less = scaled(least.releases[0].mechanism, 0.99)
    assert tightest(ledger(less, count, 2.0), delta) > epsilon
    if isinstance(noise, Gaussian):
        exact = Gaussian.with_epsilon(epsilon, 2.0 * math.sqrt(count), delta=delta)
        assert least.releases[0].mechanism.scale == pytest.approx(exact.scale, rel=2e-6)


# ---- bad input -----------------------------------------------------------------------------------

BAD_DELTAS = (0.0, 1.0, -0.1, math.nan, 1e-20)


LAPLACE = ledger(Laplace(scale=1.0))


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        *((account, (LAPLACE, delta), "^delta = ") for delta in BAD_DELTAS),
        *((least_noise, (LAPLACE, 1.0, delta), "^delta = ") for delta in BAD_DELTAS),
        *(
            (least_noise, (LAPLACE, bad, DELTA), "^epsilon = ")
            for bad in (0.0, -1.0, math.inf, math.nan)
        ),
        (account, (Ledger(), DELTA), "empty ledger"),
        (choice_epsilon, (Ledger(), 0, DELTA), "mean_runs = 0"),
        (
            sampled_epsilons,
            (ledger(Laplace(scale=1.0), 1, 1000.0, sampling_rate=0.1), (DELTA,)),
            "beyond 500",
        ),
    ],
)
def test_refusals(call: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises((ValueError, NotApplicable), match=message):
        call(*arguments)


@every_noise
@pytest.mark.parametrize(
    ("parts", "most"),
    [((1,), 1.001), ((40,), 1.001), ((1000, 0.1), 1.001), ((50, 3.0, 0.5, 49), 1.05)],
)
def test_coarse_counts_are_upper_bounds_and_close(
    noise: Mechanism, parts: tuple[Any, ...], most: float
) -> None:
    book = ledger(noise, *parts)
    fine, rough = tightest(book, DELTA), tightest(book, DELTA, coarse=True)
    assert fine * (1 - 1e-6) <= rough <= fine * most
