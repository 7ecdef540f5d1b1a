"""SciPy's own generic distribution checks, run on our Huber law."""

import warnings
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import numpy.testing as npt
import pytest
from scipy import stats

from dpmc_core.mechanisms import Huber
from dpmc_core.mechanisms.scipy_huber import huber
from tests.mechanisms.references import assert_near, tail

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    checks = pytest.importorskip("scipy.stats.tests.test_continuous_basic")


@pytest.mark.parametrize("alpha", [0.3, 1.5, 4.0])
@pytest.mark.filterwarnings("ignore")
def test_generic_checks(alpha: float) -> None:
    arg = (alpha,)
    name = "huber"
    rvs = huber.rvs(size=1000, *arg, random_state=np.random.default_rng(765456))  # noqa: B026
    for check in (
        checks.check_normalization,
        checks.check_cdf_ppf,
        checks.check_sf_isf,
        checks.check_cdf_sf,
        checks.check_ppf_isf,
        checks.check_pdf,
        checks.check_pdf_logpdf,
        checks.check_pdf_logpdf_at_endpoints,
        checks.check_cdf_logcdf,
        checks.check_sf_logsf,
        checks.check_ppf_broadcast,
        checks.check_entropy,
    ):
        check(huber, arg, name)
    assert stats.kstest(rvs, huber.cdf, args=arg).pvalue > 0.01
    methods = [huber.pdf, huber.logpdf, huber.cdf, huber.logcdf, huber.sf, huber.logsf]
    checks.check_named_args(huber, rvs[0], arg, (0, 1), methods)
    for check in (
        checks.check_random_state_property,
        checks.check_pickling,
        checks.check_freezing,
        checks.check_edge_support,
        checks.check_retrieving_support,
    ):
        check(huber, arg)
    checks.check_private_entropy(huber, arg, stats.rv_continuous)
    checks.check_loc_scale(huber, arg, *huber.stats(*arg), name)
    m, v, s, k = huber.stats(*arg, moments="mvsk")
    checks.check_mean_expect(huber, arg, m, name)
    checks.check_var_expect(huber, arg, m, v, name)
    checks.check_skew_expect(huber, arg, m, v, s, name)
    checks.check_kurt_expect(huber, arg, m, v, k, name)
    checks.check_moment(huber, arg, m, v, name)
    checks.check_rvs_broadcast(
        huber,
        name,
        [np.array([[0.5], [2.0]]), np.array([0.0, 1.0]), np.array([1.0])],
        (2, 2),
        False,
        "d",
    )


def test_agrees_with_the_mechanism() -> None:
    x = np.linspace(-9, 9, 41)
    mechanism, law = Huber(alpha=1.5, scale=2.0), huber(1.5, scale=2.0)
    npt.assert_allclose(law.pdf(x), mechanism.pdf(x), rtol=1e-13)
    npt.assert_allclose(law.cdf(x), mechanism.cdf(x), rtol=1e-13)
    assert law.var() == pytest.approx(mechanism.variance, rel=1e-13)
    npt.assert_allclose(
        huber.pdf(0.0, [0.5, 1.5]), [Huber(alpha=0.5).pdf(0.0), Huber(alpha=1.5).pdf(0.0)]
    )


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
