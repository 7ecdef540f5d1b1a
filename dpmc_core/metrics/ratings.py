"""Error of predicted ratings.

RMSE on listed ratings and on the whole ground-truth matrix, and a user's best items.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.ratings import Ratings, Truth
from dpmc_core.metrics.intervals import Comparison, half_width

_CLIPPED_CELLS = 40_000_000  # above this many cells the clipped whole-matrix error is not computed


def rmse(predicted: FloatArray, actual: FloatArray) -> float:
    """√ mean (predicted − actual)², in rating units."""
    error = predicted - actual
    return float(np.sqrt(np.vdot(error, error) / error.size))


def rmse_half_width(squares: FloatArray) -> float:
    """Half of the 95 % interval of an RMSE over the choice of ratings, whose squared errors are
    given (n,): each rating moves it by e²/(2·RMSE), by the delta method.
    """
    mean = float(squares.mean())
    if squares.size < 2 or mean == 0:
        return 0.0
    return half_width(squares) / (2 * math.sqrt(mean))


def compared_rmse(squares: FloatArray, others: FloatArray) -> Comparison:
    """One RMSE minus another, of the squared errors (n,) of both on the same ratings; its interval
    over the choice of these, by the delta method.
    """
    one, other = (math.sqrt(float(each.mean())) for each in (squares, others))
    pulls = squares / max(2 * one, 1e-300) - others / max(2 * other, 1e-300)
    return replace(Comparison.of_rows(pulls), mean=one - other)


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
