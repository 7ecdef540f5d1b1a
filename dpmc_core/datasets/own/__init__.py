"""A visitor's own data: files as bytes in, checked sets out.

Ratings from tables, documents from text, images from archives and arrays, and the limits that keep
a hostile file from doing harm.
"""

from dpmc_core.datasets.own.public import read_item_table, with_items
from dpmc_core.datasets.own.sets import (
    CHOICES,
    KINDS,
    OwnSet,
    Preview,
    describe,
    inspect,
    kind_of,
    read,
)
from dpmc_core.datasets.own.table_guesses import Question

__all__ = [
    "CHOICES",
    "KINDS",
    "OwnSet",
    "Preview",
    "Question",
    "describe",
    "inspect",
    "kind_of",
    "read",
    "read_item_table",
    "with_items",
]
