"""A sweep of 1,000 runs on a Dask cluster: two workers against one, as pages and as the command
line make runs.

``python -m benchmarks.scale.cluster_sweeps [--runs 1000] [--times 3]``. Efficiency is seconds on
one worker over twice the seconds on two, medians of several times in turns; all begin with workers
that are there and processes that are not.
"""

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.sweeps import BASE, GRID
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import sweep
from dpmc_core.experiments.sweeps.workers import Workers
from dpmc_core.experiments.worker.cluster import Connection
from tests.clusters import cluster


def seconds(spec: SweepSpec, folder: Path, option: dict[str, Any]) -> float:
    """Time of a whole sweep into a new store."""
    with RunStore(folder / "runs.sqlite") as store:
        began = time.perf_counter()
        *_, last = sweep(spec, store, **option)
        assert last.done == last.total == spec.size
        return time.perf_counter() - began


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    spec = SweepSpec(base=BASE, grids=GRID, seeds=arguments.runs // 4, seed=1)
    taken: dict[str, dict[int, list[float]]] = {
        name: {1: [], 2: []} for name in ("as pages do", "as the command line does")
    }
    for workers in (1, 2) * arguments.times:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            with cluster(folder, workers) as (address, _):
                connection = Connection(address)
                while connection.threads() < workers:
                    time.sleep(0.5)

                # the workers' own code is loaded once
                few = replace(spec, seeds=2, seed=3)
                for _ in sweep(few, _new(folder), scheduler=address):
                    pass
                options: tuple[dict[str, Any], ...] = (
                    {"workers": Workers(workers, connection=connection)},
                    {"scheduler": address},
                )
                for name, option in zip(taken, options, strict=True):
                    (folder / "runs.sqlite").unlink(missing_ok=True)
                    taken[name][workers].append(seconds(spec, folder, option))
                connection.close()
    for name, of in taken.items():
        one, two = (statistics.median(of[workers]) for workers in (1, 2))
        print(
            f"{spec.size} runs {name}: {one:.1f} s on one worker, {two:.1f} s on two: "
            f"{one / (2 * two):.0%}; all: "
            + " and ".join(", ".join(f"{s:.1f}" for s in of[workers]) for workers in (1, 2))
        )


def _new(folder: Path) -> RunStore:
    return RunStore(folder / "first.sqlite")


if __name__ == "__main__":
    main()
