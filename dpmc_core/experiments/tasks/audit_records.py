"""Two datasets that differ in one chosen record of a set, and where an attacker looks.

Does not live here: the small tables and pictures made for audits (``audit_targets``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.data import ratings_of, samples_of
from dpmc_core.datasets.own.cells import normal
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.datasets.samples import Samples
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.experiments.tasks.audit_spec import FACTOR_TARGETS, AuditSpec
from dpmc_core.wording import counted

IntArray = NDArray[np.intp]
# what an attacker looks at: with more numbers a rule learned from some hundred outputs gets worse
_USERS, _ITEMS, _FEATURES = 12, 8, 64


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two datasets alike but for one ``record``, which only ``inside`` has (or has otherwise).

    An attacker looks at the factors of ``rows`` (users, the record's own first; pixels or words of
    learned parts) and of ``columns`` (items; none for parts).
    """

    inside: Any
    outside: Any
    record: str
    rows: IntArray
    columns: IntArray


def with_and_without(spec: AuditSpec) -> Neighbours:
    """The dataset that ``spec`` names with its ``record``, and the same without it.

    A user's ratings are there or not; one rating is high or low; the place of an image or document
    is taken or empty. Unless the spec says which: the user with the most ratings, of their items
    the one that fewest others rated; the image or document farthest from the mean.

    Raises ``ParameterError`` for a record that is not there, ``DatasetMissingError`` or
    ``DataError``.
    """
    data = spec.run_spec(0).data
    if spec.target in FACTOR_TARGETS:
        return _samples(samples_of(data), spec.record)
    return _ratings(ratings_of(data), spec.record, whole=spec.neighbours == "user")


def _ratings(ratings: Ratings, record: str, *, whole: bool) -> Neighbours:
    counts = np.bincount(ratings.users, minlength=ratings.n_users)
    who = _place(record, ratings.user_labels, ratings.n_users, "user") if record else None
    who = int(np.argmax(counts)) if who is None else who
    mine = ratings.users == who
    if not mine.any() or mine.all():
        raise DataError(
            f"{ratings.name}: {ratings.user_label(who)} gave {counts[who]:,} of {len(ratings):,} "
            "ratings; a user to remove must have given some, and not all."
        )
    seldom = np.bincount(ratings.items, minlength=ratings.n_items)[ratings.items[mine]]
    items = ratings.items[mine][np.argsort(seldom, kind="stable")][:_ITEMS]
    shared = np.bincount(
        ratings.users[np.isin(ratings.items, items)], minlength=ratings.n_users
    ).astype(np.int64)
    shared[who] = np.iinfo(np.int64).max
    users = np.argsort(-shared, kind="stable")[:_USERS]
    name = f"user {ratings.user_label(who).removeprefix('user ')}"
    if whole:
        said = f"{name} and their {counted(int(counts[who]), 'rating', 'ratings')}"
        return Neighbours(ratings, ratings.take(~mine), said, users, items)
    k = np.flatnonzero(mine & (ratings.items == items[0]))
    high, low = (ratings.values.copy() for _ in range(2))
    high[k], low[k] = ratings.high, ratings.low
    said = (
        f"the rating of “{ratings.item_label(int(items[0]))}” by {name}: {ratings.high:g} or "
        f"{ratings.low:g}"
    )
    return Neighbours(
        replace(ratings, values=high), replace(ratings, values=low), said, users, items
    )


def _samples(samples: Samples, record: str) -> Neighbours:
    values, mean = samples.values, np.asarray(samples.values.mean(axis=1)).ravel()
    which = _column(record, samples) if record else int(np.argmin(mean @ values))
    kept = np.ones(len(samples))
    kept[which] = 0.0
    # of documents, guaranteed algorithms read the counts, the others the weights
    counts = None if samples.counts is None else _emptied(samples.counts, kept)
    without: Any
    if sparse.issparse(values):
        own = values[:, [which]].toarray().ravel()
        without = _emptied(sparse.csc_array(values), kept)
    else:
        own, without = values[:, which], np.asarray(values) * kept
    features = np.argsort(-np.abs(own - mean), kind="stable")[:_FEATURES]
    return Neighbours(
        samples,
        replace(samples, values=without, counts=counts),
        f"{samples.unit} {samples.places.at[which] + 1:,} of {samples.places.given:,}",
        features,
        np.empty(0, dtype=np.intp),
    )


def _column(record: str, samples: Samples) -> int:
    """The column of the image or document numbered ``record``, as numbered in the file."""
    place = _place(record, (), samples.places.given, samples.unit)
    (column,) = np.nonzero(samples.places.at == place)
    if not column.size:
        raise DataError(
            f"{samples.name}: {samples.unit} {place + 1:,} holds nothing, so that nothing changes "
            "with it; another record can be audited."
        )
    return int(column[0])


def _emptied(table: sparse.csc_array, kept: FloatArray) -> sparse.csc_array:
    """``table`` with the columns of ``kept`` 0 empty."""
    out = sparse.csc_array(table.multiply(kept))
    out.eliminate_zeros()
    return out


def _place(record: str, labels: Sequence[str], count: int, what: str) -> int:
    """Where the record called or numbered ``record`` is."""
    if normal(record) in labels:
        return list(labels).index(normal(record))
    if len(record) <= 15 and record.isdecimal() and 1 <= int(record) <= count:
        return int(record) - 1
    named = f"the name of a {what}, or " if labels else ""
    raise ParameterError("record", record, f"{named}the number of one, from 1 to {count:,}")
