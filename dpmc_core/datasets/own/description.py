"""What a file holds and how it is read, in words and counts."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from dpmc_core.datasets.own.archive import members
from dpmc_core.datasets.own.cells import option_text
from dpmc_core.datasets.own.sets import KINDS, guess, read, readable
from dpmc_core.datasets.own.table_guesses import columns_of
from dpmc_core.datasets.own.tables import RatingsReading, ratings_of
from dpmc_core.errors import DataError


def kind_of(file: str, data: bytes, kinds: Sequence[str] = tuple(KINDS)) -> str:
    """Which of ``kinds`` the file holds: by its ending, and where several fit by its content."""
    fit = [kind for kind in kinds if file.lower().rpartition(".")[2] in KINDS[kind]]
    if "images" in fit and len(fit) > 1:
        try:
            next(members(file, data, (".txt",)))
        except DataError:
            return "images"
        return "documents"
    if len(fit) > 1:  # a table of words is one of documents
        try:
            describe("ratings", file, data)
        except DataError:
            try:
                read("documents", file, data)
            except DataError:
                return "ratings"
            return "documents"
    return fit[0] if fit else kinds[0]


def describe(kind: str, file: str, data: bytes, **choices: Any) -> dict[str, Any]:
    """How a file is read: of ratings how many of what, their ends, the ``layout``, which of the
    ``columns`` is what, and what is ``asked``. Raises as ``read``.
    """
    readable(kind, file, data)
    reading, asked, table = guess(kind, file, data, choices)
    said: dict[str, Any] = {"file": file, "kind": kind}
    if isinstance(reading, RatingsReading):
        assert table is not None  # ratings come as tables
        ratings, notes = ratings_of(file, table.frame, reading, file)
        said |= {
            "users": ratings.n_users, "items": ratings.n_items, "ratings": len(ratings),
            "low": ratings.low, "high": ratings.high, "layout": reading.layout,
            "columns": columns_of(table.frame, reading),
        }  # fmt: skip
        notes = (*table.notes, *notes)
    else:
        mine = read(kind, file, data, **choices)
        said[kind], notes = mine.entry.samples, mine.notes
    how = {name: option_text(value) for name, value in dataclasses.asdict(reading).items()}
    return {
        **said,
        "read": {name: value for name, value in how.items() if value},
        "notes": list(notes),
        "asked": [dataclasses.asdict(question) for question in asked],
    }
