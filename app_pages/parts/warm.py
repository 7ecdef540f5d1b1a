"""What a server does once its first visitor has a page, or when none comes at once, so that nobody else waits for it.

Lives here: starting the worker processes, loading the code of all pages, making the pictures and counts that most ask for, keeping Python's collector of garbage off what was loaded for good, and tidying up now and then. Does not live here: anything that a page needs in order to be right.
"""

import ctypes
import gc
import importlib
import pkgutil
import threading
import time
from contextlib import suppress
from functools import lru_cache

from streamlit import runtime

import app_pages.parts
from app_pages.parts import budget_counts, home_picture, jobs
from dpmc_core.errors import DPMCError

__all__ = ["warm"]

_TIDY_SECONDS = 20.0
_once = threading.Lock()


def warm() -> None:
    """Where there are visitors to serve, start the worker processes, load the code of all pages, and keep the collector of garbage off it: Streamlit has it look through every object after
    each run of a script, which with what is loaded for good takes longer than the script."""
    if runtime.exists():
        with _once:
            _warmed()


@lru_cache(maxsize=1)
def _warmed() -> None:
    jobs.workers_start()
    threading.Thread(target=_settle, name="dpmc-settle", daemon=True).start()


def _settle() -> None:
    with suppress(ImportError, RuntimeError):  # a server that stops meanwhile needs none of this
        for module in pkgutil.iter_modules(app_pages.parts.__path__, "app_pages.parts."):
            importlib.import_module(module.name)
        gc.collect()
        gc.freeze()
        with suppress(DPMCError):
            budget_counts.make_ahead()
            home_picture.make_ahead()
    while True:
        time.sleep(_TIDY_SECONDS)
        _forget_sessions()
        gc.collect()
        _give_back()


def _forget_sessions() -> None:
    """Have Streamlit drop the sessions that are over: by itself it does so only when another one ends, and what they hold would wait for that."""
    with suppress(AttributeError, RuntimeError):
        serving = runtime.get_instance()
        over = serving._session_mgr._session_storage._cache.expire
        serving._get_async_objs().eventloop.call_soon_threadsafe(over)


def _give_back() -> None:
    """Have the C library give memory that nobody uses back to the system, where it is one that can: between visitors' figures it keeps much."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
