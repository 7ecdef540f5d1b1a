"""Trade-offs that were computed once and are kept with the project."""

import json
from functools import lru_cache
from typing import Any

from dpmc_core.experiments.sweeps.spec import SweepSpec
from dpmc_core.experiments.sweeps.tradeoff import Point
from dpmc_core.paths import RESULTS

_FILE = RESULTS / "tradeoffs.json"


Example = tuple[SweepSpec, list[Point], dict[str, Any]]


@lru_cache(maxsize=1)
def examples() -> dict[str, Example]:
    """Sweeps that come with the app, made by ``python -m benchmarks.tradeoffs``.

    Their spec, points, and when and with what they were made.
    """
    with _FILE.open(encoding="utf-8") as file:
        return {
            name: (
                SweepSpec.from_dict(raw["sweep"]),
                [Point.from_json(p) for p in raw["points"]],
                raw["made"],
            )
            for name, raw in json.load(file).items()
        }
