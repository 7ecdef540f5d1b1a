"""The types of arrays that most of the core computes with."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]  # counts, and places in other arrays
BoolArray = NDArray[np.bool_]
