"""How far a job is, and how long something takes, in words."""

import time

from dpmc_core.experiments.worker.cluster import WAITING
from pages.parts.server.job import Job

_ALONE = 0.5  # seconds that a job may take to be begun where nobody else waits


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

    >>> span(0.4), span(8), span(300)
    ('a second', '5–20 s', '3–10 min')
    """
    low, high = duration(seconds / 1.6), duration(seconds * 2)
    number, unit = low.split()
    if low == high or number == "a":
        return low if low == high else f"up to {high}"
    return f"{number}–{high}" if high.endswith(unit) else f"{low} to {high}"


def standing(job: Job, step: str) -> str:
    """Say how far ``job`` is; ``step`` is what its progress counts."""
    done, total = job.progress
    if job.state == "waiting" and job.place and time.monotonic() - job.started > _ALONE:
        return f"waiting for others' runs ({_ordinal(job.place)} in line)"
    if job.where == WAITING:
        return WAITING
    if not done:
        return "starting…"
    if done >= total:
        return f"{step} {done:,} of {total:,}, finishing…"
    left = job.remaining()
    said = f", about {duration(left)} left" if left is not None and left >= 1 else ""
    return f"{step} {done:,} of {total:,}{said}"


def _ordinal(n: int) -> str:
    """Write a place in a line.

    >>> _ordinal(1), _ordinal(12), _ordinal(22)
    ('1st', '12th', '22nd')
    """
    last = "th" if 10 <= n % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{last}"
