"""The types of arrays that most of the core computes with, and going through them in pieces."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]  # counts, and places in other arrays
BoolArray = NDArray[np.bool_]


def as_array(x: ArrayLike) -> FloatArray:
    """``x`` as a float64 array (a copy only when needed)."""
    return np.asarray(x, dtype=np.float64)


def pieces(count: int, size: int) -> Iterator[slice]:
    """The places from 0 to ``count``, so many at a time.

    >>> [list(range(5))[piece] for piece in pieces(5, 2)]
    [[0, 1], [2, 3], [4]]
    """
    return (slice(start, start + size) for start in range(0, count, size))
