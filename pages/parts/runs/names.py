"""What algorithms, mechanisms and datasets of kept runs are called, and how they look."""

from functools import lru_cache

from dpmc_core.datasets.catalogue import catalogue
from dpmc_core.experiments.algorithms import ALGORITHMS
from pages.parts.ui.looks import IDENTITY, Identity


def look_of(mechanism: str) -> Identity:
    """How a mechanism looks; one that this release does not know looks like none."""
    return IDENTITY.get(mechanism, IDENTITY["none"])


@lru_cache(maxsize=1)
def titles() -> dict[str, dict[str, str]]:
    """What the values of columns are called, as far as this release knows them."""
    return {
        "dataset": {name: one.title for name, one in catalogue().items()},
        "algorithm": {name: one.title for name, one in ALGORITHMS.items()},
        "mechanism": {name: look.title for name, look in IDENTITY.items()},
        "unit": {"": "nobody"},
    }


def titled(column: str, value: str) -> str:
    """A value as a visitor reads it; as it is where this release does not know it."""
    return titles()[column].get(value, value)
