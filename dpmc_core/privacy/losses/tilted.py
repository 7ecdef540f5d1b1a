"""ε at δ too small for dp-accounting's Fourier sums, by exponential tilting.

The same pessimistic privacy loss distributions as in ``distribution``, composed after each was
multiplied by e^{λ·loss} and made to sum to one; and unlike ones, each on its own grid.

A Fourier sum is right to about 1e-16 of its largest mass, and at δ = 1e-13 the losses that decide
are that rare. Tilted by the λ of Chernoff's bound they are the common ones (Koskela & Honkela 2021
bound such sums; the tilting is that of saddle points, Alghamdi et al. 2023), so that every digit is
left when the factor is taken out again.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft, optimize, signal

from dpmc_core.arrays import FloatArray
from dpmc_core.errors import NotApplicable
from dpmc_core.mechanisms import Gaussian, Mechanism
from dpmc_core.privacy.losses.grid import Number, grid_step

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
    composed = _Composed(losses, delta, points)
    for widened in (1, 2, 4, 8, 16):
        epsilon = composed.epsilon(widened)
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


class _Composed:
    """The sum of all losses, tilted so that those that decide at ``delta`` are common."""

    def __init__(self, losses: list[_Losses], delta: float, points: int) -> None:
        self._losses, self._delta, self._points = losses, delta, points
        log_delta = math.log(delta)

        def rdp_epsilon(log_tilt: float) -> float:
            # Canonne, Kamath & Steinke 2020, Proposition 12, of the order 1 + λ
            tilt = math.exp(log_tilt)
            factor = tilt * math.log(tilt) - (1 + tilt) * math.log1p(tilt)
            return (_cumulant(losses, tilt) + factor - log_delta) / tilt

        optimum = optimize.minimize_scalar(
            rdp_epsilon, bounds=(math.log(1e-4), math.log(_MOST_TILT)), method="bounded"
        )
        self._tilt = math.exp(optimum.x)

    def _window(self, losses: list[_Losses], widest: float, rare: float) -> tuple[float, float]:
        """Where the sum of ``losses`` is, by Chernoff's bound at tilts up to ``widest`` times λ.

        It exceeds the upper end with probability _KEPT/10·δ at most (not tilted), in all windows of
        single numbers together too, and is below the lower one with ``rare`` (tilted).
        """
        tilt, beyond = self._tilt, math.log(_KEPT / 10 * self._delta / len(self._losses))
        here = _cumulant(losses, tilt)
        above = tilt * np.geomspace(1.0, 4.0 * widest, 25)
        below = tilt * np.geomspace(0.02, 2.0 * widest, 25)
        top = min((_cumulant(losses, t) - beyond) / t for t in above)
        bottom = max((here - _cumulant(losses, tilt - t) + math.log(rare)) / t for t in below)
        return bottom, top

    def _alone(self, part: _Losses) -> _Sum:
        """One number's losses, as often as it is drawn, on its own grid.

        What lies below the window is so rare that it does not tell wherever it comes back.
        """
        once = part.tilted(self._tilt)
        if part.count == 1:
            return once
        # a step is a fiftieth of a standard deviation of one draw at most
        widest = max(1.0, 1 / (part.step * math.sqrt(part.count) * self._tilt))
        bottom, top = self._window([part], widest, 1e-12 / len(self._losses))
        first = max(math.floor(bottom / part.step), -part.most)
        return _convolved([(once, part.count)], first, min(math.ceil(top / part.step), part.most))

    def epsilon(self, widened: int) -> float | None:
        """ε, or None if it lies below a window of ``widened`` times the width that should do.

        What is below the window comes back inside, from above.
        """
        bottom, top = self._window(self._losses, 1.0, 1e-9)
        if len(self._losses) == 1:
            (part,) = self._losses
            parts, step, slack, most = (
                [(part.tilted(self._tilt), part.count)],
                part.step,
                0,
                part.most,
            )
        else:
            # each number is rounded to this grid once only, so that it can be coarser; what is
            # rounded moves by less than a step
            step, slack = (top - bottom) / (self._points / 4), len(self._losses)
            most = math.ceil(sum(part.most * part.step for part in self._losses) / step) + slack
            parts = [(self._alone(part).on(step, self._tilt), 1) for part in self._losses]
        last = min(math.ceil(top / step) + slack, most)
        width = last - math.floor(bottom / step) + slack
        total = _convolved(parts, max(last - widened * width, -most), last)
        never = sum(part.count * part.never for part in self._losses)
        return _least(
            np.log(total.tilted) + total.log_scale - self._tilt * total.losses,
            total.losses,
            step,
            self._delta * (1 - _KEPT) - never,
        )


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
