"""ε at δ too small for dp-accounting's Fourier sums, by exponential tilting.

Lives here: the same pessimistic privacy loss distributions as in ``distribution``, composed after
each was multiplied by e^{λ·loss} and made to sum to one. Does not live here: which numbers bound a
ledger, and the step of the grid (``grid``).

A Fourier sum is right to about 1e-16 of its largest mass, and at δ = 1e-13 the losses that decide
are that rare. Tilted by the λ of Chernoff's bound they are the common ones (Koskela & Honkela 2021
bound such sums; the tilting is that of saddle points, Alghamdi et al. 2023), so that every digit is
left when the factor is taken out again.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft, optimize, signal, special

from dpmc_core.errors import NotApplicable
from dpmc_core.mechanisms import Gaussian, Mechanism
from dpmc_core.privacy.losses.grid import Number

__all__ = ["composed_epsilon"]

FloatArray = NDArray[np.float64]
# the part of δ kept for what is left out or rounded: masses beyond the grid, differences, sums
_KEPT = 1e-6
_MOST_TILT, _MOST_CELLS = 1e5, 2**22


@dataclass(frozen=True, slots=True)
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
        delta = np.asarray(noise.delta(np.arange(last + 1) * step, shift), dtype=np.float64)
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
        return float(special.logsumexp(tilt * self.at + self.log_masses))

    def tilted(self, tilt: float) -> FloatArray:
        return np.exp(tilt * self.at + self.log_masses - self.log_moment(tilt))


def composed_epsilon(numbers: Sequence[Number], delta: float, step: float) -> float:
    """The least ε with which all ``numbers`` (noise, shift, count) together are
    (ε, ``delta``)-DP, from losses on a grid of ``step``; pessimistic.

    Raises ``NotApplicable`` where the losses do not fit on one grid.
    """
    draws = sum(count for _, _, count in numbers)
    beyond = _KEPT / 10 * delta
    losses = [_Losses.of(*number, step, beyond / draws) for number in numbers]
    composed = _Composed(losses, delta)
    for widened in (1, 2, 4, 8, 16):
        epsilon = composed.epsilon(widened)
        if epsilon is not None:
            return epsilon
    raise NotApplicable("the losses that decide are spread too widely for one grid")


class _Composed:
    """The sum of all losses, tilted so that those that decide at ``delta`` are common."""

    def __init__(self, losses: list[_Losses], delta: float) -> None:
        self._losses, self._delta, self._step = losses, delta, losses[0].step
        self._draws = sum(part.count for part in losses)
        self._most = sum(part.count * (part.log_masses.size // 2) for part in losses)
        log_delta = math.log(delta)

        def rdp_epsilon(log_tilt: float) -> float:
            # Canonne, Kamath & Steinke 2020, Proposition 12, of the order 1 + λ
            tilt = math.exp(log_tilt)
            factor = tilt * math.log(tilt) - (1 + tilt) * math.log1p(tilt)
            return (self._cumulant(tilt) + factor - log_delta) / tilt

        found = optimize.minimize_scalar(
            rdp_epsilon, bounds=(math.log(1e-4), math.log(_MOST_TILT)), method="bounded"
        )
        self._tilt = math.exp(found.x)

    def _cumulant(self, tilt: float) -> float:
        return sum(part.count * part.log_moment(tilt) for part in self._losses)

    def epsilon(self, widened: int) -> float | None:
        """ε, or None if it lies below a window of ``widened`` times the width that should do.

        The sum exceeds the window with probability _KEPT/10·δ at most (Chernoff's bound, not
        tilted); hardly any tilted mass is below it, and what is comes back inside, from above.
        """
        here, beyond = self._cumulant(self._tilt), math.log(_KEPT / 10 * self._delta)
        above = self._tilt * np.geomspace(1.0, 4.0, 25)
        below = self._tilt * np.geomspace(0.02, 2.0, 25)
        top = min((self._cumulant(t) - beyond) / t for t in above)
        bottom = max((here - self._cumulant(self._tilt - t) + math.log(1e-9)) / t for t in below)
        last = min(math.ceil(top / self._step), self._most)
        first = max(last - widened * (last - math.floor(bottom / self._step)), -self._most)
        size = fft.next_fast_len(max(last - first + 1, 2), real=True)
        if size > _MOST_CELLS:
            raise NotApplicable("the losses are too unlike for one grid")
        transform = np.ones(size // 2 + 1, dtype=np.complex128)
        for part in self._losses:
            half = part.log_masses.size // 2
            places = np.arange(-half, half + 1) % size
            folded = np.bincount(places, weights=part.tilted(self._tilt), minlength=size)
            transform *= fft.rfft(folded) ** part.count
        cells = first + np.arange(size)
        tilted = np.maximum(fft.irfft(transform, n=size)[cells % size], 0.0)
        tilted += (1e-15 + 4e-16 * self._draws) * float(tilted.max())
        never = sum(part.count * part.never for part in self._losses)
        return _least(
            np.log(tilted) + here - self._tilt * cells * self._step,
            cells * self._step,
            self._step,
            self._delta * (1 - _KEPT) - never,
        )


def _least(log_masses: FloatArray, losses: FloatArray, step: float, delta: float) -> float | None:
    """The ε with Σ_{loss > ε} (1 − e^{ε − loss})·mass = ``delta``; None if below all ``losses``,
    which are ``step`` apart.
    """
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
