"""SciPy's own generic distribution checks, run on our Huber law."""

import warnings
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import numpy.testing as npt
import pytest
from scipy import stats

from dpmc_core.mechanisms.scipy_huber import huber
from tests.mechanisms.references import assert_near, tail

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    checks = pytest.importorskip("scipy.stats.tests.test_continuous_basic")


@pytest.mark.parametrize("alpha", [0.3, 1.5, 4.0])
@pytest.mark.filterwarnings("ignore")
def test_generic_checks(alpha: float) -> None:
    arg, name = (alpha,), "huber"
    for check in (
        checks.check_cdf_ppf,
        checks.check_sf_isf,
        checks.check_cdf_sf,
        checks.check_pdf,
        checks.check_pdf_logpdf,
        checks.check_cdf_logcdf,
        checks.check_sf_logsf,
        checks.check_ppf_broadcast,
    ):
        check(huber, arg, name)
    checks.check_named_args(huber, 0.5, arg, (0, 1), [huber.pdf, huber.cdf])
    checks.check_pickling(huber, arg)
    m, v, s, k = huber.stats(*arg, moments="mvsk")
    checks.check_moment(huber, arg, m, v, name)
    checks.check_skew_expect(huber, arg, m, v, s, name)
    checks.check_kurt_expect(huber, arg, m, v, k, name)


def test_logarithms_of_nearly_normal_laws() -> None:
    alpha = np.geomspace(1e6, 1e12, 2000)
    npt.assert_allclose(huber.logcdf(-3.0, alpha), stats.norm.logcdf(-3.0), rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.5, 4.0, 40.0])
def test_logarithms_where_the_functions_underflow(alpha: float) -> None:
    """Against the integral of the density to 60 digits."""
    with mp.workdps(60):
        for x in (0.0, 0.5 * alpha, 0.999 * alpha, alpha, 1.5 * alpha, 39.0, 800.0, 1e6):
            beyond = tail(SimpleNamespace(alpha=alpha), x)
            assert_near(huber.logsf(x, alpha), mp.log(beyond), 1e-12)
            assert_near(huber.logcdf(-x, alpha), mp.log(beyond), 1e-12)
            assert_near(huber.logcdf(x, alpha), mp.log1p(-beyond), 1e-12, abs=1e-300)
