"""Exact scalar privacy of Huber noise of scale 1.

Privacy profile and Rényi divergence for one shift d.

The privacy loss g(x) = ρ(x + d) − ρ(x) (huber-paper, appendix A), its inverse, and two integrals of
non-negative functions. Both are taken by Gauss–Legendre quadrature on pieces where the integrand is
the exponential of a quadratic, so nothing cancels; the closed forms are used where they keep their
digits.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.mechanisms import huber_distribution as huber_law
from dpmc_core.mechanisms.base import renyi_of_pieces

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_MAX_VARIATION = 16.0  # of the log-integrand over one panel: 24 nodes are then right to about 1e-15
_FEW_NODES, _FEW_WEIGHTS = np.polynomial.legendre.leggauss(12)
_MOST_TOLD = 2.0  # the same over one panel of δ's integral: 12 nodes do
_BLOCK = 2**15  # panels of it at once
_TOGETHER = 48  # orders whose panels are found together
_TINY = 1e-8  # shifts
_NEGLIGIBLE = 90.0  # a panel this far below the largest, in logs, is dropped


def loss(x: Any, alpha: float, shift: float) -> Any:
    """g(x) = ρ_α(x + d) − ρ_α(x) = log p(x)/p(x + d).

    Increasing in x, from −αd to αd (huber-paper, appendix A).
    """
    return huber_law.rho(np.asarray(x) + shift, alpha) - huber_law.rho(x, alpha)


def loss_inverse(epsilon: Any, alpha: float, shift: float) -> Any:
    """The x with g(x) = ε, for 0 ≤ ε < αd.

    The three increasing pieces of appendix A solved for x.

    Gaussian centre x = ε/d − d/2 while both x and x + d lie within ±α; the middle piece α(2x + d) =
    ε when d > 2α; otherwise x = α − √(2(αd − ε)).
    """
    a, d = alpha, shift
    eps = np.asarray(epsilon, dtype=np.float64)
    last = a - np.sqrt(2 * np.maximum(a * d - eps, 0.0))
    if d <= 2 * a:
        return np.where(eps <= a * d - d * d / 2, eps / d - d / 2, last)
    return np.where(eps <= a * d - 2 * a * a, (eps / a - d) / 2, last)


def delta(epsilon: FloatArray, alpha: float, shift: float) -> FloatArray:
    """δ(ε) = ∫ p(x)·max(0, 1 − e^{ε − g(x)}) dx, for each ε ≥ 0 (any shape).

    Equal to F̄(x_ε) − e^ε F̄(x_ε + d) because g increases; that form is used unless it cancels.
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    start = np.asarray(loss_inverse(eps, alpha, shift))
    upper = huber_law.cdf(-start, alpha)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        closed = upper - np.exp(eps + huber_law.logcdf(-start - shift, alpha))
    out = np.where(eps < alpha * shift, np.maximum(closed, 0.0), 0.0)
    cancels = (eps < alpha * shift) & ~(closed > 1e-3 * upper)
    if np.any(cancels):
        out[cancels] = _delta_by_quadrature(start[cancels], alpha, shift)
    return out


def _delta_by_quadrature(starts: FloatArray, alpha: float, shift: float) -> FloatArray:
    """δ at the ε with x_ε = ``starts`` (n,), all of it sums of positive terms.

    As δ′(ε) = −e^ε F̄(x_ε + d), δ is the integral of e^{g(x)} F̄(x + d) g′(x) from x_ε to α, beyond
    which g is constant.
    """

    def log_part(x: FloatArray) -> FloatArray:
        # where x + d lies in the right tail, e^g F̄ = p/α
        inner = huber_law.logcdf(-x - shift, alpha) + loss(x, alpha, shift)
        tail = huber_law.logpdf(x, alpha) - math.log(alpha)
        return np.where(x + shift >= alpha, tail, inner)

    kinks = np.array([-alpha, alpha - shift, -alpha - shift, alpha])
    edges = np.unique(np.minimum(np.concatenate([starts, kinks[kinks > starts.min()]]), alpha))
    varies = np.abs(np.diff(loss(edges, alpha, shift))) + np.abs(np.diff(log_part(edges)))
    panels = np.ceil(varies / _MOST_TOLD + 1e-300).astype(np.int64)
    width = np.diff(edges) / panels
    areas = np.empty(panels.size)
    blocks = np.searchsorted(np.cumsum(panels), np.arange(0, panels.sum(), _BLOCK), side="right")
    for of in np.split(np.arange(panels.size), blocks[1:]):
        first = np.concatenate([[0], np.cumsum(panels[of])[:-1]]).astype(np.int64)
        place = np.arange(panels[of].sum()) - np.repeat(first, panels[of])
        half = np.repeat(width[of], panels[of])[:, None] / 2
        x = np.repeat(edges[of], panels[of])[:, None] + half * (2 * place[:, None] + 1 + _FEW_NODES)
        slope = np.minimum(min(shift, 2 * alpha), np.minimum(alpha - x, x + shift + alpha))
        of_panels = np.exp(log_part(x)) * slope * half @ _FEW_WEIGHTS
        areas[of] = np.add.reduceat(of_panels, first)
    beyond = np.append(np.cumsum(areas[::-1])[::-1], 0.0)
    return beyond[np.searchsorted(edges, np.minimum(starts, alpha))]


def rdp(order: float, alpha: float, shift: float) -> float:
    """Rényi divergence of ``order`` ≥ 1 between H(α) and H(α) shifted by d.

    The KL divergence at order 1.
    """
    return float(rdp_curve(np.array([order]), alpha, shift)[0])


def rdp_curve(orders: FloatArray, alpha: float, shift: float) -> FloatArray:
    """``rdp`` at each of ``orders``, which share their nodes.

    Many orders cost little more than one.

    Below d = 1e-8 it is bounded by a·I·d²/2 (docs/huber-composition.md, 2; relatively too large by
    about a·d at most) and by αd. Beyond d = 2α + 200/α, q lies in its left tail wherever p has mass
    above e^{−200}, so a larger shift only adds α to every privacy loss: D(d + t) = D(d) + αt.
    """
    if (
        shift < _TINY
    ):  # differences of densities lose their digits: the bounds a·I·d²/2 and αd are as good there
        information = float(huber_law.core_mass(alpha))
        return np.minimum(orders * information * shift**2 / 2, alpha * shift)
    far = 2 * alpha + 200 / alpha
    if shift > far:
        return rdp_curve(orders, alpha, far) + alpha * (shift - far)
    parts = np.array_split(orders, math.ceil(orders.size / _TOGETHER))
    return np.concatenate([_rdp_of(part, alpha, shift) for part in parts])


def _rdp_of(orders: FloatArray, alpha: float, d: float) -> FloatArray:
    tail_mass = float(huber_law.cdf(-alpha, alpha))
    edges = np.unique([-alpha, alpha, d - alpha, d + alpha])
    # p^a q^{1−a} for each order a; order 1 has p in it, and q is order 0
    powers = np.concatenate([[0.0, 1.0], orders])

    def logs(x: FloatArray) -> Any:
        log_p, log_q = huber_law.logpdf(x, alpha), huber_law.logpdf(x - d, alpha)
        return np.multiply.outer(powers, log_p) + np.multiply.outer(1 - powers, log_q)

    nodes, weights = _panels(edges, logs)
    log_p, log_q = huber_law.logpdf(nodes, alpha), huber_law.logpdf(nodes - d, alpha)
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
        top, bottom = values.max(axis=1), values.min(axis=1)
        peak = np.maximum(peak, top.max(axis=1))
        # a quadratic can rise between samples by at most a fraction of its variation: 1.0 × covers
        # it
        alive = np.any(top + (top - bottom) > peak[:, None] - _NEGLIGIBLE, axis=0)
        relevant = np.where(
            top + (top - bottom) > peak[:, None] - _NEGLIGIBLE, top - bottom, 0.0
        ).max(axis=0)
        ready = alive & (relevant <= _MAX_VARIATION)
        done.append((low[ready], high[ready]))
        split = alive & ~ready
        middle = (low[split] + high[split]) / 2
        low, high = np.concatenate([low[split], middle]), np.concatenate([middle, high[split]])
    lows, highs = (np.concatenate([pair[k] for pair in done]) for k in (0, 1))
    half = (highs - lows)[:, None] / 2
    nodes = (lows[:, None] + half + half * _NODES).ravel()
    return nodes, (half * _WEIGHTS).ravel()
