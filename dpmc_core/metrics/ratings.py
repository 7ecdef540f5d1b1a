"""Error of predicted ratings.

Lives here: RMSE on listed ratings and on the whole ground-truth matrix, and a user's best items.
"""

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.ratings import Ratings, Truth

_CLIPPED_CELLS = 40_000_000  # above this many cells the clipped whole-matrix error is not computed


def rmse(predicted: FloatArray, actual: FloatArray) -> float:
    """√ mean (predicted − actual)², in rating units."""
    error = predicted - actual
    return float(np.sqrt(np.vdot(error, error) / error.size))


def clipped(predicted: FloatArray, ratings: Ratings) -> FloatArray:
    """Predictions moved to the nearest end of the rating scale where they leave it."""
    return np.clip(predicted, ratings.low, ratings.high)


def truth_rmse(left: FloatArray, right: FloatArray, truth: Truth) -> float:
    """√(‖UVᵀ − M‖²/mn) over the whole matrix, the papers' metric for synthetic data (huber-paper
    section 4).

    ‖UVᵀ − M‖ = ‖[U, −L][V, R]ᵀ‖ equals the norm of the product of the two triangular QR factors, so
    the m×n matrix is never formed and nothing cancels.
    """
    a: FloatArray = np.asarray(np.linalg.qr(np.hstack([left, -truth.left]), mode="r"))
    b: FloatArray = np.asarray(np.linalg.qr(np.hstack([right, truth.right]), mode="r"))
    return float(np.linalg.norm(a @ b.T) / np.sqrt(left.shape[0] * right.shape[0]))


def truth_rmse_clipped(
    left: FloatArray, right: FloatArray, truth: Truth, low: float, high: float
) -> float | None:
    """The same with predictions clipped to the scale; None for matrices above 40 million cells."""
    if left.shape[0] * right.shape[0] > _CLIPPED_CELLS:
        return None
    total = 0.0
    for start in range(0, left.shape[0], 512):
        rows = slice(start, start + 512)
        error = np.clip(left[rows] @ right.T, low, high) - truth.left[rows] @ truth.right.T
        total += float(np.vdot(error, error))
    return float(np.sqrt(total / (left.shape[0] * right.shape[0])))


def top_items(
    scores: FloatArray, exclude: NDArray[np.integer], count: int = 10
) -> NDArray[np.intp]:
    """The ``count`` items of highest score (n_items,), best first, without those in ``exclude``.

    Ties by item number.
    """
    usable = scores.copy()
    usable[exclude] = -np.inf
    order = np.argsort(-usable, kind="stable")[:count]
    return order[np.isfinite(usable[order])]
