"""Gaussian noise and its exact privacy profile (Balle & Wang 2018).

The normal law and its exact scalar privacy. It has no finite pure ε.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import special

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.mechanisms.base import Mechanism, solve_decreasing_from

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, kw_only=True)
class Gaussian(Mechanism):
    """Gaussian noise with standard deviation σ (``scale``).

    >>> round(Gaussian(scale=1.0).epsilon_at_delta(1e-5, 5), 2)
    33.1
    """

    scale: float
    name = "gaussian"
    title = "Gaussian"
    pure = False

    def _logpdf(self, t: FloatArray) -> Any:
        return -0.5 * t**2 - LOG_SQRT_2PI

    def _cdf(self, t: FloatArray) -> Any:
        return special.ndtr(t)

    def _ppf(self, q: FloatArray) -> Any:
        return special.ndtri(q)

    def _draw(self, size: Any, rng: np.random.Generator) -> Any:
        return rng.standard_normal(size)

    def _variance(self) -> float:
        return 1.0

    def _information(self) -> float:
        return 1.0

    def _epsilon(self, shift: float) -> float:
        """Infinity: the density ratio of two shifted normals is unbounded."""
        return math.inf

    def _delta(self, epsilon: FloatArray, shift: float) -> Any:
        """Φ(a) − e^ε Φ(b), a = d/2 − ε/d, b = −d/2 − ε/d, d = Δ/σ (Balle & Wang 2018, Theorem 5).

        Because b² = a² + 2ε, e^ε Φ(b) = e^{−a²/2}·erfcx(−b/√2)/2, which never overflows. For a < 0
        both terms carry the factor φ(a), so their difference is taken between scaled Mills ratios;
        for a ≥ 0 and ε < 1, where they may be close, it is rearranged into terms of like size.
        """
        d = shift
        a, b = d / 2 - epsilon / d, -d / 2 - epsilon / d
        root2 = math.sqrt(2.0)
        below = np.minimum(a, 0.0)
        shifted = special.erfcx(-b / root2)
        tail = 0.5 * np.exp(-0.5 * below**2) * _erfcx_drop(-below / root2, d / root2)
        above = np.maximum(a, 0.0)
        large = special.ndtr(above) - 0.5 * np.exp(-0.5 * above**2) * shifted
        small = 0.5 * (special.erf(above / root2) - special.erf(b / root2)) - np.expm1(
            np.minimum(epsilon, 1.0)
        ) * special.ndtr(b)
        return np.where(a < 0, tail, np.where(epsilon < 1, small, large))

    def _rdp(self, order: float, shift: float) -> float:
        """order·d²/2 (Mironov 2017, Proposition 7)."""
        return order * shift**2 / 2

    @classmethod
    def with_epsilon(
        cls, epsilon: float, sensitivity: float, *, delta: float = 1e-5, **shape: float
    ) -> Self:
        """The least σ that is exactly (ε, δ)-DP at ``delta``, by inverting ``delta(ε)``."""
        epsilon = limits.check("epsilon", epsilon)
        sensitivity = limits.check("sensitivity", sensitivity)
        delta = limits.check("delta", delta)
        cls._taking("with_epsilon", shape)

        def profile(sigma: float) -> float:
            return max(float(cls(scale=sigma).delta(epsilon, sensitivity)), 1e-320)

        return cls(scale=solve_decreasing_from(profile, delta, sensitivity))


def _erfcx_drop(x: FloatArray, step: float) -> FloatArray:
    """erfcx(x) − erfcx(x + step) for x ≥ 0, step > 0.

    For a small step as the integral of −erfcx′(t) = 2/√π − 2t·erfcx(t).
    """
    if step > 1e-2:
        return special.erfcx(x) - special.erfcx(x + step)
    nodes, weights = np.polynomial.legendre.leggauss(6)
    t = x[..., None] + step * (1 + nodes) / 2
    drop = weights * (2 / math.sqrt(math.pi) - 2 * t * special.erfcx(t))
    return step / 2 * np.sum(drop, axis=-1)


def textbook_gaussian_epsilon(
    variance: float, sensitivity: float, delta: float, base10: bool = False
) -> float:
    """Δ·√(2 ln(1.25/δ))/σ: the textbook formula, proved only for ε < 1 (Dwork & Roth 2014, Theorem
    A.1).

    ``base10`` uses the base-10 logarithm, which reproduces Table 1 of the Huber paper as printed.

    >>> round(textbook_gaussian_epsilon(1, 5, 1e-5, base10=True), 3)
    15.964
    >>> round(textbook_gaussian_epsilon(1, 5, 1e-5), 2)
    24.22
    """
    log = math.log10 if base10 else math.log
    return float(sensitivity * math.sqrt(2 * log(1.25 / delta) / variance))
