"""Error against total ε on one dataset, one user protected.

Every private algorithm beside the trivial and non-private ones.

``python -m benchmarks.user_level [DATASET] [--seeds 5] [--out FILE]``. Splits and noise by seed 0,
1, …; δ = 1e-5; Gaussian noise. The settings are fixed; how they were chosen is in
docs/one-shot-moments.md.
"""

import argparse
import json
import math
import statistics
import time
from typing import Any

from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.papers.dpals_rows import movielens_settings

EPSILONS = (1.0, 5.0, 10.0, 20.0)


def spec(dataset: str, name: str, epsilon: float, seed: int) -> RunSpec:
    """The run of one cell."""
    changes: dict[str, Any] = {"rank": 16} if name == "moments" else {}
    if name == "dpals":
        changes = movielens_settings(epsilon)
    elif name == "private-fw":
        changes = {"iterations": 1, "nuclear": 0.25, "items_per_user": 100}
    elif name == "private-svd":
        changes = {"rank": 10}
    return RunSpec.of(
        changes, dataset=dataset, algorithm=name, mechanism="gaussian", epsilon=epsilon, seed=seed
    )


def main() -> None:
    """Print the table, and write it as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", nargs="?", default="ml-1m")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--algorithms",
        nargs="*",
        default=["moments", "private-means", "private-svd", "dpals", "private-fw"],
    )
    parser.add_argument("--out")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.algorithms:
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
