"""Plans of models that were searched once and are kept with the project."""

import json
from functools import lru_cache
from typing import Any

from dpmc_core.experiments import RunSpec
from dpmc_core.paths import RESULTS
from dpmc_core.planning.goal import ModelPlan, Probe, Search

_FILE = RESULTS / "plans.json"


@lru_cache(maxsize=1)
def examples() -> tuple[Search, ...]:
    """Searches on the skewed set, made by ``python -m benchmarks.privacy.planning --keep``."""
    with _FILE.open(encoding="utf-8") as file:
        return tuple(map(from_json, json.load(file)))


def to_json(found: Search) -> dict[str, Any]:
    """A copy from which ``from_json`` makes the same search."""
    plan = found.plan
    return {
        "base": plan.base.as_dict(),
        "vary": plan.vary,
        "target": plan.target,
        "probes": [[p.place, list(p.margins), list(p.values), p.decided] for p in found.probes],
        "ends": [found.low, found.high],
        "spent": found.spent,
        "used_up": found.used_up,
    }


def from_json(raw: dict[str, Any]) -> Search:
    """The search that ``to_json`` wrote."""
    base = RunSpec.from_dict(raw["base"])
    probes = [
        Probe(place=place, margins=tuple(margins), values=tuple(values), decided=decided)
        for place, margins, values, decided in raw["probes"]
    ]
    low, high = raw["ends"]
    return Search(
        plan=ModelPlan(base=base, vary=raw["vary"], target=raw["target"]),
        probes=tuple(probes),
        low=low,
        high=high,
        spent=raw["spent"],
        before=0,
        finished=True,
        used_up=raw["used_up"],
    )
