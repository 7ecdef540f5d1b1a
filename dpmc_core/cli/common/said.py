"""What commands that run something say of it, in the same words."""

import sys
import time
from collections.abc import Mapping
from typing import Any

from dpmc_core.metrics import Comparison
from dpmc_core.privacy import Statement

_EVERY = 2.0  # seconds between lines


class Progress:
    """A line on standard error now and then: what is done, and how many of how many partitions."""

    def __init__(self) -> None:
        self._began = self._said = time.monotonic()
        self._doing = ""

    def __call__(self, doing: str, done: int, of: int) -> None:
        now = time.monotonic()
        if doing != self._doing:
            self._doing, self._began, self._said = doing, now, now
        if now - self._said >= _EVERY:
            self._said = now
            print(f"{doing}: {done} of {of} partitions, {now - self._began:.0f} s", file=sys.stderr)


def print_errors(
    errors: Any, baselines: Mapping[str, float], against: Comparison, held_out: str
) -> None:
    """Print the RMSE of ``errors`` and of the ``baselines``, and how it is ``against`` the best."""
    print(
        f"test RMSE {errors.test_rmse:.4f} ± {errors.test_half_width:.4f} rating points "
        f"(95 %, over {held_out})"
    )
    print(f"clipped to the rating scale {errors.test_rmse_clipped:.4f}")
    if getattr(errors, "truth_rmse", None) is not None:
        print(f"on the whole matrix {errors.truth_rmse:.4f}")
    for name, value in baselines.items():
        print(f"  {name:<12} {value:.4f}")
    name = min(baselines, key=baselines.__getitem__)
    print(
        f"against {name}, on the same ratings: {against.mean:+.4f} ± {against.half_width:.2g} "
        f"(95 %): {against.of_this_run}"
    )


def print_statement(statement: Statement) -> None:
    """Print what a run protects, of whom, and how that was counted."""
    nominal = statement.private and statement.nominal
    print(statement.label + ("; not a guarantee" if nominal else ""))
    if statement.private:
        print(f"unit: one {statement.unit}, neighbours: {statement.neighbours}; {statement.how}")
    for caveat in statement.caveats:
        print(f"  - {caveat}")
