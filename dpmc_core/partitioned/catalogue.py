"""What one pass over all partitions tells: who and what there is, and that nothing is wrong.

Provides ``scanned`` (one partition, on a worker), ``merged`` (all of them) and the ``Catalogue``.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.datasets.own.given import NOTHING, Given, places_among
from dpmc_core.datasets.ratings import hashes, spread_bits
from dpmc_core.errors import DataError
from dpmc_core.partitioned.source import Rows, Source, read_rows

_LARGEST_ITEMS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Scanned:
    """What a partition holds: sorted ids, how often each item is rated, the lowest and highest
    value, a sum of 256 bits over its ratings that any change of one changes, how many ratings, of
    how many users, are off the scale as given, and how many rows were passed over.
    """

    users: NDArray[Any]
    items: NDArray[Any]
    counts: NDArray[np.int64]
    low: float
    high: float
    mixed: NDArray[np.uint64]
    off: tuple[int, int]
    passed_over: int


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The whole matrix: sorted ids of ``items`` and their ``counts`` of ratings, and of each
    partition how many users it has (``sizes``) and what its ratings ``mixed`` come to.

    ``low`` and ``high`` end the rating scale. ``digest`` is of all ratings, in whatever order or
    partitions they are, and of what was ``given``. ``notes`` say what was left out.
    """

    source: Source
    items: NDArray[Any]
    counts: NDArray[np.int64]
    sizes: tuple[int, ...]
    mixed: tuple[bytes, ...]
    low: float
    high: float
    digest: bytes
    given: Given = NOTHING
    notes: tuple[str, ...] = ()

    @property
    def n_users(self) -> int:
        """Rows of the matrix."""
        return self.given.users or sum(self.sizes)

    @property
    def n_items(self) -> int:
        """Columns of the matrix."""
        return len(self.items)

    @property
    def n_ratings(self) -> int:
        """Cells that are known."""
        return int(self.counts.sum())

    @property
    def empty(self) -> tuple[str, ...]:
        """Files without a rating."""
        return tuple(
            name for name, size in zip(self.source.files, self.sizes, strict=True) if not size
        )


def scanned(source: Source, given: Given, k: int) -> Scanned:
    """One pass over partition ``k``. Raises ``DataError`` for what ``read_rows`` refuses."""
    rows = read_rows(source, k)
    some = bool(len(rows.values))
    return Scanned(
        rows.users,
        rows.items,
        np.bincount(rows.item_of, minlength=len(rows.items)),
        float(rows.values.min()) if some else np.inf,
        float(rows.values.max()) if some else -np.inf,
        mixed_of(rows),
        given.off(rows.user_of, rows.values),
        rows.passed_over,
    )


def merged(source: Source, parts: Sequence[Scanned], given: Given) -> Catalogue:
    """All partitions together, and what is ``given`` of them.

    Raises ``DataError`` for a user in two partitions, no rating at all or none of a listed item,
    or more users than stated.
    """
    users, starts = np.unique(
        np.concatenate([part.users for part in parts if len(part.users)] or [np.zeros(0, int)]),
        return_inverse=True,
    )
    if not len(users):
        raise DataError(f"{source.folder} holds no rating; at least one is needed.")
    _in_one_partition(source, parts, users, starts)
    span = min(part.low for part in parts), max(part.high for part in parts)
    off = np.sum([part.off for part in parts], axis=0)
    notes = given.check(source.folder, len(users), (int(off[0]), int(off[1])), *span)
    scale = given.scale(*span)
    rated = np.unique(np.concatenate([part.items for part in parts if len(part.items)]))
    items = rated if given.items is None else _of_kind(given.items, rated)
    if len(items) > _LARGEST_ITEMS:
        raise DataError(f"{source.folder} has {len(items):,} items; at most 2,147,483,647 fit.")
    counts = np.zeros(len(items), dtype=np.int64)
    mixed = np.zeros(4, dtype=np.uint64)
    for part in parts:
        place = places_among(part.items, items)
        counts[place[place >= 0]] += part.counts[place >= 0]
        mixed += part.mixed
    if not counts.any():
        raise DataError(
            f"{source.folder}: no listed item, such as {items[0]}, is rated; the list must name "
            f"them as the files do, such as {rated[0]}."
        )
    if passed_over := sum(part.passed_over for part in parts):
        notes.append(
            "Rows without a user, an item or a finite value, and a user's earlier ratings of an "
            f"item, are passed over: {passed_over:,}."
        )
    left_out = sum(int(part.counts.sum()) for part in parts) - int(counts.sum())
    if left_out:
        notes.append(f"Ratings of items that are not listed are left out: {left_out:,}.")
    sizes = tuple(len(part.users) for part in parts)
    each = tuple(part.mixed.tobytes() for part in parts)
    content = mixed.tobytes() + np.array(scale).tobytes() + items.tobytes()
    digest = hashlib.blake2b(content + repr(given.users).encode()).digest()
    return Catalogue(source, items, counts, sizes, each, *scale, digest, given, tuple(notes))


def _of_kind(labels: Sequence[str], ids: NDArray[Any]) -> NDArray[Any]:
    """``labels`` as sorted ids of the same kind as ``ids``."""
    try:
        return np.unique(np.array(labels).astype(ids.dtype if ids.dtype.kind in "iu" else np.str_))
    except (ValueError, OverflowError):
        raise DataError(
            "the list of items has names that are no whole numbers, as the ids in the files are."
        ) from None


def _in_one_partition(
    source: Source, parts: Sequence[Scanned], users: NDArray[Any], numbers: NDArray[np.intp]
) -> None:
    times = np.bincount(numbers)
    if times.max() == 1:
        return
    who = users[int(np.argmax(times > 1))]
    where = [k for k, part in enumerate(parts) if len(part.users) and who in part.users]
    several = int(np.count_nonzero(times > 1))
    raise DataError(
        f"user {who} is in {source.files[where[0]]} and in {source.files[where[1]]}"
        f"{f', and {several - 1:,} other users are in several files too' * (several > 1)}: all "
        "ratings of a user must be in one file."
    )


def mixed_of(rows: Rows) -> NDArray[np.uint64]:
    """Σ over ratings of four mixtures of their user's, item's and value's bits (mod 2⁶⁴)."""
    out = np.zeros(4, dtype=np.uint64)
    bits = (rows.values + 0.0).view(np.uint64)
    for lane in range(4):
        who = _hashes(rows.users, lane)[rows.user_of]
        what = _hashes(rows.items, 4 + lane)[rows.item_of]
        out[lane] = _spread(who ^ _spread(what ^ _spread(bits))).sum(dtype=np.uint64)
    return out


def _hashes(ids: NDArray[Any], purpose: int) -> NDArray[np.uint64]:
    if ids.dtype.kind in "iu":
        return _spread(_spread(ids.astype(np.uint64)) + np.uint64(purpose))
    return hashes(map(str, ids), bytes([purpose]))


def _spread(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's next number."""
    return spread_bits(x + np.uint64(0x9E3779B97F4A7C15))
