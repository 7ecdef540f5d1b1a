"""The run store as pages use it.

Lives here: opening it once, keeping a finished run, and a sentence where that fails: a run that cannot be kept is shown all the same. Does not live
here: the store (``dpmc_core.experiments.store``). Nothing here calls ``st``: runs are kept by worker threads.
"""

from functools import lru_cache

from dpmc_core.experiments.records import AnyResult, record_of
from dpmc_core.experiments.store import RunStore, StoreError, default_place

__all__ = ["keep", "store"]


def store() -> RunStore:
    """The store at ``DPMC_STORE``. Raises ``StoreError``; asked again, it tries again."""
    return _opened(default_place())


@lru_cache(maxsize=2)
def _opened(place: str) -> RunStore:
    return RunStore(place, wait=3.0)  # somebody waits


def keep(result: AnyResult) -> str:
    """Keep a finished ``result``; returns "" or why it could not be kept."""
    try:
        store().add(record_of(result))
    except StoreError as error:
        return str(error)
    return ""
