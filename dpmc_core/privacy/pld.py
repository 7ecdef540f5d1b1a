"""Privacy loss distributions, through Google's dp-accounting.

Lives here: Huber noise as a privacy loss that dp-accounting understands, the distribution of a
ledger, and the ε or δ read from it. Does not live here: convolution, discretisation and conversion,
which are dp-accounting's; choosing between methods (``account``). Import this module only where it
is needed: dp-accounting takes two seconds to import.

A vector with Gaussian noise on each coordinate is represented by one number with sensitivity Δ₂, a
vector with Laplace or Huber noise by the most uneven movement within its ℓ1 and ℓ∞ sensitivities
(``Release.most_uneven``): that bounds the vector (docs/huber-composition.md, 3) and is exact where
it can move so. All distributions are pessimistic ("connect the dots",
Doroshenko et al. 2022): δ(ε) is never below the truth, up to the rounding of the Fourier
transforms, for which ``rounding`` is set aside.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from dp_accounting.pld import common, pld_pmf, privacy_loss_distribution
from dp_accounting.pld.privacy_loss_mechanism import (
    AdditiveNoisePrivacyLoss,
    AdjacencyType,
    ConnectDotsBounds,
    TailPrivacyLossDistribution,
)
from numpy.typing import NDArray

from dpmc_core.errors import NotApplicable
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism
from dpmc_core.mechanisms.huber_privacy import log_sf, loss_inverse
from dpmc_core.privacy.ledger import Ledger, Release

__all__ = [
    "COARSE",
    "FINE",
    "HuberPrivacyLoss",
    "optimal_composition_epsilon",
    "pld_delta",
    "pld_epsilon",
    "pld_profile",
    "rounding",
]

FloatArray = NDArray[np.float64]
FINE, COARSE = (
    200_000,
    30_000,
)  # grid points across the losses of a whole ledger; any number is pessimistic
_MOST_DRAWS, _MOST_KINDS, _MOST_OPTIMAL, _MOST_POINTS = (
    1_000_000,
    100,
    20_000,
    2_000_000,
)  # beyond these a composition takes more than seconds
# standard deviations (both sides together) that hold all but 1e-15 of a sum of bounded losses
_REACH = 17.0


class HuberPrivacyLoss(AdditiveNoisePrivacyLoss):  # type: ignore[misc]
    """The privacy loss of one number with Huber noise, in dp-accounting's terms (no subsampling).

    ``sensitivity`` is in units of the released number. Its losses lie in ±αΔ/s, with atoms at both
    ends.
    """

    def __init__(
        self, noise: Huber, sensitivity: float, adjacency_type: AdjacencyType = AdjacencyType.REMOVE
    ) -> None:
        self._noise = noise
        super().__init__(
            sensitivity, is_discrete=False, sampling_prob=1.0, adjacency_type=adjacency_type
        )

    def noise_cdf(self, x: float | Iterable[float]) -> Any:
        return self._noise.cdf(np.asarray(x, dtype=np.float64))

    def noise_log_cdf(self, x: float | Iterable[float]) -> Any:
        return log_sf(-np.asarray(x, dtype=np.float64) / self._noise.scale, self._noise.alpha)[()]

    def get_delta_for_epsilon(self, epsilon: float | Sequence[float] | FloatArray) -> Any:
        """δ(ε) for ε of either sign, right to 1e-15 absolutely.

        For the last digits of small δ use the mechanism's own.
        """
        eps = np.asarray(epsilon, dtype=np.float64)
        noise, shift = self._noise, self.sensitivity / self._noise.scale
        size, top = (
            np.minimum(np.abs(eps), noise.epsilon(self.sensitivity)),
            noise.epsilon(self.sensitivity),
        )
        x = noise.scale * np.asarray(loss_inverse(size, noise.alpha, shift))
        positive = noise.cdf(-x) - np.exp(size + self.noise_log_cdf(-x - self.sensitivity))
        positive = np.where(size < top, np.clip(positive, 0.0, 1.0), 0.0)
        # the noise is symmetric, hence δ(−ε) = 1 − e^{−ε} + e^{−ε}δ(ε)
        return np.where(
            eps >= 0, positive, -np.expm1(-np.abs(eps)) + np.exp(-np.abs(eps)) * positive
        )[()]

    def privacy_loss_tail(self) -> TailPrivacyLossDistribution:
        """Beyond the two kinks furthest out the loss is constant, at ±αΔ/s."""
        edge, top = self._noise.alpha * self._noise.scale, self._noise.epsilon(self.sensitivity)
        low = -edge - (0.0 if self.adjacency_type == AdjacencyType.ADD else self.sensitivity)
        high = edge + (self.sensitivity if self.adjacency_type == AdjacencyType.ADD else 0.0)
        return TailPrivacyLossDistribution(
            low,
            high,
            {top: float(self.mu_upper_cdf(low)), -top: 1 - float(self.mu_upper_cdf(high))},
        )

    def connect_dots_bounds(self) -> ConnectDotsBounds:
        top = self._noise.epsilon(self.sensitivity)
        return ConnectDotsBounds(epsilon_upper=top, epsilon_lower=-top)

    def _privacy_loss_without_subsampling_remove(self, x: float) -> float:
        return -float(self._noise.privacy_loss(x, self.sensitivity))

    def _inverse_privacy_loss_without_subsampling_remove(self, privacy_loss: float) -> float:
        noise, shift = self._noise, self.sensitivity / self._noise.scale
        top = noise.epsilon(self.sensitivity)
        if privacy_loss > top:
            return -math.inf
        if privacy_loss <= -top:
            return math.inf
        # the house's g increases and this loss is −g; g(−x − d) = −g(x) turns one sign into the
        # other
        x = float(loss_inverse(abs(privacy_loss), noise.alpha, shift))
        return noise.scale * (-shift - x if privacy_loss >= 0 else x)

    @classmethod
    def from_privacy_guarantee(
        cls,
        privacy_parameters: common.DifferentialPrivacyParameters,
        sensitivity: float = 1,
        sampling_prob: float = 1.0,
        adjacency_type: AdjacencyType = AdjacencyType.REMOVE,
    ) -> "HuberPrivacyLoss":
        """Huber noise with α = 1.5 and this pure ε."""
        return cls(
            Huber.with_epsilon(privacy_parameters.epsilon, sensitivity), sensitivity, adjacency_type
        )


def pld_epsilon(ledger: Ledger, delta: float, points: int = FINE) -> float:
    """The least ε with which the whole ledger is (ε, ``delta``)-DP, from its privacy loss
    distribution on about ``points``.

    Raises ``NotApplicable`` for noise that has no distribution here (staircase) or ``delta`` too
    small for Fourier sums.
    """
    spare = _reserved_delta(ledger, delta)
    with np.errstate(over="ignore"):  # a quotient beyond e^709 is ∞, and so is ε then
        return float(_distribution(ledger, points).get_epsilon_for_delta(delta - spare))


def pld_delta(ledger: Ledger, epsilon: float, points: int = FINE) -> float:
    """The δ with which the whole ledger is (``epsilon``, δ)-DP, from its privacy loss distribution
    (pessimistic).
    """
    return float(pld_profile(ledger, [epsilon], points)[0])


def pld_profile(
    ledger: Ledger, epsilons: Sequence[float] | FloatArray, points: int = FINE
) -> FloatArray:
    """``pld_delta`` for each of ``epsilons``, in one go."""
    found = _distribution(ledger, points).get_delta_for_epsilon(list(epsilons))
    return np.asarray(np.minimum(np.asarray(found) + rounding(ledger), 1.0))


def rounding(ledger: Ledger) -> float:
    """The part of δ set aside for the rounding of Fourier transforms, which grows with the number
    of draws.

    Against the exact Gaussian profile, up to a million draws and δ down to 1e-13, a distribution
    was never lower than the truth by more than a third of this.
    """
    return 1e-13 + 3e-16 * ledger.draws


def _reserved_delta(ledger: Ledger, delta: float) -> float:
    spare = rounding(ledger)
    if delta < 100 * spare:
        raise NotApplicable(
            f"δ = {delta:g} is too small to be read from a distribution computed with Fourier "
            "transforms"
        )
    return spare


def optimal_composition_epsilon(ledger: Ledger, delta: float) -> float:
    """ε of the composed ledger at ``delta`` if only each release's pure ε is known.

    The worst release with a given ε is randomised response (Kairouz, Oh & Viswanath 2015, whose
    Theorem 3.3 is the case of equal releases; Murtagh & Vadhan 2016 for unequal ones);
    dp-accounting composes its privacy loss distribution. Raises ``NotApplicable`` when some release
    has no pure ε.
    """
    costs = [
        (release.mechanism.epsilon(release.l1_sensitivity), release.count)
        for release in ledger.releases
    ]
    if any(math.isinf(epsilon) for epsilon, _ in costs):
        raise NotApplicable("some release has no pure ε")
    spare = _reserved_delta(ledger, delta)
    largest = max(epsilon for epsilon, _ in costs)
    if largest > 700:
        raise NotApplicable(f"ε = {largest:g} of one release is too large for randomised response")
    if ledger.draws > _MOST_OPTIMAL:
        raise NotApplicable(f"more than {_MOST_OPTIMAL:,} releases")
    same = all(epsilon == largest for epsilon, _ in costs)
    # for equal releases the losses ±ε lie on the grid exactly: nothing is rounded
    interval = (
        largest
        if same
        else _interval([(epsilon, epsilon, count) for epsilon, count in costs], FINE)
    )
    total = None
    for epsilon, count in costs:
        single = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, 0.0),
            value_discretization_interval=interval,
        )
        part = single.self_compose(count) if count > 1 else single
        total = part if total is None else total.compose(part)
    assert total is not None
    return float(total.get_epsilon_for_delta(delta - spare))


def _interval(sizes: Sequence[tuple[float, float, int]], points: int) -> float:
    """Grid step for releases of (standard deviation of the loss, largest loss, count).

    About ``points`` across the composed losses, but at most a tenth of them across one release,
    where rounding would tell, and at least 50 to a standard deviation, so that little is lost to
    the grid.
    """
    everything = sum(2 * top * count for _, top, count in sizes)
    spread = _REACH * math.sqrt(sum(count * std**2 for std, _, count in sizes))
    step = min(everything, spread) / points
    step = max(step, max(top for _, top, _ in sizes) / (points / 20))
    step = min(step, max(std for std, _, _ in sizes) / 50)
    if (
        max(2 * top for _, top, _ in sizes) > _MOST_POINTS * step
        or min(everything, spread) > _MOST_POINTS * step
    ):
        raise NotApplicable("the losses are too unlike for one grid")
    return step


def _numbers(release: Release) -> list[tuple[Mechanism, float, int]]:
    """The single numbers that bound a release, however often it was made: (noise, shift, count)."""
    noise, count = release.mechanism, release.count
    if isinstance(noise, Gaussian):
        return [(noise, release.l2_sensitivity, count)]
    parts = release.most_uneven if noise.vector_bounds else ((release.l1_sensitivity, 1),)
    if sum(number for _, number in parts) * count > _MOST_DRAWS:
        parts = ((release.l1_sensitivity, 1),)
    return [(noise, shift, number * count) for shift, number in parts]


def _size(noise: Mechanism, shift: float, count: int) -> tuple[float, float, int]:
    """About the standard deviation of the privacy loss, the largest loss that matters, and the
    count.
    """
    if isinstance(noise, Gaussian):
        mu = shift / noise.scale
        return mu, 10 * mu + mu**2 / 2, count
    pure = noise.epsilon(shift)
    return min(pure, shift * math.sqrt(noise.fisher_information)), pure, count


def _single(noise: Mechanism, shift: float, interval: float) -> Any:
    if isinstance(noise, Gaussian):
        return privacy_loss_distribution.from_gaussian_mechanism(
            noise.scale, sensitivity=shift, value_discretization_interval=interval
        )
    if isinstance(noise, Laplace):
        return privacy_loss_distribution.from_laplace_mechanism(
            noise.scale, sensitivity=shift, value_discretization_interval=interval
        )
    if isinstance(noise, Huber):
        single = HuberPrivacyLoss(noise, shift)
        bounds = single.connect_dots_bounds()
        low, high = (
            math.floor(bounds.epsilon_lower / interval),
            math.ceil(bounds.epsilon_upper / interval),
        )
        deltas = single.get_delta_for_epsilon(np.arange(low, high + 1) * interval)
        pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
            interval, low, high, np.clip(deltas, 0, 1)
        )
        return privacy_loss_distribution.PrivacyLossDistribution(pmf)
    raise NotApplicable(f"no privacy loss distribution for {noise.name} noise")


@lru_cache(maxsize=4)
def _distribution(ledger: Ledger, points: int) -> Any:
    """The privacy loss distribution of all releases together."""
    if ledger.draws > _MOST_DRAWS:
        raise NotApplicable(f"more than {_MOST_DRAWS:,} releases")
    if len(ledger.releases) > _MOST_KINDS:
        raise NotApplicable(f"more than {_MOST_KINDS} kinds of release")
    numbers = [number for release in ledger.releases for number in _numbers(release)]
    interval = _interval([_size(*number) for number in numbers], points)
    total = None
    for noise, shift, count in numbers:
        try:
            single = _single(noise, shift, interval)
        except ValueError as error:
            # dp-accounting's check of its own grid: rounding can break it for losses of hundreds
            raise NotApplicable(
                "the loss of one release cannot be put on a grid in floating point"
            ) from error
        part = single.self_compose(count) if count > 1 else single
        total = part if total is None else total.compose(part)
    assert total is not None
    return total
