"""The DPALS paper's synthetic task (section 6, figure 4).

Error against users and ε, for DPALS and its rivals.

``python -m benchmarks.synthetic_task [--users 5000 20000 50000] [--out FILE]``. Rank 5, orthonormal
factors, standard deviation 1, 1,000 items, every entry seen with probability 20·ln(users)/1000, a
tenth of them held out, δ = 1e-5. DPALS without pre-processing (Algorithm 1), with the settings of
the page *Papers*, chosen for each ε on other draws of the data (seeds 101 to 103). Frank–Wolfe is
favoured: the better of two settings in each cell.
"""

import argparse
import json
import math
import time
from typing import Any

from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.papers.dpals_rows import synthetic_settings

EPSILONS = (1.0, 5.0, 10.0, 20.0)
FRANK_WOLFE = tuple(
    {"algorithm": "private-fw", "iterations": t, "nuclear": nuclear, "items_per_user": 200}
    for t, nuclear in ((5, 1.0), (10, 1.0))
)


def main() -> None:
    """Print the table, and write it as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, nargs="*", default=[5000, 20_000])
    parser.add_argument("--out")
    arguments = parser.parse_args()
    rows = []
    for n in arguments.users:
        seeds = range(3) if n < 20_000 else range(2)
        base: dict[str, Any] = {
            "dataset": "orthogonal",
            "n_users": n,
            "n_items": 1000,
            "observed": 20 * math.log(n) / 1000,
            "test_fraction": 0.1,
            "true_rank": 5,
        }

        def error(base: dict[str, Any], seeds: range, **settings: Any) -> float:
            specs = [RunSpec.of({**base, **settings}, seed=s, data_seed=s) for s in seeds]
            return sum(float(run(spec).final.test_rmse) for spec in specs) / len(specs)

        for epsilon in (None, *EPSILONS):
            noise: dict[str, Any] = (
                {} if epsilon is None else {"mechanism": "gaussian", "epsilon": epsilon}
            )
            started = time.perf_counter()
            row: dict[str, float | None] = {"users": n, "epsilon": epsilon}
            if epsilon is None:
                row["als"] = error(base, seeds, algorithm="als", rank=5, reg=0.1, iterations=10)
                plain = {"reg": 0.5, "clip_norm": 1e6, "iterations": 5}
                row["dpals"] = error(
                    base, seeds, algorithm="dpals", **{**synthetic_settings(n, 5.0), **plain}
                )
            else:
                row["dpals"] = error(
                    base, seeds, algorithm="dpals", **synthetic_settings(n, epsilon), **noise
                )
                row["frank-wolfe"] = min(
                    error(base, seeds, **setting, **noise) for setting in FRANK_WOLFE
                )
                row["moments"] = error(base, seeds, algorithm="moments", rank=5, **noise)
                row["private-svd"] = error(base, seeds, algorithm="private-svd", rank=5, **noise)
            row["seconds"] = time.perf_counter() - started
            rows.append(row)
            print(
                {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True
            )
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
