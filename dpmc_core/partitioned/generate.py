"""Folders of Parquet files to try things on: skewed synthetic ratings, up to a billion of them, and
what the datasets of the catalogue hold.

Provides ``write_skewed``, ``write_ratings`` and ``write_samples``.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

from dpmc_core.arrays import IntArray, products_at
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.synthetic.ratings import distinct_pairs
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.limits import Limit
from dpmc_core.partitioned.engine import Engine, Tell
from dpmc_core.partitioned.source import MOST_ROWS
from dpmc_core.paths import whole_file

_COUNTS = {
    "users": Limit(2, 100_000_000, "number of users", integer=True, name="users"),
    "items": Limit(2, 1_000_000, "number of items", integer=True, name="items"),
    "ratings": Limit(1, 1_000_000_000, "number of ratings", integer=True, name="ratings"),
    "files": Limit(1, 100_000, "number of files", integer=True, name="files"),
}
_RANK, _POPULARITY = 8, 0.9


@dataclass(frozen=True, kw_only=True)
class Skewed:
    """Sizes of a skewed set; ``noise_floor`` is the standard deviation of its rating noise.

    Raises ``ParameterError`` for sizes out of range, more than half of the cells, or files with
    more ratings than a worker takes.
    """

    users: int
    items: int
    ratings: int
    files: int = 1
    noise_floor: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        for name, limit in _COUNTS.items():
            limit.check(getattr(self, name))
        if self.ratings > self.users * self.items // 2:
            allowed = f"at most half of the {self.users:,} × {self.items:,} cells"
            raise ParameterError("ratings", self.ratings, allowed)
        if not max(self.ratings / MOST_ROWS, 1) <= self.files <= self.users:
            least = -(-self.ratings // MOST_ROWS)
            allowed = f"from {least} ({MOST_ROWS:,} ratings in each) to {self.users:,}, the users"
            raise ParameterError("files", self.files, allowed)


def write_skewed(skewed: Skewed, folder: Path, engine: Engine, tell: Tell) -> int:
    """Write the files of a set as ``datasets.synthetic.skewed`` describes it, each file with the
    same number of users and of ratings, from its own number and the seed alone: on any number of
    workers the same. Values are rounded to four bytes. Returns how many users have
    a rating.

    Raises ``DataError`` where nothing can be written.
    """
    _new(folder)
    return sum(engine.each(partial(_write_skewed, skewed, folder.resolve()), skewed.files, tell))


def _write_skewed(skewed: Skewed, folder: Path, k: int) -> int:
    first, end = (skewed.users * j // skewed.files for j in (k, k + 1))
    count = skewed.ratings * (k + 1) // skewed.files - skewed.ratings * k // skewed.files
    of_items = np.random.default_rng([skewed.seed, 0])
    item_weight = of_items.permutation(np.arange(1.0, skewed.items + 1.0) ** -_POPULARITY)
    item_bias = 0.4 * of_items.standard_normal(skewed.items)
    right = np.column_stack(
        [3.5 + item_bias, np.ones(skewed.items), of_items.standard_normal((skewed.items, _RANK))]
    )
    rng = np.random.default_rng([skewed.seed, 1, k])
    n = end - first
    user_weight = np.exp(rng.standard_normal(n))
    pairs = distinct_pairs(user_weight, item_weight, count, rng)
    users, items = np.divmod(pairs, skewed.items)
    taste = 0.6 / _RANK**0.5 * rng.standard_normal((n, _RANK))
    left = np.column_stack([np.ones(n), 0.4 * rng.standard_normal(n), taste])
    values = skewed.noise_floor * rng.standard_normal(count)
    values += products_at(left, right, users, items)
    columns = {
        "user": (first + users).astype(np.int64),
        "item": items.astype(np.int64),
        "rating": values.astype(np.float32),
    }
    write_table(columns, folder / _name(k))
    return int(np.count_nonzero(np.bincount(users)))


def write_ratings(ratings: Ratings, folder: Path, files: int) -> None:
    """Write ``ratings`` into ``files`` files, users in order and as many in each; ids are their
    labels, or numbers from 0. Raises ``DataError``, ``ParameterError``.
    """
    order = np.lexsort((ratings.items, ratings.users))
    users = ratings.users[order]
    for path, *ends in _places(folder, files, ratings.n_users, "users"):
        rows = order[slice(*np.searchsorted(users, ends))]
        columns = {
            "user": _named(ratings.users[rows], ratings.user_labels),
            "item": _named(ratings.items[rows], ratings.item_labels),
            "rating": ratings.values[rows],
        }
        write_table(columns, path)


def write_samples(samples: Samples, folder: Path, files: int) -> int:
    """Write documents (their words and counts) or images (their pixels) into ``files`` files, as
    many in each, and return how many numbers that are not 0 were written. Raises ``DataError``,
    ``ParameterError``.
    """
    table = samples.values if samples.counts is None else samples.counts
    words = np.asarray(samples.words, dtype=np.str_)
    written = 0
    for path, begin, end in _places(folder, files, len(samples), f"{samples.unit}s"):
        part = sparse.coo_array(table[:, begin:end])
        what = pa.array(words[part.row]) if len(words) else pa.array(part.row.astype(np.int64))
        columns = {
            samples.unit: pa.array(begin + part.col.astype(np.int64)),
            "word" if len(words) else "pixel": what,
            "count" if samples.counts is not None else "value": part.data,
        }
        write_table(columns, path)
        written += len(part.data)
    return written


def _places(folder: Path, files: int, count: int, what: str) -> Iterator[tuple[Path, int, int]]:
    """The path of each of ``files`` files, and the first and the end of the ``count`` in it."""
    _COUNTS["files"].check(files)
    if files > count:
        raise ParameterError("files", files, f"at most {count:,}, the {what}")
    _new(folder)
    for k in range(files):
        yield folder / _name(k), count * k // files, count * (k + 1) // files


def _name(k: int) -> str:
    """What file number ``k`` is called."""
    return f"part-{k:05d}.parquet"


def write_table(columns: dict[str, Any], path: Path) -> None:
    """A whole Parquet file or none. Raises ``DataError`` that says why it cannot be written."""
    try:
        with whole_file(path) as file:
            pq.write_table(pa.table(columns), file)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(file.name, 0o666 & ~mask)  # a temporary file is its maker's alone
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror or error}): free some space, or name a "
            "folder that all workers reach and may write to."
        ) from None


def _named(numbers: IntArray, labels: Any) -> Any:
    """Labels where all have one that nobody else has."""
    if len(labels) and len(set(labels)) == len(labels) > int(numbers.max(initial=-1)):
        return pa.array(np.asarray(labels, dtype=np.str_)[numbers])
    return pa.array(numbers.astype(np.int64))


def _new(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.glob("*.parquet")):
            raise DataError(f"{folder} holds Parquet files already: name a new folder.")
    except OSError as error:
        raise DataError(f"{folder} cannot be made ({error.strerror}).") from None
