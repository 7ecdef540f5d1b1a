"""The run store as pages use it.

Opening it once, keeping a finished run, and a sentence where that fails: a run that cannot be kept
is shown all the same. Nothing here calls ``st``: runs are kept by worker threads.
"""

import os
import re
from functools import lru_cache
from tempfile import gettempdir

from dpmc_core.experiments.run import AnyResult
from dpmc_core.experiments.store.records import record_of
from dpmc_core.experiments.store.store import RunStore, StoreError, default_place


def store() -> RunStore:
    """The store at ``DPMC_STORE``.

    Raises ``StoreError``; asked again, it tries again, and a file that was deleted or replaced is
    opened again.
    """
    place = default_place()
    if "://" not in place and not os.path.exists(place):
        RunStore(place).close()  # makes the file, so that it is known by which one it is
    return _opened(place, _file(place))


def public_message(error: Exception) -> str:
    """``error`` for a page: without paths or addresses, which are the server's own business."""
    place, temporary = default_place(), f"{gettempdir()}{os.sep}"
    kind, slashes, _ = place.partition("://")
    if slashes:  # a database, which messages name without its password
        place = next(iter(re.findall(rf"{re.escape(kind)}://\S+", str(error))), place)
    return str(error).replace(place, "of this server").replace(temporary, "")


def _file(place: str) -> tuple[int, int]:
    """Which file that is, in a way that a new one of the same name is not."""
    try:
        status = os.stat(place)
    except OSError:  # a database's URL, or nothing yet
        return 0, 0
    return status.st_dev, status.st_ino


@lru_cache(maxsize=2)
def _opened(place: str, _: tuple[int, int]) -> RunStore:
    return RunStore(place, wait=3.0)  # somebody waits


def keep(result: AnyResult, mine: set[str]) -> str:
    """Keep a finished ``result``, its key among ``mine``; returns "" or why it could not be."""
    record = record_of(result, once=True)
    try:
        if store().add(record):  # else somebody ran it before
            mine.add(record.key)
    except StoreError as error:
        return public_message(error)
    return ""
