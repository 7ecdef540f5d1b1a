"""Ledgers in one line, for tests."""

from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy import Ledger, Release, account


def release(
    mechanism: Mechanism,
    count: int = 1,
    l1: float = 1.0,
    l2: float | None = None,
    coordinates: int = 1,
) -> Release:
    return Release(
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


def ledger(
    mechanism: Mechanism,
    count: int = 1,
    l1: float = 1.0,
    l2: float | None = None,
    coordinates: int = 1,
) -> Ledger:
    return Ledger((release(mechanism, count, l1, l2, coordinates),))


def by_method(book: Ledger, delta: float = 1e-5) -> dict[str, float]:
    return {answer.method: answer.epsilon for answer in account(book, delta)}
