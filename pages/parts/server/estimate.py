"""How long runs take: a rough model of their work, corrected by runs that this server finished."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.spec import Spec
from dpmc_core.experiments.tasks.audit_spec import AuditSpec

# seconds, measured with one thread: per rating to read, split and score; per rating in a pass,
# and for each factor; per cell and part in a round; to find noise for a total ε that is not
# Gaussian; per output of one number
_READ, _PASS, _FACTOR, _ROUND, _SEARCH, _OUTPUT = 1e-6, 5.5e-8, 2.8e-9, 2.5e-10, 1.0, 4e-6
_STEP, _LEAST = 0.008, 0.1  # of a step, and of a run, whatever their size
_REFERENCE = 0.9  # of scikit-learn's NMF, which others are held against
_TABLE_RUN = 0.004  # an algorithm on the small table that is attacked
_WEIGHT, _MOST = 0.5, 20.0  # of the latest run in what is learned; how far that may lead
_learned: dict[str, float] = {}


def seconds(specs: Sequence[Spec], at_once: int = 1) -> float:
    """How long ``specs``, one after the other, take at a guess; NaN where that is not known."""
    return sum(of_each(tuple(specs))) / at_once if specs else math.nan


def of_each(specs: tuple[Spec, ...]) -> list[float]:
    """The same for each of them."""
    return [_seconds(spec) for spec in specs]


def learn(spec: Any, took: float) -> None:
    """Remember that a finished run took so many seconds."""
    if isinstance(spec, RunSpec) and took > 0:
        ratio = min(max(took / _modelled(spec), 1 / _MOST), _MOST)
        name = spec.card.name
        before = _learned.get(name, ratio)
        _learned[name] = before ** (1 - _WEIGHT) * ratio**_WEIGHT


def _seconds(spec: Spec) -> float:
    if isinstance(spec, AuditSpec) and not spec.dataset:
        return 2 * spec.runs * (_OUTPUT if spec.target == "number" else _TABLE_RUN) + _LEAST
    runs = [
        count * _modelled(run) * _learned.get(run.card.name, 1.0)
        for run, count in spec.weighted_runs()
    ]
    return sum(runs) if runs else math.nan


@lru_cache(maxsize=4096)
def _modelled(spec: RunSpec) -> float:
    rank = float(getattr(spec.algorithm, "rank", 1))
    search = _SEARCH * (
        spec.card.guarantee and spec.noise.kind != "none" and spec.noise.mechanism != "gaussian"
    )
    if spec.task == "factorize":
        rows, columns = spec.data.sizes
        cells_of = float((rows or 5000) * (columns or 1000))
        reference = _REFERENCE * (spec.card.name in ("nmf", "moment-nmf"))
        return _LEAST + reference + search + spec.length * (0.001 + _ROUND * cells_of * rank)
    count = _ratings(spec)
    inner = float(getattr(spec.algorithm, "inner", 1)) ** 0.7  # weights change little by little
    one = _STEP + count * (_PASS + _FACTOR * rank)
    return _LEAST + search + _READ * count + spec.length * inner * one


def _ratings(spec: RunSpec) -> float:
    data: Any = spec.data
    users, items = data.sizes
    made = getattr(data, "n_ratings", 0) or getattr(data, "observed", 0.1) * users * items
    return float(data.user_share * (data.entry.ratings or made))
