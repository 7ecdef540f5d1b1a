"""Users as solvers see them who ask for sums alone, wherever the ratings are.

Provides ``Group`` (some users with all of their ratings), the ``Population`` that such a solver is
given, and ``Whole``, the one whose ratings are all in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.profiles import on_scale
from dpmc_core.datasets.ratings import ItemFeatures, Ratings

Made = TypeVar("Made")


class Group(Protocol):
    """``ratings`` of some users, numbered from 0 within the group, on all items.

    ``threads`` is how many may compute (None: all processors). ``visitors`` are ratings of users
    of the same numbers who take part in no sum.
    """

    @property
    def ratings(self) -> Ratings:
        """Those that sums are over."""

    @property
    def threads(self) -> int | None:
        """How many may compute."""

    @property
    def visitors(self) -> Ratings | None:
        """Ratings that are in no sum."""

    def kept(self, name: str, version: object, make: Callable[[], Made]) -> Made:
        """What ``make`` returned for this ``version`` of ``name``, made when it was not yet: a
        memory that may forget, never a state that sums depend on. Nobody writes into it.
        """


@dataclass(frozen=True, eq=False)
class MemoryGroup:
    """A group in memory."""

    ratings: Ratings
    threads: int | None = None
    visitors: Ratings | None = None
    memory: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def kept(self, name: str, version: object, make: Callable[[], Made]) -> Made:
        """See ``Group.kept``."""
        if name not in self.memory or self.memory[name][0] != version:
            self.memory.pop(name, None)
            self.memory[name] = (version, make())
        found: Made = self.memory[name][1]
        return found


Term = Callable[..., FloatArray]
AddsUp = TypeVar("AddsUp", bound=Term)


def adds_up(term: AddsUp) -> AddsUp:
    """Mark a term that takes ``into``, an array that it may add its own sum to and return: one
    large array for all groups, not one for each.
    """
    term.__dict__["adds_up"] = True
    return term


class Population(Protocol):
    """Users with their ratings, all clipped to near their scale; only sums over users are asked
    for. ``term(group, *known)`` gives a group's sum, and may read ``known`` as it is.
    """

    @property
    def n_users(self) -> int:
        """Rows of the matrix."""

    @property
    def n_items(self) -> int:
        """Columns of the matrix."""

    @property
    def low(self) -> float:
        """The lowest rating of the scale."""

    @property
    def high(self) -> float:
        """The highest rating of the scale."""

    @property
    def name(self) -> str:
        """What the data is called."""

    @property
    def item_features(self) -> ItemFeatures | None:
        """What is publicly known of items."""

    def total(self, term: Term, *known: Any) -> FloatArray:
        """Σ over groups of ``term(group, *known)``, each user in one group."""


class Whole:
    """A population in one group, in memory."""

    def __init__(
        self, ratings: Ratings, threads: int | None = None, visitors: Ratings | None = None
    ) -> None:
        self.group = MemoryGroup(on_scale(ratings), threads, visitors)
        self.n_users, self.n_items = ratings.n_users, ratings.n_items
        self.low, self.high, self.name = ratings.low, ratings.high, ratings.name
        self.item_features = ratings.item_features

    def total(self, term: Term, *known: Any) -> FloatArray:
        """See ``Population.total``."""
        return term(self.group, *known)
