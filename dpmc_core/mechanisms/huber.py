"""Huber noise: Gaussian centre, exponential tails (huber-paper section 2.2; huber-thesis chapter
4).

The mechanism with transition parameter α and any scale s. The papers use s = 1 only; scaling is
what lets one family be compared at equal variance *and* at equal ε. Before it stand the law of
scale 1 as plain functions of arrays, written so that no formula is a difference of nearly equal
numbers, and its exact scalar privacy for one shift d.

The law (huber-paper eq. 2; huber-thesis eq. 4.1): p(t) = exp(−ρ_α(t))/Z with ρ_α(t) = t²/2 for |t|
≤ α and α|t| − α²/2 beyond, and Z = (2/α)e^{−α²/2} + √(2π)·erf(α/√2).

The privacy loss g(x) = ρ(x + d) − ρ(x) (huber-paper, appendix A), its inverse, and two integrals of
non-negative functions, privacy profile and Rényi divergence. Both are taken by Gauss–Legendre
quadrature on pieces where the integrand is the exponential of a quadratic, so nothing cancels; the
closed forms are used where they keep their digits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import special

from dpmc_core import limits
from dpmc_core.arrays import FloatArray, as_array
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms.base import Mechanism, quantiles, renyi_of_pieces, solve_decreasing

SQRT2 = math.sqrt(2.0)
SQRT_2PI = math.sqrt(2 * math.pi)
SQRT_HALF_PI = math.sqrt(math.pi / 2)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_MAX_VARIATION = 16.0  # of the log-integrand over one panel: 24 nodes are then right to about 1e-15
_FEW_NODES, _FEW_WEIGHTS = np.polynomial.legendre.leggauss(12)
_MOST_TOLD = 2.0  # the same over one panel of δ's integral: 12 nodes do
_BLOCK = 2**15  # panels of it at once
_TOGETHER = 48  # orders whose panels are found together
_TINY = 1e-8  # shifts
_NEGLIGIBLE = 90.0  # a panel this far below the largest, in logs, is dropped


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
            special.log_ndtr(np.maximum(left, -alpha)),
            # at α above 1e7 nothing is left of the gap, and it does not matter
            np.log(np.maximum(_scaled_mills_gap(alpha), 1e-300)) - 0.5 * np.square(alpha),
        )
        lower = np.where(left < -alpha, tail, centre)
        return np.where(np.asarray(t) <= 0, lower, np.log1p(-np.exp(lower)))


def ppf(q: Any, alpha: Any) -> Any:
    """F⁻¹(q), huber-thesis eq. 4.4, in four pieces that each keep full relative accuracy.

    For q in [1/4, 3/4] it works from the exact distance to 1/2 (Sterbenz), so that results near 0
    keep their digits; further out from the tail mass. Each of the two has a Gaussian and an
    exponential part.
    """
    q, alpha = as_array(q), as_array(alpha)
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
    return quantiles(q, size)


def _mills_gap(alpha: Any) -> Any:
    """c(α) = φ(α)/α − Φ(−α) > 0, from scaled complementary error functions."""
    return np.exp(-0.5 * np.square(alpha)) * _scaled_mills_gap(alpha)


def _scaled_mills_gap(alpha: Any) -> Any:
    """c(α)·e^{α²/2}; nearly 1/(α³√(2π)) at large α."""
    return 1 / (alpha * SQRT_2PI) - 0.5 * special.erfcx(alpha / SQRT2)


def loss(x: Any, alpha: float, shift: float) -> Any:
    """g(x) = ρ_α(x + d) − ρ_α(x) = log p(x)/p(x + d).

    Increasing in x, from −αd to αd (huber-paper, appendix A).
    """
    return rho(np.asarray(x) + shift, alpha) - rho(x, alpha)


def loss_inverse(epsilon: Any, alpha: float, shift: float) -> Any:
    """The x with g(x) = ε, for 0 ≤ ε < αd.

    The three increasing pieces of appendix A solved for x.

    Gaussian centre x = ε/d − d/2 while both x and x + d lie within ±α; the middle piece α(2x + d) =
    ε when d > 2α; otherwise x = α − √(2(αd − ε)).
    """
    a, d = alpha, shift
    eps = as_array(epsilon)
    last = a - np.sqrt(2 * np.maximum(a * d - eps, 0.0))
    if d <= 2 * a:
        return np.where(eps <= a * d - d * d / 2, eps / d - d / 2, last)
    return np.where(eps <= a * d - 2 * a * a, (eps / a - d) / 2, last)


def _delta_by_quadrature(starts: FloatArray, alpha: float, shift: float) -> FloatArray:
    """δ at the ε with x_ε = ``starts`` (n,), all of it sums of positive terms.

    As δ′(ε) = −e^ε F̄(x_ε + d), δ is the integral of e^{g(x)} F̄(x + d) g′(x) from x_ε to α, beyond
    which g is constant.
    """

    def log_part(x: FloatArray) -> FloatArray:
        # where x + d lies in the right tail, e^g F̄ = p/α
        inner = logcdf(-x - shift, alpha) + loss(x, alpha, shift)
        tail = logpdf(x, alpha) - math.log(alpha)
        return np.where(x + shift >= alpha, tail, inner)

    kinks = np.array([-alpha, alpha - shift, -alpha - shift, alpha])
    edges = np.unique(np.minimum(np.concatenate([starts, kinks[kinks > starts.min()]]), alpha))
    varies = np.abs(np.diff(loss(edges, alpha, shift))) + np.abs(np.diff(log_part(edges)))
    panels = np.ceil(varies / _MOST_TOLD + 1e-300).astype(np.int64)
    width = np.diff(edges) / panels
    areas = np.empty(panels.size)
    blocks = np.searchsorted(np.cumsum(panels), np.arange(0, panels.sum(), _BLOCK), side="right")
    for of in np.split(np.arange(panels.size), blocks[1:]):
        first = np.concatenate([[0], np.cumsum(panels[of])[:-1]])
        place = np.arange(panels[of].sum()) - np.repeat(first, panels[of])
        half = np.repeat(width[of], panels[of])[:, None] / 2
        x = np.repeat(edges[of], panels[of])[:, None] + half * (2 * place[:, None] + 1 + _FEW_NODES)
        slope = np.minimum(min(shift, 2 * alpha), np.minimum(alpha - x, x + shift + alpha))
        of_panels = np.exp(log_part(x)) * slope * half @ _FEW_WEIGHTS
        areas[of] = np.add.reduceat(of_panels, first)
    beyond = np.append(np.cumsum(areas[::-1])[::-1], 0.0)
    return beyond[np.searchsorted(edges, np.minimum(starts, alpha))]


def rdp_curve(orders: FloatArray, alpha: float, shift: float) -> FloatArray:
    """Rényi divergence between H(α) and H(α) shifted by d, at each of ``orders`` ≥ 1, which share
    their nodes: many orders cost little more than one. The KL divergence at order 1.

    Below d = 1e-8 it is bounded by a·I·d²/2 (docs/huber-composition.md, 2; relatively too large by
    about a·d at most) and by αd. Beyond d = 2α + 200/α, q lies in its left tail wherever p has mass
    above e^{−200}, so a larger shift only adds α to every privacy loss: D(d + t) = D(d) + αt.
    """
    if (
        shift < _TINY
    ):  # differences of densities lose their digits: the bounds a·I·d²/2 and αd are as good there
        information = float(core_mass(alpha))
        return np.minimum(orders * information * shift**2 / 2, alpha * shift)
    near = min(shift, 2 * alpha + 200 / alpha)
    parts = np.array_split(orders, math.ceil(orders.size / _TOGETHER))
    curve = np.concatenate([_rdp_of(part, alpha, near) for part in parts])
    return curve + alpha * (shift - near)


def _rdp_of(orders: FloatArray, alpha: float, d: float) -> FloatArray:
    tail_mass = float(cdf(-alpha, alpha))
    edges = np.unique([-alpha, alpha, d - alpha, d + alpha])
    # p^a q^{1−a} for each order a; order 1 has p in it, and q is order 0
    powers = np.concatenate([[0.0, 1.0], orders])

    def logs(x: FloatArray) -> Any:
        log_p, log_q = logpdf(x, alpha), logpdf(x - d, alpha)
        return np.multiply.outer(powers, log_p) + np.multiply.outer(1 - powers, log_q)

    nodes, weights = _panels(edges, logs)
    log_p, log_q = logpdf(nodes, alpha), logpdf(nodes - d, alpha)
    # Left of −α both densities are in their left tails, where p/q = e^{αd}; right of d + α it is
    # e^{−αd}.
    masses = np.concatenate(
        [log_p + np.log(weights), [math.log(tail_mass), math.log(tail_mass) - alpha * d]]
    )
    losses = np.concatenate([log_p - log_q, [alpha * d, -alpha * d]])
    return np.array([renyi_of_pieces(float(a), masses, losses) for a in orders])


def _panels(
    edges: FloatArray, logs: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Quadrature nodes and weights on the intervals between ``edges``, halved until every function
    in ``logs`` (the first axis of what it returns; each quadratic between edges) varies by at most
    16 on a panel; panels negligible in all of them are dropped.
    """
    low, high = edges[:-1], edges[1:]
    keep = high > low
    low, high = low[keep], high[keep]
    peak = logs(np.concatenate([edges, (low + high) / 2])).max(axis=1)
    done: list[tuple[FloatArray, FloatArray]] = []
    while low.size:
        points = low + (high - low) * np.linspace(0, 1, 5)[:, None]
        values = logs(points)  # functions × 5 × panels
        top, variation = values.max(axis=1), np.ptp(values, axis=1)
        peak = np.maximum(peak, top.max(axis=1))
        # a quadratic can rise between samples by at most a fraction of its variation: 1.0 × covers
        # it
        counts = top + variation > peak[:, None] - _NEGLIGIBLE
        ready = np.where(counts, variation, 0.0).max(axis=0) <= _MAX_VARIATION
        alive = counts.any(axis=0)
        done.append((low[alive & ready], high[alive & ready]))
        split = alive & ~ready
        middle = (low[split] + high[split]) / 2
        low, high = np.concatenate([low[split], middle]), np.concatenate([middle, high[split]])
    lows, highs = np.concatenate(done, axis=1)
    half = (highs - lows)[:, None] / 2
    nodes = (lows[:, None] + half + half * _NODES).ravel()
    return nodes, (half * _WEIGHTS).ravel()


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
    name = "huber"
    title = "Huber"
    shape = ("alpha",)
    vector_bounds = True

    def _logpdf(self, t: FloatArray) -> Any:
        return logpdf(t, self.alpha)

    def _cdf(self, t: FloatArray) -> Any:
        return cdf(t, self.alpha)

    def _ppf(self, q: FloatArray) -> Any:
        return ppf(q, self.alpha)

    def _draw(self, size: Any, rng: np.random.Generator) -> Any:
        """Each draw is in the tails with their probability, there α + an exponential, else a
        truncated normal.

        Exact in real arithmetic and unlimited in range (inverse-CDF sampling from a 53-bit uniform
        stops near ±F⁻¹(1e-16)). The truncated normal is drawn by rejection from a normal (α ≥ 1) or
        a uniform (α < 1), both with acceptance above 0.6.
        """
        alpha = self.alpha
        tail = rng.random(int(np.prod(size))) >= float(core_mass(alpha))
        out = np.empty(tail.size)
        n_tail = int(np.count_nonzero(tail))
        beyond = alpha + rng.standard_exponential(n_tail) / alpha
        out[tail] = np.where(rng.random(n_tail) < 0.5, -beyond, beyond)
        core = np.empty(tail.size - n_tail)
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
        return out.reshape(size)

    def _variance(self) -> float:
        return float(variance(self.alpha))

    def _information(self) -> float:
        """P(|t| ≤ α)."""
        return float(core_mass(self.alpha))

    def _epsilon(self, shift: float) -> float:
        """αΔ₁/s: the loss of each coordinate is at most α times its shift (huber-paper Theorem 2.1,
        appendix A).
        """
        return self.alpha * shift

    def _delta(self, epsilon: FloatArray, shift: float) -> Any:
        """δ(ε) = ∫ p(x)·max(0, 1 − e^{ε − g(x)}) dx.

        Equal to F̄(x_ε) − e^ε F̄(x_ε + d) because g increases; that form is used unless it cancels.
        """
        alpha = self.alpha
        start = loss_inverse(epsilon, alpha, shift)
        upper = cdf(-start, alpha)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            closed = upper - np.exp(epsilon + logcdf(-start - shift, alpha))
        out = np.where(epsilon < alpha * shift, np.maximum(closed, 0.0), 0.0)
        cancels = (epsilon < alpha * shift) & ~(closed > 1e-3 * upper)
        if np.any(cancels):
            out[cancels] = _delta_by_quadrature(start[cancels], alpha, shift)
        return out

    def _rdp(self, order: float, shift: float) -> float:
        return float(rdp_curve(np.array([order]), self.alpha, shift)[0])

    def rdp_curve(self, orders: FloatArray, sensitivity: float) -> FloatArray:
        for end in (np.min(orders), np.max(orders)):
            limits.check("order", end)
        return rdp_curve(orders, self.alpha, self._units(sensitivity))

    def _loss(self, t: FloatArray, shift: float) -> Any:
        """g(x) = log p(x)/p(x + Δ), between −αΔ/s and αΔ/s (huber-paper, appendix A)."""
        return loss(t, self.alpha, shift)

    @classmethod
    def with_variance(cls, variance: float, **shape: float) -> Self:
        """With ``alpha``: the scale that gives the variance.

        Without: the paper's unit-scale noise with that variance, whose α inverts huber-thesis eq.
        4.5 (figure 4.4). The variance falls from 2/α² (α → 0) to 1 (α → ∞), so no unit-scale Huber
        noise has variance 1 or less. Raises ``ParameterError`` outside (1.0, σ²(0.01) ≈ 2·10⁴]. The
        papers use α = 3 for "variance 1" (it has 1.0036).

        >>> round(Huber.with_variance(2.0).alpha, 6)
        1.075978
        """
        if shape:
            return super().with_variance(variance, **shape)
        variance, least = limits.check("variance", variance), limits.LIMITS["alpha"].low
        top = float(1 + excess_variance(least))
        if not 1.0 < variance <= top:
            allowed = f"above 1 and at most {top:.6g} for unit-scale Huber noise"
            raise ParameterError("variance", variance, allowed)
        alpha, excess = 20.0, variance - 1.0
        if excess >= excess_variance(alpha):
            alpha = solve_decreasing(excess_variance, excess, least, alpha)
        return cls(alpha=alpha)

    @classmethod
    def with_epsilon(cls, epsilon: float, sensitivity: float, **shape: float) -> Self:
        """Scale αΔ/ε for the given ``alpha`` (default 1.5).

        Least variance is at α → 0, which is Laplace.
        """
        shape = {"alpha": limits.LIMITS["alpha"].default, **shape}
        return super().with_epsilon(epsilon, sensitivity, **shape)
