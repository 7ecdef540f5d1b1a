"""What public item features change: paired differences with and without, on the same seeds.

``python -m benchmarks.privacy.item_features ml-100k 10`` (dataset, seeds) prints a Markdown table;
MovieLens 1M needs its movies.dat beside its ratings. Tuning used the splits of seeds 101 and up.
"""

import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy import stats

from dpmc_core.experiments import RunSpec, run

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
KINDS = (("moments", "rate"), ("moments", "recommend"), ("dpals", "rate"))


def measured(asked: tuple[str, str, str, float, int, str]) -> float:
    """RMSE (clipped), or Recall@20 of held-out users."""
    dataset, algorithm, task, epsilon, seed, use = asked
    spec = RunSpec.of(
        dataset=dataset,
        algorithm=algorithm,
        task=task,
        mechanism="gaussian",
        epsilon=epsilon,
        seed=seed,
        item_features=use,
    )
    result = run(spec, workers=1)
    return float(result.final.recall if task == "recommend" else result.value)


def main() -> None:
    """Print the table."""
    dataset, seeds = sys.argv[1], range(int(sys.argv[2]))
    print("| model | measure | ε | without | with features | difference (95 %) |")
    print("|---|---|---|---|---|---|")
    with ProcessPoolExecutor(2) as processes:
        for algorithm, task in KINDS:
            for epsilon in EPSILONS:
                asked = [
                    (dataset, algorithm, task, epsilon, seed, use)
                    for use in ("none", "shrink")
                    for seed in seeds
                ]
                without, known = np.array(list(processes.map(measured, asked))).reshape(2, -1)
                pairs = known - without
                half = stats.t.ppf(0.975, len(pairs) - 1) * stats.sem(pairs)
                measure = "Recall@20" if task == "recommend" else "RMSE"
                print(
                    f"| {algorithm} | {measure} | {epsilon:g} | {without.mean():.4f} | "
                    f"{known.mean():.4f} | {pairs.mean():+.4f} ± {half:.4f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
