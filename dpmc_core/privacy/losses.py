"""Privacy loss distributions: composed on a grid, by Google's dp-accounting or tilted for tiny δ.

Huber noise as a privacy loss distribution, the distribution of a ledger, and the ε or δ read from
it. Import this module only where it is needed: dp-accounting takes two seconds to import.

A vector with Gaussian noise on each coordinate is represented by one number with sensitivity Δ₂, a
vector with Laplace or Huber noise by the most uneven movement within its ℓ1 and ℓ∞ sensitivities
(``Release.most_uneven``): that bounds the vector (docs/huber-composition.md, 3) and is exact where
it can move so. All distributions are pessimistic ("connect the dots",
Doroshenko et al. 2022): δ(ε) is never below the truth, up to the rounding of the Fourier
transforms, for which ``rounding`` is set aside.

First come the single numbers that stand for a ledger's releases, and how fine a grid for their
losses has to be. Then ε at δ too small for dp-accounting's Fourier sums, by exponential tilting:
the same distributions, composed after each was multiplied by e^{λ·loss} and made to sum to one;
and unlike ones, each on its own grid.
A Fourier sum is right to about 1e-16 of its largest mass, and at δ = 1e-13 the losses that decide
are that rare. Tilted by the λ of Chernoff's bound they are the common ones (Koskela & Honkela 2021
bound such sums; the tilting is that of saddle points, Alghamdi et al. 2023), so that every digit is
left when the factor is taken out again.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from dp_accounting.pld import common, pld_pmf, privacy_loss_distribution
from scipy import fft, optimize, signal

from dpmc_core.arrays import FloatArray
from dpmc_core.errors import NotApplicable
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism
from dpmc_core.mechanisms.huber import logcdf, loss_inverse
from dpmc_core.privacy.ledger import Ledger, Release

# grid points across the losses of a whole ledger; any number is pessimistic
FINE, COARSE = 200_000, 30_000
# beyond these a composition takes more than seconds
_MOST_DRAWS, _MOST_KINDS, _MOST_POINTS = 1_000_000, 1000, 2_000_000
# standard deviations (both sides together) that hold all but 1e-15 of a sum of bounded losses
_REACH = 17.0

_LARGEST = 500.0  # of a sampled release: what Laplace noise's quotients have room for

Number = tuple[Mechanism, float, int]  # one number's noise, its movement, how often it is drawn


def _numbers(release: Release) -> list[Number]:
    """The single numbers that bound a release, however often it was made: (noise, shift, count)."""
    noise, count = release.mechanism, release.count
    if isinstance(noise, Gaussian):
        return [(noise, release.l2_sensitivity, count)]
    parts = release.most_uneven if noise.vector_bounds else ((release.l1_sensitivity, 1),)
    if sum(number for _, number in parts) * count > _MOST_DRAWS:
        parts = ((release.l1_sensitivity, 1),)
    return [(noise, shift, number * count) for shift, number in parts]


def numbers_of(ledger: Ledger) -> list[Number]:
    """The single numbers that bound all releases of ``ledger`` together.

    Raises ``NotApplicable`` for too many of them, or for noise whose losses are not known
    (staircase).
    """
    if ledger.draws > _MOST_DRAWS:
        raise NotApplicable(f"more than {_MOST_DRAWS:,} releases")
    if len(ledger.releases) > _MOST_KINDS:
        raise NotApplicable(f"more than {_MOST_KINDS} kinds of release")
    if ledger.failure or ledger.mean_runs > 1 or ledger.sampled:
        raise NotApplicable("releases that may fail, of samples, or of a run that was chosen")
    for release in ledger.releases:
        if not isinstance(release.mechanism, Gaussian | Laplace | Huber):
            raise NotApplicable(f"no privacy loss distribution for {release.mechanism.name} noise")
    return [number for release in ledger.releases for number in _numbers(release)]


def merged(numbers: Sequence[Number]) -> list[Number]:
    """``numbers`` in units of their noise, like ones together.

    All Gaussian numbers are the one that they equal (Dong, Roth & Su 2022, Corollary 3.3).
    """
    square, counts = 0.0, Counter[tuple[Mechanism, float]]()
    for noise, shift, count in numbers:
        if isinstance(noise, Gaussian):
            square += count * (shift / noise.scale) ** 2
        elif isinstance(noise, Laplace | Huber):
            counts[replace(noise, scale=1.0), shift / noise.scale] += count
    one = [(Gaussian(scale=1.0), math.sqrt(square), 1)] if square else []
    return [(noise, shift, count) for (noise, shift), count in counts.items()] + one


def unlike(numbers: Sequence[Number], points: int) -> bool:
    """Whether one grid of about ``points`` is too coarse for some of ``numbers`` that are drawn
    often.

    What is put on a grid gains up to step²/6 of variance, or step times its standard deviation if
    that is less, at each draw.
    """
    step = grid_step(numbers, points)
    return any(
        count > 1 and step > _size(noise, shift, count)[0] / 20 for noise, shift, count in numbers
    )


def grid_step(numbers: Sequence[Number], points: int) -> float:
    """The step of a grid for the losses of ``numbers``, with about ``points`` across their sum."""
    return step_of([_size(*number) for number in numbers], points)


def sampled_loss(loss: float, rate: float) -> float:
    """The largest loss log(1 + q(e^ℓ − 1)) in samples that a unit is in with probability ``rate``,
    where it is ``loss`` ℓ in all data (Balle, Barthe & Gaboardi 2018, Theorem 8).
    """
    if rate == 1:
        return loss
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + loss))


def sampled_step(number: Number, rate: float) -> float:
    """The step of a grid for the losses of ``number`` in such samples.

    They spread q times as much where they are small; large ones come with probability q.
    """
    spread, top, count = _size(*number)
    top = sampled_loss(top, rate)
    if top > _LARGEST:
        raise NotApplicable(f"losses of one sampled release beyond {_LARGEST}")
    return step_of([(max(rate * spread, math.sqrt(rate) * top / 10), top, count)], COARSE)


def _size(noise: Mechanism, shift: float, count: int) -> tuple[float, float, int]:
    """About the standard deviation of the privacy loss, the largest loss that matters, and the
    count.
    """
    if isinstance(noise, Gaussian):
        mu = shift / noise.scale
        return mu, 10 * mu + mu**2 / 2, count
    pure = noise.epsilon(shift)
    return min(pure, shift * math.sqrt(noise.fisher_information)), pure, count


def step_of(sizes: Sequence[tuple[float, float, int]], points: int) -> float:
    """Grid step for releases of (standard deviation of the loss, largest loss, count).

    About ``points`` across the composed losses, but at most a tenth of them across one release,
    where rounding would tell, and at least 50 to a standard deviation, so that little is lost to
    the grid.
    """
    everything = sum(2 * top * count for _, top, count in sizes)
    spread = _REACH * math.sqrt(sum(count * std**2 for std, _, count in sizes))
    across, largest = min(everything, spread), max(top for _, top, _ in sizes)
    step = max(across / points, largest / (points / 20))
    step = min(step, max(std for std, _, _ in sizes) / 50)
    if max(2 * largest, across) > _MOST_POINTS * step:
        raise NotApplicable("the losses are too unlike for one grid")
    return step


# the part of δ kept for what is left out or rounded: masses beyond the grid, differences, sums
_KEPT = 1e-6
_MOST_TILT, _MOST_CELLS = 1e5, 2**22


@dataclass(frozen=True)
class _Losses:
    """The losses of one number on −J, …, J times ``step``: the logs of their masses, and how often
    it is drawn.

    They are the distribution whose δ(ε) joins the exact δ at the grid points by straight lines in
    e^ε (Doroshenko et al. 2022): never below the truth. The mass at infinity is ``never``.
    """

    log_masses: FloatArray
    never: float
    count: int
    step: float

    @classmethod
    def of(cls, noise: Mechanism, shift: float, count: int, step: float, tail: float) -> "_Losses":
        if isinstance(noise, Gaussian):
            mu = shift / noise.scale
            top = mu * math.sqrt(-2 * math.log(tail)) + mu**2 / 2
        else:
            top = noise.epsilon(shift)
        last = max(1, math.ceil(top / step))
        if last > _MOST_CELLS:
            raise NotApplicable("the losses are too unlike for one grid")
        delta = noise.delta(np.arange(last + 1) * step, shift)
        less, drop = math.exp(-step), -math.expm1(-step)
        falls = np.append(-np.diff(delta), 0.0)  # δ(ε_j) − δ(ε_{j+1})
        upper = np.maximum(falls[:-1] - less * falls[1:], 0.0) / drop
        zero = 1 - (delta[0] * (1 + less) - 2 * less * delta[1]) / drop
        # the noise is symmetric: a loss of −x is e^{−x} times as likely as x
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate([[max(zero, 0.0)], upper]))
        lower = logs[1:] - np.arange(1, last + 1) * step
        return cls(np.concatenate([lower[::-1], logs]), float(delta[-1]), count, step)

    @property
    def at(self) -> FloatArray:
        last = self.log_masses.size // 2
        return np.arange(-last, last + 1, dtype=np.float64) * self.step

    def log_moment(self, tilt: float) -> float:
        """log Σ p·e^{λ·loss}, once."""
        # scipy's takes ten times as long for so few numbers
        logs = tilt * self.at + self.log_masses
        largest = float(logs.max())
        return largest + math.log(float(np.exp(logs - largest).sum()))

    @property
    def most(self) -> int:
        """The largest cell of the sum of all draws."""
        return self.count * (self.log_masses.size // 2)

    def tilted(self, tilt: float) -> "_Sum":
        """The losses of one draw, tilted."""
        log_scale = self.log_moment(tilt)
        masses = np.exp(tilt * self.at + self.log_masses - log_scale)
        return _Sum(masses, -(self.log_masses.size // 2), self.step, log_scale)


def composed_epsilon(numbers: Sequence[Number], delta: float, points: int) -> float:
    """The least ε with which all ``numbers`` (noise, shift, count) together are
    (ε, ``delta``)-DP, from losses on grids of about ``points``; pessimistic.

    Each number has a grid as fine as its own losses ask for, on which it is composed with itself;
    what comes out is put on one grid for all (``_Sum.on``). So tiny losses beside a large one are
    not rounded to the large one's grid, once for each draw.

    Raises ``NotApplicable`` where the losses do not fit on their grids.
    """
    draws = sum(count for _, _, count in numbers)
    beyond = _KEPT / 10 * delta
    losses = [
        _Losses.of(*number, grid_step([number], points // len(numbers)), beyond / draws)
        for number in numbers
    ]
    tilt = _decisive_tilt(losses, delta)
    log_beyond = math.log(beyond / len(losses))  # in the windows of single numbers together too
    bottom, top = _window(losses, tilt, log_beyond, 1.0, 1e-9)
    if len(losses) == 1:
        (part,) = losses
        parts, step, slack, most = [(part.tilted(tilt), part.count)], part.step, 0, part.most
    else:
        # each number is rounded to this grid once only, so that it can be coarser; what is
        # rounded moves by less than a step
        step, slack = (top - bottom) / (points / 4), len(losses)
        most = math.ceil(sum(part.most * part.step for part in losses) / step) + slack
        # what lies below the window of one is so rare that it does not tell wherever it comes back
        rare = 1e-12 / len(losses)
        parts = [(_alone(part, tilt, log_beyond, rare).on(step, tilt), 1) for part in losses]
    last = min(math.ceil(top / step) + slack, most)
    width = last - math.floor(bottom / step) + slack
    never = sum(part.count * part.never for part in losses)
    # what is below the window comes back inside, from above: ε may need a wider one
    for widened in (1, 2, 4, 8, 16):
        total = _convolved(parts, max(last - widened * width, -most), last)
        epsilon = _least(total, tilt, delta * (1 - _KEPT) - never)
        if epsilon is not None:
            return epsilon
    raise NotApplicable("the losses that decide are spread too widely for one grid")


@dataclass(frozen=True)
class _Sum:
    """The sum of losses, tilted: the mass at the loss (``first`` + k)·``step`` is
    e^(``log_scale`` − λ·loss) times the k-th of ``tilted``.
    """

    tilted: FloatArray
    first: int
    step: float
    log_scale: float

    @property
    def losses(self) -> FloatArray:
        return (self.first + np.arange(self.tilted.size, dtype=np.float64)) * self.step

    def on(self, step: float, tilt: float) -> "_Sum":
        """The same on multiples of ``step``: never below the truth.

        A mass at the loss l, of e^{−l} times as much where the unit is absent, is shared out to the
        next multiples below and above so that both masses stay. Its δ(ε) then joins the exact one
        at the multiples by a straight line in e^ε, which is not below it, as that is convex
        (Doroshenko et al. 2022, for one mass). A distribution with no smaller δ(ε) anywhere may
        stand for another in any composition (Zhu, Dong & Wang 2022, Theorem 10).
        """
        below = np.floor(self.losses / step)
        over = np.clip(self.losses - below * step, 0.0, step)
        up = np.expm1(-over) / math.expm1(-step)
        at = (below - below[0]).astype(np.int64)
        masses = np.zeros(int(at[-1]) + 2)
        np.add.at(masses, at, self.tilted * (1 - up) * np.exp(-tilt * over))
        np.add.at(masses, at + 1, self.tilted * up * np.exp(tilt * (step - over)))
        return _Sum(masses, int(below[0]), step, self.log_scale)


def _decisive_tilt(losses: list[_Losses], delta: float) -> float:
    """The λ by which the sum of all ``losses`` is tilted, so that those that decide at ``delta``
    are common.
    """
    log_delta = math.log(delta)

    def rdp_epsilon(log_tilt: float) -> float:
        # Canonne, Kamath & Steinke 2020, Proposition 12, of the order 1 + λ
        tilt = math.exp(log_tilt)
        factor = tilt * math.log(tilt) - (1 + tilt) * math.log1p(tilt)
        return (_cumulant(losses, tilt) + factor - log_delta) / tilt

    optimum = optimize.minimize_scalar(
        rdp_epsilon, bounds=(math.log(1e-4), math.log(_MOST_TILT)), method="bounded"
    )
    return math.exp(optimum.x)


def _window(
    losses: list[_Losses], tilt: float, log_beyond: float, widest: float, rare: float
) -> tuple[float, float]:
    """Where the sum of ``losses`` is, by Chernoff's bound at tilts up to ``widest`` times λ.

    It exceeds the upper end with probability e^``log_beyond`` at most (not tilted), and is below
    the lower one with ``rare`` (tilted).
    """
    here = _cumulant(losses, tilt)
    above = tilt * np.geomspace(1.0, 4.0 * widest, 25)
    below = tilt * np.geomspace(0.02, 2.0 * widest, 25)
    top = min((_cumulant(losses, t) - log_beyond) / t for t in above)
    bottom = max((here - _cumulant(losses, tilt - t) + math.log(rare)) / t for t in below)
    return bottom, top


def _alone(part: _Losses, tilt: float, log_beyond: float, rare: float) -> _Sum:
    """One number's losses, as often as it is drawn, on its own grid (``_window`` says where)."""
    once = part.tilted(tilt)
    if part.count == 1:
        return once
    # a step is a fiftieth of a standard deviation of one draw at most
    widest = max(1.0, 1 / (part.step * math.sqrt(part.count) * tilt))
    bottom, top = _window([part], tilt, log_beyond, widest, rare)
    first = max(math.floor(bottom / part.step), -part.most)
    return _convolved([(once, part.count)], first, min(math.ceil(top / part.step), part.most))


def _cumulant(losses: list[_Losses], tilt: float) -> float:
    return sum(part.count * part.log_moment(tilt) for part in losses)


def _convolved(parts: list[tuple[_Sum, int]], first: int, last: int) -> _Sum:
    """The sum of all ``parts`` (on one grid), each so many times, on cells from ``first`` to
    ``last`` at least: what lies outside comes back inside. Masses are rounded up.
    """
    size = fft.next_fast_len(max(last - first + 1, 2), real=True)
    if size > _MOST_CELLS:
        raise NotApplicable("the losses are too unlike for one grid")
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    for part, count in parts:
        places = (part.first + np.arange(part.tilted.size)) % size
        folded = np.bincount(places, weights=part.tilted, minlength=size)
        transform *= fft.rfft(folded) ** count
    tilted = np.maximum(fft.irfft(transform, n=size)[(first + np.arange(size)) % size], 0.0)
    tilted += (1e-15 + 4e-16 * sum(count for _, count in parts)) * float(tilted.max())
    return _Sum(
        tilted, first, parts[0][0].step, sum(count * part.log_scale for part, count in parts)
    )


def _least(total: _Sum, tilt: float, delta: float) -> float | None:
    """The ε with Σ_{loss > ε} (1 − e^{ε − loss})·mass = ``delta``; None if below all losses."""
    losses, step = total.losses, total.step
    log_masses = np.log(total.tilted) + total.log_scale - tilt * losses
    # where a mass is beyond 1, it is far below the losses that decide
    masses = np.exp(np.minimum(log_masses, 0.0))
    above = np.cumsum(masses[::-1])[::-1]
    # the sum for ε at each grid point, from the next: terms of one sign, so that no digit is lost
    steps = -math.expm1(-step) * np.append(above[1:], 0.0)
    excess = signal.lfilter([1.0], [1.0, -math.exp(-step)], steps[::-1])[::-1]
    too_much = np.flatnonzero(excess[:-1] > delta)
    if not too_much.size:
        return None if losses[0] > 0 else 0.0
    k = int(too_much[-1]) + 1
    below = math.log1p((excess[k] - delta) / (above[k] - excess[k]))
    return max(0.0, float(losses[k]) + below)


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
        or unlike(numbers, points)
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
    return np.clip(deltas + rounding(ledger), 0.0, 1.0)


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
    epsilons = [release.mechanism.epsilon(release.l1_sensitivity) for release in ledger.releases]
    counts, largest = [release.count for release in ledger.releases], max(epsilons)
    if math.isinf(largest):
        raise NotApplicable("some release has no pure ε")
    spare = _reserved_delta(ledger, delta)
    if largest > 700:
        raise NotApplicable(f"ε = {largest:g} of one release is too large for randomised response")
    if ledger.draws > _MOST_OPTIMAL:
        raise NotApplicable(f"more than {_MOST_OPTIMAL:,} releases")
    interval = largest  # for equal releases the losses ±ε lie on the grid exactly
    if min(epsilons) < largest:
        interval = step_of(list(zip(epsilons, epsilons, counts, strict=True)), FINE)
    singles = (
        privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, 0.0),
            value_discretization_interval=interval,
        )
        for epsilon in epsilons
    )
    total = _composed(singles, counts)
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
        return of(
            noise.scale,
            sensitivity=shift,
            value_discretization_interval=interval,
            sampling_prob=rate,
        )
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
    raise NotApplicable(f"no privacy loss distribution for {noise.name} noise")


def huber_deltas(noise: Huber, shift: float, epsilons: FloatArray) -> FloatArray:
    """δ(ε) of one number that moves by ``shift``, for ε of either sign, right to 1e-15 absolutely.

    For the last digits of small δ use the mechanism's own.
    """
    top = noise.epsilon(shift)
    size = np.minimum(np.abs(epsilons), top)
    x = noise.scale * loss_inverse(size, noise.alpha, shift / noise.scale)
    log_other = logcdf((-x - shift) / noise.scale, noise.alpha)
    positive = noise.cdf(-x) - np.exp(size + log_other)
    positive = np.where(size < top, np.clip(positive, 0.0, 1.0), 0.0)
    # the noise is symmetric, hence δ(−ε) = 1 − e^{−ε} + e^{−ε}δ(ε)
    negative = -np.expm1(-np.abs(epsilons)) + np.exp(-np.abs(epsilons)) * positive
    return np.where(epsilons >= 0, positive, negative)


@lru_cache(maxsize=64)
def sampled_epsilons(ledger: Ledger, deltas: tuple[float, ...]) -> list[float]:
    """ε at each of ``deltas`` of a ledger with releases of samples, which hold every unit with
    probability ``sampling_rate`` q (Poisson sampling); cached.

    For one unit added or removed: with P and P′ the laws of a release without and with the unit, P
    against (1 − q)P + qP′ (Balle, Barthe & Gaboardi 2018). Gaussian releases of the same samples
    are one vector, which moves by √Σ(Δ/σ)² in units of its noise or not at all: all those of the
    ledger, where they have one q and ``count`` and tell of different things. Gaussian and
    Laplace noise by dp-accounting, Huber noise by ``sampled_deltas``; pessimistic, like all
    distributions here. A vector with Laplace or Huber noise stands as one number that moves by its
    ℓ1 sensitivity: a bound. Raises ``NotApplicable`` for δ or losses that no grid holds, for a
    choice among runs, for one unit replaced, for several kinds of release that are not all
    Gaussian, and where it is not clear which are of the same samples.
    """
    spare = _reserved_delta(ledger, min(deltas))
    numbers, squares = list[tuple[Number, float]](), defaultdict[tuple[float, int], float](float)
    for release in ledger.releases:
        noise, count, rate = release.mechanism, release.count, release.sampling_rate
        if isinstance(noise, Gaussian):
            shared = (rate, count) if rate < 1 else (1.0, 1)
            square = (release.l2_sensitivity / noise.scale) ** 2
            squares[shared] += square if rate < 1 else count * square
        else:
            numbers.append(((noise, release.l1_sensitivity, count), rate))
    sampled = [release for release in ledger.releases if release.sampling_rate < 1]
    together = len({*squares} - {(1.0, 1)}) < 2 and len({r.what for r in sampled}) == len(sampled)
    replaced = any(release.neighbours == "replace-one" for release in ledger.releases)
    if (
        (numbers and squares)
        or len(numbers) > 1
        or not together
        or replaced
        or ledger.mean_runs > 1
    ):
        raise NotApplicable("what sampling saves, of such a ledger")
    for (rate, count), square in squares.items():
        numbers.append(((Gaussian(scale=1.0), math.sqrt(square), count), rate))
    interval = min(sampled_step(number, rate) for number, rate in numbers)
    singles = [_single(noise, shift, interval, rate) for (noise, shift, _), rate in numbers]
    total = _composed(singles, [count for (*_, count), _ in numbers])
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
