"""Runs of algorithms, step by step, as tests look at them."""

from collections.abc import Iterable
from typing import Any

from dpmc_core.privacy import Ledger

__all__ = ["spending"]


def spending(steps: Iterable[Any]) -> tuple[Any, Ledger]:
    """Run to the end: the last step, and the ledger of what all steps released."""
    ledger, last = Ledger(), None
    for last in steps:
        ledger = ledger.plus(last.releases)
    return last, ledger
