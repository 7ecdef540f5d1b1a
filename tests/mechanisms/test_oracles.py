"""Every family against its definition: 60 digits of mpmath, exact pieces, and printed numbers."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.special import logsumexp

from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Mechanism, Staircase
from dpmc_core.mechanisms.gaussian import textbook_gaussian_epsilon
from tests.mechanisms.references import (
    assert_near,
    beyond,
    density,
    edge,
    profile,
    rho,
    slope,
    tail,
)

BOUNDED: list[Mechanism] = [
    *(Huber(alpha=alpha) for alpha in (0.01, 0.05, 0.3, 0.69, 0.71, 1.0, 8.0, 12.0, 20.0)),
    Huber(alpha=1.075977901173),
    Huber(alpha=1.5, scale=2.0),
    Huber(alpha=3.0, scale=0.7),
    *(Laplace(scale=scale) for scale in (0.7, 1.0, 2.0)),
]
NOISES = [*BOUNDED, *(Gaussian(scale=scale) for scale in (0.3, 1.0, 4.0))]
STAIRCASE = Staircase(epsilon=0.9, sensitivity=1.0, gamma=0.37)
SHIFTS = (1e-12, 1e-6, 1e-3, 0.1, 0.7, 5.0, 40.0, 300.0)


def every_noise_of(noises: list[Mechanism]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("noise", noises, ids=str)


@every_noise_of(NOISES)
def test_densities_tails_and_quantiles(noise: Mechanism) -> None:
    with mp.workdps(40):
        scale = mp.mpf(noise.scale)
        for x in (-300, -40, -21, -8.1, -3, -1, -0.2, -0.01, -1e-5):
            unit = mp.mpf(x) / scale
            expected, below = density(noise, unit), tail(noise, -unit)
            assert_near(-mp.diff(lambda t: tail(noise, t), unit), expected, 1e-15)
            assert_near(noise.logpdf(x), mp.log(expected / scale), 1e-12)
            if below > 1e-300:
                assert_near(noise.cdf(x), below, 1e-12)
                assert_near(noise.sf(-x), below, 1e-12)
        for q in (1e-300, 1e-100, 1e-12, 1e-3, 0.1, 0.2499999, 0.25, 0.4, 0.49, 0.4999, 0.5 - 1e-9):
            unit = mp.mpf(float(noise.ppf(q))) / scale
            missed = tail(noise, -unit) - mp.mpf(q)
            assert abs(missed) <= 1e-12 * abs(unit) * density(noise, unit), q
            assert noise.isf(q) == -noise.ppf(q)
            assert q < 1e-2 or noise.ppf(1 - q) == -noise.ppf(1 - (1 - q))


@every_noise_of(NOISES)
def test_variance_and_fisher_information_are_integrals(noise: Mechanism) -> None:
    middle, steepest = min(edge(noise), mp.mpf(16)), slope(noise)
    far = (middle + k / min(steepest, 16) for k in (5, 20, 80, 200))
    points = [*sorted({*mp.linspace(0, middle, 9)}), *far]

    def mean(of):
        return mp.quad(lambda x: of(x) * mp.exp(-rho(noise, x)), points) / beyond(noise, 0)

    assert_near(noise.variance, mean(lambda x: x * x) * noise.scale**2, 1e-12)
    information = mean(lambda x: min(x, steepest) ** 2 if edge(noise) else 1)
    assert_near(noise.fisher_information, information / noise.scale**2, 1e-12)


@every_noise_of(NOISES)
def test_privacy_profiles(noise: Mechanism) -> None:
    for shift in SHIFTS:
        most = noise.epsilon(shift)
        if math.isinf(most):
            epsilons = np.array([0.0, 1e-6, 1e-3, 0.1, 1.0, 5.0, 1e3, shift**2 / 2])
            close = np.full(8, 1e-9)
        else:  # near the pure ε, where δ ends, ε itself is known to 1e-16 of it
            parts = np.array([0.0, 1e-6, 0.05, 0.3, 0.7, 0.95, 0.999, 1 - 1e-4, 1 - 1e-6])
            epsilons, close = most * parts, 1e-12 + 2e-15 / (1 - parts)
        if getattr(noise, "alpha", 0.0) > 12:
            close = np.full(9, 1e-9)
        for epsilon, delta, digits in zip(
            epsilons, noise.delta(epsilons, shift), close, strict=True
        ):
            with mp.workdps(60):
                expected = profile(noise, epsilon, mp.mpf(shift) / mp.mpf(noise.scale))
            assert_near(delta, expected, digits, abs=1e-290)


@every_noise_of([*BOUNDED, STAIRCASE])
def test_renyi_divergences_are_integrals_of_the_profile(noise: Mechanism) -> None:
    """e^{(a−1)D} − 1 = a(a − 1)·∫ (e^{(a−1)ε} + e^{−aε})·δ(ε) dε over ε ≥ 0 (Sason & Verdú 2016,
    Proposition 3, where both directions have one profile).
    """
    orders = np.array([1.0, 1 + 1e-14, 1 + 1e-9, 1.05, 1.5, 2.0, 8.0, 30.0, 300.0, 1e4])
    nodes, weights = np.polynomial.legendre.leggauss(30)
    for shift in SHIFTS[1:-1]:
        top = noise.epsilon(shift)
        kink = min(shift / getattr(noise, "scale", 1.0), 2 * getattr(noise, "alpha", 0)) ** 2 / 2
        kinks = [top - kink, *np.arange(0, top, getattr(noise, "epsilon_design", math.inf))]
        edges = np.unique([0.0, *kinks, *(top * (1 - np.geomspace(1, 1e-14, 120)))])
        half = np.diff(edges)[:, None] / 2
        epsilons = edges[:-1, None] + half * (1 + nodes)
        with np.errstate(divide="ignore"):
            logs = np.log(half * weights * noise.delta(epsilons, shift))
        for order, divergence in zip(orders, noise.rdp_curve(orders, shift), strict=True):
            h = order - 1
            total = math.log(order) + logsumexp([h * epsilons + logs, -order * epsilons + logs])
            expected = np.logaddexp(0, math.log(h) + total) / h if h else math.exp(total)
            assert_near(divergence, expected)
            assert_near(noise.rdp(order, shift), divergence)


def test_renyi_divergences_of_gaussian_noise_and_of_shifts_far_beyond_it() -> None:
    assert_near(Gaussian(scale=2.0).rdp(3.0, 5.0), 3.0 * 5.0**2 / (2 * 2.0**2), 1e-15)
    # only the tails' slope counts
    assert Huber(alpha=1.5).rdp(2.0, 1e60) == pytest.approx(1.5e60)
    assert Huber(alpha=20.0).rdp(1.0, 100.0) == pytest.approx(20 * 100 - 200 - 0.5, abs=1e-3)


def test_staircase_noise_is_its_own_steps() -> None:
    """Sums over the constant pieces out to 80 periods, between the jumps of two densities."""
    jumps = np.outer([-1, 1], np.arange(80) + STAIRCASE.gamma)
    for shift in (0.3, 1.0, 1.7, 2.0):
        edges = np.unique(np.round([*jumps, *(jumps + shift)], 12))
        widths, middles = np.diff(edges), (edges[1:] + edges[:-1]) / 2
        p, q = (widths * STAIRCASE.pdf(middles - moved) for moved in (0.0, shift))
        assert STAIRCASE.cdf(edges[1:]) == pytest.approx(np.cumsum(p), abs=1e-12)
        assert STAIRCASE.variance == pytest.approx(p @ (middles**2 + widths**2 / 12), rel=1e-9)
        for epsilon in (0.0, 0.4, 0.9, 1.3):
            expected = np.maximum(p - math.exp(epsilon) * q, 0).sum()
            assert float(STAIRCASE.delta(epsilon, shift)) == pytest.approx(expected, abs=1e-11)


def test_gaussian_values_of_table_1_as_printed_and_by_the_textbook() -> None:
    for base10, values in (
        (True, [15.964, 11.288, 9.217, 7.982]),
        (False, [24.22, 17.13, 13.99, 12.11]),
    ):
        ours = [textbook_gaussian_epsilon(v, 5, 1e-5, base10=base10) for v in (1, 2, 3, 4)]
        assert ours == pytest.approx(values, abs=6e-4 if base10 else 6e-3)


def test_huber_noise_is_never_smaller_than_laplace_noise_of_equal_epsilon() -> None:
    for alpha in np.geomspace(0.01, 20, 60):
        assert Huber.with_epsilon(1, 1, alpha=alpha).variance >= Laplace.with_epsilon(1, 1).variance


def test_staircase_gamma_minimises_the_variance() -> None:
    for epsilon in (1e-4, 0.1, 1.0, 4.0, 12.0):
        best = Staircase(epsilon=epsilon, sensitivity=1.0).variance
        for gamma in np.linspace(0.001, 1, 400):
            other = Staircase(epsilon=epsilon, sensitivity=1.0, gamma=gamma)
            assert other.variance >= best * (1 - 1e-12)
    assert Staircase(epsilon=1e-4, sensitivity=1).variance < Laplace.with_epsilon(1e-4, 1).variance
    assert math.isinf(Staircase(epsilon=1, sensitivity=1).fisher_information)
