"""Accountants against dp-accounting's own, against direct convolution, and their properties.

Vectors, what is published, and ledgers that would take too long.
"""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, LaplaceDpEvent, SelfComposedDpEvent, get_epsilon_gaussian
from dp_accounting.pld import PLDAccountant, accountant, common
from dp_accounting.rdp import RdpAccountant, compute_epsilon
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from dpmc_core.errors import NotApplicable
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.privacy import Ledger, account, best, least_noise, state
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
from dpmc_core.privacy.compare import epsilon_curve, variance_curve
from dpmc_core.privacy.losses import (
    huber_deltas,
    optimal_composition_epsilon,
    pld_epsilon,
    pld_profile,
    rounding,
    sampled_deltas,
    sampled_epsilons,
)
from dpmc_core.privacy.statement import group_epsilon
from dpmc_core.privacy.tradeoff import of_ledger

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
    ("noise", "changes", "saves"),
    [
        (FAMILIES[2], {}, True),
        *((noise, {}, False) for noise in FAMILIES[:2]),
        *(
            (FAMILIES[2], changes, False)
            for changes in (
                {"count": 19},
                {"what": "a number"},
                {"sampling_rate": 0.2},
                {"neighbours": "replace-one"},
            )
        ),
    ],
)
def test_samples_save_something_only_where_it_is_clear_which_are_the_same(
    noise: Mechanism, changes: dict[str, Any], saves: bool
) -> None:
    """Of Gaussian noise."""
    alone = release(noise, 20, sampling_rate=0.1)
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


# ---- vectors, and what is published --------------------------------------------------------------


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


@dataclass(frozen=True)
class Unproved(Mechanism):
    """Laplace's distribution under a name for which nobody proved anything about vectors."""

    scale: float
    name = "unproved"
    title = "Unproved"
    # no more than what every mechanism must have
    _logpdf, _cdf, _ppf, _draw = Laplace._logpdf, Laplace._cdf, Laplace._ppf, Laplace._draw
    _variance, _information = Laplace._variance, Laplace._information
    _epsilon, _delta, _rdp = Laplace._epsilon, Laplace._delta, Laplace._rdp


def test_vectors_without_a_theorem_cost_their_pure_epsilon() -> None:
    """The same distribution with its theorem costs much less: only the theorem allows that."""
    unproved, laplace = (
        release(noise, 1, 2.0, 0.5, 30) for noise in (Unproved(4.0), Laplace(scale=4.0))
    )
    for options in ({}, {"coarse": True}, {"published": True}):
        bound = release_rdp(unproved, **options)
        assert bound == pytest.approx(np.minimum(0.5, ORDERS * 0.5**2 / 2))
    for published in (False, True):
        assert zcdp(unproved, published=published) == 0.5**2 / 2
    assert zcdp(laplace) < 0.5**2 / 8
    assert all(answer.published for answer in account(Ledger((unproved,)), 1e-5))
    epsilon = tightest(Ledger((unproved,)), 1e-5)
    assert epsilon == pytest.approx(0.5, rel=0.1)
    assert tightest(Ledger((laplace,)), 1e-5) < epsilon


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


def test_staircase_ledgers_take_the_best_of_what_applies() -> None:
    book = ledger(Staircase(epsilon=0.2, sensitivity=1.0), 100)
    epsilons = by_method(book)
    assert tightest(book, DELTA) == best(account(book, DELTA)).epsilon
    assert tightest(book, DELTA) == epsilons["advanced"] < epsilons["renyi"]
    least = least_noise(book, 2.0, DELTA)
    assert tightest(least, DELTA) <= 2.0
    less = scaled(least.releases[0].mechanism, 0.95)
    assert tightest(ledger(less, 100), DELTA) > 2.0


TWO = Laplace(scale=2.0)


@pytest.mark.parametrize(
    ("book", "size", "moved"),
    [
        (ledger(Gaussian(scale=0.9)), 10, ledger(Gaussian(scale=0.9), 1, 10.0)),
        (ledger(TWO, 3), 4, ledger(TWO, 3, 4.0)),
        # of several that change together one is in a sample more often than each
        (ledger(TWO, 3, sampling_rate=0.5), 4, ledger(TWO, 3, 4.0)),
        (
            ledger(TWO, 2, 20.0, 5.0, 100, linf_sensitivity=1.0),
            3,
            ledger(TWO, 2, 60.0, 15.0, 100, linf_sensitivity=3.0),
        ),
    ],
    ids=["one number", "three releases", "samples", "a bound on single numbers"],
)
def test_a_group_costs_what_as_many_times_the_movement_does(
    book: Ledger, size: int, moved: Ledger
) -> None:
    assert group_epsilon(book, size, DELTA) == tightest(moved, DELTA)


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


UNIT: list[Mechanism] = [Laplace(scale=1.0), Gaussian(scale=1.0)]


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
