"""Users, documents or images in partitions, of which solvers ask for sums, and what they yield."""

import inspect
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.completion.common.population import MemoryGroup
from dpmc_core.datasets.own.given import NOTHING, Given
from dpmc_core.datasets.ratings import ItemFeatures, places_of
from dpmc_core.datasets.samples import Samples, unit_columns
from dpmc_core.errors import DataError
from dpmc_core.factorization.contributions import UnitGroup, Units
from dpmc_core.partitioned.engine import Engine, Tell, Work
from dpmc_core.partitioned.partition import Layout, PartitionGroup
from dpmc_core.partitioned.source import Source, merged, scanned
from dpmc_core.privacy.budget import Term
from dpmc_core.wording import JsonObject

# called with what is done, how many partitions of it, of how many; may raise to stop
Progress = Callable[[str, int, int], None]


class _Spread:
    """What ``layout`` describes, worked on by ``engine``; ``doing`` says what, for ``progress``."""

    def __init__(self, layout: Layout, engine: Engine, progress: Progress) -> None:
        self.layout, self._engine, self._progress = layout, engine, progress
        self.doing = ""
        self.public = layout.catalogue.given.public

    def begin(self, iteration: int) -> None:
        """Say that this ``iteration`` begins."""
        self.doing = f"iteration {iteration}"

    def group(self) -> Callable[[int], Any]:
        """What gives the group of a partition on a worker, by its number."""
        return partial(PartitionGroup, self.layout)

    def total(self, term: Term, *args: Any) -> FloatArray:
        """See ``Groups.total``."""
        return self._engine.total(*self._work(term, args))

    def each(self, work: Callable[..., Any], *args: Any) -> list[Any]:
        """What ``work(group, *args)`` returns for each partition; small things, please."""
        return self._engine.each(*self._work(work, args))

    def _work(self, term: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Work, int, Tell]:
        """``term`` of each partition's group, of how many, and who is told how far it is."""
        work, tell = partial(_added, self.group(), term, args), partial(self._progress, self.doing)
        return work, len(self.layout.catalogue.sizes), tell


def _added(
    group: Callable[[int], Any],
    term: Callable[..., Any],
    args: tuple[Any, ...],
    k: int,
    into: FloatArray | None = None,
) -> Any:
    """``term`` of the group of partition ``k``, added to ``into`` where that is given."""
    if "into" in inspect.signature(term).parameters:
        return term(group(k), *args, into=into)
    result = term(group(k), *args)
    if into is None:
        return result
    into += result
    return into


class Partitions(_Spread):
    """A ``completion.common.population.Population`` in partitions."""

    item_features: ItemFeatures | None = None
    whole: MemoryGroup | None = None

    def __init__(self, layout: Layout, engine: Engine, progress: Progress) -> None:
        super().__init__(layout, engine, progress)
        catalogue = layout.catalogue
        self.n_users, self.n_items = catalogue.n_users, catalogue.n_items
        self.low, self.high, self.name = catalogue.low, catalogue.high, layout.name
        self.width = self.high - self.low
        self._split = {"test_fraction": layout.test_fraction, "split_seed": layout.seed}

    @property
    def about(self) -> JsonObject:
        """What a run on them is known by, JSON-able."""
        return {**self.layout.about, **self._split}

    def noise_depends_on(self, about: JsonObject) -> NDArray[Any]:
        """Numbers by which noise is drawn: runs of other splits must not share theirs."""
        return np.array([*self._split.values()])

    @property
    def sizes(self) -> JsonObject:
        """How much there is, JSON-able."""
        catalogue, source = self.layout.catalogue, self.layout.catalogue.source
        return {
            "users": catalogue.n_users,
            "items": catalogue.n_items,
            "ratings": catalogue.n_ratings,
            "partitions": len(source.files),
            "columns": {"user": source.user, "item": source.item, "rating": source.value},
            "scale": [catalogue.low, catalogue.high],
            "held_out_fraction": self.layout.test_fraction,
        }


def found_in(
    source: Source,
    engine: Engine,
    progress: Progress,
    *,
    test_fraction: float,
    seed: int,
    given: Given = NOTHING,
    folder: str = "",
) -> Layout:
    """One pass over all partitions: their catalogue. Raises ``DataError``."""
    tell = partial(progress, "looking through the files")
    parts = engine.each(partial(scanned, source, given), len(source.files), tell)
    return Layout(merged(source, parts, given), test_fraction, seed, folder)


class UnitPartitions(_Spread, Units):
    """Documents (``shape`` None: users are documents, items words, ratings counts) or images
    (items are pixels, by their number in row order) in partitions, worked on by ``engine``.

    ``words`` is a public list of those that take part; without one the list comes from the
    documents. ``drawn`` says that images are drawings. A ``factorization.units.Units``. Raises
    ``DataError`` for a count below 0, a pixel that is none of ``shape``, or a list of which no word
    is there.
    """

    def __init__(
        self,
        layout: Layout,
        engine: Engine,
        progress: Progress,
        shape: tuple[int, int] | None = None,
        words: Sequence[str] | None = None,
        *,
        drawn: bool = False,
    ) -> None:
        catalogue = layout.catalogue
        if catalogue.low < 0:
            raise DataError(
                f"{layout.name}: the lowest value is {catalogue.low:g}; counts and pixels must be "
                "0 or more."
            )
        super().__init__(layout, engine, progress)
        self.shape, self.drawn, self.listed = shape, drawn, words is not None
        self.given = catalogue.n_users
        self.unit = "document" if shape is None else "image"
        self.rows: NDArray[Any] = catalogue.items if words is None else np.array(words, np.str_)
        place: IntArray = np.arange(catalogue.n_items)
        if shape is not None:
            self.rows = np.arange(shape[0] * shape[1])
            place = _pixels(layout, len(self.rows))
        elif words is not None:
            place = places_of(map(str, catalogue.items.tolist()), words)
            if (place < 0).all():
                raise DataError(f"{layout.name}: none of the listed words is in the documents.")
        self.dimension = len(self.rows)
        self.public = {f"number of {self.unit}s": catalogue.given.public["number of users"]}
        if shape is None and words is None:
            self.public["list of words"] = ""
        self.counts = np.bincount(
            place[place >= 0], catalogue.counts[place >= 0], minlength=self.dimension
        )
        self._place = place

    def begin(self, iteration: int) -> None:
        self.doing = "summing"

    @property
    def about(self) -> JsonObject:
        """What a run on them is known by, JSON-able."""
        words = [str(word) for word in self.rows] if self.listed else None
        return {**self.layout.about, "shape": self.shape, "drawn": self.drawn, "words": words}

    def noise_depends_on(self, about: JsonObject) -> NDArray[Any]:
        """Numbers by which noise is drawn: runs of other lists or shapes must not share theirs."""
        return np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8)

    @property
    def sizes(self) -> JsonObject:
        """How much there is, JSON-able."""
        catalogue = self.layout.catalogue
        return {
            "units": catalogue.n_users,
            "rows": self.dimension,
            "entries": catalogue.n_ratings,
            "partitions": len(catalogue.source.files),
        }

    def group(self) -> Callable[[int], Any]:
        return partial(units_of, self.layout, self.shape, self._place, self.dimension)


def _pixels(layout: Layout, dimension: int) -> NDArray[Any]:
    ids = layout.catalogue.items
    if ids.dtype.kind not in "iu":
        raise DataError(f"{layout.name}: pixels must be named by whole numbers, not by text.")
    first, last = int(ids[0]), int(ids[-1])
    off = first if first < 0 else last
    if not 0 <= off < dimension:
        raise DataError(
            f"{layout.name}: there is a pixel {off}; images of that shape have 0 to "
            f"{dimension - 1:,}."
        )
    return ids.astype(np.int64)


def units_of(
    layout: Layout, shape: tuple[int, int] | None, place: NDArray[Any], dimension: int, k: int
) -> UnitGroup:
    """The documents or images of partition ``k``; the row of each item is its ``place``."""
    ratings = PartitionGroup(layout, k, as_ratings=False).ratings
    rows = place[ratings.items]
    inside = rows >= 0
    table = sparse.csc_array(
        (ratings.values[inside], (rows[inside], ratings.users[inside])),
        shape=(dimension, ratings.n_users),
    )
    if shape is None:
        return UnitGroup(Samples(values=table, counts=table, unit="document", name=layout.name))
    values = unit_columns(table.toarray())
    return UnitGroup(Samples(values=values, unit="image", name=layout.name, shape=shape))
