"""Folders of Parquet files to try things on: skewed synthetic ratings, up to a billion of them, and
what the datasets of the catalogue hold.

Provides ``write_skewed``, ``write_ratings`` and ``write_samples``.
"""

import itertools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import sparse

from dpmc_core.datasets.ratings import Ratings
from dpmc_core.datasets.samples import Samples
from dpmc_core.datasets.synthetic.ratings import distinct_pairs
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.limits import Limit
from dpmc_core.partitioned.engine import Engine, Tell
from dpmc_core.partitioned.source import MOST_ROWS

_COUNTS = {
    "users": Limit("users", 2, 100_000_000, "number of users", integer=True),
    "items": Limit("items", 2, 1_000_000, "number of items", integer=True),
    "ratings": Limit("ratings", 1, 1_000_000_000, "number of ratings", integer=True),
    "files": Limit("files", 1, 100_000, "number of files", integer=True),
}
_RANK, _POPULARITY = 8, 0.9
_PIECE = 1_000_000  # ratings whose factors are gathered at once


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

    def name(self, k: int) -> str:
        """What file number ``k`` is called."""
        return f"part-{k:05d}.parquet"


def write_skewed(asked: Skewed, folder: Path, engine: Engine, tell: Tell) -> int:
    """Write the files of a set as ``datasets.synthetic.skewed`` describes it, each file with the
    same number of users and of ratings, from its own number and the seed alone: on any number of
    workers the same. Values are rounded to four bytes. Returns how many users have
    a rating.

    Raises ``DataError`` where nothing can be written.
    """
    _new(folder)
    return sum(engine.each(_Writer(asked, str(folder.resolve())), asked.files, tell))


@dataclass(frozen=True)
class _Writer:
    asked: Skewed
    folder: str

    def __call__(self, k: int, into: object = None) -> int:
        del into
        asked = self.asked
        first, end = (asked.users * j // asked.files for j in (k, k + 1))
        count = asked.ratings * (k + 1) // asked.files - asked.ratings * k // asked.files
        of_items = np.random.default_rng([asked.seed, 0])
        item_weight = of_items.permutation(np.arange(1.0, asked.items + 1.0) ** -_POPULARITY)
        item_bias = 0.4 * of_items.standard_normal(asked.items)
        right = np.column_stack(
            [3.5 + item_bias, np.ones(asked.items), of_items.standard_normal((asked.items, _RANK))]
        )
        rng = np.random.default_rng([asked.seed, 1, k])
        n = end - first
        user_weight = np.exp(rng.standard_normal(n))
        pairs = distinct_pairs(user_weight, np.asarray(item_weight), count, rng)
        users, items = np.divmod(pairs, asked.items)
        taste = 0.6 / _RANK**0.5 * rng.standard_normal((n, _RANK))
        left = np.column_stack([np.ones(n), 0.4 * rng.standard_normal(n), taste])
        values = asked.noise_floor * rng.standard_normal(count)
        for start in range(0, count, _PIECE):
            part = slice(start, start + _PIECE)
            values[part] += np.einsum("kr,kr->k", left[users[part]], right[items[part]])
        columns = {
            "user": (first + users).astype(np.int64),
            "item": items.astype(np.int64),
            "rating": values.astype(np.float32),
        }
        write_table(columns, Path(self.folder) / asked.name(k))
        return int(np.count_nonzero(np.bincount(users)))


def write_ratings(ratings: Ratings, folder: Path, files: int) -> None:
    """Write ``ratings`` into ``files`` files, users in order and as many in each; ids are their
    labels, or numbers from 0. Raises ``DataError``, ``ParameterError``.
    """
    _COUNTS["files"].check(files)
    if files > ratings.n_users:
        raise ParameterError("files", files, f"at most {ratings.n_users:,}, the users")
    _new(folder)
    order = np.lexsort((ratings.items, ratings.users))
    edges = np.searchsorted(
        ratings.users[order], [ratings.n_users * k // files for k in range(files + 1)]
    )
    for k in range(files):
        rows = order[edges[k] : edges[k + 1]]
        columns = {
            "user": _named(ratings.users[rows], ratings.user_labels),
            "item": _named(ratings.items[rows], ratings.item_labels),
            "rating": ratings.values[rows],
        }
        write_table(columns, folder / f"part-{k:05d}.parquet")


def write_samples(samples: Samples, folder: Path, files: int) -> int:
    """Write documents (their words and counts) or images (their pixels) into ``files`` files, as
    many in each, and return how many numbers that are not 0 were written. Raises ``DataError``,
    ``ParameterError``.
    """
    _COUNTS["files"].check(files)
    if files > len(samples):
        raise ParameterError("files", files, f"at most {len(samples):,}, the {samples.unit}s")
    _new(folder)
    table = samples.values if samples.counts is None else samples.counts
    edges = [len(samples) * k // files for k in range(files + 1)]
    words = np.asarray(samples.words, dtype=np.str_)
    written = 0
    for k, (begin, end) in enumerate(itertools.pairwise(edges)):
        part = sparse.coo_array(table[:, begin:end])
        what = pa.array(words[part.row]) if len(words) else pa.array(part.row.astype(np.int64))
        columns = {
            samples.unit: pa.array(begin + part.col.astype(np.int64)),
            "word" if len(words) else "pixel": what,
            "count" if samples.counts is not None else "value": part.data,
        }
        write_table(columns, folder / f"part-{k:05d}.parquet")
        written += len(part.data)
    return written


def write_table(columns: dict[str, Any], path: Path) -> None:
    """A whole Parquet file or none. Raises ``DataError`` that says why it cannot be written."""
    try:
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=".part-")
        os.close(handle)
        try:
            pq.write_table(pa.table(columns), part)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(part, 0o666 & ~mask)  # a temporary file is its maker's alone
            os.replace(part, path)
        except OSError:
            Path(part).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror or error}): free some space, or name a "
            "folder that all workers reach and may write to."
        ) from None


def _named(numbers: NDArray[np.int32], labels: Any) -> Any:
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
