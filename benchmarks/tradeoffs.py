"""Makes the stored examples of the Tradeoffs page: ``data/results/tradeoffs.json``.

``python -m benchmarks.tradeoffs [NAME…] [--jobs 2]``. Runs go through the run store, so that it can
be stopped and goes on. The settings are the page's usual ones.
"""

import argparse
import json
from datetime import UTC, datetime
from typing import Any

from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.sweep import finished, sweep
from dpmc_core.experiments.sweeps.tradeoff import points_of
from dpmc_core.experiments.tasks.solve import versions
from dpmc_core.paths import RESULTS

FILE = RESULTS / "tradeoffs.json"
NOISES = ["none", "huber", "laplace", "gaussian"]
USER = {
    "dataset": "skewed",
    "rank": 8,
    "reg": 30.0,
    "iterations": 2,
    "item_share": 0.5,
    "clip_norm": 0.5,
    "centring": "user",
    "items_per_user": 50,
    "gram_ratio": 2.0,
    "sampling": "adaptive",
    "delta": 1e-5,
    "n_items": 300,
}
RATING = {
    "dataset": "low-rank",
    "rank": 5,
    "reg": 0.5,
    "iterations": 20,
    "inner": 10,
    "sensitivity": 5.0,
    "delta": 1e-5,
    "n_users": 300,
    "n_items": 300,
    "observed": 0.1,
}


def rating(by: str, amounts: list[float]) -> dict[str, Any]:
    """A nominal comparison."""
    return {
        "name": "privacy against error",
        "seeds": 20,
        "base": RATING,
        "grid": [{"algorithm": ["als"], "mechanism": NOISES, by: amounts}],
    }


SWEEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "user": (
        "4,000 synthetic users, 300 items",
        {
            "name": "privacy against error",
            "seeds": 10,
            "base": {**USER, "n_users": 4000, "n_ratings": 160_000},
            "grid": [
                {
                    "algorithm": ["moments", "dpals"],
                    "mechanism": NOISES,
                    "total_epsilon": [0.5, 1.0, 2.0, 5.0, 10.0, 20.0],
                }
            ],
        },
    ),
    "people": (
        "synthetic users, 300 items, total ε = 1",
        {
            "name": "privacy against error",
            "seeds": 8,
            "base": USER,
            "grid": [
                {
                    "algorithm": ["moments", "dpals"],
                    "mechanism": ["none", "laplace", "gaussian"],
                    "total_epsilon": [1.0],
                    "n_users": [n],
                    "n_ratings": [40 * n],
                }
                for n in (500, 1000, 2000, 4000, 8000, 16_000, 32_000)
            ],
        },
    ),
    "rating-variance": (
        "a synthetic 300 × 300 matrix of rank 5, 10 % observed",
        rating("variance", [0.5, 1.0, 2.0, 4.0]),
    ),
    "rating-epsilon": (
        "a synthetic 300 × 300 matrix of rank 5, 10 % observed",
        rating("epsilon", [1.0, 2.0, 5.0, 10.0]),
    ),
    "rating-total_epsilon": (
        "a synthetic 300 × 300 matrix of rank 5, 10 % observed",
        rating("total_epsilon", [20.0, 50.0, 100.0, 200.0]),
    ),
}


def main() -> None:
    """Make those named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SWEEPS))
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name in arguments.names:
        about, raw = SWEEPS[name]
        spec = SweepSpec.from_dict(raw)
        with RunStore() as store:
            for so_far in sweep(spec, store, jobs=arguments.jobs):
                if so_far.done % 50 == 0:
                    print(name, so_far.done, so_far.total, so_far.remaining, flush=True)
            points = points_of(finished(spec, store))
        made = {
            "runs": so_far.total,
            "date": datetime.now(UTC).date().isoformat(),
            "about": about,
            "versions": versions(),
            "command": f"python -m benchmarks.tradeoffs {name}",
        }
        kept[name] = {
            "sweep": spec.as_dict(),
            "made": made,
            "points": [p.to_json() for p in points],
        }
        FILE.write_text(json.dumps(kept) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
