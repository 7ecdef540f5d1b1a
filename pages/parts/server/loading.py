"""The code of the first page, loaded when the server starts.

A thread that imports it, and waiting for that thread. Two threads that import the same packages at
once could find one half-made, so a script waits until the thread is through.
"""

import importlib
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

_ALONE = 5.0  # seconds
_threads: list[threading.Thread] = []
_failed: list[str] = []
_came = threading.Event()  # somebody, whose page waits for what is loaded


def begin(modules: Sequence[str], unasked: Callable[[], None]) -> None:
    """Start loading ``modules``, once for each server; ``unasked`` is called when nobody came."""
    if not _threads:
        _threads.append(
            threading.Thread(target=_load, args=(modules, unasked), name="dpmc-load", daemon=True)
        )
        _threads[0].start()


def done() -> None:
    """Wait until everything is loaded, where loading was begun; for a visitor's page."""
    _came.set()
    for thread in _threads:
        thread.join()


def is_done() -> bool:
    """Whether everything is loaded, without waiting; never where something could not be."""
    return bool(_threads) and not _failed and not any(thread.is_alive() for thread in _threads)


def _load(modules: Sequence[str], unasked: Callable[[], None]) -> None:
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 - the page that needs it shows the error
            _failed.append(name)
    threading.Thread(target=_unasked, args=(unasked,), name="dpmc-unasked", daemon=True).start()


def _unasked(prepare: Callable[[], None]) -> None:
    """Nobody came so far: prepare everything all the same.

    A visitor who came begins it, after their page.
    """
    if not _came.wait(_ALONE):
        with suppress(ImportError, RuntimeError):
            prepare()
