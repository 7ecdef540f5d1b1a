"""Sweeps and the run store.

Parallel efficiency, what keeping a run costs, and a page on a store of 100,000 runs.

``python -m benchmarks.sweeps [--runs 1000]``. ALS without noise and with three noises on the 300 ×
300 synthetic set, the page's usual settings. Efficiency is seconds on one process over twice the
seconds on two, both after the worker processes have started and loaded their code, which is
measured apart.
"""

import argparse
import json
import tempfile
import time
from dataclasses import fields, replace
from pathlib import Path

from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.store.records import Record, record_of
from dpmc_core.experiments.store.store import RUNS, SUMMARIES, RunStore
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import sweep

BASE = (
    ("dataset", "low-rank"),
    ("n_users", 300),
    ("n_items", 300),
    ("rank", 5),
    ("reg", 0.5),
    ("iterations", 20),
)
GRID = ((("mechanism", ("none", "huber", "laplace", "gaussian")), ("variance", (2.0,))),)


def seconds(spec: SweepSpec, jobs: int, folder: str) -> float:
    """Time of a whole sweep into a new store."""
    with RunStore(Path(folder) / f"{spec.seed}-{spec.seeds}-{jobs}.sqlite") as store:
        started = time.perf_counter()
        *_, last = sweep(spec, store, jobs=jobs)
        assert last.done == last.total == spec.size
        return time.perf_counter() - started


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    arguments = parser.parse_args()
    spec = SweepSpec(base=BASE, grids=GRID, seeds=arguments.runs // 4, seed=1)
    small = SweepSpec(base=BASE, grids=GRID, seeds=4, seed=2)
    with tempfile.TemporaryDirectory() as folder:
        print(
            f"first sweep of {small.size} runs on two new processes: "
            f"{seconds(small, 2, folder):.1f} s",
            flush=True,
        )
        two = seconds(spec, 2, folder)
        one = seconds(spec, 1, folder)
        print(
            f"{spec.size} runs: {one:.1f} s on one process, {two:.1f} s on two; efficiency "
            f"{100 * one / (2 * two):.0f} %",
            flush=True,
        )

        record = record_of(run(RunSpec.of(dict(BASE), mechanism="huber", variance=2.0)))
        with RunStore(Path(folder) / "add.sqlite") as store:
            started = time.perf_counter()
            for k in range(1000):
                store.add(replace(record, key=f"{k}"))
            print(
                f"keeping a run: {time.perf_counter() - started:.2f} ms each, over 1,000",
                flush=True,
            )

        place = Path(folder) / "large.sqlite"
        started = time.perf_counter()
        with RunStore(place) as store:
            fill(store, record, 100_000)
        print(
            f"100,000 runs put in at once in {time.perf_counter() - started:.0f} s, "
            f"{place.stat().st_size / 2**20:.0f} MiB",
            flush=True,
        )
        page(place)


def fill(store: RunStore, record: Record, count: int) -> None:
    """``count`` rows in large transactions.

    Only the page on such a store is measured, not the way there.
    """
    row = {
        field.name: getattr(record, field.name)
        for field in fields(record)
        if field.name != "summary"
    }
    text = json.dumps(record.summary, separators=(",", ":"))
    noises = ("none", "huber", "laplace", "gaussian")
    for first in range(0, count, 5000):
        some = range(first, first + 5000)
        with store._engine.begin() as connection:
            connection.execute(
                RUNS.insert(),
                [
                    {**row, "id": k + 1, "key": f"{k}", "mechanism": noises[k % 4], "seed": k}
                    for k in some
                ],
            )
            connection.execute(SUMMARIES.insert(), [{"run": k + 1, "summary": text} for k in some])


def page(place: Path) -> None:
    """The Runs page on that store, in-process: the first visit, and one with a filter."""
    import os

    from streamlit.testing.v1 import AppTest

    os.environ["DPMC_STORE"] = str(place)
    app = AppTest.from_file(
        str(Path(__file__).resolve().parents[1] / "pages" / "main.py"), default_timeout=60
    )
    app.run()  # home: the app's code is loaded
    app.switch_page("runs.py")
    for name, query in (("all runs", {}), ("one noise", {"r_mechanism": "huber"})):
        app.query_params.update(query)
        started = time.perf_counter()
        app.run()
        assert not app.exception
        print(
            f"page Runs on 100,000 runs, {name}: {time.perf_counter() - started:.2f} s", flush=True
        )


if __name__ == "__main__":
    main()
