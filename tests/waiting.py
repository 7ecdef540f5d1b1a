"""Waiting for what another thread or process does."""

import time
from collections.abc import Callable


def until(true: Callable[[], object]) -> None:
    """Wait until something is ``true``: a busy machine is no failure."""
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
