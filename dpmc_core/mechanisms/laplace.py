"""Laplace noise: the classical ε-DP mechanism (Dwork, McSherry, Nissim & Smith 2006).

The Laplace law and its exact scalar privacy. Density exp(−|x|/b)/(2b).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.mechanisms.base import Mechanism, exp_minus_linear, quantiles


@dataclass(frozen=True, kw_only=True)
class Laplace(Mechanism):
    """Laplace noise with scale b (``scale``), variance 2b², pure ε = Δ₁/b.

    >>> Laplace(scale=2.0).epsilon(5)
    2.5
    """

    scale: float
    name = "laplace"
    title = "Laplace"
    vector_bounds = True

    def _logpdf(self, t: FloatArray) -> Any:
        return -np.abs(t) - math.log(2)

    def _cdf(self, t: FloatArray) -> Any:
        tail = 0.5 * np.exp(-np.abs(t))
        return np.where(t <= 0, tail, 1 - tail)

    def _ppf(self, q: FloatArray) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            # near the median by log1p of the exact distance to 1/2, elsewhere by the logarithm of
            # the tail
            central = np.log1p(-2 * np.minimum(np.abs(q - 0.5), 0.5))
            tail = np.log(2 * np.minimum(q, 1 - q))
            size = -np.where(np.abs(q - 0.5) < 0.25, central, tail)
            return quantiles(q, size)

    def _draw(self, size: Any, rng: np.random.Generator) -> Any:
        return rng.laplace(size=size)

    def _variance(self) -> float:
        return 2.0

    def _information(self) -> float:
        return 1.0

    def _epsilon(self, shift: float) -> float:
        return shift

    def _delta(self, epsilon: FloatArray, shift: float) -> Any:
        """1 − exp((ε − Δ/b)/2) below ε = Δ/b, else 0 (the two half-lines' exact difference)."""
        return -np.expm1(np.minimum(epsilon - shift, 0.0) / 2)

    def _rdp(self, order: float, shift: float) -> float:
        """Mironov (2017), Table II, rearranged into a sum of positive terms."""
        a, d = order, shift
        if a == 1:
            return float(exp_minus_linear(-d))
        if (a - 1) * d > 1:
            # log of a weighted sum of exponentials, the larger one factored out
            small = (a - 1) / a * math.exp(-(2 * a - 1) * d)
            return ((a - 1) * d + math.log(a / (2 * a - 1)) + math.log1p(small)) / (a - 1)
        excess = float(a * exp_minus_linear((a - 1) * d) + (a - 1) * exp_minus_linear(-a * d)) / (
            2 * a - 1
        )
        return math.log1p(excess) / (a - 1)
