"""Figures that are drawn once.

Decorators that keep what a chart function made, for as long as what it was made of lives
(``of_results``), or the latest ones (``of_values``). Figures are shared between visitors then, so
nothing changes one after it was made.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

Made = TypeVar("Made")
_MOST = 24  # figures of one result
_of_results: WeakKeyDictionary[Any, dict[Any, tuple[tuple[ref[Any], ...], Any]]] = (
    WeakKeyDictionary()
)


def of_values(make: Callable[..., Made]) -> Callable[..., Made]:
    """For functions of frozen values and sequences of them."""
    kept = lru_cache(maxsize=160)(make)

    @wraps(make)
    def drawn(*given: Any, **named: Any) -> Made:
        return kept(*(tuple(x) if isinstance(x, list) else x for x in given), **named)

    return drawn


def of_results(make: Callable[..., Made]) -> Callable[..., Made]:
    """For functions whose first argument is a result, alone or by a name (``result`` is its
    attribute), or a sequence of such; the others are plain values. Unfinished results are drawn
    every time.
    """

    @wraps(make)
    def drawn(items: Any, *given: Any, **named: Any) -> Made:
        several = items if isinstance(items, Sequence) else (items,)
        results: list[Any] = [getattr(item, "result", item) for item in several]
        if not results or not all(result.finished for result in results):
            return make(items, *given, **named)
        names = tuple(
            (getattr(item, "label", ""), getattr(item, "name", ""), id(result))
            for item, result in zip(several, results, strict=True)
        )
        key = (make.__qualname__, names, given, tuple(sorted(named.items())))
        mine = _of_results.setdefault(results[0], {})
        held = mine.get(key)
        if held is None or any(
            known() is not result for known, result in zip(held[0], results, strict=True)
        ):
            held = (tuple(ref(result) for result in results), make(items, *given, **named))
            while len(mine) >= _MOST:
                mine.pop(next(iter(mine)), None)
            mine[key] = held
        made: Made = held[1]
        return made

    return drawn
