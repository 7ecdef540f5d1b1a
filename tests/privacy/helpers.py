"""Ledgers in one line, and losses on a grid, for tests."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy import Ledger, Release, account


def release(
    mechanism: Mechanism,
    count: int = 1,
    l1: float = 1.0,
    l2: float | None = None,
    coordinates: int = 1,
    **changes: Any,
) -> Release:
    usual = Release(
        what="a number",
        mechanism=mechanism,
        l1_sensitivity=l1,
        l2_sensitivity=l1 if l2 is None else l2,
        unit="record",
        neighbours="add/remove-one",
        coordinates=coordinates,
        count=count,
        sound=True,
        source="test",
    )
    return replace(usual, **changes)


def ledger(*parts: Any, **changes: Any) -> Ledger:
    """Of one release."""
    return Ledger((release(*parts, **changes),))


def mixed(*releases: tuple[Any, ...]) -> Ledger:
    """Of several: of each its noise, count, ℓ1, ℓ2 and coordinates, as far as they are unusual."""
    return Ledger(tuple(release(*parts) for parts in releases))


def by_method(book: Ledger, delta: float = 1e-5) -> dict[str, float]:
    return {answer.method: answer.epsilon for answer in account(book, delta)}


def losses_below_and_above(
    noise: Mechanism, shift: float, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """The masses of one loss rounded down and up to multiples of ``step``, from −J to J.

    The loss at x, log p(x)/p(x + Δ), rises with x: the chance that it exceeds l is that of x beyond
    where it equals l, found here by bisection.
    """
    top = noise.epsilon(shift)
    edge = math.ceil(top / step)
    grid = np.arange(-edge, edge + 1) * step
    low, high = np.full(grid.size, -60.0 * noise.std), np.full(grid.size, 60.0 * noise.std)
    for _ in range(200):
        middle = (low + high) / 2
        larger = noise.logpdf(middle) - noise.logpdf(middle + shift) > grid
        low, high = np.where(larger, low, middle), np.where(larger, middle, high)
    more = np.where(grid >= top, 0.0, np.where(grid < -top, 1.0, noise.sf(high)))
    inside = -np.diff(more)
    up = np.concatenate([[1 - more[0]], inside])
    down = np.concatenate([inside, [more[-1]]])
    down[0] += 1 - more[0]
    return down, up


def profile(masses: np.ndarray, step: float, epsilon: float) -> float:
    """δ at ``epsilon`` of losses on −J…J times ``step``."""
    losses = (np.arange(masses.size) - masses.size // 2) * step
    over = losses > epsilon
    return math.fsum(masses[over] * -np.expm1(epsilon - losses[over]))
