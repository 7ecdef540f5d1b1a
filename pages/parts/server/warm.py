"""What a server does once its first visitor has a page, or when none comes at once, so that nobody
else waits for it.

Lives here: starting the worker processes, loading the code of all pages, making the pictures and
counts that most ask for, keeping Python's collector of garbage off what was loaded for good, and
tidying up now and then. Does not live here: anything that a page needs in order to be right.
"""

import ctypes
import gc
import importlib
import pkgutil
import threading
import time
from contextlib import suppress
from functools import lru_cache
from typing import Any

from streamlit import runtime

import pages.parts
from dpmc_core.errors import DPMCError
from pages.parts.server import jobs

__all__ = ["warm"]

# modules whose ``make_ahead`` computes what most visitors ask for
_AHEAD = ("pages.parts.budget.counts", "pages.parts.home.picture")
_TIDY_SECONDS = 20.0
_once = threading.Lock()


def warm() -> None:
    """Start the worker processes and load the code of all pages, where there are visitors; once.

    The garbage collector is kept off what was loaded: looking through it takes longer than a
    script.
    """
    if runtime.exists():
        with _once:
            _warmed()


@lru_cache(maxsize=1)
def _warmed() -> None:
    jobs.workers_start()
    threading.Thread(target=_settle, name="dpmc-settle", daemon=True).start()


def _settle() -> None:
    with suppress(ImportError, RuntimeError):  # a server that stops meanwhile needs none of this
        for module in pkgutil.walk_packages(pages.parts.__path__, "pages.parts."):
            importlib.import_module(module.name)
        gc.collect()
        gc.freeze()
        with suppress(DPMCError):
            for name in _AHEAD:
                importlib.import_module(name).make_ahead()
    while True:
        time.sleep(_TIDY_SECONDS)
        _forget_sessions()
        gc.collect()
        _give_back()


def _forget_sessions() -> None:
    """Have Streamlit drop the sessions that are over.

    By itself it does so only when another one ends, and what they hold would wait for that.
    """
    with suppress(AttributeError, RuntimeError):
        serving = runtime.get_instance()
        manager: Any = (
            serving._session_mgr
        )  # what it holds is Streamlit's own, and no part of its types
        over = manager._session_storage._cache.expire
        serving._get_async_objs().eventloop.call_soon_threadsafe(over)


def _give_back() -> None:
    """Have the C library give memory that nobody uses back to the system, where it is one that can:
    between visitors' figures it keeps much.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
