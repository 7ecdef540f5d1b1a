"""The benchmark suite behind ``python -m dpmc_core bench``.

Lives here: which problems are measured, and one line per figure.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dpmc_core.bench import kernel
from dpmc_core.datasets import loaders
from dpmc_core.datasets.catalogue import entry
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.datasets.synthetic import ratings as synthetic
from dpmc_core.experiments.run import run
from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import versions
from dpmc_core.mechanisms import Gaussian, Huber, Laplace, Staircase


def run_all(*, quick: bool, threads: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Measure and report (one line per figure through ``tell``); returns all figures by name."""
    threads = max(1, threads)
    found: dict[str, Any] = {"threads": threads, "versions": versions()}
    found["samples_per_second_million"] = _samplers(tell, 500_000 if quick else 5_000_000)
    rate = kernel.dgemm_rate(threads, repeats=5 if quick else 15)
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
            seconds = kernel.sweep_seconds(ratings, rank, 10.0, threads, repeats)
            share = 4 * len(ratings) * rank**2 / seconds / 1e9 / rate
            ratio = kernel.irls_inner_ratio(
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
                rank: kernel.sweep_seconds(
                    ratings, rank, 10.0, threads, 7 if len(ratings) < 5e6 else 2
                )
                / kernel.sweep_seconds(half, rank, 10.0, threads, 7 if len(ratings) < 5e6 else 2)
                for rank in (32, 128)
            }
            found[f"{name}-growth"] = growth
            tell(
                f"{name}: twice the ratings take "
                + ", ".join(f"{g:.2f} × the time at rank {r}" for r, g in growth.items())
            )
    memory = kernel.extra_memory(problems[-1][1], 128, threads)
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
        seconds = kernel.median_seconds(partial(noise.sample, count, rng), 3)
        rates[name] = count / seconds / 1e6
        tell(f"{name}: {rates[name]:.1f} million samples a second on one core")
    return rates


def _one_million() -> Ratings:
    """MovieLens 1M where it is present, else a synthetic set of its shape."""
    if entry("ml-1m").present():
        return loaders.load("ml-1m")
    return synthetic.skewed(6040, 3706, 1_000_209, seed=1)
