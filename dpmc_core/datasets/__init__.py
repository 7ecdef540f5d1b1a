"""Datasets: what exists, where it is, how to read or make it.

The catalogue, loaders, downloads, synthetic generators, splits.
"""

from dpmc_core.datasets.catalogue import Entry, catalogue, entry, names
from dpmc_core.datasets.ratings import Ratings

__all__ = ["Entry", "Ratings", "catalogue", "entry", "names"]
