"""Laplace noise: the classical ε-DP mechanism (Dwork, McSherry, Nissim & Smith 2006).

The Laplace law and its exact scalar privacy. Density exp(−|x|/b)/(2b).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpmc_core import limits
from dpmc_core.mechanisms.base import Mechanism, Size, as_array, exp_minus_linear, no_shape


@dataclass(frozen=True, kw_only=True)
class Laplace(Mechanism):
    """Laplace noise with scale b (``scale``), variance 2b², pure ε = Δ₁/b.

    >>> Laplace(scale=2.0).epsilon(5)
    2.5
    """

    scale: float
    name: ClassVar[str] = "laplace"
    title: ClassVar[str] = "Laplace"
    vector_bounds: ClassVar[bool] = True

    def __post_init__(self) -> None:
        limits.check("scale", self.scale)

    def logpdf(self, x: ArrayLike) -> Any:
        return -np.abs(as_array(x)) / self.scale - math.log(2 * self.scale)

    def cdf(self, x: ArrayLike) -> Any:
        t = as_array(x) / self.scale
        tail = 0.5 * np.exp(-np.abs(t))
        return np.where(t <= 0, tail, 1 - tail)[()]

    def ppf(self, q: ArrayLike) -> Any:
        p = as_array(q)
        with np.errstate(divide="ignore", invalid="ignore"):
            # near the median by log1p of the exact distance to 1/2, elsewhere by the logarithm of
            # the tail
            central = np.log1p(-2 * np.minimum(np.abs(p - 0.5), 0.5))
            tail = np.log(2 * np.minimum(p, 1 - p))
            size = -np.where(np.abs(p - 0.5) < 0.25, central, tail)
            return np.where((p < 0) | (p > 1), np.nan, self.scale * np.where(p < 0.5, -size, size))[
                ()
            ]

    def sample(self, size: Size, rng: np.random.Generator) -> Any:
        return rng.laplace(0.0, self.scale, size)

    @property
    def variance(self) -> float:
        return 2 * self.scale**2

    @property
    def fisher_information(self) -> float:
        return 1 / self.scale**2

    def epsilon(self, l1_sensitivity: float) -> float:
        return limits.check("sensitivity", l1_sensitivity) / self.scale

    def delta(self, epsilon: ArrayLike, sensitivity: float) -> Any:
        """1 − exp((ε − Δ/b)/2) below ε = Δ/b, else 0 (the two half-lines' exact difference)."""
        eps, shift = self._check_privacy_arguments(epsilon, sensitivity)
        return -np.expm1(np.minimum(eps - shift / self.scale, 0.0) / 2)[()]

    def rdp(self, order: float, sensitivity: float) -> float:
        """Mironov (2017), Table II, rearranged into a sum of positive terms."""
        a = limits.check("order", order)
        d = limits.check("sensitivity", sensitivity) / self.scale
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

    @classmethod
    def with_variance(cls, variance: float, **shape: float) -> "Laplace":
        no_shape("Laplace.with_variance", shape)
        return cls(scale=math.sqrt(limits.check("variance", variance) / 2))

    @classmethod
    def with_epsilon(cls, epsilon: float, sensitivity: float, **shape: float) -> "Laplace":
        no_shape("Laplace.with_epsilon", shape)
        return cls(
            scale=limits.check("sensitivity", sensitivity) / limits.check("epsilon", epsilon)
        )
