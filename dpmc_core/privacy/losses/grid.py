"""The single numbers that bound a ledger's releases, and one grid for their privacy losses.

What stands for a vector, and how fine a grid has to be.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpmc_core.errors import NotApplicable
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism
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
    if ledger.failure:
        raise NotApplicable("releases that may fail, which ``account`` counts")
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


def unlike(numbers: Sequence[Number], step: float) -> bool:
    """Whether one grid of ``step`` is too coarse for some of ``numbers`` that are drawn often.

    What is put on a grid gains up to step²/6 of variance, or step times its standard deviation if
    that is less, at each draw.
    """
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


def sampled_step(number: Number, rate: float, points: int) -> float:
    """The step of a grid for the losses of ``number`` in such samples.

    They spread q times as much where they are small; large ones come with probability q.
    """
    spread, top, count = _size(*number)
    top = sampled_loss(top, rate)
    if top > _LARGEST:
        raise NotApplicable(f"losses of one sampled release beyond {_LARGEST}")
    return step_of([(max(rate * spread, math.sqrt(rate) * top / 10), top, count)], points)


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
    step = min(everything, spread) / points
    step = max(step, max(top for _, top, _ in sizes) / (points / 20))
    step = min(step, max(std for std, _, _ in sizes) / 50)
    if (
        max(2 * top for _, top, _ in sizes) > _MOST_POINTS * step
        or min(everything, spread) > _MOST_POINTS * step
    ):
        raise NotApplicable("the losses are too unlike for one grid")
    return step
