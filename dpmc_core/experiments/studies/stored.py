"""Studies that were made once and are kept with the project."""

import json
from functools import lru_cache

from dpmc_core.experiments.studies.result import StudyResult
from dpmc_core.paths import RESULTS

# made by ``python -m benchmarks.studies`` and ``python -m benchmarks.factor_studies``
_FILES = {"completion": RESULTS / "studies.json", "factorization": RESULTS / "factor_studies.json"}


@lru_cache(maxsize=len(_FILES))
def examples(room: str) -> dict[str, StudyResult]:
    """Studies on synthetic data, by kind. ``room``: "completion" or "factorization"."""
    with _FILES[room].open(encoding="utf-8") as file:
        return {kind: StudyResult.from_summary(raw) for kind, raw in json.load(file).items()}
