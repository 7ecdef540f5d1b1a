"""A partition as solvers see it: training and held-out ratings of its users.

Provides ``Layout`` (what a worker needs to read any partition) and ``PartitionGroup``. A worker
keeps a copy of what it has read, grouped for its algorithm, in a folder of its own: only ever a
copy, made again wherever it is missing.
"""

import hashlib
import mmap
import os
import pickle
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dpmc_core import __version__
from dpmc_core.arrays import IntArray
from dpmc_core.completion.common.population import Group, Made
from dpmc_core.completion.common.profiles import on_scale
from dpmc_core.completion.kernel.solve import short
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.datasets.ratings import Ratings, chances, places_among
from dpmc_core.errors import DataError
from dpmc_core.partitioned.source import Catalogue, Rows, mixed_of, read_rows
from dpmc_core.paths import whole_file


@dataclass(frozen=True, eq=False)
class Layout:
    """The ``catalogue`` of all partitions and how their ratings are parted: each is held out with
    probability ``test_fraction``, by ``seed`` and its own user's and item's ids.

    ``folder`` is where copies are kept ("": a worker's own folder), ``version`` of this software.
    """

    catalogue: Catalogue
    test_fraction: float
    seed: int
    folder: str = ""
    version: str = __version__

    @property
    def name(self) -> str:
        """What the data is called."""
        return Path(self.catalogue.source.folder).name

    @property
    def key(self) -> str:
        """A name for copies, which no other data or split has."""
        text = (
            f"{self.test_fraction!r} {self.seed} {self.version} "
            f"{self.catalogue.source!r} {self.catalogue.mixed!r}"
        )
        return hashlib.blake2b(self.catalogue.digest + text.encode(), digest_size=16).hexdigest()

    @property
    def about(self) -> dict[str, Any]:
        """What a run on it is known by, JSON-able."""
        return {
            "data": self.catalogue.digest.hex(),
            "version": self.version,
            "partitions": list(self.catalogue.source.files),
            "of_each": [mixed.hex() for mixed in self.catalogue.mixed],
        }


class PartitionGroup(Group):
    """Partition ``k`` as a ``completion.common.population.Group``, with the ratings ``held_out`` of
    its users. What is asked for is read when it is first asked for.

    Raises ``DataError`` where another version of this software is at work here, and later where the
    file is no longer what it was.
    """

    visitors = None
    in_memory = False

    def __init__(self, layout: Layout, k: int, *, as_ratings: bool = True) -> None:
        if layout.version != __version__:
            raise DataError(
                f"A worker has version {__version__} of this software where the run was begun with "
                f"{layout.version}: install the same release on every worker."
            )
        self.k, self.pool = k, Workers(1)
        self._layout, self._as_ratings = layout, as_ratings
        # where this process keeps copies: told by the layout, else a folder of its own
        self._copies = Path(layout.folder or _own_folder().name) / layout.key

    @cached_property
    def ratings(self) -> Ratings:  # type: ignore[override]
        """Training ratings, near their scale (not ``as_ratings``: as they are)."""
        ratings = self._parted[0].ratings(self._layout, self.k)
        return on_scale(ratings) if self._as_ratings else ratings

    @cached_property
    def held_out(self) -> Ratings:
        """Held-out ratings, as they are."""
        return self._parted[1].ratings(self._layout, self.k)

    @cached_property
    def _parted(self) -> tuple["_Packed", "_Packed"]:
        return _copied(self._copies / f"{self.k}", "", lambda: _parted(self._layout, self.k))

    def cached(self, name: str, version: object, make: Callable[[], Made]) -> Made:
        """See ``Group.cached``: here on the worker's disk, and not to be written to."""
        digest = hashlib.blake2b(repr(version).encode(), digest_size=16).hexdigest()
        return _copied(self._copies / f"{self.k}-{name}", digest, make)


@dataclass(frozen=True, eq=False)
class _Packed:
    """Ratings as they are kept: by user, items in as few bytes as tell them apart, and values in
    four bytes where that loses nothing; with a number of each user that chance goes by.
    """

    drawn_by: NDArray[np.uint64]
    counts: IntArray
    items: NDArray[Any]
    values: NDArray[Any]

    @classmethod
    def of(cls, ratings: Ratings) -> "_Packed":
        small = np.uint16 if ratings.n_items <= 65_536 else np.int32
        items, values = ratings.items.astype(small), short(ratings.values)
        return cls(ratings.drawing_numbers, ratings.per_user, items, values)

    def ratings(self, layout: Layout, k: int) -> Ratings:
        catalogue, users = layout.catalogue, layout.catalogue.sizes[k]
        return Ratings(
            np.repeat(np.arange(users, dtype=np.int32), self.counts),
            self.items.astype(np.int32),
            self.values.astype(np.float64),
            users,
            catalogue.n_items,
            catalogue.low,
            catalogue.high,
            layout.name,
            drawn_by=self.drawn_by,
        )


def ids_of(layout: Layout, k: int) -> NDArray[Any]:
    """The ids of the users of partition ``k``, in the order of its rows. Raises ``DataError`` where
    the file is no longer what it was.
    """
    return _rows(layout, k).users


def _rows(layout: Layout, k: int) -> Rows:
    """What the file of partition ``k`` holds, which is what it held when the run was begun."""
    source = layout.catalogue.source
    rows = read_rows(source, k)
    if mixed_of(rows).tobytes() != layout.catalogue.mixed[k]:
        raise DataError(
            f"{source.files[k]} has changed since the run was begun: begin another run, in another "
            "folder."
        )
    return rows


def _parted(layout: Layout, k: int) -> tuple[_Packed, _Packed]:
    """Read the file and part its ratings."""
    catalogue, rows = layout.catalogue, _rows(layout, k)
    place = places_among(rows.items, catalogue.items)
    order = np.lexsort((rows.item_of, rows.user_of))
    order = order[place[rows.item_of[order]] >= 0]
    ratings = Ratings(
        rows.user_of[order].astype(np.int32),
        place[rows.item_of[order]].astype(np.int32),
        np.clip(rows.values[order], catalogue.low, catalogue.high),
        len(rows.users),
        catalogue.n_items,
        catalogue.low,
        catalogue.high,
        item_labels=[str(one) for one in catalogue.items.tolist()],
        user_labels=[str(one) for one in rows.users.tolist()],
    )
    held_out = chances(ratings, layout.seed) < layout.test_fraction
    return _Packed.of(ratings.take(~held_out)), _Packed.of(ratings.take(held_out))


@cache
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that goes with this process."""
    return tempfile.TemporaryDirectory(prefix="dpmc-copies-")


def _copied(path: Path, version: str, make: Callable[[], Any]) -> Any:
    """What ``make`` returned for this ``version``, from the copy at ``path`` where there is one:
    its arrays are read from the file as they are needed, and cannot be written to.

    A copy that cannot be written is done without. The file is this software's own, in a folder
    that it made.
    """
    with suppress(OSError, EOFError, ValueError, pickle.UnpicklingError):
        of, stored = _read(path)
        if of == version:
            return stored
    result = make()
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path) as file:
            _write(file, (version, result))
    return result


def _write(file: BinaryIO, content: Any) -> None:
    """The arrays of ``content``, each at a multiple of 64 bytes, then all that is no array, and
    last where everything is.
    """
    arrays: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(content, protocol=5, buffer_callback=arrays.append)
    places = []
    for buffer in arrays:
        raw = buffer.raw()
        file.write(bytes(-file.tell() % 64))
        places.append((file.tell(), raw.nbytes))
        file.write(raw)
    places.append((file.tell(), len(rest)))
    file.write(rest)
    table = pickle.dumps(places)
    file.write(table)
    file.write(len(table).to_bytes(8, "little"))


def _read(path: Path) -> Any:
    with open(path, "rb") as file:
        if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
            raise ValueError("a copy of somebody else's")
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    size = int.from_bytes(whole[-8:], "little")
    *places, rest = pickle.loads(whole[-8 - size : -8])
    buffers = [whole[at : at + length] for at, length in places]
    return pickle.loads(whole[rest[0] : sum(rest)], buffers=buffers)
