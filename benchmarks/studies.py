"""The stored examples of the studies on the *Completion* page: ``python -m benchmarks.studies`` writes data/results/studies.json (two minutes).

Synthetic data only, the page's own usual settings, three seeds.
"""

import json
from pathlib import Path

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.studies import STUDIES, StudySpec, study

FILE = Path(__file__).resolve().parents[1] / "data" / "results" / "studies.json"
BASE = RunSpec(
    dataset="skewed",
    n_users=4000,
    n_items=300,
    n_ratings=160_000,
    algorithm="moments",
    mechanism="gaussian",
    epsilon=5.0,
    rank=8,
    reg=30.0,
    iterations=2,
    item_share=0.5,
    clip_norm=0.5,
    centring="user",
)


def main() -> None:
    """Run them all and write the file."""
    out = {}
    for kind in STUDIES:
        result = study(StudySpec(kind=kind, base=BASE, seeds=3))
        out[kind] = result.summary()
        print(f"{kind}: {result.runs} runs, {result.seconds:.0f} s", flush=True)
    FILE.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
