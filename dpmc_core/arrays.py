"""The types of arrays that most of the core computes with."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]  # counts, and places in other arrays
BoolArray = NDArray[np.bool_]


def as_array(x: ArrayLike) -> FloatArray:
    """``x`` as a float64 array (a copy only when needed)."""
    return np.asarray(x, dtype=np.float64)
