"""Ledgers in one line, for tests."""

from dataclasses import replace
from typing import Any

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
