"""Rényi divergence from pieces, without cancellation; shared by the mechanisms.

The function eˣ − 1 − x, and the one formula that turns masses and privacy losses into a divergence.
"""

import math
from typing import Any

import numpy as np

from dpmc_core.arrays import FloatArray

_TERMS = 22


def exp_minus_linear(x: Any) -> Any:
    """eˣ − 1 − x ≥ 0, by its power series where subtraction would cancel.

    >>> float(exp_minus_linear(1e-9))
    5.000000001666667e-19
    """
    x = np.asarray(x, dtype=np.float64)
    near = np.where(np.abs(x) <= 0.5, x, 0.0)
    term = near.copy()
    total = np.zeros_like(near)
    for k in range(2, _TERMS):
        term = term * near / k
        total = total + term
    far = np.where(np.abs(x) <= 0.5, 1.0, x)
    return np.where(np.abs(x) <= 0.5, total, np.expm1(far) - far)[()]


def renyi_of_pieces(order: float, log_p: FloatArray, loss: FloatArray) -> float:
    """D_a(p‖q) in nats from pieces of p with masses e^{``log_p``} on which log p/q is ``loss``.

    Order a ≥ 1.

    With h = a − 1 and e₂(x) = eˣ − 1 − x, ∫ p^a q^{1−a} = ∫ p e^{hℓ} = 1 + ∫ p·[e₂(hℓ) + h·e₂(−ℓ)],
    because ∫ p(e^{−ℓ} − 1) = ∫ (q − p) = 0. Both terms are non-negative, so D = log1p(h·S)/h with S
    = ∫ p·[e₂(hℓ)/h + e₂(−ℓ)] keeps its digits for small shifts and orders near 1, and is the KL
    divergence at a = 1. A large integral is taken as a log-sum-exp instead.
    """
    h = order - 1
    if h > 0:
        exponents = log_p + h * loss
        top = float(np.max(exponents))
        log_total = top + math.log(float(np.sum(np.exp(exponents - top))))
        if log_total > 0.5:
            return log_total / h
    # p·e₂(−ℓ), where −ℓ is large as q − p(1 − ℓ), which does not overflow
    deep = loss < -1
    shallow = np.where(deep, 0.0, loss)
    with np.errstate(under="ignore"):
        p = np.exp(log_p)
        gap = np.where(deep, np.exp(log_p - loss) - p * (1 - loss), p * exp_minus_linear(-shallow))
        total = float(np.sum(gap))
        if h > 0:
            total += float(np.sum(p * exp_minus_linear(np.minimum(h * loss, 700.0)))) / h
            return math.log1p(h * total) / h
    return total
