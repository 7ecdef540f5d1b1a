"""Public features of one's own items, from a table: a column of item names, the others numbers."""

from collections.abc import Sequence

import numpy as np

from dpmc_core.datasets.own.cells import numbers
from dpmc_core.datasets.own.table_files import read_table
from dpmc_core.datasets.ratings import ItemFeatures
from dpmc_core.errors import DataError
from dpmc_core.wording import counted

__all__ = ["read_item_features"]


def read_item_features(file: str, data: bytes, items: Sequence[str]) -> ItemFeatures:
    """The features of ``items`` (by their labels), in that order.

    Rows of other items are passed over. Raises ``DataError`` that names the first item that has no
    row, or two, or the first cell that is no finite number.
    """
    frame = read_table(file, data)
    if frame.shape[1] < 2:
        raise DataError(f"{file}: a column of items and at least one of features are needed.")
    named, *features = frame.columns
    rows = {}
    for place, name in enumerate(frame[named].astype(str).str.strip()):
        if name in rows:
            raise DataError(f"{file}: the item {name!r} is there twice.")
        rows[name] = place
    missing = [item for item in items if item.strip() not in rows]
    if missing:
        raise DataError(
            f"{file}: {counted(len(missing), 'item', 'items')} of the ratings, such as "
            f"{missing[0]!r}, has no row; each item needs its features (0 where nothing is known)."
        )
    order = [rows[item.strip()] for item in items]
    columns = []
    for name in features:
        column = numbers(frame[name]).to_numpy(dtype=np.float64)[order]
        bad = ~np.isfinite(column)
        if bad.any():
            item = int(np.argmax(bad))
            raise DataError(
                f"{file}: {name} of {items[item]!r} is {frame[name].iloc[order[item]]!r}; features "
                "must be finite numbers (write 0 or 1 for whether an item has a property)."
            )
        columns.append(column)
    known = [str(name) for name in features]
    return ItemFeatures.checked(known, np.stack(columns, axis=1), len(items), file)
