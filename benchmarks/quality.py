"""Test RMSE on MovieLens 100K.

R = 32, T = 20, random 80/20, λ = 0.5 and 10, each noise at variance 1 and 2, ≥ 10 seeds.

A seed changes the split, the start and the noise. Rows give mean ± half of a 95 % t-interval over
seeds, unclipped and clipped; "against none" is the paired difference on the same seeds.
"""

import argparse

import numpy as np
from scipy import stats

from dpmc_core.experiments import RunSpec, run


def interval(values: np.ndarray) -> float:
    """Half of a 95 % t-interval of the mean."""
    return float(stats.t.ppf(0.975, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--algorithm", default="als")
    arguments = parser.parse_args()
    print(
        "| algorithm | λ | variance | noise | test RMSE | clipped | against none | "
        "ε per draw, all |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    baselines: dict[str, list[float]] = {}
    for reg in (0.5, 10.0):
        quiet = None
        for variance in (None, 1.0, 2.0):
            for mechanism in ("none",) if variance is None else ("gaussian", "laplace", "huber"):
                results = []
                for seed in range(arguments.seeds):
                    spec = RunSpec.fitting(
                        {"inner": 10},  # of IRLS
                        dataset="ml-100k",
                        algorithm=arguments.algorithm,
                        rank=32,
                        reg=reg,
                        iterations=20,
                        mechanism=mechanism,
                        variance=variance,
                        seed=seed,
                    )
                    results.append(run(spec))
                plain = np.array([r.final.test_rmse for r in results])
                clipped = np.array([r.final.test_rmse_clipped for r in results])
                if quiet is None:
                    quiet = plain
                    baselines = {
                        name: [r.baselines[name] for r in results] for name in results[0].baselines
                    }
                change = plain - quiet
                paired = (
                    "" if mechanism == "none" else f"{change.mean():+.4f} ± {interval(change):.4f}"
                )
                s = results[0].statement
                said = (
                    "not private"
                    if not s.private
                    else f"{s.epsilon_per_draw:.3g}, {s.epsilon:,.0f}"
                )
                print(
                    f"| {arguments.algorithm} | {reg:g} | {variance or 'none'} | {mechanism} | "
                    f"{plain.mean():.4f} ± {interval(plain):.4f} | {clipped.mean():.4f} ± "
                    f"{interval(clipped):.4f} | {paired} | {said} |",
                    flush=True,
                )
    print()
    for name, values in baselines.items():
        array = np.array(values)
        print(f"{name}: {array.mean():.4f} ± {interval(array):.4f}")


if __name__ == "__main__":
    main()
