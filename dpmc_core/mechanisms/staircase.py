"""Staircase noise: the ε-DP noise of least variance at its design sensitivity (Geng & Viswanath
2016).

The staircase law. Its density falls by a factor e^{-ε} at γΔ, (1+γ)Δ, (2+γ)Δ, …, so it is a
geometric mixture of uniforms, and every integral below is a sum over a few constant pieces and one
geometric tail.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms.base import Mechanism, quantiles, renyi_of_pieces, solve_decreasing_from

_LEAST_EPSILON, _MOST_EPSILON = 1e-100, 700.0


def variance_optimal_gamma(epsilon: float) -> float:
    """The step position γ* that minimises the variance (Geng & Viswanath 2016, Theorem 6, case of
    squared cost).

    γ* = −b/(1−b) + (b − 2b² + 2b⁴ − b⁵)^{1/3} / (2^{1/3}(1−b)²) with b = e^{-ε}; the polynomial is
    b(1−b)³(1+b), so γ* = (s − b)/(1−b) with s³ = b(1+b)/2, and s³ − b³ = b(1−b)(1+2b)/2 gives the
    form used here, which does not cancel.

    >>> round(variance_optimal_gamma(1.0), 3)
    0.417
    """
    b = math.exp(-epsilon)
    root = math.cbrt(b * (1 + b) / 2)
    return b * (1 + 2 * b) / 2 / (root * root + root * b + b * b)


@dataclass(frozen=True, init=False, repr=False)
class Staircase(Mechanism):
    """Staircase noise for design ``epsilon`` and ``sensitivity``.

    ``gamma`` in [0, 1], least variance by default.

    >>> s = Staircase(epsilon=1.0, sensitivity=1.0)
    >>> s.epsilon(1.0), s.epsilon(1.5)
    (1.0, 2.0)
    """

    epsilon_design: float
    sensitivity: float
    gamma: float
    name = "staircase"
    title = "Staircase"
    shape = ("gamma",)
    in_runs = False

    def __init__(self, *, epsilon: float, sensitivity: float, gamma: float | None = None) -> None:
        epsilon = limits.check("epsilon", epsilon)
        if not _LEAST_EPSILON <= epsilon <= _MOST_EPSILON:
            allowed = f"from {_LEAST_EPSILON:g} to {_MOST_EPSILON:g} for staircase noise"
            raise ParameterError("epsilon", epsilon, allowed)
        if gamma is None:
            gamma = variance_optimal_gamma(epsilon)
        object.__setattr__(self, "epsilon_design", epsilon)
        object.__setattr__(self, "sensitivity", limits.check("sensitivity", sensitivity))
        object.__setattr__(self, "gamma", limits.check("gamma", gamma))

    def __repr__(self) -> str:
        """The call that makes it."""
        arguments = f"epsilon={self.epsilon_design!r}, sensitivity={self.sensitivity!r}"
        return f"Staircase({arguments}, gamma={self.gamma!r})"

    @property
    def unit(self) -> float:
        return self.sensitivity

    @property
    def _height(self) -> float:
        """Density on the central step, a(γ) = (1 − b)/(2(γ + b(1 − γ)))."""
        e, g = self.epsilon_design, self.gamma
        return -math.expm1(-e) / (2 * (g + math.exp(-e) * (1 - g)))

    def _logpdf(self, t: FloatArray) -> Any:
        size = np.abs(t)
        whole = np.floor(size)
        falls = whole + (size - whole >= self.gamma)  # between 0 and |t|
        return math.log(self._height) - self.epsilon_design * falls

    def _cdf(self, t: FloatArray) -> Any:
        tail = self._tail(np.abs(t))
        return np.where(t <= 0, tail, 1 - tail)

    def _tail(self, t: FloatArray) -> FloatArray:
        """P(noise > t) for t ≥ 0.

        Half the mass of the whole periods beyond, plus the rest of this period.
        """
        e, g = self.epsilon_design, self.gamma
        k = np.floor(t)
        rest = t - k
        high = np.maximum(g - rest, 0.0) * self._height
        low = np.minimum(1 - rest, 1 - g) * self._height * math.exp(-e)
        return np.exp(-k * e) * (high + low + 0.5 * math.exp(-e))

    def _ppf(self, q: FloatArray) -> Any:
        e, g = self.epsilon_design, self.gamma
        b, height = math.exp(-e), self._height
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.minimum(q, 1 - q)
            k = np.maximum(np.floor(-np.log(2 * t) / e), 0.0)
            # rounding of the logarithm can land one period off: step back when the tail beyond the
            # next edge is larger
            k = np.where(0.5 * np.exp(-(k + 1) * e) >= t, k + 1, k)
            k = np.where((0.5 * np.exp(-k * e) < t) & (k > 0), k - 1, k)
            scaled = t * np.exp(k * e)  # tail mass within a period that starts at 1/2
            at_step = 0.5 * b + (1 - g) * height * b
            in_high = np.minimum((0.5 - scaled) / height, g)
            in_low = 1 - (scaled - 0.5 * b) / (height * b)
            size = k + np.where(
                scaled >= at_step, np.maximum(in_high, 0.0), np.clip(in_low, g, 1.0)
            )
            # at the median the distance to 1/2 is exact: keep it so
            centre = np.abs(q - 0.5) / height
            size = np.where((centre <= g) & (np.abs(q - 0.5) < 0.25), centre, size)
            size = np.where(t == 0, np.inf, size)
            return quantiles(q, size)

    def _draw(self, size: Any, rng: np.random.Generator) -> Any:
        """Sign × (geometric period + uniform inside the chosen step), Geng & Viswanath's Algorithm
        1.
        """
        e, g = self.epsilon_design, self.gamma
        b = math.exp(-e)
        sign = np.where(rng.random(size) < 0.5, -1.0, 1.0)
        period = rng.geometric(-math.expm1(-e), size) - 1
        uniform = rng.random(size)
        high = rng.random(size) < g / (g + (1 - g) * b)
        return sign * (period + np.where(high, g * uniform, g + (1 - g) * uniform))

    def _variance(self) -> float:
        """E[t²] from the geometric mixture.

        With G ~ Geom, t = G + step and both steps uniform.
        """
        e, g = self.epsilon_design, self.gamma
        b, c = math.exp(-e), -math.expm1(-e)
        first, second = b / c, b * (1 + b) / c**2
        weight_high, weight_low = g, (1 - g) * b
        total = weight_high + weight_low
        mean = (weight_high * g / 2 + weight_low * (1 + g) / 2) / total
        square = (weight_high * g**2 / 3 + weight_low * (1 + g + g**2) / 3) / total
        return second + 2 * first * mean + square

    def _information(self) -> float:
        """Infinity: the density jumps, so a small shift is detectable at first order."""
        return math.inf

    def _epsilon(self, shift: float) -> float:
        """ε·⌈Δ₁/Δ⌉: a shift within one period costs one step.

        A tie within rounding counts as equal.
        """
        return self.epsilon_design * max(1, math.ceil(shift * (1 - 1e-14)))

    def _pieces(self, shift: float) -> tuple[FloatArray, FloatArray]:
        """Constant pieces of p(t) and q(t) = p(t − shift).

        Logarithms of p's masses, and log(p/q) on each.

        Left of 0 and right of ``shift`` both densities repeat with factor e^{-ε} per period, so one
        period of each is kept with its geometric sum 1/(1 − e^{-ε}).
        """
        low, high = -1.0, shift + 1
        edges_right = np.arange(math.ceil(shift + 2) + 2) + self.gamma
        falls = np.concatenate([edges_right, -edges_right])
        edges = np.concatenate([falls, falls + shift, [low, 0.0, shift, high]])
        edges = np.unique(edges[(edges >= low) & (edges <= high)])
        width = np.diff(edges)
        # two edges that coincide but for rounding (a shift of whole periods) are one; a tiny shift
        # itself is kept
        keep = width > 1e-12 * min(1.0, shift)
        middle, width = (edges[:-1] + edges[1:])[keep] / 2, width[keep]
        log_p, log_q = self._logpdf(middle), self._logpdf(middle - shift)
        outside = (middle < 0) | (middle > shift)
        weight = width * np.where(outside, 1 / -math.expm1(-self.epsilon_design), 1.0)
        return np.log(weight) + log_p, log_p - log_q

    def _delta(self, epsilon: FloatArray, shift: float) -> Any:
        """Σ over pieces of p·max(0, 1 − e^{ε − log p/q}).

        A finite sum of non-negative terms, hence exact.
        """
        log_p, loss = self._pieces(shift)
        gap = epsilon[..., None] - loss
        gap = np.where(
            gap > -1e-12 * self.epsilon_design, 0.0, gap
        )  # equal steps, not a sliver of loss
        return np.sum(np.exp(log_p) * -np.expm1(gap), axis=-1)

    def _rdp(self, order: float, shift: float) -> float:
        """Exact sum over the constant pieces (``base.renyi_of_pieces``)."""
        return renyi_of_pieces(order, *self._pieces(shift))

    @classmethod
    def with_variance(cls, variance: float, *, sensitivity: float = 1.0, **shape: float) -> Self:
        """The least-variance staircase at ``sensitivity`` whose variance is this, by solving for
        ε.
        """
        variance = limits.check("variance", variance)
        sensitivity = limits.check("sensitivity", sensitivity)
        for name, value in shape.items():
            allowed = "left out: γ is the one of least variance"
            raise ParameterError(f"{name} in {cls.__name__}.with_variance", value, allowed)

        def of(e: float) -> float:
            return cls(epsilon=e, sensitivity=sensitivity).variance

        # at ε = 700 the variance is below 1e-100 Δ²; beyond, e^{-ε} is no longer a number
        floor = of(_MOST_EPSILON)
        if variance < floor:
            raise ParameterError(
                "variance",
                variance,
                f"at least {floor:.3g} for staircase noise at this sensitivity",
            )
        epsilon = solve_decreasing_from(of, variance, 1.0)
        return cls(epsilon=epsilon, sensitivity=sensitivity)

    @classmethod
    def with_epsilon(cls, epsilon: float, sensitivity: float, **shape: float) -> Self:
        kind = cls._taking("with_epsilon", shape)
        return kind(epsilon=epsilon, sensitivity=sensitivity, **shape)
