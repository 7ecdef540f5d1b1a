"""What is public of one's own ratings: a list of the items, and the scale's ends.

The list is a table: its first column names items, others hold numbers that are public too. It is
read without the ratings, and what it does not list is left out: one user more or less, whatever
they rate, changes neither the matrix's columns nor their order.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpmc_core.datasets.own.cells import numbers_of
from dpmc_core.datasets.own.columns import column_of
from dpmc_core.datasets.own.table_files import open_table
from dpmc_core.datasets.own.tables import numbered
from dpmc_core.datasets.ratings import FACTS, ItemFeatures, places_of
from dpmc_core.errors import DataError, ParameterError

if TYPE_CHECKING:
    from dpmc_core.datasets.own.sets import OwnSet


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemTable:
    """The items of a ``file`` by their ``labels``, in the order that ratings number items in, what
    stands above them, and their public ``features`` (None: the table has but one column).
    """

    file: str
    heading: str
    labels: tuple[str, ...]
    features: ItemFeatures | None
    digest: bytes


def read_item_table(file: str, data: bytes) -> ItemTable:
    """The table in ``data``, whose first row names the columns unless it holds numbers; a column
    in front that only numbers the rows is passed over.

    Raises ``DataError`` that names the first item that has two rows, or the first cell that is no
    finite number.
    """
    frame = open_table(file, data).frame
    first = column_of(frame.columns[0], frame.iloc[:, 0])
    if first.role == "row" and first.row_number and frame.shape[1] > 1:
        frame = frame.iloc[:, 1:]
    named, *columns = frame.columns
    for row in np.flatnonzero(frame[named].isna()):
        raise DataError(f"{file}: row {row + 1} names no item; each row needs a name.")
    places, labels = numbered(frame[named])
    if len(labels) < len(frame):
        twice = labels[int(np.argmax(np.bincount(places) > 1))]
        raise DataError(f"{file}: the item {twice!r} is there twice.")
    order = np.argsort(places)
    values = numbers_of(frame[columns]).to_numpy(dtype=np.float64)[order]
    for item, k in np.argwhere(~np.isfinite(values)):
        raise DataError(
            f"{file}: {columns[k]} of {labels[item]!r} is {frame[columns[k]].iloc[order[item]]!r}; "
            "features must be finite numbers (write 0 or 1 for whether an item has a property)."
        )
    features = None
    if columns:
        features = ItemFeatures.checked(columns, values, len(labels), file)
    digest = hashlib.blake2b(data).digest()
    return ItemTable(file=file, heading=named, labels=labels, features=features, digest=digest)


def with_items(mine: OwnSet, table: ItemTable) -> OwnSet:
    """``mine`` on the items of the ``table`` alone, rated or not, with their features.

    Raises ``DataError`` where no rating is of a listed item, ``ParameterError`` for a set that
    holds no ratings.
    """
    ratings = mine.ratings
    if ratings is None:
        raise ParameterError("items", table.file, f"left out with {mine.entry.holds}")
    places = places_of(ratings.item_labels, table.labels)
    listed = ratings.renumbered(places, len(table.labels))
    if not len(listed):
        raise DataError(
            f"{table.file}: none of its items, such as {table.labels[0]!r}, is rated; its first "
            f"column must name items as the ratings do, such as {ratings.item_label(0)!r}."
        )
    names = "" if table.features is None else ", ".join(table.features.names)
    note = (
        f"The {len(table.labels):,} items of {table.file} are public; public item features: "
        f"{names or 'none'}. Ratings of other items are left out: {len(ratings) - len(listed):,}."
    )
    if table.heading in ratings.item_labels:
        note += f" Please check: its heading, {table.heading!r}, is an item of the ratings too."
    on_list = replace(
        listed,
        item_labels=table.labels,
        item_features=table.features,
        public={**ratings.public, FACTS[0]: f"given by {table.file}"},
    )
    return replace(
        mine,
        entry=replace(mine.entry, items=on_list.n_items, ratings=len(on_list)),
        ratings=on_list,
        notes=(*mine.notes, note),
        items=table.file,
        digest=hashlib.blake2b(table.digest, key=mine.digest).digest(),
        _worked_out={},
    )
