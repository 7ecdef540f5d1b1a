"""The Huber law as a SciPy distribution, so that SciPy users feel at home.

``huber``, an ``rv_continuous`` with shape ``alpha`` (and SciPy's ``loc`` and ``scale``). It accepts
arrays of α; use ``Huber`` for one mechanism and its privacy.
"""

from typing import Any

import numpy as np
from scipy import stats

from dpmc_core.mechanisms import huber as huber_law


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

    def _stats(self, alpha: Any) -> Any:
        return 0.0, huber_law.variance(alpha), 0.0, None  # SciPy finds the kurtosis


huber = _HuberGen(name="huber", shapes="alpha")
