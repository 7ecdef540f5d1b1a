"""Intervals over seeds: the one t-interval that studies use."""

import math
from collections.abc import Sequence

import numpy as np
from scipy import special


def t_half_width(values: Sequence[float]) -> float:
    """Half of a 95 % t-interval of the mean; NaN for one value.

    >>> round(t_half_width([1.0, 2.0, 3.0]), 4)
    2.4841
    """
    n = len(values)
    return (
        math.nan
        if n < 2
        else float(special.stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(n))
    )
