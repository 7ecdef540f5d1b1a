"""The stored first pictures of the *Factorization* page's studies, on made data only.

``python -m benchmarks.factor_studies [KIND ...]``.

Writes ``data/results/factor_studies.json``; a test makes some of the runs again.
"""

import json
import sys
from typing import Any

from dpmc_core.experiments.studies.engine import study_steps
from dpmc_core.experiments.studies.spec import StudySpec
from dpmc_core.paths import RESULTS

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
WANTED: dict[str, dict[str, Any]] = {
    "epsilon": FACES,
    "rounds": {**FACES, "rounds": 200},
    "parts": TOPICS,
    "people": {**FACES, "epsilon": 1.0},
    "outliers": {**FACES, "epsilon": 10.0},
}
FILE = RESULTS / "factor_studies.json"


def main() -> None:
    """Make the studies named on the command line (all without a name).

    Each is written when it is done.
    """
    for kind in sys.argv[1:] or WANTED:
        for result in study_steps(StudySpec.of("factorization", kind, WANTED[kind], seeds=3)):
            print(f"{kind}: run {result.runs} of {result.total}", end="\r", flush=True)
        print(f"{kind}: {result.total} runs in {result.seconds:.0f} s")
        held = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
        held[kind] = result.summary()
        ordered = {name: held[name] for name in WANTED if name in held}
        FILE.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
