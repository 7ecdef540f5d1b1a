"""Make the examples that come with the app: sweeps of *Tradeoffs*, studies of *Completion* and
*Factorization*, on synthetic data only, at the pages' default settings.

``python -m benchmarks.examples GROUP [NAME…] [--jobs 2]``, where GROUP is tradeoffs, completion
(two minutes) or factorization (half an hour). Runs go through the run store, so that it can be
stopped and goes on.
"""

import argparse
from datetime import UTC, datetime
from typing import Any

from dpmc_core.experiments.examples import FILES, write
from dpmc_core.experiments.presets import LIKES, PEOPLE, PUBLISHED, THEOREM, preset
from dpmc_core.experiments.store.store import RunStore
from dpmc_core.experiments.studies.spec import STUDIES, Study, StudySpec
from dpmc_core.experiments.sweeps.spec import ManyRuns, SweepSpec
from dpmc_core.experiments.sweeps.sweep import sweep
from dpmc_core.experiments.tasks.solve import versions

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

# the thesis's data of rank 5 at 5 % observed and its settings (Tables 5.2, 5.3), 200 × 200
MINIMA = {"dataset": "low-rank", "n_users": 200, "n_items": 200, "observed": 0.05}
MINIMA |= preset(PUBLISHED, "low-rank")

FACES: dict[str, Any] = {
    "dataset": "cartoon",
    "n_samples": 5000,
    "rank": 20,
    "mechanism": "gaussian",
}
TOPICS: dict[str, Any] = {
    "dataset": "topics",
    "n_samples": 2000,
    "rank": 12,
    "mechanism": "gaussian",
    "epsilon": 5.0,
}
FACTORS: dict[str, dict[str, Any]] = {
    "epsilon": FACES,
    "rounds": {**FACES, "rounds": 200},
    "start": {**FACES, "n_samples": 2000},
    "parts": TOPICS,
    "people": {**FACES, "epsilon": 1.0},
    "outliers": {**FACES, "epsilon": 10.0},
}


# others have three; verdicts of many comparisons at once take more
SEEDS = {"minima": 10, "gradient": 10, "rate-epsilon": 5, "rate-items": 5}

# sizes at which the larger half of each axis is where errors follow a power
RATES: dict[str, dict[str, Any]] = {
    "rate": {"n_users": 32_000},
    "rate-epsilon": {"n_users": 8_000, "n_items": 150, "observed": 0.2},
    "rate-items": {"n_users": 16_000, "n_items": 150, "observed": 0.2},
    "regressions": {"n_users": 32_000, "n_items": 50},
}


def _completed(name: str, study: Study) -> dict[str, Any]:
    if study.dataset:
        return {**PEOPLE, **THEOREM, "dataset": study.dataset, **RATES[name]}
    return LIKES if study.task == "recommend" else PEOPLE


def specs_of(group: str) -> dict[str, tuple[str, ManyRuns]]:
    """What each example of a group is about, and its runs."""
    if group == "tradeoffs":
        return {name: (about, SweepSpec.from_dict(raw)) for name, (about, raw) in SWEEPS.items()}
    completion = {name: _completed(name, study) for name, study in STUDIES["completion"].items()}
    settings = FACTORS if group == "factorization" else {**completion, "minima": MINIMA}
    return {
        kind: ("", StudySpec.of(group, kind, base, seeds=SEEDS.get(kind, 3)))
        for kind, base in settings.items()
    }


def main() -> None:
    """Make those named, or all of a group."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", choices=FILES)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    for name, (about, spec) in specs_of(arguments.group).items():
        if arguments.names and name not in arguments.names:
            continue
        with RunStore() as store:
            for so_far in sweep(spec, store, jobs=arguments.jobs):
                if so_far.done % 50 == 0:
                    print(name, so_far.done, so_far.total, so_far.remaining, flush=True)
            made = {
                "runs": so_far.total,
                "date": datetime.now(UTC).date().isoformat(),
                "seconds": round(so_far.seconds, 2),
                "about": about,
                "versions": versions(),
                "command": f"python -m benchmarks.examples {arguments.group} {name}",
            }
            write(arguments.group, name, spec, store, made)


if __name__ == "__main__":
    main()
