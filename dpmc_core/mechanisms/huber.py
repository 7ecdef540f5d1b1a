"""Huber noise: Gaussian centre, exponential tails (huber-paper section 2.2; huber-thesis chapter
4).

The mechanism with transition parameter α and any scale s. The papers use s = 1 only; scaling is
what lets one family be compared at equal variance *and* at equal ε. The law itself is in
``huber_distribution``, its exact scalar privacy in ``huber_privacy``.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpmc_core import limits
from dpmc_core.arrays import FloatArray
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import huber_distribution as huber_law
from dpmc_core.mechanisms import huber_privacy
from dpmc_core.mechanisms.base import Mechanism, Size, as_array, no_shape, solve_decreasing


def alpha_with_variance(variance: float) -> float:
    """The α of the unit-scale Huber noise with this variance (inverse of huber-thesis eq. 4.5,
    figure 4.4).

    The variance falls from 2/α² (α → 0) to 1 (α → ∞), so no unit-scale Huber noise has variance 1
    or less. Raises ``ParameterError`` outside (1.0, σ²(0.01) ≈ 2·10⁴]. The papers use α = 3 for
    "variance 1" (it has 1.0036).

    >>> round(alpha_with_variance(2.0), 6)
    1.075978
    """
    top = float(huber_law.variance(limits.LIMITS["alpha"].low))
    if not (isinstance(variance, (int, float)) and 1.0 < variance <= top):
        raise ParameterError(
            "variance", variance, f"above 1 and at most {top:.6g} for unit-scale Huber noise"
        )
    excess = variance - 1.0
    if excess < huber_law.excess_variance(20.0):
        return 20.0
    return solve_decreasing(huber_law.excess_variance, excess, limits.LIMITS["alpha"].low, 20.0)


@dataclass(frozen=True, kw_only=True)
class Huber(Mechanism):
    """Huber noise s·H(α): density exp(−ρ_α(x/s))/(s·Z(α)), pure ε = αΔ₁/s (huber-paper Theorem 2.1,
    scaled).

    ``alpha`` in [0.01, 20]; ``scale`` s > 0 in units of the released number.

    >>> h = Huber(alpha=1.5, scale=2.0)
    >>> h.epsilon(4), round(h.variance, 4)
    (3.0, 5.2557)
    """

    alpha: float
    scale: float = 1.0
    name: ClassVar[str] = "huber"
    title: ClassVar[str] = "Huber"
    shape: ClassVar[tuple[str, ...]] = ("alpha",)
    vector_bounds: ClassVar[bool] = True

    def __post_init__(self) -> None:
        limits.check("alpha", self.alpha)
        limits.check("scale", self.scale)

    def logpdf(self, x: ArrayLike) -> Any:
        return (huber_law.logpdf(as_array(x) / self.scale, self.alpha) - math.log(self.scale))[()]

    def cdf(self, x: ArrayLike) -> Any:
        return huber_law.cdf(as_array(x) / self.scale, self.alpha)[()]

    def ppf(self, q: ArrayLike) -> Any:
        return (self.scale * huber_law.ppf(q, self.alpha))[()]

    def sample(self, size: Size, rng: np.random.Generator) -> Any:
        if size is None:
            return float(self.scale * huber_law.sample(self.alpha, 1, rng)[0])
        count = int(np.prod(size))
        return (self.scale * huber_law.sample(self.alpha, count, rng)).reshape(size)

    @property
    def variance(self) -> float:
        return self.scale**2 * float(huber_law.variance(self.alpha))

    @property
    def fisher_information(self) -> float:
        """P(|t| ≤ α)/s²."""
        return float(huber_law.core_mass(self.alpha)) / self.scale**2

    def epsilon(self, l1_sensitivity: float) -> float:
        """αΔ₁/s: the loss of each coordinate is at most α times its shift (huber-paper Theorem 2.1,
        appendix A).
        """
        return self.alpha * limits.check("sensitivity", l1_sensitivity) / self.scale

    def delta(self, epsilon: ArrayLike, sensitivity: float) -> Any:
        eps, shift = self._check_privacy_arguments(epsilon, sensitivity)
        return huber_privacy.delta(eps, self.alpha, shift / self.scale)[()]

    def rdp(self, order: float, sensitivity: float) -> float:
        shift = limits.check("sensitivity", sensitivity) / self.scale
        return huber_privacy.rdp(limits.check("order", order), self.alpha, shift)

    def rdp_curve(self, orders: FloatArray, sensitivity: float) -> FloatArray:
        shift = limits.check("sensitivity", sensitivity) / self.scale
        least = limits.check("order", float(np.min(orders)))
        limits.check("order", max(least, float(np.max(orders))))
        return huber_privacy.rdp_curve(orders, self.alpha, shift)

    def privacy_loss(self, x: ArrayLike, sensitivity: float) -> Any:
        """g(x) = log p(x)/p(x + Δ), between −αΔ/s and αΔ/s (huber-paper, appendix A)."""
        shift = limits.check("sensitivity", sensitivity) / self.scale
        return huber_privacy.loss(as_array(x) / self.scale, self.alpha, shift)

    @classmethod
    def with_variance(cls, variance: float, **shape: float) -> "Huber":
        """With ``alpha``: the scale that gives the variance.

        Without: the paper's unit-scale noise with that variance.
        """
        variance = limits.check("variance", variance)
        given = shape.pop("alpha", None)
        no_shape("Huber.with_variance", shape)
        if given is None:
            return cls(alpha=alpha_with_variance(variance))
        alpha = limits.check("alpha", given)
        return cls(alpha=alpha, scale=math.sqrt(variance / float(huber_law.variance(alpha))))

    @classmethod
    def with_epsilon(cls, epsilon: float, sensitivity: float, **shape: float) -> "Huber":
        """Scale αΔ/ε for the given ``alpha`` (default 1.5).

        Least variance is at α → 0, which is Laplace.
        """
        epsilon = limits.check("epsilon", epsilon)
        alpha = limits.check("alpha", shape.pop("alpha", limits.LIMITS["alpha"].default))
        no_shape("Huber.with_epsilon", shape)
        return cls(alpha=alpha, scale=alpha * limits.check("sensitivity", sensitivity) / epsilon)
