"""A folder of Parquet files with ratings: which columns are what, and what is in them.

Provides ``Source`` and ``open_folder``, reading one file, each of which is a partition, and what
one pass over all of them tells: ``scanned`` (one partition, on a worker), ``merged`` (all of them)
and the ``Catalogue``: who and what there is, and that nothing is wrong.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.datasets.own.given import Given
from dpmc_core.datasets.own.table_files import Table, frame_of
from dpmc_core.datasets.own.table_guesses import guess_ratings
from dpmc_core.datasets.ratings import hashes, places_among, spread_bits
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.wording import printable

MOST_ROWS = 20_000_000  # of one file: it must fit into a worker several times
_FIRST = 1000  # rows by which columns are guessed

_WHOLE, _UNSIGNED, _TEXT = "whole numbers", "whole numbers of 64 bits without sign", "text"


@dataclass(frozen=True)
class Source:
    """``files`` in ``folder``, a partition each, and which of their columns holds what."""

    folder: str
    files: tuple[str, ...]
    user: str
    item: str
    value: str

    def path(self, k: int) -> Path:
        """Where file number ``k`` is."""
        return Path(self.folder) / self.files[k]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """One partition's ratings: sorted ids ``users`` and ``items``, and by rating the numbers of
    both among them, and the value. ``passed_over`` rows were no ratings, or not a user's last of an
    item.
    """

    users: NDArray[Any]
    items: NDArray[Any]
    user_of: IntArray
    item_of: IntArray
    values: FloatArray
    passed_over: int


def open_folder(
    folder: str | Path, user: str = "", item: str = "", value: str = "", *, ratings: bool = True
) -> Source:
    """The partitions in ``folder``: its ``*.parquet`` files, in order of their names.

    Columns that are not named are guessed from the first file; of ``ratings`` those must be named
    for which two columns are near. Reads footers and a thousand rows.
    Raises ``DataError`` for a folder without such files, a file that is no Parquet, lacks a column
    or holds another kind of ids than the first, or has too many rows; ``ParameterError`` for
    columns that cannot be guessed.
    """
    place = Path(folder)
    if place.is_file():
        raise DataError(f"{folder} is a file: name the folder that it is in.")
    try:
        names = sorted(path.name for path in place.glob("*.parquet"))
    except OSError as error:
        raise DataError(f"{folder} cannot be read ({error.strerror}).") from None
    if not names:
        raise DataError(
            f"{folder} holds no Parquet files: a folder of files that end in .parquet is needed, "
            "with the ratings of some users in each."
        )
    footers = [_footer(place / name) for name in names]
    if not any(footer.num_rows for footer in footers):
        raise DataError(f"{folder} holds no rating: its Parquet files have no rows.")
    schemas = [footer.schema.to_arrow_schema() for footer in footers]
    named = _columns(place / names[0], schemas[0], user, item, value, ratings)
    first: dict[str, str] = {}
    for name, schema, footer in zip(names, schemas, footers, strict=True):
        for role, column in named.items():
            kind = _kind(role, column, schema, name)
            if first.setdefault(role, kind) != kind:
                raise DataError(
                    f"the {role}s in {name} are {kind}, and {first[role]} in {names[0]}: a column "
                    "must be of one kind in all files."
                )
        if footer.num_rows > MOST_ROWS:
            raise DataError(
                f"{name} has {footer.num_rows:,} ratings; a file is what one worker holds at once, "
                f"so at most {MOST_ROWS:,} are allowed: write the users into more files."
            )
    return Source(str(place.resolve()), tuple(names), *named.values())


def check_user_column(source: Source) -> None:
    """Raise ``ParameterError`` where no name of a column says who is a user: a wrong guess would
    protect something else.
    """
    path = source.path(0)
    schema = pq.ParquetFile(path).schema_arrow
    if {"user", "layout"} & _guessed(path, schema)[1].keys():
        listed = ", ".join(schema.names)
        allowed = f"named by --user-column: one of {listed}; no name says who it is"
        raise ParameterError("user column", None, allowed)


def read_rows(source: Source, k: int) -> Rows:
    """The ratings of partition ``k``: rows without a user, an item or a finite value are passed
    over, and of a user's ratings of one item the last counts, so that no one user decides whether
    there is a result. Raises ``DataError`` for a file that cannot be read.
    """
    path = source.path(k)
    columns = [source.user, source.item, source.value]
    try:
        table = pq.ParquetFile(path).read(columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None
    in_all = table.num_rows
    finite = pc.is_finite(table.column(source.value).cast(pa.float64()))
    table = table.filter(pc.fill_null(finite, False)).drop_null()
    users, items, values = (table.column(name) for name in columns)
    who, user_of = _numbered(users)
    what, item_of = _numbered(items)
    numbers = values.cast(pa.float64()).to_numpy()
    last = _last_of_each(user_of * np.int64(max(len(what), 1)) + item_of)
    if len(last) < len(numbers):
        user_of, item_of, numbers = user_of[last], item_of[last], numbers[last]
    return Rows(who, what, user_of, item_of, numbers, in_all - len(numbers))


def _last_of_each(cells: IntArray) -> IntArray:
    """Where each of the ``cells`` occurs last, in order."""
    _, from_the_end = np.unique(cells[::-1], return_index=True)
    return np.sort(len(cells) - 1 - from_the_end)


def _numbered(column: Any) -> tuple[NDArray[Any], IntArray]:
    """The sorted ids of a column, and each row's number among them."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_integer(kind):
        whole = column.cast(pa.uint64() if kind == pa.uint64() else pa.int64()).to_numpy()
        return np.unique(whole, return_inverse=True)
    coded = pc.dictionary_encode(column.cast(pa.large_string())).combine_chunks()
    labels = np.array(coded.dictionary.to_pylist(), dtype=np.str_)
    ids, place = np.unique(labels, return_inverse=True)
    return ids, place[coded.indices.to_numpy()]


def _footer(path: Path) -> Any:
    try:
        return pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> DataError:
    reason = printable(str(error)).partition(". ")[0][:200].rstrip(".")
    return DataError(f"{path.name} cannot be read as Parquet ({reason}): write it again.")


def _columns(
    path: Path, schema: Any, user: str, item: str, value: str, ratings: bool
) -> dict[str, str]:
    """The column of the user, the item and the rating."""
    given = {"user": user, "item": item, "rating": value}
    if not all(given.values()):
        guessed, choices = _guessed(path, schema)
        for role, of in (("item", "item"), ("rating", "value")):
            near = choices.get(of, ())
            if ratings and not given[role] and len(near) > 1:
                raise ParameterError(f"{role} column", None, f"named: one of {', '.join(near)}")
        given = {role: name or guessed.get(role, "") for role, name in given.items()}
    for role, name in given.items():
        if name not in schema.names:
            listed = ", ".join(schema.names)
            raise ParameterError(f"{role} column", name or None, f"one of {listed}")
    if len(set(given.values())) < len(given):
        allowed = "three different ones, named by --user-column, --item-column and --rating-column"
        raise ParameterError("columns", ", ".join(given.values()), allowed)
    return given


def _guessed(path: Path, schema: Any) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Roles by the columns' names and first values; where they say nothing that can be, and there
    are three columns, in their order. And the columns that are near, by what is asked.
    """
    head = next(pq.ParquetFile(path).iter_batches(_FIRST), None)
    guessed: dict[str, str] = {}
    choices: dict[str, tuple[str, ...]] = {"user": ()}
    if head is not None and head.num_rows:
        frame = frame_of(pa.Table.from_batches([head]))
        reading, questions = guess_ratings(Table(frame=frame))
        choices = {question.field: question.choices for question in questions}
        if reading.layout == "long":
            guessed = {"user": reading.user, "item": reading.item, "rating": reading.value}
    try:
        for role, column in guessed.items():
            if column:  # a file without ratings has no other column for them
                _kind(role, column, schema, path.name)
    except DataError:
        guessed = {}
    if not guessed and len(schema.names) == 3:
        guessed = dict(zip(("user", "item", "rating"), schema.names, strict=True))
    return guessed, choices


def _kind(role: str, column: str, schema: Any, file: str) -> str:
    if column not in schema.names:
        raise DataError(f"{file} has no column {column!r}, which holds the {role}s.")
    kind = schema.field(column).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if role == "rating":
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return "numbers"
        held = "text" if text else kind
        raise DataError(f"{file}: {column!r} holds {held}, where ratings must be numbers.")
    if pa.types.is_integer(kind):
        return _UNSIGNED if kind == pa.uint64() else _WHOLE
    if text:
        return _TEXT
    raise DataError(
        f"{file}: {column!r} holds {kind}, where {role}s must be named by whole numbers or text."
    )


_LARGEST_ITEMS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Scanned:
    """What a partition holds: sorted ids, how often each item is rated, the lowest and highest
    value, a sum of 256 bits over its ratings that any change of one changes, how many ratings, of
    how many users, are off the scale as given, and how many rows were passed over.
    """

    users: NDArray[Any]
    items: NDArray[Any]
    counts: IntArray
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
    counts: IntArray
    sizes: tuple[int, ...]
    mixed: tuple[bytes, ...]
    low: float
    high: float
    digest: bytes
    given: Given
    notes: tuple[str, ...]

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
    return Scanned(
        rows.users,
        rows.items,
        np.bincount(rows.item_of, minlength=len(rows.items)),
        float(rows.values.min(initial=np.inf)),
        float(rows.values.max(initial=-np.inf)),
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
    source: Source, parts: Sequence[Scanned], users: NDArray[Any], numbers: IntArray
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
