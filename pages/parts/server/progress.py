"""How far a job is, and how long runs take.

A rough model of their work, corrected by runs that this server finished, and both in words.
"""

import math
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from dpmc_core.experiments import RunSpec
from dpmc_core.experiments.spec import Spec
from dpmc_core.experiments.tasks.audit_spec import AuditSpec
from dpmc_core.experiments.worker.cluster import WAITING
from pages.parts.server.job import Job

_ALONE = 0.5  # seconds that a job may take to be begun where nobody else waits
_SOON = 3.0  # seconds of starting that need no clock


def duration(seconds: float) -> str:
    """Say how long that is, as roughly as it is known.

    >>> duration(0.3), duration(7.2), duration(48), duration(400), duration(9000)
    ('a second', '7 s', '50 s', '7 min', '2.5 h')
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 10:
        return f"{seconds:.0f} s"
    if seconds < 90:
        return f"{10 * round(seconds / 10)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def span(seconds: float) -> str:
    """Say how long something will take that is known to within a factor of two.

    >>> span(0.4), span(1.3), span(8), span(45), span(100), span(300)
    ('a second', '1–3 s', '5–20 s', '½–2 min', '1–3 min', '3–10 min')
    """
    low, high = duration(seconds / 1.6), duration(seconds * 2)
    number, unit = low.split()
    if low == high or number == "a":
        return low if low == high else f"1–{high}"
    if not high.endswith(unit):  # in the larger one
        number = "½" if seconds / 1.6 < 0.75 * (60 if high.endswith("min") else 3600) else "1"
    return f"{number}–{high}"


def standing(job: Job, step: str) -> str:
    """Say how far ``job`` is; ``step`` is what its progress counts."""
    done, total = job.progress
    if job.state == "waiting" and job.place and time.monotonic() - job.started > _ALONE:
        return f"waiting for others' runs ({_ordinal(job.place)} in line)"
    if job.where == WAITING:
        return WAITING
    if not done:
        so_far = time.monotonic() - job.started
        return "starting…" if so_far < _SOON else f"starting, {duration(so_far)} so far…"
    if done >= total:
        return f"{step} {done:,} of {total:,}, finishing…"
    left = job.remaining()
    estimate = f", about {duration(left)} left" if left is not None and left >= 1 else ""
    return f"{step} {done:,} of {total:,}{estimate}"


def _ordinal(n: int) -> str:
    """Write a place in a line.

    >>> _ordinal(1), _ordinal(12), _ordinal(22)
    ('1st', '12th', '22nd')
    """
    last = "th" if 10 <= n % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{last}"


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
    return sum(map(of_one, specs)) / at_once if specs else math.nan


def learn(spec: RunSpec, took: float) -> None:
    """Remember that a finished run took so many seconds."""
    if took > 0:
        ratio = min(max(took / _modelled(spec), 1 / _MOST), _MOST)
        name = spec.card.name
        before = _learned.get(name, ratio)
        _learned[name] = before ** (1 - _WEIGHT) * ratio**_WEIGHT


def of_one(spec: Spec) -> float:
    """The same for one of them."""
    if isinstance(spec, AuditSpec) and not (spec.dataset or spec.canaries):
        return 2 * spec.runs * (_OUTPUT if spec.target == "number" else _TABLE_RUN) + _LEAST
    runs = [
        count
        * getattr(run.algorithm, "mean_runs", 1.0)  # what is learned is of one
        * _modelled(run)
        * _learned.get(run.card.name, 1.0)
        for run, count in spec.weighted_runs()
    ]
    return sum(runs) if runs else math.nan


@lru_cache(maxsize=4096)
def _modelled(spec: RunSpec) -> float:
    rank = float(getattr(spec.algorithm, "rank", 1))
    search = _SEARCH * (spec.card.guarantee and spec.noise.mechanism not in ("none", "gaussian"))
    if spec.task == "factorize":
        rows, columns = spec.data.sizes
        cells_of = float((rows or 5000) * (columns or 1000))
        reference = _REFERENCE * (spec.card.name in ("nmf", "moment-nmf"))
        return _LEAST + reference + search + spec.length * (0.001 + _ROUND * cells_of * rank)
    data: Any = spec.data
    users, items = data.sizes
    n_generated = getattr(data, "n_ratings", 0) or getattr(data, "observed", 0.1) * users * items
    count = float(data.user_share * (data.entry.ratings or n_generated))
    inner = float(getattr(spec.algorithm, "inner", 1)) ** 0.7  # weights change little by little
    one = _STEP + count * (_PASS + _FACTOR * rank)
    return _LEAST + search + _READ * count + spec.length * inner * one
