"""The type of arrays that most of the core computes with."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
