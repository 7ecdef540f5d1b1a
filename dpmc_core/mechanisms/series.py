"""Two small functions that must not cancel, shared by the mechanisms' Rényi divergences.

Lives here: expressions that are tiny differences of large terms near zero, written so that they keep their digits.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["bernoulli_gap", "exp_minus_linear"]

_TERMS = 24


def exp_minus_linear(x: float) -> float:
    """eˣ − 1 − x ≥ 0, by its power series where subtraction would cancel.

    >>> exp_minus_linear(1e-9)
    5.000000001666667e-19
    """
    if abs(x) > 0.5:
        return math.expm1(x) - x
    total, term = 0.0, x
    for k in range(2, _TERMS):
        term *= x / k
        total += term
    return total


def bernoulli_gap(order: float, loss: NDArray[np.float64]) -> Any:
    """e^{aℓ} − 1 − a(e^ℓ − 1) ≥ 0 for a ≥ 1: what q must be integrated against to give E_q[(p/q)^a] − 1.

    ``loss`` is ℓ = log(p/q). Non-negative by Bernoulli's inequality, and of second order in ℓ, hence the series.
    """
    a = order
    x = a * loss
    big = np.abs(x) > 0.25
    safe = np.where(big, x, 0.0)
    direct = np.expm1(safe) - a * np.expm1(np.where(big, loss, 0.0))
    small = np.where(big, 0.0, loss)
    # Σ_{k≥2} ℓ^k (a^k − a)/k!: all but the sign of ℓ^k positive, and |aℓ| ≤ 1/4 makes it converge fast
    total = np.zeros_like(small)
    power = small.copy()
    a_power = a
    for k in range(2, _TERMS):
        power = power * small / k
        a_power *= a
        total += power * (a_power - a) if math.isfinite(a_power) else 0.0
        if k > 2 and float(np.max(np.abs(power))) * a_power < 1e-40:
            break
    return np.where(big, direct, total)
