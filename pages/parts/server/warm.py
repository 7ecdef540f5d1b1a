"""What a server does once its first visitor has a page, or when none comes at once, so that nobody
else waits for it.

Loading the code of all pages, making the runs, pictures and counts that most ask for, keeping
Python's collector of garbage off what was loaded for good, and tidying up now and then.
"""

import ctypes
import gc
import importlib
import logging
import pkgutil
import threading
import time
import weakref
from contextlib import suppress
from functools import cache
from typing import Any

from streamlit import runtime

import pages.parts
from dpmc_core.errors import DPMCError
from dpmc_core.experiments.worker.process import return_memory
from pages.parts.server import jobs

# modules whose ``make_ahead`` computes what most visitors ask for
_AHEAD = ("pages.parts.budget.stories", "pages.parts.home", "pages.parts.plan.statistic_view")
# modules whose ``example_specs`` worker processes run, the page of most visitors first
_EXAMPLES = ("pages.parts.completion.compare_view", "pages.parts.factorization.view")
_PREPARING = "dpmc-prepare"
_TIDY_SECONDS = 20.0
_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h
_once = threading.Lock()
_last_sessions = weakref.WeakSet[Any]()  # sessions at the last look


def warm() -> None:
    """Load the code of all pages and make what most ask for, where there are visitors; once.

    The garbage collector is kept off what was loaded: looking through it takes longer than a
    script.
    """
    if runtime.exists():
        with _once:
            _warmed()


@cache
def _warmed() -> None:
    # apart: whatever stops the one, visits that are over are let go
    for work, name in (
        (_prepare, _PREPARING),
        (_tidy, "dpmc-tidy"),
        (jobs.look_after, "dpmc-watch"),
    ):
        threading.Thread(target=work, name=name, daemon=True).start()


def _prepare() -> None:
    # a cached function asks which page it draws a spinner on: here there is none, and the log of
    # every start would warn of it
    asking = logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context")
    asking.addFilter(lambda record: record.threadName != _PREPARING)
    with suppress(ImportError, RuntimeError):  # a server that stops meanwhile needs none of this
        for module in pkgutil.walk_packages(pages.parts.__path__, "pages.parts."):
            importlib.import_module(module.name)
        modules = map(importlib.import_module, _EXAMPLES)
        jobs.make_ahead([module.example_specs() for module in modules])
        gc.collect()
        gc.freeze()
        with suppress(DPMCError):
            for name in _AHEAD:
                importlib.import_module(name).make_ahead()


def _tidy() -> None:
    while True:
        time.sleep(_TIDY_SECONDS)
        with suppress(AttributeError, RuntimeError):
            serving = runtime.get_instance()
            serving.media_file_mgr.remove_orphaned_files()  # that were made for those who asked
            manager: Any = serving._session_mgr  # Streamlit's own, and no part of its types
            # in the thread of its own loop
            serving._get_async_objs().eventloop.call_soon_threadsafe(end_sessions, manager)
        return_memory()


def end_sessions(manager: Any) -> None:
    """End the sessions that ``manager`` had when it was asked before, and has no more.

    Streamlit ends one when nothing refers to it any longer. That is too late for the last of a
    server: a variable of its loop holds it, with uploads, data and results, until somebody else
    comes. And what it keeps for those who might come back it drops only when another one goes.
    """
    manager._session_storage._cache.expire()
    here = {info.session for info in manager.list_sessions()}
    for session in set(_last_sessions) - here:
        session.shutdown()  # which lets go of uploads and figures
        session.session_state.clear()
    _last_sessions.clear()
    _last_sessions.update(here)


def few_arenas() -> None:
    """Have the C library keep its free memory in few places; before the first thread.

    By default each thread of each visit can get one of its own, and what one place has left over is
    of no use to the others.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(_ARENA_MAX, 2)
