"""Error against total ε on one dataset, one user protected.

Every private algorithm beside the trivial and non-private ones.

``python -m benchmarks.user_level [DATASET] [--seeds 5] [--out FILE]``. Splits and noise by seed 0,
1, …; δ = 1e-5; Gaussian noise. The settings are fixed; how they were chosen is in
docs/one-shot-moments.md.

With ml-10m or ml-20m: DPALS's rows of its paper's Table 5 first, at the σ and the training shares
of the paper, kept in the run store (so that ``python -m dpmc_core paper dpals-table-5 --keep`` has
them); then, of ml-10m, the rivals on the same share. Frank–Wolfe holds a dense matrix of items ×
items: it runs on the 400 most rated, as in the paper. The rivals on ml-20m are ``python -m
benchmarks.recommending ml-20m``.
"""

import argparse
import json
import math
import statistics
import sys
import time
from typing import Any

from dpmc_core.datasets.catalogue import entry
from dpmc_core.datasets.loaders import require
from dpmc_core.errors import DPMCError
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.papers import compute, rows_of
from dpmc_core.experiments.papers.compute import verdict_of
from dpmc_core.experiments.papers.dpals_rows import movielens_settings
from dpmc_core.experiments.store.store import RunStore

EPSILONS = (1.0, 5.0, 10.0, 20.0)
TABLE = "dpals-table-5"
# of DPALS on synthetic data of ML-10M's size (results.md): seconds and GiB beyond the data
SECONDS, BEYOND, MEASURED = 83.3, 0.6, 10_000_000


def spec(dataset: str, name: str, epsilon: float, seed: int) -> RunSpec:
    """The run of one cell."""
    changes: dict[str, Any] = {"rank": 16} if name == "moments" else {}
    if name == "dpals":
        changes = movielens_settings(epsilon)
    elif name == "private-fw":
        changes = {"iterations": 1, "nuclear": 0.25, "items_per_user": 100}
        if dataset == "ml-10m":
            changes |= {"top_items": 400, "test_fraction": 0.02}
    elif name == "private-svd":
        changes = {"rank": 10}
    return RunSpec.of(
        changes, dataset=dataset, algorithm=name, mechanism="gaussian", epsilon=epsilon, seed=seed
    )


def of_the_paper(dataset: str, trials: int | None) -> None:
    """Say how long the rows of Table 5 on ``dataset`` take, compute them and print them."""
    record, rows = entry(dataset), [row for row in rows_of(TABLE) if row.needs == dataset]
    require(record)
    runs = sum(trials or row.trials for row in rows)
    size = record.ratings / MEASURED
    print(
        f"{record.title}: {runs} runs of DPALS, at most about {runs * SECONDS * size / 60:.0f} "
        f"minutes on two cores (by {SECONDS:g} s at ML-10M's size, all items, rank 128) and "
        f"{BEYOND * size:.1f} GiB beyond the data, which is {32 * record.ratings / 2**30:.1f} GiB "
        "(16 bytes a rating, whole and split); reading and rivals come on top",
        flush=True,
    )
    with RunStore() as store:
        result = compute(
            TABLE, store, trials=trials, dataset=dataset, tell=lambda line: print(line, flush=True)
        )
    for row in rows:
        mine, text = result.row(row.id), row.printed.text if row.printed else ""
        print(
            f"{row.id}: {row.metric} {mine.mean:.4f}, printed {text}; ε by our accounting "
            f"{mine.epsilon or math.nan:.3g}; {verdict_of(row, result).kind}",
            flush=True,
        )
    print(f"For the page Papers: python -m dpmc_core paper {TABLE} --keep", flush=True)


def main() -> None:
    """Print the table, and write it as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", nargs="?", default="ml-1m")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, help="of Table 5's rows (their own number)")
    parser.add_argument(
        "--algorithms",
        nargs="*",
        default=["moments", "private-means", "private-svd", "dpals", "private-fw"],
    )
    parser.add_argument("--out")
    arguments = parser.parse_args()
    rows, algorithms = [], arguments.algorithms
    if arguments.dataset in {row.needs for row in rows_of(TABLE)}:
        try:
            of_the_paper(arguments.dataset, arguments.trials)
        except DPMCError as error:
            sys.exit(str(error))
        if arguments.dataset == "ml-20m":
            return
        print("Frank–Wolfe: on the 400 most rated items, 2 % held out", flush=True)
        algorithms = [name for name in algorithms if name != "dpals"]
    for name in algorithms:
        for epsilon in EPSILONS:
            started, results = time.perf_counter(), []
            for seed in range(arguments.seeds):
                results.append(run(spec(arguments.dataset, name, epsilon, seed)))
            errors = [r.final.test_rmse_clipped for r in results]
            assert all(r.statement.epsilon <= epsilon and not r.statement.nominal for r in results)
            half = (
                2.776 * statistics.stdev(errors) / math.sqrt(len(errors))
                if len(errors) == 5
                else math.nan
            )
            baseline = {
                k: statistics.mean(r.baselines[k] for r in results) for k in results[0].baselines
            }
            row = {
                "algorithm": name,
                "epsilon": epsilon,
                "rmse": statistics.mean(errors),
                "half_width_95": half,
                "seconds": (time.perf_counter() - started) / len(errors),
                "baselines": baseline,
            }
            rows.append(row)
            print(
                f"{name:14} ε={epsilon:<4g} RMSE {row['rmse']:.4f} ± {half:.4f}  "
                f"{row['seconds']:.1f} s",
                flush=True,
            )
    print("baselines:", {k: round(v, 4) for k, v in rows[0]["baselines"].items()})
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
