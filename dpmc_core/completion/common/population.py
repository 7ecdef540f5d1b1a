"""Users as solvers see them who ask for sums alone, wherever the ratings are.

Provides ``Group`` (some users with all of their ratings), the ``Population`` that such a solver is
given, ``Whole``, the one whose ratings are all in memory, what a solver yields (``Learning``), and
``in_memory``, which makes a solver of ratings of one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.profiles import on_scale, squared_residuals
from dpmc_core.completion.common.step import FactorModel, Step, Table
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.privacy.budget import Groups, Journal, Term
from dpmc_core.privacy.ledger import Release

Made = TypeVar("Made")


class Group(ABC):
    """``ratings`` of some users, which sums are over, numbered from 0 within the group, on all
    items.

    The threads of ``pool`` compute. ``visitors`` are ratings of users of the same numbers who take
    part in no sum. ``in_memory``: what is ``cached`` is in memory, where it costs nothing to keep
    it.
    """

    ratings: Ratings
    pool: Workers
    visitors: Ratings | None
    in_memory: ClassVar[bool]

    @abstractmethod
    def cached(self, name: str, version: object, make: Callable[[], Made]) -> Made:
        """What ``make`` returned for this ``version`` of ``name``, made when it was not yet: a
        memory that may forget, never a state that sums depend on. Nobody writes into it.
        """


@dataclass(frozen=True, eq=False)
class MemoryGroup(Group):
    """A group in memory."""

    ratings: Ratings
    pool: Workers = field(default_factory=Workers)
    visitors: Ratings | None = None
    memory: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    in_memory: ClassVar[bool] = True

    def cached(self, name: str, version: object, make: Callable[[], Made]) -> Made:
        """See ``Group.cached``."""
        if name not in self.memory or self.memory[name][0] != version:
            self.memory.pop(name, None)
            self.memory[name] = (version, make())
        return self.memory[name][1]


class Population(Table, Groups, Protocol):
    """Users with their ratings, all clipped to near their scale."""

    @property
    def whole(self) -> MemoryGroup | None:
        """All users, where they are one group in memory."""


class Whole:
    """A population in one group, in memory; ``as_given`` leaves ratings where they are, of a scale
    of no width too.
    """

    def __init__(
        self,
        ratings: Ratings,
        threads: int | None = None,
        visitors: Ratings | None = None,
        *,
        as_given: bool = False,
    ) -> None:
        moved = ratings if as_given else on_scale(ratings)
        self.whole = MemoryGroup(moved, Workers(threads), visitors)
        self.n_users, self.n_items = ratings.n_users, ratings.n_items
        self.low, self.high, self.width = ratings.low, ratings.high, ratings.width
        self.name = ratings.name
        self.item_features = ratings.item_features

    def total(self, term: Term, *args: Any) -> FloatArray:
        """See ``Groups.total``."""
        return term(self.whole, *args)


class Learned(Protocol):
    """What left the users, and what each of them adds alone."""

    def model(self, group: Group) -> FactorModel:
        """The group's users with all items: their rows never leave their group."""

    def penalty(self, model: FactorModel) -> float:
        """What the objective has besides Σ residual²."""

    def released(self) -> dict[str, Any]:
        """Return the numbers of items alone that a new user's fit reads: nothing of any user."""


@dataclass(frozen=True, eq=False)
class Learning:
    """State after one iteration (from 1): what was ``learned``, the releases made in it, those that
    the plan still holds (``rest``), and where the sums tell them Σ residual² over the training
    ratings and the objective.
    """

    iteration: int
    learned: Learned
    releases: tuple[Release, ...]
    rest: tuple[Release, ...] = ()
    squared_residuals: float | None = None
    objective: float | None = None


Learn = Callable[[Population, Any, np.random.Generator, Journal], Iterator[Learning]]


def in_memory(learn: Learn, *, as_given: bool = False) -> Callable[..., Iterator[Step]]:
    """The solver ``(ratings, config, rng, workers=None, visitors=None)`` that yields what ``learn``
    does, with all users' vectors; ``workers`` are threads (all processors), and change no result.
    ``as_given``: see ``Whole``. It is called as ``learn`` is, without "learn_".
    """

    def solve(
        ratings: Ratings,
        config: Any,
        rng: np.random.Generator,
        workers: int | None = None,
        visitors: Ratings | None = None,
    ) -> Iterator[Step]:
        people = Whole(ratings, workers, visitors, as_given=as_given)
        for step in learn(people, config, rng, Journal()):
            model = step.learned.model(people.whole)
            squares, objective = step.squared_residuals, step.objective
            if squares is None:
                squares = squared_residuals(people.whole.ratings, model)
            if objective is None:
                objective = squares + step.learned.penalty(model)
            yield Step(
                step.iteration,
                model,
                squares,
                objective,
                step.releases,
                step.rest,
                released=step.learned.released(),
            )

    solve.__doc__, solve.__module__ = learn.__doc__, learn.__module__
    solve.__name__ = solve.__qualname__ = learn.__name__.removeprefix("learn_")
    return solve
