"""The stored examples of the studies on the *Completion* page: ``python -m benchmarks.studies`` writes data/results/studies.json (two minutes).

Synthetic data only, the page's own usual settings, three seeds.
"""

import json
from pathlib import Path

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.presets import PEOPLE
from dpmc_core.experiments.studies.completion import STUDIES, StudySpec, study

FILE = Path(__file__).resolve().parents[1] / "data" / "results" / "studies.json"
BASE = RunSpec(**PEOPLE)


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
