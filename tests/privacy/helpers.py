"""Ledgers in one line, and losses on a grid, for tests."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import fft

from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy import Ledger, Release, account
from dpmc_core.privacy.budget import Budget, Curator, Part, plan


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


def curator_of(rng: np.random.Generator, **changes: Any) -> Any:
    """A curator of one release, "x"."""
    part = Part(what="x", l1=1.0, l2=1.0, share=1.0, source="here", **changes)
    return Curator(plan({"x": part}, Budget(epsilon=1.0)), rng)


def losses_below_and_above(
    noise: Mechanism, shift: float, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """The masses of one loss rounded down and up to multiples of ``step``, from −J to J.

    The loss at x, log p(x)/p(x + Δ), rises with x: the chance that it exceeds l is that of x beyond
    where it equals l, found here by bisection. A loss on the grid stays where it is.
    """
    top = noise.epsilon(shift)
    edge = math.ceil(top / step - 1e-9)
    bounds = []
    for slack in (-1e-9, 1e-9):
        levels = (np.arange(-edge, edge + 1) + slack) * step
        low, high = np.full(levels.size, -60.0 * noise.std), np.full(levels.size, 60.0 * noise.std)
        for _ in range(55):
            middle = (low + high) / 2
            larger = noise.logpdf(middle) - noise.logpdf(middle + shift) > levels
            low, high = np.where(larger, low, middle), np.where(larger, middle, high)
        more = np.where(levels >= top, 0.0, np.where(levels < -top, 1.0, noise.sf(high)))
        bounds.append(-np.diff([1.0, *more, 0.0]))
    return bounds[0][1:], bounds[1][:-1]


def sums_below_and_above(
    numbers: Iterable[tuple[Mechanism, float, int]], step: float
) -> list[np.ndarray]:
    """The same of the sum of all losses: noise, shift and count of each kind."""
    singles = [
        (losses_below_and_above(noise, shift, step), count) for noise, shift, count in numbers
    ]
    half = sum(bounds[0].size // 2 * count for bounds, count in singles)
    size = fft.next_fast_len(2 * half + 1)
    sums = []
    for side in (0, 1):
        transform = np.ones(size // 2 + 1, dtype=np.complex128)
        for bounds, count in singles:
            padded = np.pad(bounds[side], (0, size - bounds[side].size))
            transform *= fft.rfft(np.roll(padded, -(bounds[side].size // 2))) ** count
        sums.append(np.roll(fft.irfft(transform, n=size), half)[: 2 * half + 1])
    return sums


def profile(masses: np.ndarray, step: float, epsilon: float) -> float:
    """δ at ``epsilon`` of losses on −J…J times ``step``."""
    losses = (np.arange(masses.size) - masses.size // 2) * step
    over = losses > epsilon
    return float(np.sum(masses[over] * -np.expm1(epsilon - losses[over])))
