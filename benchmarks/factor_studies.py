"""The stored first pictures of the *Factorization* page's studies, on made data only: ``python -m benchmarks.factor_studies [KIND ...]``.

Writes ``data/results/factor_studies.json``; a test makes some of the runs again.
"""

import json
import sys
from pathlib import Path

from dpmc_core.experiments import FactorSpec
from dpmc_core.experiments.studies.factor_engine import factor_study_steps
from dpmc_core.experiments.studies.factorization import FactorStudySpec

FACES = FactorSpec(
    dataset="cartoon",
    n_samples=5000,
    rank=20,
    algorithm="moment-nmf",
    mechanism="gaussian",
    epsilon=1.0,
)
TOPICS = FactorSpec(
    dataset="topics",
    n_samples=2000,
    rank=12,
    algorithm="moment-nmf",
    mechanism="gaussian",
    epsilon=5.0,
)
WANTED = {
    "epsilon": FACES.but(epsilon=None),
    "rounds": FACES.but(algorithm="private-nmf-published", epsilon=None),
    "parts": TOPICS,
    "people": FACES,
    "outliers": FACES.but(epsilon=10.0),
}
TARGET = Path(__file__).resolve().parents[1] / "data" / "results" / "factor_studies.json"


def main() -> None:
    """Make the studies named on the command line (all without a name); each is written when it is done."""
    for kind in sys.argv[1:] or WANTED:
        for result in factor_study_steps(FactorStudySpec(kind=kind, base=WANTED[kind], seeds=3)):
            print(f"{kind}: run {result.runs} of {result.total}", end="\r", flush=True)
        print(f"{kind}: {result.total} runs in {result.seconds:.0f} s")
        held = json.loads(TARGET.read_text(encoding="utf-8")) if TARGET.exists() else {}
        held[kind] = result.summary()
        ordered = {name: held[name] for name in WANTED if name in held}
        TARGET.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
