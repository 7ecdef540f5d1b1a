"""DPALS at the size of MovieLens 10M.

Its time in non-private ALS sweeps, and its memory beyond the data.

``python -m benchmarks.large [--share 1.0]``. Synthetic, 69,878 users × 10,677 items, 10 million
ratings, rank 128, T = 2, k = 50, ε = 10, δ = 1e-5. A sweep is one user pass and one item pass over
all ratings, the mean of two after a first. Peak memory is the process's, less what it held before
the run.
"""

import argparse
import time

import numpy as np

from dpmc_core.completion import ALSConfig, als
from dpmc_core.completion.dpals.plan import DPALSConfig
from dpmc_core.completion.dpals.solver import dpals
from dpmc_core.datasets.synthetic.ratings import skewed
from dpmc_core.privacy.budget import Budget

RANK = 128


def memory(field: str) -> float:
    """VmRSS (now) or VmHWM (highest since it was reset), in MiB; Linux only."""
    with open("/proc/self/status", encoding="ascii") as file:
        line = next(row for row in file if row.startswith(field))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the items learned")
    share = parser.parse_args().share
    ratings = skewed(69_878, 10_677, 10_000_000, seed=0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # forget the peak of making the data
    before = memory("VmRSS")
    config = DPALSConfig(
        rank=RANK,
        reg=70.0,
        iterations=2,
        items_per_user=50,
        item_share=share,
        projection="inner",
        budget=Budget(epsilon=10.0),
    )
    started = time.perf_counter()
    for step in dpals(ratings, config, np.random.default_rng(0), 2):
        print(f"DPALS round {step.iteration}: {time.perf_counter() - started:.1f} s", flush=True)
    private = time.perf_counter() - started
    peak = memory("VmHWM")
    marks = [time.perf_counter()]
    for _ in als(
        ratings, ALSConfig(rank=RANK, reg=10.0, iterations=3), np.random.default_rng(0), 2
    ):
        marks.append(time.perf_counter())
    sweeps = marks[3] - marks[1]
    print(
        f"DPALS {private:.1f} s, two ALS sweeps {sweeps:.1f} s: {private / sweeps:.2f} ×; peak "
        f"{peak - before:.0f} MiB beyond the {before:.0f} MiB held before (β = {share:g})"
    )


if __name__ == "__main__":
    main()
