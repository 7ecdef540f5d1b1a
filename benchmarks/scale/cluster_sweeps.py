"""A sweep of 1,000 runs on a Dask cluster: two workers against one, as pages and as the command
line make runs.

``python -m benchmarks.scale.cluster_sweeps [--runs 1000]``. Efficiency is seconds on one worker
over twice the seconds on two; both begin with workers that are there and processes that are not.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.sweeps import BASE, GRID
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.sweeps.cluster_workers import ClusterWorkers
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import sweep
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
    spec = SweepSpec(base=BASE, grids=GRID, seeds=parser.parse_args().runs // 4, seed=1)
    taken: dict[str, dict[int, float]] = {"as pages do": {}, "as the command line does": {}}
    for workers in (1, 2):
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
                    {"workers": ClusterWorkers(connection, workers)},
                    {"scheduler": address},
                )
                for name, option in zip(taken, options, strict=True):
                    (folder / "runs.sqlite").unlink(missing_ok=True)
                    taken[name][workers] = seconds(spec, folder, option)
                connection.close()
    for name, of in taken.items():
        print(
            f"{spec.size} runs {name}: {of[1]:.1f} s on one worker, {of[2]:.1f} s on two: "
            f"{of[1] / (2 * of[2]):.0%}"
        )


def _new(folder: Path) -> RunStore:
    return RunStore(folder / "first.sqlite")


if __name__ == "__main__":
    main()
