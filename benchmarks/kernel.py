"""The kernel and the samplers on this machine, as ratios where a ratio can be had.

The kernel's rate over this machine's own matrix products, IRLS inner iterations over ALS
half-sweeps, the time of twice the ratings, memory beyond ratings and factors; and samples a second.
"""

import argparse
import json
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpmc_core.completion.common.alternating import Reweighting
from dpmc_core.completion.common.step import Sides
from dpmc_core.completion.kernel.solve import half_sweep
from dpmc_core.completion.kernel.threads import Workers, single_blas_thread
from dpmc_core.datasets import loaders
from dpmc_core.datasets.catalogue import entry
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.datasets.synthetic import ratings as synthetic
from dpmc_core.experiments.run import run
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import versions
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Staircase


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
    workers = Workers(threads)

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
    workers = Workers(threads)

    def inner(count: int) -> Callable[[], object]:
        update = Reweighting(theta, None, count, 1.0).update
        return lambda: half_sweep(sides.by_item, users, 1.0, workers, update=update)

    plain = median_seconds(lambda: half_sweep(sides.by_item, users, 1.0, workers), repeats)
    slope = (median_seconds(inner(1 + extra), repeats) - median_seconds(inner(1), repeats)) / extra
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
        workers = Workers(threads)
        users, _ = half_sweep(sides.by_user, items, 1.0, workers)
        items, _ = half_sweep(sides.by_item, users, 1.0, workers)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    factors = users.nbytes + items.nbytes
    return {"grouped": grouped / 2**20, "peak_beyond_factors": (peak - factors) / 2**20}


def run_all(*, quick: bool, threads: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Measure and report (one line per figure through ``tell``); returns all figures by name."""
    threads = max(1, threads)
    found: dict[str, Any] = {"threads": threads, "versions": versions()}
    found["samples_per_second_million"] = _samplers(tell, 500_000 if quick else 5_000_000)
    rate = dgemm_rate(threads, repeats=5 if quick else 15)
    found["dgemm_gflops"] = rate
    tell(f"DGEMM, {threads} threads: {rate:.1f} GFlop/s")
    problems = [("small", synthetic.skewed(2000, 1500, 100_000, seed=1))]
    if not quick:
        problems = [
            ("ml-1m", _one_million()),
            ("ml-10m-shaped", synthetic.skewed(69_878, 10_677, 10_000_054)),
        ]
    for name, ratings in problems:
        for rank in (32, 128):
            repeats = 9 if len(ratings) < 5e6 and not quick else 3
            seconds = sweep_seconds(ratings, rank, 10.0, threads, repeats)
            share = 4 * len(ratings) * rank**2 / seconds / 1e9 / rate
            ratio = irls_inner_ratio(
                ratings, rank, threads, repeats, extra=10 if repeats > 3 else 3
            )
            found[f"{name}-r{rank}"] = {
                "sweep_seconds": seconds,
                "share_of_dgemm": share,
                "irls_inner_ratio": ratio,
            }
            tell(
                f"{name}, rank {rank}: {seconds:.3f} s per ALS sweep, {share:.0%} of DGEMM; an "
                f"IRLS inner iteration costs {ratio:.2f} half-sweeps"
            )
        if not quick:
            half = ratings.take(np.random.default_rng(0).random(len(ratings)) < 0.5)
            growth = {
                rank: sweep_seconds(ratings, rank, 10.0, threads, 7 if len(ratings) < 5e6 else 2)
                / sweep_seconds(half, rank, 10.0, threads, 7 if len(ratings) < 5e6 else 2)
                for rank in (32, 128)
            }
            found[f"{name}-growth"] = growth
            tell(
                f"{name}: twice the ratings take "
                + ", ".join(f"{g:.2f} × the time at rank {r}" for r, g in growth.items())
            )
    memory = extra_memory(problems[-1][1], 128, threads)
    found["extra_memory_mib"] = memory
    tell(
        f"{problems[-1][0]}, rank 128: {memory['peak_beyond_factors']:.0f} MiB at most beyond "
        f"ratings and factors, of which {memory['grouped']:.0f} MiB are the grouped ratings"
    )
    if entry("ml-100k").present():
        spec = RunSpec.of(
            dataset="ml-100k",
            algorithm="irls",
            mechanism="huber",
            variance=2,
            rank=32,
            reg=0.5,
            iterations=20,
        )
        found["ml-100k-irls-seconds"] = run(spec).seconds
        tell(
            "ml-100k, IRLS + Huber as published (T = 20, K = 10, r = 32): "
            f"{found['ml-100k-irls-seconds']:.1f} s"
        )
    return found


def _samplers(tell: Callable[[str], None], count: int) -> dict[str, float]:
    rates = {}
    rng = np.random.default_rng(0)
    cases = {
        "huber α=0.3": Huber(alpha=0.3),
        "huber α=1.5": Huber(alpha=1.5),
        "huber α=0.01": Huber(alpha=0.01),
        "laplace": Laplace(scale=1.0),
        "gaussian": Gaussian(scale=1.0),
        "staircase": Staircase(epsilon=1.0, sensitivity=1.0),
    }
    for name, noise in cases.items():
        seconds = median_seconds(partial(noise.sample, count, rng), 3)
        rates[name] = count / seconds / 1e6
        tell(f"{name}: {rates[name]:.1f} million samples a second on one core")
    return rates


def _one_million() -> Ratings:
    """MovieLens 1M where it is present, else a synthetic set of its shape."""
    if entry("ml-1m").present():
        return loaders.load("ml-1m")
    return synthetic.skewed(6040, 3706, 1_000_209, seed=1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small problems only, a few seconds")
    parser.add_argument("--threads", type=int, default=2, help="threads of the kernel")
    parser.add_argument("--json", action="store_true", help="all figures as one JSON object")
    words = parser.parse_args()
    to = sys.stderr if words.json else sys.stdout
    figures = run_all(
        quick=words.quick, threads=words.threads, tell=lambda line: print(line, file=to, flush=True)
    )
    if words.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
