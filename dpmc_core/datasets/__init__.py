"""Datasets: what exists, where it is, how to read or make it.

The catalogue, loaders, downloads, synthetic generators, splits.
"""

from dpmc_core.datasets.catalogue import Entry, catalogue, data_dir, entry, names
from dpmc_core.datasets.ratings import Ratings, Split, Truth, random_split

__all__ = [
    "Entry",
    "Ratings",
    "Split",
    "Truth",
    "catalogue",
    "data_dir",
    "entry",
    "names",
    "random_split",
]
