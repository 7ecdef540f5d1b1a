"""Plans by runs against a fine grid: is the ε that a search finds where the grid has it, and how
many runs does it take?

``python -m benchmarks.privacy.planning [STORE | --keep]`` on the skewed set of 5,000 users: 24 ε
from 0.1 to 50 and 20 seeds; some six minutes on two cores. ``--keep`` makes the searches alone and
writes those that come with the app.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import stats

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.store.records import PassingRuns, Record, key_of
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.sweeps.sweep import make_all
from dpmc_core.experiments.sweeps.workers import Workers
from dpmc_core.planning.goal import ModelPlan
from dpmc_core.planning.models import FILE, example_runs, search

GRID, SEEDS = np.geomspace(0.1, 50, 24), 20
BASE = RunSpec.of(
    dataset="skewed", n_users=5000, algorithm="moments", mechanism="gaussian", epsilon=1.0
)
GOALS = (None, 0.86, 0.84)


def on_grid(plan: ModelPlan, found: dict[str, Record]) -> tuple[float, float]:
    """The largest ε that clearly misses the goal, and the least above that clearly reaches it."""
    low, high = float(GRID[0]), float(GRID[-1])
    for epsilon in GRID:
        runs = [found[key_of(plan.spec_at(float(epsilon), seed))] for seed in range(SEEDS)]
        aims = [r.baseline if plan.target is None else plan.target for r in runs]
        margins = np.array(aims) - np.array([r.value for r in runs])
        half = stats.t.ppf(0.975, SEEDS - 1) * stats.sem(margins)
        if margins.mean() < -half:
            low, high = float(epsilon), float(GRID[-1])
        elif margins.mean() > half:
            high = min(high, float(epsilon))
    return low, high


def keep() -> None:
    """Write the searches that come with the app."""
    made = []
    for target in GOALS:
        *_, found = search(ModelPlan(base=BASE, target=target), PassingRuns())
        made.append(example_runs(found))
    FILE.write_text(json.dumps(made) + "\n", encoding="utf-8")


def main() -> None:
    """Print the table."""
    if sys.argv[1:] == ["--keep"]:
        keep()
        return
    place = sys.argv[1] if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "runs.sqlite"
    print("| goal | grid, 480 runs | search | runs | estimate in the grid's interval |")
    print("|---|---|---|---|---|")
    with RunStore(place) as store:
        for target in GOALS:
            plan = ModelPlan(base=BASE, target=target)
            specs = [plan.spec_at(float(e), seed) for e in GRID for seed in range(SEEDS)]
            with Workers(2) as workers:
                for _ in make_all({key_of(spec): spec for spec in specs}, store, workers):
                    pass
            low, high = on_grid(plan, store.find(key_of(spec) for spec in specs))
            *_, found = search(plan, PassingRuns())
            assert found.estimate is not None, found.sentence
            print(
                f"| {plan.goal} | {low:.3g} to {high:.3g} | {found.estimate:.3g} ({found.low:.3g} "
                f"to {found.high:.3g}) | {found.spent} | "
                f"{'yes' if low <= found.estimate <= high else 'no'} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
