"""Worker threads of the kernel, each with BLAS at one thread."""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np

from dpmc_core.arrays import FloatArray

Piece = TypeVar("Piece")


class Workers:
    """A few threads, each with scratch memory of its own that lives as long as they do, and both as
    long as this object. ``count`` defaults to the processors we may use.
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = count or available_processors()
        self._pool = ThreadPoolExecutor(self.count, thread_name_prefix="dpmc-kernel")
        self._local = threading.local()

    def map(self, work: Callable[[Piece], float], blocks: Sequence[Piece]) -> float:
        """Run ``work`` on every block, in order of the list but shared by the threads.

        Returns the sum of its results.

        Results are added in the order of the blocks, so the sum does not depend on the number of
        threads. The first exception of any block is raised after all threads have stopped.
        """
        results = [0.0] * len(blocks)
        remaining = iter(range(len(blocks)))
        lock = threading.Lock()

        def loop() -> None:
            while True:
                with lock:
                    k = next(remaining, None)
                if k is None:
                    return
                results[k] = work(blocks[k])

        if self.count == 1 or len(blocks) < 2:
            loop()
        else:
            futures = [self._pool.submit(loop) for _ in range(min(self.count, len(blocks)))]
            errors = [future.exception() for future in futures]
            for error in errors:
                if error is not None:
                    raise error
        return float(sum(results))

    def scratch(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """An uninitialised array of this thread's own, reused by later calls with the same name."""
        size = int(np.prod(shape))
        memory: FloatArray | None = getattr(self._local, name, None)
        if memory is None or memory.size < size:
            memory = np.empty(size)
            setattr(self._local, name, memory)
        return memory[:size].reshape(shape)


def available_processors() -> int:
    """Processors this process may run on; one where there are no threads, in a browser."""
    if sys.platform == "emscripten":
        return 1
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS or Windows
        return os.cpu_count() or 1


@cache
def _controller() -> Any:
    """None in an installation without threadpoolctl: BLAS keeps its threads, which is slower."""
    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return None
    return ThreadpoolController()


class _BlasLimit:
    """How many of our callers want BLAS at one thread.

    The first sets it, the last restores what was there.
    """

    lock = threading.Lock()
    wanted = 0
    limiter: Any = None


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """BLAS at one thread: our own threads share the blocks, and two levels of threads would fight.

    The setting belongs to the whole process, so overlapping runs share it and only the last one to
    leave restores it.
    """
    with _BlasLimit.lock:
        if _BlasLimit.wanted == 0 and _controller() is not None:
            _BlasLimit.limiter = _controller().limit(limits=1, user_api="blas")
        _BlasLimit.wanted += 1
    try:
        yield
    finally:
        with _BlasLimit.lock:
            _BlasLimit.wanted -= 1
            if _BlasLimit.wanted == 0 and _BlasLimit.limiter is not None:
                _BlasLimit.limiter.restore_original_limits()
