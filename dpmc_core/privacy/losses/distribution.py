"""Privacy loss distributions, through Google's dp-accounting.

Huber noise as a privacy loss distribution, the distribution of a ledger, and the ε or δ read from
it. Import this module only where it is needed: dp-accounting takes two seconds to import.

A vector with Gaussian noise on each coordinate is represented by one number with sensitivity Δ₂, a
vector with Laplace or Huber noise by the most uneven movement within its ℓ1 and ℓ∞ sensitivities
(``Release.most_uneven``): that bounds the vector (docs/huber-composition.md, 3) and is exact where
it can move so. All distributions are pessimistic ("connect the dots",
Doroshenko et al. 2022): δ(ε) is never below the truth, up to the rounding of the Fourier
transforms, for which ``rounding`` is set aside.
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from dp_accounting.pld import common, pld_pmf, privacy_loss_distribution

from dpmc_core.arrays import FloatArray
from dpmc_core.errors import NotApplicable
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism
from dpmc_core.mechanisms import huber_distribution as huber_law
from dpmc_core.mechanisms.huber_privacy import loss_inverse
from dpmc_core.privacy.ledger import Ledger
from dpmc_core.privacy.losses.grid import (
    COARSE,
    FINE,
    grid_step,
    merged,
    numbers_of,
    sampled_loss,
    sampled_step,
    step_of,
    unlike,
)
from dpmc_core.privacy.losses.tilted import composed_epsilon

_MOST_OPTIMAL = 20_000  # draws: beyond, optimal composition takes more than seconds
# a δ below so many times the rounding cannot be told from it; beyond so many draws, dp-accounting
# or kinds, takes more than half a second
_LEAST_SPARES, _QUICK_DRAWS, _QUICK_KINDS, _MOST_APART = 100, 100_000, 12, 100


def pld_epsilon(ledger: Ledger, delta: float, points: int = FINE) -> float:
    """The least ε with which the whole ledger is (ε, ``delta``)-DP, from its privacy loss
    distribution on about ``points``.

    Where ``delta`` is too small for dp-accounting's Fourier sums, the draws or their kinds are so
    many that they take seconds, or the losses too unlike for one grid, the sums are tilted ones
    (``tilted``). Raises ``NotApplicable`` for
    noise that has no distribution here (staircase).
    """
    numbers, spare = numbers_of(ledger), rounding(ledger)
    if (
        delta < _LEAST_SPARES * spare
        or sum(count for *_, count in numbers) > _QUICK_DRAWS
        or len(numbers) > _QUICK_KINDS
        or unlike(numbers, grid_step(numbers, points))
    ):
        return composed_epsilon(merged(numbers), delta, points)
    with np.errstate(over="ignore"):  # a quotient beyond e^709 is ∞, and so is ε then
        return float(_distribution(ledger, points).get_epsilon_for_delta(delta - spare))


def pld_profile(
    ledger: Ledger, epsilons: Sequence[float] | FloatArray, points: int = FINE
) -> FloatArray:
    """The δ with which the whole ledger is (ε, δ)-DP for each of ``epsilons``, from its privacy
    loss distribution (pessimistic).
    """
    deltas = _distribution(ledger, points).get_delta_for_epsilon(list(epsilons))
    return np.clip(np.asarray(deltas) + rounding(ledger), 0.0, 1.0)


def rounding(ledger: Ledger) -> float:
    """The part of δ set aside for the rounding of Fourier transforms, which grows with the number
    of draws: of a vector, with the numbers that stand for it.

    Against the exact Gaussian profile, up to a million draws and δ down to 1e-13, a distribution
    was never lower than the truth by more than a third of this.
    """
    return _rounding_of(sum(count for *_, count in numbers_of(ledger)))


def _rounding_of(draws: int) -> float:
    return 1e-13 + 3e-16 * draws


def _reserved_delta(ledger: Ledger, delta: float) -> float:
    spare = _rounding_of(ledger.draws)
    if delta < _LEAST_SPARES * spare:
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
        largest if same else step_of([(epsilon, epsilon, count) for epsilon, count in costs], FINE)
    )
    singles = (
        privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, 0.0),
            value_discretization_interval=interval,
        )
        for epsilon, _ in costs
    )
    total = _composed(singles, [count for _, count in costs])
    return float(total.get_epsilon_for_delta(delta - spare))


def _composed(singles: Iterable[Any], counts: Iterable[int]) -> Any:
    """The distribution of all ``singles`` together, each drawn so many times."""
    parts = (
        single.self_compose(count) if count > 1 else single
        for single, count in zip(singles, counts, strict=True)
    )
    return reduce(lambda total, part: total.compose(part), parts)


def _single(noise: Mechanism, shift: float, interval: float, rate: float = 1.0) -> Any:
    if isinstance(noise, Gaussian | Laplace):
        of = (
            privacy_loss_distribution.from_gaussian_mechanism
            if isinstance(noise, Gaussian)
            else privacy_loss_distribution.from_laplace_mechanism
        )
        grid = {"value_discretization_interval": interval, "sampling_prob": rate}
        return of(noise.scale, sensitivity=shift, **grid)
    if isinstance(noise, Huber):
        last = math.ceil(sampled_loss(noise.epsilon(shift), rate) / interval)
        epsilons = np.arange(-last, last + 1, dtype=np.float64) * interval
        deltas = (
            [huber_deltas(noise, shift, epsilons)]
            if rate == 1
            else [sampled_deltas(noise, shift, epsilons, rate, removed=r) for r in (True, False)]
        )
        return privacy_loss_distribution.PrivacyLossDistribution(
            *(
                pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
                    interval, -last, last, np.clip(values, 0, 1)
                )
                for values in deltas
            )
        )
    raise TypeError(f"no privacy loss distribution for {noise.name} noise")


def huber_deltas(noise: Huber, shift: float, epsilons: FloatArray) -> FloatArray:
    """δ(ε) of one number that moves by ``shift``, for ε of either sign, right to 1e-15 absolutely.

    For the last digits of small δ use the mechanism's own.
    """
    top = noise.epsilon(shift)
    size = np.minimum(np.abs(epsilons), top)
    x = noise.scale * np.asarray(loss_inverse(size, noise.alpha, shift / noise.scale))
    log_other = huber_law.logcdf((-x - shift) / noise.scale, noise.alpha)
    positive = noise.cdf(-x) - np.exp(size + log_other)
    positive = np.where(size < top, np.clip(positive, 0.0, 1.0), 0.0)
    # the noise is symmetric, hence δ(−ε) = 1 − e^{−ε} + e^{−ε}δ(ε)
    negative = -np.expm1(-np.abs(epsilons)) + np.exp(-np.abs(epsilons)) * positive
    return np.where(epsilons >= 0, positive, negative)


@lru_cache(maxsize=64)
def sampled_epsilons(ledger: Ledger, rate: float, deltas: tuple[float, ...]) -> list[float]:
    """ε at each of ``deltas`` of a ledger of one kind of release, each of another sample,
    which holds every unit with probability ``rate`` q < 1 (Poisson sampling); cached.

    For one unit added or removed: with P and P′ the laws of a release without and with the unit, P
    against (1 − q)P + qP′ (Balle, Barthe & Gaboardi 2018). Gaussian and Laplace noise by
    dp-accounting, Huber noise by ``sampled_deltas``; pessimistic, like all distributions here. A
    vector with Laplace or Huber noise stands as one number that moves by its ℓ1 sensitivity: a
    bound. Raises ``NotApplicable`` for δ or losses that no grid holds.
    """
    (release,), spare = ledger.releases, _reserved_delta(ledger, min(deltas))
    noise, count = release.mechanism, release.count
    shift = release.l2_sensitivity if isinstance(noise, Gaussian) else release.l1_sensitivity
    interval = sampled_step((noise, shift, count), rate, COARSE)
    total = _composed([_single(noise, shift, interval, rate)], [count])
    return [float(total.get_epsilon_for_delta(delta - spare)) for delta in deltas]


def sampled_deltas(
    noise: Huber, shift: float, epsilons: FloatArray, rate: float, *, removed: bool
) -> FloatArray:
    """``huber_deltas`` in samples that the unit is in with probability ``rate`` q < 1, where it is
    ``removed``, or added.

    Removed: ∫((1 − q)P + qP′ − e^ε·P)₊ = q·δ(log a) with a = (e^ε − 1 + q)/q, which is Theorem 8 of
    Balle, Barthe & Gaboardi 2018 for ε = log(1 + q(a − 1)); all of 1 − e^ε where a ≤ 0. Added:
    ∫(P − e^ε((1 − q)P + qP′))₊ = b·δ(log(q·e^ε/b)) with b = 1 − (1 − q)e^ε; none where b ≤ 0.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = np.exp(epsilons)
        if removed:
            a = (ratio - 1 + rate) / rate
            return np.where(a > 0, rate * huber_deltas(noise, shift, np.log(a)), 1 - ratio)
        b = 1 - (1 - rate) * ratio
        return np.where(b > 0, b * huber_deltas(noise, shift, np.log(rate * ratio / b)), 0.0)


@lru_cache(maxsize=4)
def _distribution(ledger: Ledger, points: int) -> Any:
    """The privacy loss distribution of all releases together."""
    numbers = numbers_of(ledger)
    if len(numbers) > _MOST_APART:
        raise NotApplicable(f"more than {_MOST_APART} kinds of release")
    interval = grid_step(numbers, points)
    try:
        singles = [_single(noise, shift, interval) for noise, shift, _ in numbers]
    except ValueError as error:
        # dp-accounting's check of its own grid: rounding can break it for losses of hundreds
        raise NotApplicable(
            "the loss of one release cannot be put on a grid in floating point"
        ) from error
    return _composed(singles, [count for *_, count in numbers])
