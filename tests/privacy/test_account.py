"""Accountants against dp-accounting's own, against direct convolution, and their properties."""

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, LaplaceDpEvent, SelfComposedDpEvent, get_epsilon_gaussian
from dp_accounting.pld import PLDAccountant, accountant, common, privacy_loss_distribution
from dp_accounting.pld.privacy_loss_mechanism import (
    AdditiveNoisePrivacyLoss,
    AdjacencyType,
    ConnectDotsBounds,
    TailPrivacyLossDistribution,
)
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize

from dpmc_core.errors import NotApplicable, ParameterError
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.privacy import Ledger, account, best, least_noise, state
from dpmc_core.privacy.account import (
    METHODS,
    ORDERS,
    best_published,
    gaussian_equivalent,
    release_rdp,
    tightest,
    zcdp,
)
from dpmc_core.privacy.calibrate import scaled
from dpmc_core.privacy.losses.distribution import (
    huber_deltas,
    optimal_composition_epsilon,
    pld_epsilon,
    pld_profile,
    sampled_deltas,
    sampled_epsilons,
)

from .helpers import by_method, ledger, losses_below_and_above, mixed, profile, release
from .test_proofs import profile_of_two

DELTA = 1e-5
FAMILIES: list[Mechanism] = [Huber(alpha=1.5, scale=2.0), Laplace(scale=2.0), Gaussian(scale=2.0)]

every_noise = pytest.mark.parametrize("noise", FAMILIES, ids=str)


# ---- against dp-accounting -----------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize("count", [1, 7, 100])
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-8])
@pytest.mark.parametrize("scale", [0.7, 3.0, 20.0])
def test_gaussian_and_laplace_agree_with_dp_accounting(
    count: int, delta: float, scale: float
) -> None:
    for noise, event in (
        (Gaussian(scale=scale), GaussianDpEvent(scale)),
        (Laplace(scale=scale), LaplaceDpEvent(scale)),
    ):
        ours = by_method(ledger(noise, count), delta)
        step = 1e-4 if count * scale < 50 else 1e-3
        pld, renyi = (
            theirs.compose(SelfComposedDpEvent(event, count)).get_epsilon(delta)
            for theirs in (
                PLDAccountant(value_discretization_interval=step),
                RdpAccountant(list(ORDERS)),
            )
        )
        # both are pessimistic; a step of 1e-4 per release adds at most about step²·count/8 of
        # variance, far below 1e-3
        assert ours["pld"] == pytest.approx(pld, rel=1e-3, abs=1e-4)
        assert ours["renyi"] == pytest.approx(renyi, rel=1e-6)
        assert ours["renyi"] >= ours["pld"] * (1 - 1e-6)
    exact = get_epsilon_gaussian(scale / math.sqrt(count), delta)
    assert by_method(ledger(Gaussian(scale=scale), count), delta)["exact"] == pytest.approx(
        exact, rel=1e-8, abs=1e-9
    )


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
    small, between, large = (
        optimal_composition_epsilon(mixed(*((Laplace(scale=scale), 20) for scale in scales)), DELTA)
        for scales in ((4.0, 4.0), (4.0, 2.0), (2.0, 2.0))
    )
    assert small < between < large


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
    sampled = sampled_epsilons(ledger(noise), rate, deltas)
    assert sampled == pytest.approx(exact, rel=2e-3)
    assert min(np.subtract(sampled, exact)) > -1e-6


@every_noise
def test_samples_of_nearly_all_cost_what_all_data_do(noise: Mechanism) -> None:
    for book in (ledger(noise, 1), ledger(noise, 60)):
        (sampled,) = sampled_epsilons(book, 1 - 1e-9, (DELTA,))
        assert sampled == pytest.approx(tightest(book, DELTA), rel=2e-3)


def test_huber_noise_of_a_large_alpha_is_sampled_as_gaussian_noise_is() -> None:
    rates, deltas = (0.01, 0.3), (1e-8, 1e-5, 1e-2)
    for rate in rates:
        of_huber, of_gaussian = (
            sampled_epsilons(ledger(noise, 300), rate, deltas)
            for noise in (Huber(alpha=20.0, scale=5.0), Gaussian(scale=5.0))
        )
        assert of_huber == pytest.approx(of_gaussian, rel=2e-3)


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


def test_losses_that_no_grid_holds_are_refused() -> None:
    with pytest.raises(NotApplicable, match="beyond 500"):
        sampled_epsilons(ledger(Laplace(scale=1.0), 1, 1000.0), 0.1, (DELTA,))


class HuberPrivacyLoss(AdditiveNoisePrivacyLoss):  # type: ignore[misc]
    """Huber noise in dp-accounting's terms, from its distribution function: δ(ε) and privacy loss
    distributions are then all dp-accounting's own.
    """

    def __init__(
        self, noise: Huber, sensitivity: float, adjacency_type: AdjacencyType = AdjacencyType.REMOVE
    ) -> None:
        self._noise = noise
        super().__init__(
            sensitivity, is_discrete=False, sampling_prob=1.0, adjacency_type=adjacency_type
        )

    def noise_cdf(self, x: Any) -> Any:
        return self._noise.cdf(np.asarray(x, dtype=np.float64))

    def noise_log_cdf(self, x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.log(self.noise_cdf(x))

    def privacy_loss_tail(self) -> TailPrivacyLossDistribution:
        """Beyond the two kinks furthest out the loss is constant, at ±αΔ/s."""
        edge, top = self._noise.alpha * self._noise.scale, self._noise.epsilon(self.sensitivity)
        low = -edge - (0.0 if self.adjacency_type == AdjacencyType.ADD else self.sensitivity)
        high = edge + (self.sensitivity if self.adjacency_type == AdjacencyType.ADD else 0.0)
        masses = {top: float(self.mu_upper_cdf(low)), -top: 1 - float(self.mu_upper_cdf(high))}
        return TailPrivacyLossDistribution(low, high, masses)

    def connect_dots_bounds(self) -> ConnectDotsBounds:
        top = self._noise.epsilon(self.sensitivity)
        return ConnectDotsBounds(epsilon_upper=top, epsilon_lower=-top)

    def _privacy_loss_without_subsampling_remove(self, x: float) -> float:
        return -float(self._noise.privacy_loss(x, self.sensitivity))

    def _inverse_privacy_loss_without_subsampling_remove(self, privacy_loss: float) -> float:
        top = self._noise.epsilon(self.sensitivity)
        if privacy_loss > top or privacy_loss <= -top:
            return -math.copysign(math.inf, privacy_loss)
        edge = self._noise.alpha * self._noise.scale + self.sensitivity
        return float(
            optimize.brentq(
                lambda x: self._privacy_loss_without_subsampling_remove(x) - privacy_loss,
                -edge,
                edge,
                xtol=1e-13,
            )
        )

    @classmethod
    def from_privacy_guarantee(cls, *_: Any, **__: Any) -> "HuberPrivacyLoss":
        raise NotImplementedError


@pytest.mark.parametrize("adjacency", [AdjacencyType.ADD, AdjacencyType.REMOVE])
@pytest.mark.parametrize(
    ("alpha", "scale", "shift"),
    [(1.5, 1.0, 1.0), (0.4, 2.0, 3.0), (3.0, 0.7, 0.2), (1.0, 1.0, 4.0)],
)
def test_delta_of_huber_noise_is_dp_accountings(
    alpha: float, scale: float, shift: float, adjacency: AdjacencyType
) -> None:
    """By its own formula, from the same distribution function, for both signs of ε."""
    noise = Huber(alpha=alpha, scale=scale)
    loss = HuberPrivacyLoss(noise, shift, adjacency)
    top = noise.epsilon(shift)
    for x in np.linspace(-8 * scale, 8 * scale, 33):
        upper, lower = (x, x - shift) if adjacency is AdjacencyType.ADD else (x + shift, x)
        assert loss.privacy_loss(x) == pytest.approx(
            float(noise.logpdf(upper) - noise.logpdf(lower)), abs=1e-12
        )
    eps = np.linspace(0, 1.1 * top, 30)
    assert huber_deltas(noise, shift, eps) == pytest.approx(
        np.asarray(noise.delta(eps, shift)), abs=1e-14
    )
    both = np.linspace(-1.2 * top, 1.2 * top, 41)
    assert huber_deltas(noise, shift, both) == pytest.approx(
        loss.get_delta_for_epsilon(both), abs=1e-12
    )


def test_our_huber_distribution_is_what_dp_accounting_makes_of_the_class() -> None:
    """Its private constructor, both discretisations.

    Connect-the-dots equal to ours, buckets above it.
    """
    noise = Huber(alpha=1.5)
    dots, buckets = (
        privacy_loss_distribution.PrivacyLossDistribution(
            privacy_loss_distribution._create_pld_pmf_from_monotone_privacy_loss(
                HuberPrivacyLoss(noise, 1.0),
                value_discretization_interval=1e-3,
                use_connect_dots=connected,
            )
        )
        for connected in (True, False)
    )
    for epsilon in (0.3, 0.9, 1.4):
        exact = float(noise.delta(epsilon, 1.0))
        assert dots.get_delta_for_epsilon(epsilon) == pytest.approx(exact, rel=1e-6)
        assert exact <= buckets.get_delta_for_epsilon(epsilon) <= exact + 1e-3
    assert pld_epsilon(ledger(noise, 20), DELTA) == pytest.approx(
        dots.self_compose(20).get_epsilon_for_delta(DELTA), rel=1e-5
    )
    assert huber_deltas(noise, 2.0, np.array([noise.epsilon(2.0)])) <= 1e-15


# ---- against direct convolution ------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize(("alpha", "shift"), [(1.5, 1.0), (0.6, 2.5), (3.0, 0.8)])
def test_composed_huber_lies_between_the_bounds_of_direct_convolution(
    alpha: float, shift: float
) -> None:
    noise, step = Huber(alpha=alpha), alpha * shift / 500
    low, high = once = losses_below_and_above(noise, shift, step)
    for count in range(2, 9):
        low, high = (np.convolve(*pair) for pair in zip((low, high), once, strict=True))
        for part in (0.1, 0.4, 0.7, 0.9):
            epsilon = part * count * alpha * shift
            least, most = (profile(masses, step, epsilon) for masses in (low, high))
            delta = pld_profile(ledger(noise, count, shift), [epsilon])[0]
            assert least <= delta <= most + 1e-12
            # the two bounds differ by at most δ's slope times what rounding can move: count steps
            assert most <= least + 2 * count * step


def test_twofold_huber_agrees_with_integration() -> None:
    noise = Huber(alpha=1.5)
    for epsilon in (0.2, 1.0, 2.0, 2.7):
        exact = profile_of_two(noise, 1.0, 1.0, epsilon)
        assert pld_profile(ledger(noise, 2), [epsilon])[0] == pytest.approx(
            exact, rel=1e-6, abs=1e-9
        )


# ---- properties ----------------------------------------------------------------------------------

mechanisms = st.one_of(
    st.builds(Huber, alpha=st.floats(0.05, 8), scale=st.floats(0.5, 30)),
    st.builds(Laplace, scale=st.floats(0.5, 30)),
    st.builds(Gaussian, scale=st.floats(0.5, 30)),
)
# relative: discretisation (at most 5e-4 for 50 steps to a standard deviation) in either of two
# ledgers
SLACK = 1e-3


@settings(max_examples=40)
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


@settings(max_examples=40)
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


@pytest.mark.parametrize("shift", [0.1, 1.0, 5.0])
def test_huber_tends_to_laplace_and_to_gaussian(shift: float) -> None:
    nearly_laplace, laplace, nearly_gaussian, gaussian = (
        release_rdp(release(noise, 1, shift))
        for noise in (
            Huber(alpha=0.01, scale=0.01),
            Laplace(scale=1.0),
            Huber(alpha=20.0),
            Gaussian(scale=1.0),
        )
    )
    # ρ_α(x/s) differs from |x|/b by at most α²/2 = 5e-5 in the exponent: RDP of order a moves by at
    # most 2·(2a−1)/(a−1)·5e-5
    orders = (ORDERS > 1.5) & (ORDERS < 1e4)
    most = 2 * (2 * ORDERS[orders] - 1) / (ORDERS[orders] - 1) * 5e-5 + 1e-12
    assert np.all(np.abs(nearly_laplace - laplace)[orders] <= most)
    # they differ beyond 20 standard deviations only; the tilted Gaussian of order a sits at −(a−1)d
    orders = (ORDERS - 1) * shift < 10
    assert nearly_gaussian[orders] == pytest.approx(gaussian[orders], rel=1e-9)


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


def test_what_rests_on_our_own_proof_says_so() -> None:
    vector, number = ledger(Huber(alpha=2.0), 50, 3.0, 1.0, 9), ledger(Huber(alpha=2.0), 50)
    answers, how = account(vector, DELTA), state(vector, DELTA).how
    assert not best(answers).published
    assert best_published(answers).epsilon > best(answers).epsilon
    assert "not been peer-reviewed" in how
    assert "By published results alone" in how
    assert all(answer.published for answer in account(number, DELTA))
    assert "peer" not in state(number, DELTA).how


def test_gaussian_ledgers_are_one_gaussian() -> None:
    book = mixed((Gaussian(scale=3.0), 5, 2.0), (Gaussian(scale=1.0), 2, 0.5))
    assert 1 / gaussian_equivalent(book).scale ** 2 == pytest.approx(5 * 4 / 9 + 2 * 0.25)
    assert by_method(book)["exact"] == pytest.approx(by_method(book)["pld"], rel=1e-5)
    assert gaussian_equivalent(ledger(Laplace(scale=1.0))) is None


def test_a_mixed_ledger_is_composed_once() -> None:
    book = mixed(
        (Huber(alpha=1.5), 400, 0.3), (Laplace(scale=3.0), 300), (Gaussian(scale=2.0), 300)
    )
    first = account(book, DELTA)
    assert account(book, DELTA) is first  # cached; seconds are in benchmarks/results.md
    assert best(first).method == "pld"


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


def test_least_noise_of_gaussian_is_the_analytic_one() -> None:
    (least,) = least_noise(ledger(Gaussian(scale=1.0), 1, 5.0), 0.7, 1e-6).releases
    exact = Gaussian.with_epsilon(0.7, 5.0, delta=1e-6)
    assert least.mechanism.scale == pytest.approx(exact.scale, rel=2e-6)


# ---- bad input -----------------------------------------------------------------------------------

BAD_DELTAS = (0.0, 1.0, -0.1, math.nan, 1e-20)


@pytest.mark.parametrize(
    ("call", "bounds", "name"),
    [
        *((account, (delta,), "delta") for delta in BAD_DELTAS),
        *((least_noise, (1.0, delta), "delta") for delta in BAD_DELTAS),
        *((least_noise, (bad, DELTA), "epsilon") for bad in (0.0, -1.0, math.inf, math.nan)),
    ],
)
def test_bad_epsilon_and_delta(call: Any, bounds: tuple[float, ...], name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} = "):
        call(ledger(Laplace(scale=1.0)), *bounds)


def test_nothing_released_has_no_account() -> None:
    with pytest.raises(ValueError, match="empty ledger"):
        account(Ledger(), DELTA)
    assert not state(Ledger()).private


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


ORACLES = [
    (case, row)
    for case in json.loads((Path(__file__).parents[1] / "mechanisms" / "oracles.json").read_text())
    if case["mechanism"] == "huber"
    for row in case["delta"]
]


@pytest.mark.parametrize(
    ("case", "row"),
    ORACLES,
    ids=lambda x: f"{x['alpha']:.3g}" if isinstance(x, dict) else f"{x[0]}-{x[1]}",
)
def test_one_huber_release_against_the_oracles(
    case: dict[str, float], row: tuple[float, float, float]
) -> None:
    epsilon, shift, delta = row
    noise = Huber(alpha=case["alpha"], scale=case["scale"])
    book = ledger(noise, 1, shift)
    assert huber_deltas(noise, shift, np.array([epsilon])) == pytest.approx(delta, abs=1e-12)
    assert pld_profile(book, [epsilon])[0] == pytest.approx(delta, rel=1e-5, abs=1e-9)
    if delta > 0:
        assert by_method(book, delta)["exact"] == pytest.approx(epsilon, rel=1e-9)
