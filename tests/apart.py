"""Coroutines in a thread of their own.

Playwright keeps an event loop running in a test process's main thread once a browser test was
there.
"""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Made = TypeVar("Made")


def run_apart(work: Coroutine[Any, Any, Made]) -> Made:
    """What ``work`` returns, or raises."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
