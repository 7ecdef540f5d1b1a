"""The types of arrays that most of the core computes with, and going through them in pieces."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]  # counts, and places in other arrays
BoolArray = NDArray[np.bool_]
_GATHERED = 250_000  # numbers of each factor matrix that ``products_at`` holds at once


def as_array(x: ArrayLike) -> FloatArray:
    """``x`` as a float64 array (a copy only when needed)."""
    return np.asarray(x, dtype=np.float64)


def pieces(count: int, size: int) -> Iterator[slice]:
    """The places from 0 to ``count``, so many at a time.

    >>> [list(range(5))[piece] for piece in pieces(5, 2)]
    [[0, 1], [2, 3], [4]]
    """
    return (slice(start, start + size) for start in range(0, count, size))


def products_at(
    left: FloatArray, right: FloatArray, rows: IntArray, columns: IntArray
) -> FloatArray:
    """u_i·v_j at each pair of places (same length), ``left`` U (m×r) and ``right`` V (n×r), in
    pieces: what is gathered stays in the processor's cache.

    >>> products_at(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.array([0]), np.array([0]))
    array([11.])
    """
    out = np.empty(len(rows))
    for part in pieces(len(rows), max(1, _GATHERED // max(left.shape[1], 1))):
        out[part] = np.einsum("kr,kr->k", left[rows[part]], right[columns[part]])
    return out
