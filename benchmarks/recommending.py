"""Recall@20 of held-out users against total ε, one user protected.

``python -m benchmarks.recommending [DATASET] [--seeds 5] [--out FILE]``. A fifth of the users is
held out, 80 % of their likes are shown; δ = 1e-5, Gaussian noise. DPALS is favoured: at each ε the
best of some sixty random settings, chosen on another split (seed 101).
"""

import argparse
import json
import math
import statistics
from typing import Any

from benchmarks import usual
from dpmc_core.experiments import RunSpec, run
from dpmc_core.experiments.papers.dpals_rows import LIKES_WITHOUT_NOISE, likes_settings

EPSILONS = (1.0, 5.0, 10.0, 20.0)


def main() -> None:
    """Print the table, and write it as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", nargs="?", default="ml-1m")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    rows = []
    for epsilon in (None, *EPSILONS):
        noise: dict[str, Any] = (
            {} if epsilon is None else {"mechanism": "gaussian", "epsilon": epsilon}
        )
        for name in ("moments", "popular", "dpals"):
            settings: dict[str, Any] = {"rank": 64}
            if name == "dpals":
                own = LIKES_WITHOUT_NOISE if epsilon is None else likes_settings(epsilon)
                settings = {**usual.DPALS, **own}
            results = [
                run(
                    RunSpec.fitting(
                        {**settings, **noise},
                        task="recommend",
                        dataset=arguments.dataset,
                        algorithm=name,
                        seed=seed,
                    )
                )
                for seed in range(arguments.seeds)
            ]
            recalls = [r.final.recall for r in results]
            assert epsilon is None or all(
                r.statement.epsilon <= epsilon and not r.statement.nominal for r in results
            )
            half = (
                2.776 * statistics.stdev(recalls) / math.sqrt(5) if len(recalls) == 5 else math.nan
            )
            rows.append(
                {
                    "algorithm": name,
                    "epsilon": epsilon,
                    "recall": statistics.mean(recalls),
                    "half_width_95": half,
                }
            )
            print(
                f"{name:8} ε={epsilon} Recall@20 {rows[-1]['recall']:.4f} ± {half:.4f}", flush=True
            )
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
