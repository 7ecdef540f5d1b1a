"""Intervals of means, and differences with theirs: the same on pages, commands and in papers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special


@dataclass(frozen=True)
class Comparison:
    """A paired difference: the ``mean`` of one minus another over so many ``pairs``, and half of
    its interval, at 95 % for all ``together`` comparisons of one table at once (Bonferroni; ∞ for
    fewer than two pairs). ``less_is_better`` of errors, not of recall.
    """

    mean: float
    half_width: float
    pairs: int = 2
    together: int = 1
    less_is_better: bool = True

    @classmethod
    def of_runs(cls, differences: Sequence[float], *, together: int = 1, less: bool = True) -> Self:
        """Of a few runs (n,) on the same seeds: a t-interval."""
        n = len(differences)
        mean = float(np.mean(differences)) if n else math.nan
        half = t_half_width(differences, together) if n > 1 else math.inf
        return cls(mean, half, n, together, less)

    @classmethod
    def of_rows(cls, differences: ArrayLike, *, less: bool = True) -> Self:
        """Of many ratings, users or columns (n,): 1.96 standard errors."""
        each = np.asarray(differences, dtype=np.float64)
        half = half_width(each) if each.size > 1 else math.inf
        return cls(float(each.mean()), half, each.size, less_is_better=less)

    @property
    def detected(self) -> bool:
        """Whether the interval leaves zero out."""
        return abs(self.mean) > self.half_width

    @property
    def better(self) -> bool:
        """Whether the first is significantly better."""
        return self.detected and (self.mean < 0) == self.less_is_better

    @property
    def worse(self) -> bool:
        """Whether the first is significantly worse."""
        return self.detected and not self.better

    def than(self, other: str) -> str:
        """How the first stands against the ``other``.

        >>> Comparison(-0.2, 0.1).than("the baseline")
        'better than the baseline'
        >>> Comparison(0.05, 0.1).than("the baseline")
        'not significantly different from the baseline'
        """
        return f"{self.verdict} {'than' if self.detected else 'from'} {other}"

    @property
    def verdict(self) -> str:
        """How the first stands, without the other."""
        if not self.detected:
            return "not significantly different"
        return "better" if self.better else "worse"

    @property
    def of_this_run(self) -> str:
        """How this run stands against another, as commands print it."""
        return f"this run is {self.verdict}" if self.detected else self.verdict


def t_half_width(values: Sequence[float], together: int = 1) -> float:
    """Half of a 95 % t-interval of the mean, or of one of ``together`` means that hold at once;
    NaN for one value.

    >>> round(t_half_width([1.0, 2.0, 3.0]), 4)
    2.4841
    """
    n = len(values)
    if n < 2:
        return math.nan
    quantile = special.stdtrit(n - 1, 1 - 0.025 / together)
    return float(quantile * np.std(values, ddof=1) / math.sqrt(n))


def half_width(each: ArrayLike) -> float:
    """Half of the 95 % interval of the mean of many numbers (n,), one of each user, rating or
    column: 1.96 standard errors; NaN for one.
    """
    numbers = np.asarray(each, dtype=np.float64)
    if numbers.size < 2:
        return math.nan
    return 1.96 * float(numbers.std(ddof=1)) / math.sqrt(numbers.size)
