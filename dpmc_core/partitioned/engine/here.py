"""Where partitions are worked on, and the one that needs nothing: this process.

Provides ``Engine``, ``Work``, ``Tell``, ``Then`` and ``Here``. What is computed is a pure function
of a partition and of what is known. No noise is ever drawn here.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from dpmc_core.arrays import FloatArray

# called with how many partitions are done, of how many; may raise to stop
Tell = Callable[[int, int], None]
# what is made of rows of a sum, each alone, and of the number of the first of them
Then = Callable[[FloatArray, int], FloatArray]


class Work(Protocol):
    """What is done with a partition; ``key`` names the data that copies are kept of."""

    @property
    def key(self) -> str:
        """ "" where none are."""

    def __call__(self, k: int, into: FloatArray | None = None) -> Any:
        """Work on partition ``k``; the result is added to ``into`` where that is given."""


class Engine(Protocol):
    """Works on partitions 0 to n − 1."""

    def total(self, work: Work, n: int, tell: Tell, then: Then | None = None) -> FloatArray:
        """Σ_k ``work(k)``, or what ``then`` makes of its rows, wherever they are."""

    def each(self, work: Work, n: int, tell: Tell) -> list[Any]:
        """``work(k)`` for each k, in their order."""


class Here:
    """One partition after the other, in this process."""

    def total(self, work: Work, n: int, tell: Tell, then: Then | None = None) -> FloatArray:
        """See ``Engine.total``."""
        out = None
        for k in range(n):
            out = work(k, out)
            tell(k + 1, n)
        return np.asarray(out) if then is None else then(np.asarray(out), 0)

    def each(self, work: Work, n: int, tell: Tell) -> list[Any]:
        """See ``Engine.each``."""
        out = []
        for k in range(n):
            out.append(work(k))
            tell(k + 1, n)
        return out
