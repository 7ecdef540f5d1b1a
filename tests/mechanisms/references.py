"""Huber, Laplace and Gaussian noise of scale 1 to any number of digits, from −log p alone."""

from typing import Any

import mpmath as mp
import pytest

from dpmc_core.mechanisms import Laplace


def assert_near(value, exact, rel: float = 1e-9, **more: float) -> None:
    """Digits in common, whatever kind of number both are."""
    assert float(value) == pytest.approx(float(exact), rel=rel, **more)


def edge(noise: Any):
    """Beyond which −log p is straight: 0, α or nowhere."""
    return mp.mpf(0) if isinstance(noise, Laplace) else mp.mpf(getattr(noise, "alpha", "inf"))


def slope(noise: Any):
    """Of −log p there, and so the largest privacy loss of a shift by 1."""
    return mp.mpf(1) if isinstance(noise, Laplace) else edge(noise)


def rho(noise: Any, x):
    """−log p, but for a constant."""
    a, x = edge(noise), abs(mp.mpf(x))
    return x * x / 2 if x <= a else slope(noise) * (x - a / 2)


def beyond(noise: Any, x):
    """∫ exp(−ρ) from ``x`` on."""
    a, s, x = edge(noise), slope(noise), mp.mpf(x)
    if x < 0:
        return 2 * beyond(noise, 0) - beyond(noise, -x)
    if x >= a:
        return mp.exp(-rho(noise, x)) / s
    core = mp.erfc(x / mp.sqrt(2)) - mp.erfc(a / mp.sqrt(2))
    return mp.sqrt(mp.pi / 2) * core + mp.exp(-a * a / 2) / s


def density(noise: Any, x):
    return mp.exp(-rho(noise, x)) / (2 * beyond(noise, 0))


def tail(noise: Any, x):
    """P(noise > x)."""
    return beyond(noise, x) / (2 * beyond(noise, 0))


def profile(noise: Any, epsilon, shift):
    """δ(ε) = P(x > x_ε) − e^ε P(x > x_ε + d), where the loss, which rises with x, is ε at x_ε.

    The digits that cancel have to be there.
    """
    e, d = mp.mpf(epsilon), mp.mpf(shift)
    x = -d / 2
    if e > 0:
        ends = x, min(edge(noise), e / d)
        x = mp.findroot(lambda x: rho(noise, x + d) - rho(noise, x) - e, ends, solver="anderson")
    return tail(noise, x) - mp.exp(e) * tail(noise, x + d)
