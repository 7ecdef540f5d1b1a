"""Runs of algorithms, step by step, as tests look at them."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dpmc_core.privacy import Ledger, Release

__all__ = ["parts_used", "spending"]


def spending(steps: Iterable[Any]) -> tuple[Any, Ledger]:
    """Run to the end: the last step, and the ledger of what all steps released."""
    ledger, last = Ledger(), None
    for last in steps:
        ledger = ledger.plus(last.releases)
    return last, ledger


def parts_used(release: Release, change: np.ndarray) -> np.ndarray:
    """The ℓ1, ℓ2 and ℓ∞ norms of a change, each as a part of the recorded sensitivity."""
    largest = release.linf_sensitivity or release.l2_sensitivity
    norms = np.abs(change).sum(), np.linalg.norm(change), np.abs(change).max(initial=0)
    return np.divide(norms, (release.l1_sensitivity, release.l2_sensitivity, largest))
