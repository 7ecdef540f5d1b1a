"""A start for the item factors by noisy power iteration (dpals-paper, Algorithm 2, for r directions
at once).

The sensitivity of one round, and how noisy systems are solved.

One user contributes x (xᵀW) to the round's matrix A·W, where x are the user's values on at most s
items, each within ±Γ_M, so ‖x‖₂ ≤ √s·Γ_M. The paper stops when W is not ν-incoherent; we clip xᵀW
to norm ν·s·Γ_M/√n_items instead, which an incoherent W of one column meets by itself, so no run
fails and nothing is learned from failing. Then ‖x (xᵀW)‖_F = ‖x‖·‖xᵀW‖ ≤ √s·Γ_M·c, the paper's
s³Γ_M⁴ν²/n_items under the root (Theorem 9), and in ℓ1 ‖x‖₁·‖xᵀW‖₁ ≤ s·Γ_M·√r·c.
"""

import math

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.privacy.budget import Part

PROJECTIONS = ("inner", "printed", "off")
_SMALLEST = 1e-9  # eigenvalues below this share of the largest count as zero in the pseudo-inverse


def solve_noisy(
    gram: FloatArray, right: FloatArray, reg: FloatArray, projection: str
) -> FloatArray:
    """θ (B×r) with (G + λI)θ = b for noisy symmetric ``gram`` (B×r×r), ``right`` (B×r) and ``reg``
    λ (B,).

    "printed": G + λI is projected and its pseudo-inverse taken, as Algorithm 1 has it; "inner": G
    is projected before λ is added, so that no direction has less than λ; "off": solved as it is.
    """
    values, vectors = np.linalg.eigh(gram)
    if projection == "inner":
        inverse = 1 / (np.maximum(values, 0.0) + reg[:, None])
    else:
        values = values + reg[:, None]
        tiny = _SMALLEST * np.abs(values).max(axis=1, keepdims=True)
        usable = values > tiny if projection == "printed" else np.abs(values) > tiny
        inverse = np.where(usable, 1 / np.where(usable, values, 1.0), 0.0)
    return np.matvec(vectors, np.vecmat(right, vectors) * inverse)


INCOHERENCE = 3.0  # ν


def power_part(
    n_items: int, rank: int, k: int, value_clip: float, rounds: int, share: float
) -> Part:
    """The plan of ``rounds`` released matrices n_items×r, with ``share`` of the budget for all of
    them.
    """
    most = projection_clip(n_items, k, value_clip)
    return Part(
        what="power iteration: the values' second moment times the directions so far",
        l1=min(k * value_clip * math.sqrt(rank), math.sqrt(n_items * rank * k) * value_clip) * most,
        l2=math.sqrt(k) * value_clip * most,
        coordinates=n_items * rank,
        share=share,
        count=rounds,
        source=(
            "dpmc_core.completion.dpals.power_iteration: x·(xᵀW) of at most k values, xᵀW clipped"
        ),
        bounded_in=2,
        sigma_unit=value_clip * most,
    )


def projection_clip(n_items: int, k: int, value_clip: float) -> float:
    """The length that xᵀW is clipped to."""
    return min(INCOHERENCE * k * value_clip / math.sqrt(n_items), math.sqrt(k) * value_clip)
