"""All algorithms by name, found in the rooms ``completion`` and ``factorization``.

A new algorithm is one file there that ends with its card in ``ALGORITHMS``.
"""

import importlib
import pkgutil
from collections.abc import Collection

from dpmc_core import completion, factorization
from dpmc_core.privacy.algorithm import Algorithm


def _discover() -> dict[str, Algorithm]:
    cards: list[Algorithm] = []
    for room in (completion, factorization):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            cards += getattr(importlib.import_module(module.name), "ALGORITHMS", ())
    return {card.name: card for card in sorted(cards, key=lambda card: (card.order, card.name))}


ALGORITHMS = _discover()

# by task, those that can run on partitions
ON_PARTITIONS = {
    task: tuple(n for n, card in ALGORITHMS.items() if card.learn and task in card.tasks)
    for task in ("rate", "factorize")
}


def of_task(*tasks: str) -> dict[str, Algorithm]:
    """Those that can do one of ``tasks`` ("rate", "recommend", "factorize")."""
    return {n: card for n, card in ALGORITHMS.items() if set(card.tasks) & set(tasks)}


def held_for(tasks: Collection[str]) -> tuple[str, ...]:
    """What the datasets of these tasks hold, as ``datasets.names`` takes it."""
    return ("images", "documents") if "factorize" in tasks else ("ratings",)
