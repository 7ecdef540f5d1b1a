"""Solving with noisy Gram matrices, which may have lost their sign.

Lives here: the projection onto the positive semi-definite cone, on or off (dpals-paper Alg. 1 line
10, figs. 5 and 10). Does not live here: noise, or who asks.
"""

import numpy as np

from dpmc_core.arrays import FloatArray

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
    turned = np.matmul(right[:, None, :], vectors)[:, 0]
    return np.asarray(np.matmul(vectors, (turned * inverse)[..., None])[..., 0])
