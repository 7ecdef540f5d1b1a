"""A partition as solvers see it: training and held-out ratings of its users.

Provides ``Layout`` (what a worker needs to read any partition) and ``group_of``. A worker keeps a
copy of what it has read, grouped for its algorithm, in a folder of its own: only ever a copy, made
again wherever it is missing.
"""

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core import __version__
from dpmc_core.completion.common.population import Group, Made
from dpmc_core.completion.common.profiles import on_scale
from dpmc_core.datasets.ratings import Ratings, chances
from dpmc_core.errors import DataError
from dpmc_core.partitioned.catalogue import Catalogue
from dpmc_core.partitioned.source import read_rows

__all__ = ["Layout", "PartitionGroup", "group_of", "ids_of"]


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
        said = f"{self.test_fraction!r} {self.seed} {self.version} {self.catalogue.source!r}"
        return hashlib.blake2b(self.catalogue.digest + said.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class PartitionGroup(Group):
    """A group with the ratings ``held_out`` of its users, and the folder that remembers."""

    held_out: Ratings = field(kw_only=True)
    copies: Path = field(kw_only=True)
    k: int = field(kw_only=True)

    def kept(self, name: str, version: object, make: Callable[[], Made]) -> Made:
        """See ``Group.kept``: here on the worker's disk."""
        digest = hashlib.blake2b(repr(version).encode(), digest_size=16).hexdigest()
        found: Made = _copied(self.copies / f"{self.k}-{name}", digest, make)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Packed:
    """Ratings as they are kept: by user, items in as few bytes as tell them apart, and values in
    four bytes where that loses nothing.
    """

    counts: NDArray[np.int64]
    items: NDArray[Any]
    values: NDArray[Any]

    @classmethod
    def of(cls, ratings: Ratings) -> "_Packed":
        short = ratings.values.astype(np.float32)
        exact = bool(np.array_equal(short.astype(np.float64), ratings.values))
        counts = np.bincount(ratings.users, minlength=ratings.n_users)
        small = np.uint16 if ratings.n_items <= 65_536 else np.int32
        return cls(counts, ratings.items.astype(small), short if exact else ratings.values)

    def ratings(self, layout: Layout, k: int) -> Ratings:
        known, numbers = layout.catalogue, layout.catalogue.numbers[k]
        return Ratings(
            np.repeat(np.arange(len(numbers), dtype=np.int32), self.counts),
            self.items.astype(np.int32),
            self.values.astype(np.float64),
            len(numbers),
            known.n_items,
            known.low,
            known.high,
            layout.name,
            numbers_of_users=numbers,
        )


def group_of(layout: Layout, k: int, *, as_ratings: bool = True) -> PartitionGroup:
    """Partition ``k`` with its ratings parted, all on their scale (not ``as_ratings``: as they
    are). Raises ``DataError`` where the file is no longer what it was, or another version of this
    software is at work here.
    """
    if layout.version != __version__:
        raise DataError(
            f"A worker has version {__version__} of this software where the run was begun with "
            f"{layout.version}: install the same release on every worker."
        )
    copies = _folder(layout)
    train, held_out = _copied(copies / f"{k}", "", lambda: _parted(layout, k))
    ratings = train.ratings(layout, k)
    return PartitionGroup(
        on_scale(ratings) if as_ratings else ratings,
        threads=1,
        held_out=held_out.ratings(layout, k),
        copies=copies,
        k=k,
    )


def ids_of(layout: Layout, k: int) -> NDArray[Any]:
    """The ids of the users of partition ``k``, in the order of its rows."""
    return read_rows(layout.catalogue.source, k).users


def _parted(layout: Layout, k: int) -> tuple[_Packed, _Packed]:
    """Read the file and part its ratings."""
    known = layout.catalogue
    rows = read_rows(known.source, k)
    place = np.searchsorted(known.items, rows.items)
    inside = place < known.n_items
    if (
        len(rows.users) != len(known.numbers[k])
        or not inside.all()
        or not np.array_equal(known.items[place], rows.items)
    ):
        raise DataError(
            f"{known.source.files[k]} has changed since the run was begun: begin another run, in "
            "another folder."
        )
    order = np.lexsort((rows.item_of, rows.user_of))
    ratings = Ratings(
        rows.user_of[order].astype(np.int32),
        place[rows.item_of[order]].astype(np.int32),
        rows.values[order],
        len(rows.users),
        known.n_items,
        known.low,
        known.high,
        item_labels=[str(one) for one in known.items.tolist()],
        user_labels=[str(one) for one in rows.users.tolist()],
    )
    held_out = chances(ratings, layout.seed) < layout.test_fraction
    return _Packed.of(ratings.take(~held_out)), _Packed.of(ratings.take(held_out))


_own_folder: list[tempfile.TemporaryDirectory[str]] = []


def _folder(layout: Layout) -> Path:
    """Where this process keeps copies: told by the layout, else its Dask worker's folder, which
    goes with the worker, else one that goes with the process.
    """
    if layout.folder:
        return Path(layout.folder) / layout.key
    with suppress(ImportError, ValueError):
        from distributed import get_worker

        return Path(str(get_worker().local_directory)) / "dpmc" / layout.key
    if not _own_folder:
        _own_folder.append(tempfile.TemporaryDirectory(prefix="dpmc-copies-"))
    return Path(_own_folder[0].name) / layout.key


def _copied(path: Path, version: str, make: Callable[[], Any]) -> Any:
    """What ``make`` returned for this ``version``, from the copy at ``path`` where there is one.

    A copy that cannot be written is done without. The file is this software's own, in a folder
    that it made.
    """
    with suppress(OSError, EOFError, pickle.UnpicklingError), open(path, "rb") as file:
        of, found = pickle.load(file)
        if of == version:
            return found
    made = make()
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                pickle.dump((version, made), file, protocol=pickle.HIGHEST_PROTOCOL)
            os.replace(name, path)
        except OSError:
            with suppress(OSError):
                os.unlink(name)
            raise
    return made
