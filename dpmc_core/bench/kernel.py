"""Timings of the least-squares kernel.

Lives here: medians of repeated sweeps, and this machine's own matrix-product rate to hold them
against.
"""

import threading
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from dpmc_core.completion.common.step import Sides
from dpmc_core.completion.irls import _reweighted
from dpmc_core.completion.kernel.solve import half_sweep
from dpmc_core.completion.kernel.threads import Workers, single_blas_thread
from dpmc_core.datasets.ratings import Ratings


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median wall seconds of ``repeats`` calls, after one that is not counted."""
    work()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def dgemm_rate(threads: int, size: int = 1500, repeats: int = 7) -> float:
    """GFlop/s of float64 matrix products, one independent product per thread with BLAS at one
    thread each, as the kernel runs them.
    """
    rng = np.random.default_rng(0)
    pairs = [
        (rng.random((size, size)), rng.random((size, size)), np.empty((size, size)))
        for _ in range(threads)
    ]

    def work() -> None:
        running = [
            threading.Thread(target=np.matmul, args=(a, b), kwargs={"out": out})
            for a, b, out in pairs
        ]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    with single_blas_thread():
        return threads * 2 * size**3 / median_seconds(work, repeats) / 1e9


def sweep_seconds(ratings: Ratings, rank: int, reg: float, threads: int, repeats: int) -> float:
    """Median seconds of one ALS sweep (both sides), the grouping of ratings not counted."""
    sides = Sides.of(ratings, rank)
    start = np.random.default_rng(0).random((ratings.n_items, rank))
    with Workers(threads) as workers:

        def work() -> None:
            users, _ = half_sweep(sides.by_user, start, reg, workers)
            half_sweep(sides.by_item, users, reg, workers)

        return median_seconds(work, repeats)


def irls_inner_ratio(
    ratings: Ratings, rank: int, threads: int, repeats: int, extra: int = 10
) -> float:
    """Seconds of one IRLS inner iteration over seconds of one ALS half-sweep, both on the item
    side.

    The inner iteration's time is the slope between 1 and 1 + ``extra`` of them.
    """
    sides = Sides.of(ratings, rank)
    users = np.random.default_rng(0).random((ratings.n_users, rank))
    theta = np.random.default_rng(1).standard_normal((ratings.n_items, rank))
    with Workers(threads) as workers:

        def inner(count: int) -> Callable[[], object]:
            update = _reweighted(theta, None, count, 1.0)
            return lambda: half_sweep(sides.by_item, users, 1.0, workers, update=update)

        plain = median_seconds(lambda: half_sweep(sides.by_item, users, 1.0, workers), repeats)
        slope = (
            median_seconds(inner(1 + extra), repeats) - median_seconds(inner(1), repeats)
        ) / extra
    return slope / plain


def extra_memory(ratings: Ratings, rank: int, threads: int) -> dict[str, float]:
    """MiB allocated beyond the ratings and both factor matrices.

    Peak during a sweep, and of the grouped copy alone.
    """
    tracemalloc.start()
    try:
        sides = Sides.of(ratings, rank)
        grouped, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        items = np.random.default_rng(0).random((ratings.n_items, rank))
        with Workers(threads) as workers:
            users, _ = half_sweep(sides.by_user, items, 1.0, workers)
            items, _ = half_sweep(sides.by_item, users, 1.0, workers)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    factors = users.nbytes + items.nbytes
    return {"grouped": grouped / 2**20, "peak_beyond_factors": (peak - factors) / 2**20}
