"""Every mechanism against numbers computed elsewhere with 40 digits, and against mpmath in the far
tails.
"""

import itertools
import json
import math
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase, alpha_with_variance
from dpmc_core.mechanisms.gaussian import textbook_gaussian_epsilon

ORACLES = json.loads((Path(__file__).parent / "oracles.json").read_text())
mp.mp.dps = 40


def assert_near(value, exact, rel: float = 1e-9, **more: float) -> None:
    """Digits in common, whatever kind of number both are."""
    assert float(value) == pytest.approx(float(exact), rel=rel, **more)


def build(oracle: dict) -> Mechanism:
    if oracle["mechanism"] == "huber":
        return Huber(alpha=oracle["alpha"], scale=oracle["scale"])
    if oracle["mechanism"] == "gaussian":
        return Gaussian(scale=oracle["sigma"])
    return Laplace(scale=oracle["b"])


@pytest.mark.parametrize(
    "oracle",
    ORACLES,
    ids=lambda o: f"{o['mechanism']}-{o.get('alpha', o.get('sigma', o.get('b')))}",
)
def test_oracle(oracle: dict) -> None:
    mechanism = build(oracle)
    for method in ("pdf", "cdf", "ppf"):
        for x, expected in oracle.get(method, []):
            assert_near(getattr(mechanism, method)(x), expected, 1e-12, abs=1e-30)
    if "variance" in oracle:
        assert_near(mechanism.variance, oracle["variance"], 1e-12)
        assert_near(mechanism.fisher_information, oracle["fisher"], 1e-12)
    for epsilon, sensitivity, expected in oracle.get("delta", []):
        assert_near(mechanism.delta(epsilon, sensitivity), expected, abs=0)
    for order, sensitivity, expected in oracle.get("rdp", []):
        assert_near(mechanism.rdp(order, sensitivity), expected)


# --- independent references, written from the definition p(t) = exp(-rho(t)) / Z and nothing else
# ---


def mp_rho(t, alpha):
    t = abs(t)
    return t * t / 2 if t <= alpha else alpha * (t - alpha / 2)


def mp_density(t, alpha):
    return mp.exp(-mp_rho(mp.mpf(t), alpha))


def mp_z(alpha):
    alpha = mp.mpf(alpha)
    return 2 / alpha * mp.exp(-alpha * alpha / 2) + mp.sqrt(2 * mp.pi) * mp.erf(alpha / mp.sqrt(2))


def mp_sf(x, alpha):
    """1 − F(x) in closed form: as many digits as the context has, where erfc keeps them."""
    a, x = mp.mpf(alpha), mp.mpf(x)
    if x < -a:
        return 1 - mp_sf(-x, a)
    if x >= a:
        return mp.exp(a * a / 2 - a * x) / a / mp_z(a)
    inside = mp.sqrt(mp.pi / 2) * (mp.erfc(x / mp.sqrt(2)) - mp.erfc(a / mp.sqrt(2)))
    return (inside + mp.exp(-a * a / 2) / a) / mp_z(a)


def pieces(knots, parts: int) -> list:
    """Points between the knots, each stretch in so many equal pieces: 40-digit quadrature needs no
    cleverness.
    """
    points = []
    for low, high in itertools.pairwise(knots):
        points += mp.linspace(low, high, parts)[:-1]
    return [*points, knots[-1]]


def mp_cdf(x, alpha):
    """F(x) for x <= 0 by quadrature of the density, tail in closed form only beyond 60 decay
    lengths.
    """
    alpha, x = mp.mpf(alpha), mp.mpf(x)
    z = 2 * (
        mp.quad(lambda t: mp_density(t, alpha), mp.linspace(0, alpha, 9))
        + mp.exp(-alpha * alpha / 2) / alpha
    )
    if x <= -alpha:
        return mp.exp(alpha * (x + alpha / 2)) / alpha / z
    return (
        mp.exp(-alpha * alpha / 2) / alpha
        + mp.quad(lambda t: mp_density(t, alpha), mp.linspace(-alpha, x, 9))
    ) / z


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3, 0.7, 1.0, 1.5, 3.0, 8.0, 20.0])
@pytest.mark.parametrize("x", [-300, -40, -21, -8.1, -3, -1, -0.2, -0.01, -1e-5])
def test_cdf_and_sf_in_the_tails(alpha: float, x: float) -> None:
    noise, expected = Huber(alpha=alpha), mp_cdf(x, alpha)
    if expected > mp.mpf("1e-300"):
        assert_near(noise.cdf(x), expected, 1e-12)
        assert_near(noise.sf(-x), expected, 1e-12)
    assert_near(noise.logpdf(x), mp.log(mp_density(x, mp.mpf(alpha)) / mp_z(alpha)), 1e-12)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3, 0.69, 0.71, 1.0, 1.5, 3.0, 8.0, 20.0])
@pytest.mark.parametrize(
    "q",
    [1e-300, 1e-100, 1e-12, 1e-3, 0.1, 0.2499999, 0.25, 0.2500001, 0.4, 0.49, 0.4999, 0.5 - 1e-9],
)
def test_ppf_is_the_exact_inverse(alpha: float, q: float) -> None:
    """Solve F(x) = q with 40 digits for the float q itself, and compare to 1e-12 relative."""
    a, z = mp.mpf(alpha), mp_z(alpha)
    q_exact = mp.mpf(q)
    edge = mp.exp(-a * a / 2) / (a * z)
    if q_exact < edge:
        expected = mp.log(a * z * q_exact) / a - a / 2
    else:
        expected = -mp.sqrt(2) * mp.erfinv((mp.mpf("0.5") - q_exact) * z / mp.sqrt(mp.pi / 2))
    noise = Huber(alpha=alpha)
    assert_near(noise.ppf(q), expected, 1e-12)
    if q > 1e-3:
        upper = 1 - q
        assert noise.ppf(upper) == -noise.ppf(1 - upper)
    assert noise.isf(q) == -noise.ppf(q)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.5, 1.0, 2.0, 5.0, 20.0])
def test_variance_and_fisher_by_integration(alpha: float) -> None:
    a, z = mp.mpf(alpha), mp_z(alpha)
    inside = 2 * mp.quad(lambda t: t * t * mp.exp(-t * t / 2), mp.linspace(0, a, 9))
    outside = (
        2
        * mp.exp(-a * a / 2)
        * mp.quad(lambda u: (u / a + a) ** 2 * mp.exp(-u) / a, [0, 5, 20, 80, 200])
    )
    mass = 2 * mp.quad(lambda t: mp.exp(-t * t / 2), mp.linspace(0, a, 9))
    assert_near(Huber(alpha=alpha).variance, (inside + outside) / z, 1e-12)
    assert_near(Huber(alpha=alpha, scale=2.5).fisher_information, mass / z / 6.25, 1e-12)


@pytest.mark.parametrize(
    ("alpha", "shift", "epsilon"),
    [
        (1.5, 1.0, 1.499),
        (20.0, 0.01, 0.1999),
        (20.0, 1e-4, 1.5e-3),
        (8.0, 2.0, 15.0),
        (0.05, 300.0, 10.0),
        (0.3, 40.0, 11.999),
        (3.0, 0.001, 0.0029),
        (0.01, 5.0, 0.02),
        (3.0, 6.5, 1.0),
        (1.0, 2.0, 0.0),
    ],
)
def test_profile_where_it_nearly_cancels(alpha: float, shift: float, epsilon: float) -> None:
    a, d, e = mp.mpf(alpha), mp.mpf(shift), mp.mpf(epsilon)

    def excess(x):
        return mp.exp(-mp_rho(x, a)) - mp.exp(e - mp_rho(x + d, a))

    start = (
        mp.findroot(
            lambda x: mp_rho(x + d, a) - mp_rho(x, a) - e, (-d / 2, a), solver="anderson", tol=1e-35
        )
        if e > 0
        else -d / 2
    )
    knots = sorted({start, *[k for k in (-a, a - d, a) if k > start]})
    points = pieces(knots, 12)
    total = mp.quad(excess, points) if len(points) > 1 else mp.mpf(0)
    beyond = max(start, a)
    total += mp.exp(-a * (beyond - a / 2)) / a * (1 - mp.exp(e - a * d))
    assert_near(Huber(alpha=alpha).delta(epsilon, shift), total / mp_z(alpha))


@pytest.mark.parametrize(
    ("alpha", "shift"), [(1.0, 1e-6), (0.03, 1e-3), (1.5, 0.7), (12.0, 1e-5), (0.5, 40.0)]
)
def test_many_deltas_at_once_where_the_closed_form_cancels(alpha: float, shift: float) -> None:
    """Each against F̄(x) − e^ε F̄(x + d) with 400 digits, of which cancelling leaves enough."""
    pure = alpha * shift
    epsilons = pure * np.concatenate([np.linspace(0, 0.999, 2000), 1 - np.geomspace(1e-3, 1e-6, 9)])
    deltas = Huber(alpha=alpha).delta(epsilons, shift)
    with mp.workdps(400):
        a, d = mp.mpf(alpha), mp.mpf(shift)

        for k in [*range(0, 2000, 100), *range(1999, 2009)]:
            e = mp.mpf(float(epsilons[k]))
            middle = e / d - d / 2 if d <= 2 * a else (e / a - d) / 2
            x = (
                middle
                if e <= a * d - a * min(d * d / a, 4 * a) / 2
                else a - mp.sqrt(2 * (a * d - e))
            )
            exact = mp_sf(x, a) - mp.exp(e) * mp_sf(x + d, a)
            # near αd, where δ ends, ε itself is known to 1e-16 of αd
            close = 1e-12 + 2e-15 / float(1 - e / (a * d))
            assert_near(deltas[k], exact, close, abs=1e-300)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("alpha", "shift", "order"),
    [
        (1.5, 1e-4, 2.0),
        (1.5, 1e-6, 32.0),
        (0.05, 30.0, 300.0),
        (8.0, 40.0, 1.05),
        (3.0, 2.0, 1.0),
        (20.0, 0.01, 1000.0),
        (0.3, 5.0, 2.5),
        (1.0, 9.0, 1.0),
    ],
)
def test_renyi_divergence_by_integration(alpha: float, shift: float, order: float) -> None:
    a, d, o = mp.mpf(alpha), mp.mpf(shift), mp.mpf(order)
    z = mp_z(alpha)
    points = pieces(sorted({-a, a, d - a, d + a}), 60)

    def loss(x):
        return mp_rho(x - d, a) - mp_rho(x, a)

    tail = mp.exp(-a * a / 2) / a
    if order == 1:
        inner = mp.quad(lambda x: mp_density(x, a) * loss(x), points)
        right = mp.exp(-a * d) * tail  # mass of p beyond d + a
        expected = (inner + tail * a * d - right * a * d) / z
    else:
        inner = mp.quad(
            lambda x: mp_density(x, a) * mp.exp((o - 1) * loss(x)), points, method="gauss-legendre"
        )
        total = (inner + tail * mp.exp((o - 1) * a * d) + tail * mp.exp(-o * a * d)) / z
        expected = mp.log(total) / (o - 1)
    assert_near(Huber(alpha=alpha).rdp(order, shift), expected)


@pytest.mark.parametrize("alpha", [0.05, 1.5, 20.0])
@pytest.mark.parametrize("shift", [1e-4, 0.3, 5.0, 1e5])
def test_many_orders_at_once_are_what_each_is_alone(alpha: float, shift: float) -> None:
    """They share the nodes of their integrals, which are then finer, or further out, than one order
    needs.
    """
    noise, orders = Huber(alpha=alpha, scale=2.0), np.r_[1.0, 1 + np.logspace(-2, 7, 60)]
    alone = [noise.rdp(float(order), shift) for order in orders]
    # as many digits as each alone has by the test above
    np.testing.assert_allclose(noise.rdp_curve(orders, shift), alone, rtol=1e-9)
    with pytest.raises(ParameterError, match=r"order = 0\.5"):
        noise.rdp_curve(np.array([2.0, 0.5]), shift)


@pytest.mark.parametrize(
    ("sigma", "epsilon", "shift"),
    [
        *itertools.product(
            (0.3, 1.0, 4.0), (0.0, 1e-6, 1e-3, 0.1, 1.0, 5.0), (1e-3, 0.1, 1.0, 8.0)
        ),
        (1.0, 800.0, 45.0),
        (1.0, 1024.0, 100.0),
        (1.0, 4900.0, 100.0),
        (1.0, 5e5, 1000.0),
        (1.0, 1e-9, 1e-10),
        (1.0, 0.0, 1e-12),
        (1.0, 1.0, 1.5),
    ],
)
def test_gaussian_profile_to_nine_digits(sigma: float, epsilon: float, shift: float) -> None:
    with mp.workdps(60):
        d, e = mp.mpf(shift) / mp.mpf(sigma), mp.mpf(epsilon)
        expected = mp.ncdf(d / 2 - e / d) - mp.exp(e) * mp.ncdf(-d / 2 - e / d)
    if expected > mp.mpf("1e-290"):
        assert_near(Gaussian(scale=sigma).delta(epsilon, shift), expected)


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0, 30.0])
@pytest.mark.parametrize("shift", [1e-6, 0.1, 3.0, 50.0])
def test_laplace_renyi_to_nine_digits(order: float, shift: float) -> None:
    a, d = mp.mpf(order), mp.mpf(shift)
    if order == 1:
        expected = d - 1 + mp.exp(-d)
    else:
        expected = mp.log(
            a / (2 * a - 1) * mp.exp((a - 1) * d) + (a - 1) / (2 * a - 1) * mp.exp(-a * d)
        ) / (a - 1)
    assert_near(Laplace(scale=1.0).rdp(order, shift), expected)


def test_table_1_as_checked() -> None:
    """Printed, textbook and exact Gaussian values, and the Huber column."""
    for variance, printed, textbook, exact in (
        (1, 15.964, 24.22, 33.10),
        (2, 11.288, 17.13, 20.68),
        (3, 9.217, 13.99, 15.87),
        (4, 7.982, 12.11, 13.21),
    ):
        by_base_10 = textbook_gaussian_epsilon(variance, 5, 1e-5, base10=True)
        assert by_base_10 == pytest.approx(printed, abs=6e-4)
        assert textbook_gaussian_epsilon(variance, 5, 1e-5) == pytest.approx(textbook, abs=6e-3)
        epsilon = Gaussian.with_variance(variance).epsilon_at_delta(1e-5, 5)
        assert epsilon == pytest.approx(exact, abs=6e-3)
    assert [round(5 * alpha_with_variance(v), 3) for v in (2, 3, 4)] == [5.380, 4.216, 3.601]
    assert Huber(alpha=3).variance == pytest.approx(1.0036, abs=5e-5)


def test_huber_noise_at_equal_epsilon_and_in_composition() -> None:
    """At equal pure epsilon Huber noise is never smaller than Laplace.

    I·variance falls from 2 to 1.
    """
    for alpha in np.geomspace(0.01, 20, 60):
        assert Huber.with_epsilon(1, 1, alpha=alpha).variance >= Laplace.with_epsilon(1, 1).variance
    for alpha, price in [(0.3, 1.889), (0.72, 1.529), (1.076, 1.267), (1.5, 1.096), (3, 1.0006)]:
        h = Huber(alpha=alpha)
        assert h.fisher_information * h.variance == pytest.approx(price, abs=6e-4)


def test_staircase_gamma_minimises_the_variance() -> None:
    for epsilon in (1e-4, 0.1, 1.0, 4.0, 12.0):
        best = Staircase(epsilon=epsilon, sensitivity=1.0).variance
        for gamma in np.linspace(0.001, 1, 400):
            other = Staircase(epsilon=epsilon, sensitivity=1.0, gamma=gamma)
            assert other.variance >= best * (1 - 1e-12)
    assert Staircase(epsilon=1e-4, sensitivity=1).variance < Laplace.with_epsilon(1e-4, 1).variance
    assert math.isinf(Staircase(epsilon=1, sensitivity=1).fisher_information)


def test_gaussian_calibration_at_its_ends() -> None:
    for shift in (1e-10, 1e-3, 40.0, 1e3):
        noise = Gaussian(scale=1.0)
        assert_near(noise.delta(noise.epsilon_at_delta(1e-12, shift), shift), 1e-12, 1e-6)
    assert_near(Gaussian.with_epsilon(1e4, 5.0).delta(1e4, 5.0), 1e-5, 1e-6)


def test_renyi_near_order_one_is_the_kl_divergence() -> None:
    """D_a − D_1 = (a − 1)·Var(loss)/2 to first order, so the ratio tends to 1 as fast as a does."""
    for noise in (
        Huber(alpha=1.5),
        Huber(alpha=20.0),
        Laplace(scale=1.0),
        Staircase(epsilon=1.0, sensitivity=1.0),
    ):
        for shift in (1e-6, 0.7, 100.0):
            kl = noise.rdp(1.0, shift)
            for excess in (1e-14, 1e-12, 1e-9):
                assert_near(noise.rdp(1 + excess, shift), kl, 1e-5 if excess == 1e-9 else 1e-8)
    # far beyond the shift, only the tails' slope counts
    assert Huber(alpha=1.5).rdp(2.0, 1e60) == pytest.approx(1.5e60)
    assert Huber(alpha=20.0).rdp(1.0, 100.0) == pytest.approx(20 * 100 - 200 - 0.5, abs=1e-3)


@pytest.mark.parametrize("shift", [0.3, 1.0, 1.7, 2.0])
def test_staircase_privacy_piece_by_piece(shift: float) -> None:
    """Sum over every constant piece out to 80 periods, found here from the density's own jumps."""
    noise = Staircase(epsilon=0.9, sensitivity=1.0, gamma=0.37)
    jumps = np.outer([-1, 1], np.arange(80) + 0.37)
    edges = np.unique(np.round([*jumps, *(jumps + shift)], 12))
    widths, middles = np.diff(edges), (edges[1:] + edges[:-1]) / 2
    p, q = (widths * noise.pdf(middles - moved) for moved in (0.0, shift))
    for epsilon in (0.0, 0.4, 0.9, 1.3):
        expected = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert float(noise.delta(epsilon, shift)) == pytest.approx(expected, abs=1e-11)
    for order in (1.5, 3.0):
        total = (p**order * q ** (1 - order)).sum()
        assert_near(noise.rdp(order, shift), math.log(total) / (order - 1))
    assert_near(noise.rdp(1.0, shift), (p * np.log(p / q)).sum())
