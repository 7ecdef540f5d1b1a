"""The Huber law as a SciPy distribution, so that SciPy users feel at home.

``huber``, an ``rv_continuous`` with shape ``alpha`` (and SciPy's ``loc`` and ``scale``). It accepts
arrays of α; use ``Huber`` for one mechanism and its privacy.
"""

from typing import Any

import numpy as np
from scipy import special, stats

from dpmc_core.mechanisms import huber_distribution as huber_law


class _HuberGen(stats.rv_continuous):
    """Continuous random variable with Gaussian centre and exponential tails; shape ``alpha`` > 0.

    >>> round(float(huber(1.5).var()), 4)
    1.3139
    """

    def _shape_info(self) -> list[Any]:
        from scipy.stats._distn_infrastructure import _ShapeInfo

        return [_ShapeInfo("alpha", False, (0, np.inf), (False, False))]

    def _argcheck(self, alpha: Any) -> Any:
        return (alpha > 0) & np.isfinite(alpha)

    def _pdf(self, x: Any, alpha: Any) -> Any:
        return np.exp(huber_law.logpdf(x, alpha))

    def _logpdf(self, x: Any, alpha: Any) -> Any:
        return huber_law.logpdf(x, alpha)

    def _cdf(self, x: Any, alpha: Any) -> Any:
        return huber_law.cdf(x, alpha)

    def _sf(self, x: Any, alpha: Any) -> Any:
        return huber_law.cdf(-np.asarray(x), alpha)

    def _logcdf(self, x: Any, alpha: Any) -> Any:
        return huber_law.logcdf(x, alpha)

    def _logsf(self, x: Any, alpha: Any) -> Any:
        return huber_law.logcdf(-np.asarray(x), alpha)

    def _ppf(self, q: Any, alpha: Any) -> Any:
        return huber_law.ppf(q, alpha)

    def _isf(self, q: Any, alpha: Any) -> Any:
        return -huber_law.ppf(q, alpha)

    def _rvs(self, alpha: Any, size: Any = None, random_state: Any = None) -> Any:
        return huber_law.ppf(random_state.uniform(size=size), alpha)

    def _stats(self, alpha: Any) -> Any:
        variance = huber_law.variance(alpha)
        return 0.0, variance, 0.0, self._fourth_moment(alpha) / variance**2 - 3

    def _fourth_moment(self, alpha: Any) -> Any:
        """E[t⁴]: 3·√(2π)·erf(α/√2) − 2(α³ + 3α)e^{−α²/2} inside, a gamma-like polynomial outside,
        over Z.
        """
        tail = np.exp(-0.5 * np.square(alpha))
        inside = (
            3 * huber_law.SQRT_2PI * special.erf(alpha / huber_law.SQRT2)
            - 2 * (alpha**3 + 3 * alpha) * tail
        )
        a = alpha
        outside = 2 * tail * (a**3 + 4 * a + 12 / a + 24 / a**3 + 24 / a**5)
        return (inside + outside) / huber_law.normaliser(alpha)

    def _entropy(self, alpha: Any) -> Any:
        """log Z + E[ρ]: E[ρ] = E[t²; |t| ≤ α]/2 inside, and the exponential tail's mean outside."""
        tail = np.exp(-0.5 * np.square(alpha))
        z = huber_law.normaliser(alpha)
        inside = huber_law.SQRT_HALF_PI * special.erf(alpha / huber_law.SQRT2) - alpha * tail
        outside = 2 / alpha * tail * (0.5 * np.square(alpha) + 1)
        return np.log(z) + (inside + outside) / z


huber = _HuberGen(name="huber", shapes="alpha")
