"""The Huber law of scale 1 as plain functions of arrays.

Density, distribution function, inverse, moments.

The arithmetic that ``Huber`` (one α, any scale) and ``scipy_huber`` (arrays of α) share, written so
that no formula is a difference of nearly equal numbers.

The law (huber-paper eq. 2; huber-thesis eq. 4.1): p(t) = exp(−ρ_α(t))/Z with ρ_α(t) = t²/2 for |t|
≤ α and α|t| − α²/2 beyond, and Z = (2/α)e^{−α²/2} + √(2π)·erf(α/√2).
"""

import math
from typing import Any

import numpy as np
from scipy import special

from dpmc_core.arrays import FloatArray

SQRT2 = math.sqrt(2.0)
SQRT_2PI = math.sqrt(2 * math.pi)
SQRT_HALF_PI = math.sqrt(math.pi / 2)


def rho(t: Any, alpha: Any) -> Any:
    """Huber loss ρ_α(t), huber-paper eq. 3."""
    size = np.abs(t)
    inner = np.minimum(size, alpha)
    return inner * (size - 0.5 * inner)


def normaliser(alpha: Any) -> Any:
    """Z(α), the integral of exp(−ρ_α)."""
    return 2 / alpha * np.exp(-0.5 * np.square(alpha)) + SQRT_2PI * special.erf(alpha / SQRT2)


def core_mass(alpha: Any) -> Any:
    """P(|t| ≤ α), which is also the Fisher information at scale 1 (ψ′ = 1 there and 0 outside)."""
    return SQRT_2PI * special.erf(alpha / SQRT2) / normaliser(alpha)


def variance(alpha: Any) -> Any:
    """σ²(α), huber-thesis eq. 4.5 with numerator and denominator divided by α.

    All terms are positive.
    """
    return 1 + excess_variance(alpha)


def excess_variance(alpha: Any) -> Any:
    """σ²(α) − 1 = (4/α³ + 2/α)e^{−α²/2}/Z, which keeps its digits at large α."""
    return (4 / alpha**3 + 2 / alpha) * np.exp(-0.5 * np.square(alpha)) / normaliser(alpha)


def logpdf(t: Any, alpha: Any) -> Any:
    """log p(t)."""
    return -rho(t, alpha) - np.log(normaliser(alpha))


def cdf(t: Any, alpha: Any) -> Any:
    """F(t), huber-thesis eq. 4.3, with the central piece rearranged.

    For −α ≤ t ≤ 0, F(t) = √(2π)/Z · [Φ(t) + c] with c = φ(α)/α − Φ(−α) > 0 (Mills' inequality), a
    sum of positive terms; the printed form subtracts two error functions. For t > 0, F(t) = 1 −
    F(−t).
    """
    z = normaliser(alpha)
    left = -np.abs(t)
    with np.errstate(under="ignore"):
        tail = np.exp(alpha * (np.minimum(left, -alpha) + 0.5 * alpha)) / (alpha * z)
        centre = SQRT_2PI / z * (special.ndtr(np.maximum(left, -alpha)) + _mills_gap(alpha))
    lower = np.where(left < -alpha, tail, centre)
    return np.where(np.asarray(t) <= 0, lower, 1 - lower)


def logcdf(t: Any, alpha: Any) -> Any:
    """log F(t), right to the last digits where F underflows: the pieces of ``cdf``, in logarithms.

    In the tail α(t + α/2) − log(αZ). For −α ≤ t ≤ 0 the log of √(2π)/Z·[Φ(t) + c]; for t > 0,
    log(1 − F(−t)).
    """
    z = normaliser(alpha)
    left = -np.abs(t)
    with np.errstate(under="ignore", invalid="ignore"):
        tail = alpha * (np.minimum(left, -alpha) + 0.5 * alpha) - np.log(alpha * z)
        centre = np.log(SQRT_2PI / z) + np.logaddexp(
            special.log_ndtr(np.maximum(left, -alpha)), _log_mills_gap(alpha)
        )
        lower = np.where(left < -alpha, tail, centre)
        return np.where(np.asarray(t) <= 0, lower, np.log1p(-np.exp(lower)))


def ppf(q: Any, alpha: Any) -> Any:
    """F⁻¹(q), huber-thesis eq. 4.4, in four pieces that each keep full relative accuracy.

    For q in [1/4, 3/4] it works from the exact distance to 1/2 (Sterbenz), so that results near 0
    keep their digits; further out from the tail mass. Each of the two has a Gaussian and an
    exponential part.
    """
    q = np.asarray(q, dtype=np.float64)
    alpha = np.asarray(alpha, dtype=np.float64)
    z = normaliser(alpha)
    edge = np.exp(-0.5 * np.square(alpha)) / (alpha * z)  # mass of one tail, thesis eq. B.23
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = np.minimum(q, 1 - q)
        p = np.abs(q - 0.5)
        half_core = 0.5 * core_mass(alpha)
        central_core = SQRT2 * special.erfinv(np.minimum(p * z / SQRT_HALF_PI, 1.0))
        central_tail = alpha - np.log1p(-np.clip((p - half_core) / edge, 0.0, 1.0)) / alpha
        outer_tail = 0.5 * alpha - np.log(alpha * z * tail) / alpha
        outer_core = -special.ndtri(np.maximum(tail * z / SQRT_2PI - _mills_gap(alpha), 0.0))
        size = np.where(
            p <= 0.25,
            np.where(p <= half_core, central_core, central_tail),
            np.where(tail < edge, outer_tail, outer_core),
        )
    outside = ~((q >= 0) & (q <= 1))
    return np.where(outside, np.nan, np.where(q < 0.5, -size, size))


def sample(alpha: float, size: int, rng: np.random.Generator) -> FloatArray:
    """``size`` draws: each is in the tails with their probability, there α + an exponential, else a
    truncated normal.

    Exact in real arithmetic and unlimited in range (inverse-CDF sampling from a 53-bit uniform
    stops near ±F⁻¹(1e-16)). The truncated normal is drawn by rejection from a normal (α ≥ 1) or a
    uniform (α < 1), both with acceptance above 0.6.
    """
    tail = rng.random(size) >= float(core_mass(alpha))
    out = np.empty(size)
    n_tail = int(np.count_nonzero(tail))
    beyond = alpha + rng.standard_exponential(n_tail) / alpha
    out[tail] = np.where(rng.random(n_tail) < 0.5, -beyond, beyond)
    core = np.empty(size - n_tail)
    filled = 0
    acceptance = float(special.erf(alpha / SQRT2)) if alpha >= 1 else 0.6
    while filled < core.size:
        n = int((core.size - filled) / acceptance * 1.02) + 16
        if alpha >= 1:
            draw = rng.standard_normal(n)
            accepted = draw[np.abs(draw) <= alpha]
        else:
            draw = rng.uniform(-alpha, alpha, n)
            accepted = draw[rng.random(n) <= np.exp(-0.5 * draw * draw)]
        accepted = accepted[: core.size - filled]
        core[filled : filled + accepted.size] = accepted
        filled += accepted.size
    out[~tail] = core
    return out


def _mills_gap(alpha: Any) -> Any:
    """c(α) = φ(α)/α − Φ(−α) > 0, from scaled complementary error functions."""
    return np.exp(-0.5 * np.square(alpha)) * _scaled_mills_gap(alpha)


def _log_mills_gap(alpha: Any) -> Any:
    # at α above 1e7 nothing is left of the difference, and it does not matter
    return np.log(np.maximum(_scaled_mills_gap(alpha), 1e-300)) - 0.5 * np.square(alpha)


def _scaled_mills_gap(alpha: Any) -> Any:
    """c(α)·e^{α²/2}; nearly 1/(α³√(2π)) at large α."""
    return 1 / (alpha * SQRT_2PI) - 0.5 * special.erfcx(alpha / SQRT2)
