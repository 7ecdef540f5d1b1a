"""Users in partitions as a population of which solvers ask for sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.completion.common.population import Term
from dpmc_core.datasets.ratings import ItemFeatures
from dpmc_core.partitioned.catalogue import merged, scanned
from dpmc_core.partitioned.engine import Engine
from dpmc_core.partitioned.partition import Layout, group_of
from dpmc_core.partitioned.source import Source

__all__ = ["Partitions", "Progress", "found_in"]

FloatArray = NDArray[np.float64]
# called with what is done, how many partitions of it, of how many; may raise to stop
Progress = Callable[[str, int, int], None]


class Partitions:
    """The population that ``layout`` describes, worked on by ``engine``."""

    item_features: ItemFeatures | None = None

    def __init__(self, layout: Layout, engine: Engine, progress: Progress) -> None:
        known = layout.catalogue
        self.layout, self._engine, self._progress = layout, engine, progress
        self.n_users, self.n_items = known.n_users, known.n_items
        self.low, self.high, self.name = known.low, known.high, layout.name
        self.doing = ""

    def total(self, term: Term, *known: Any) -> FloatArray:
        """See ``completion.common.population.Population``."""
        return self._engine.total(_Term(self.layout, term, known), self._n, self._tell)

    def each(self, work: Callable[..., Any], *known: Any) -> list[Any]:
        """What ``work(group, *known)`` returns for each partition; small things, please."""
        return self._engine.each(_Term(self.layout, work, known), self._n, self._tell)

    @property
    def _n(self) -> int:
        return len(self.layout.catalogue.source.files)

    def _tell(self, done: int, of: int) -> None:
        self._progress(self.doing, done, of)


def found_in(
    source: Source,
    engine: Engine,
    progress: Progress,
    *,
    test_fraction: float,
    seed: int,
    low: float | None = None,
    high: float | None = None,
    folder: str = "",
) -> Layout:
    """One pass over all partitions: their catalogue. Raises ``DataError``."""

    def tell(done: int, of: int) -> None:
        progress("looking through the files", done, of)

    found = engine.each(_Scan(source), len(source.files), tell)
    return Layout(merged(source, found, low, high), test_fraction, seed, folder)


@dataclass(frozen=True)
class _Scan:
    source: Source

    def __call__(self, k: int, into: FloatArray | None = None) -> Any:
        del into
        return scanned(self.source, k)


@dataclass(frozen=True, eq=False)
class _Term:
    layout: Layout
    term: Callable[..., Any]
    known: tuple[Any, ...]

    def __call__(self, k: int, into: FloatArray | None = None) -> Any:
        group = group_of(self.layout, k)
        if hasattr(self.term, "adds_up"):
            return self.term(group, *self.known, into=into)
        made = self.term(group, *self.known)
        if into is None:
            return made
        into += made
        return into
