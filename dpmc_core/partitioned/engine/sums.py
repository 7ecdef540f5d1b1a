"""What a worker does, and the sums that it holds meanwhile.

Provides ``Sum``, ``add``, ``take``, ``merge``, ``made`` and ``forget``, ``found`` and ``same``.
Sums are in a table of the worker's process and not Dask's data, which it may copy, move and make
again. Each has a name that no other ever has, and tells which partitions it holds.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from dpmc_core.arrays import FloatArray
from dpmc_core.partitioned.engine.here import Then, Work

_FORGOTTEN = 1800.0  # seconds after which, or twice that, a sum that nobody adds to is dropped


@dataclass(eq=False)
class Sum:
    """A sum over the partitions ``of``: its ``numbers``, or rows of it from ``first`` on."""

    of: frozenset[int]
    numbers: FloatArray
    first: int = 0
    touched: float = 0.0
    taken: set[int] = field(default_factory=set)  # pieces of it

    def __sizeof__(self) -> int:  # what Dask takes it for
        return object.__sizeof__(self) + self.numbers.nbytes


class LostError(Exception):
    """A sum is not, or does not hold, what was told of it."""


_sums: dict[str, Sum] = {}
_given_out: dict[str, Sum] = {}  # in part: nobody may add to what others have a piece of
_dropped: set[str] = set()  # names that were forgotten, some of them perhaps before they came
_looking: list[threading.Timer] = []  # the one that drops old sums, while there are any
_lock = threading.Lock()


def same(work: Work) -> Work:
    """So that what is known is sent to each worker once."""
    return work


def found(work: Work, k: int) -> Any:
    """What is found in partition ``k``."""
    return work(k)


def add(work: Work, k: int, name: str) -> frozenset[int]:
    """Add partition ``k`` to the sum of that ``name``; tells what it holds."""
    with _lock:  # it is out of the table while it changes: what fails half-way is gone
        one = _sums.pop(name, None)
        if name in _given_out:
            raise LostError
    if one is None:
        one = Sum(frozenset({k}), work(k))
    elif k not in one.of:
        one = Sum(one.of | {k}, work(k, one.numbers))
    one.touched = time.monotonic()
    with _lock:
        if name not in _dropped:
            _sums[name] = one
            _look_later()
    return one.of


def _look_later() -> None:
    if not _looking:
        timer = threading.Timer(_FORGOTTEN, _drop_old)
        timer.daemon = True
        _looking.append(timer)
        timer.start()


def _drop_old() -> None:
    """Drop sums that nobody adds to: who asked for them is gone."""
    now = time.monotonic()
    with _lock:
        _looking.clear()
        for table in (_sums, _given_out):
            for name in [name for name, one in table.items() if now - one.touched >= _FORGOTTEN]:
                del table[name]
        if _sums or _given_out:
            _look_later()


def take(name: str, piece: int = 0, pieces: int = 1) -> Sum:
    """A ``piece`` of the rows of the sum of that ``name``, of as many ``pieces``, each of which is
    given out once; raises ``LostError``.
    """
    with _lock:
        if name in _sums:
            _given_out[name] = _sums.pop(name)
        one = _given_out.get(name)
        if one is None or piece in one.taken:
            raise LostError
        one.taken.add(piece)
        if len(one.taken) == pieces:
            del _given_out[name]
    first, end = (len(one.numbers) * k // pieces for k in (piece, piece + 1))
    return Sum(one.of, one.numbers[first:end], first)


def merge(one: Sum, other: Sum) -> Sum:
    """Both sums in the place of ``one``, which tells whether it was done before; raises
    ``LostError`` where only a part of ``other`` is in it.
    """
    if not other.of <= one.of:
        if other.of & one.of:
            raise LostError
        one.numbers += other.numbers
        one.of |= other.of
    return one


def made(then: Then, one: Sum) -> Sum:
    """What ``then`` makes of a sum's rows, in their place."""
    return Sum(one.of, then(one.numbers, one.first), one.first)


async def forget(names: frozenset[str]) -> None:
    """Drop the sums of these ``names``; a coroutine, which Dask does not wait for."""
    with _lock:
        _dropped.update(names)
        for name in names:
            _sums.pop(name, None)
            _given_out.pop(name, None)
