"""What the results of all tasks share: the ledger of the run, and what it protects."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from dpmc_core.experiments.spec import RunSpec
from dpmc_core.experiments.tasks.solve import versions
from dpmc_core.privacy import Ledger, Statement, state

Metrics = TypeVar("Metrics")


@dataclass(frozen=True, kw_only=True, eq=False)
class Accounted(ABC):
    """A run so far: the ``ledger`` of all that its plan holds, of which ``made`` releases were made
    so far.
    """

    spec: RunSpec
    ledger: Ledger
    made: int
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def rating_width(self) -> float | None:
        """The width of the rating scale, of ratings."""
        return None

    @property
    @abstractmethod
    def public(self) -> Mapping[str, str]:
        """What is taken as public of the data, and by what."""

    @cached_property
    def statement(self) -> Statement:
        """What the run protects.

        Composed when first asked for, since a privacy loss distribution takes a moment.
        """
        return state(
            self.ledger,
            self.spec.noise.delta,
            self.rating_width,
            made=self.made,
            secret=self.spec.secret,
            public=self.public,
        )

    def accounts(self) -> dict[str, Any]:
        """The part of a summary that says what was spent, JSON-able."""
        return {
            "statement": self.statement.as_dict(),
            "ledger": self.ledger.as_dict(),
            "versions": dict(self.versions),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Result(Accounted, Generic[Metrics]):
    """A run so far, with its ``metrics`` per step; ``finished`` is False while it runs."""

    metrics: tuple[Metrics, ...]
    seconds: float
    finished: bool

    @property
    def truth(self) -> float | None:
        """The error on the whole noiseless matrix, of synthetic ratings."""
        return None

    @property
    def final(self) -> Metrics:
        """The metrics of the last step made."""
        return self.metrics[-1]

    def accounts(self) -> dict[str, Any]:
        return {"finished": self.finished, "seconds": round(self.seconds, 3), **super().accounts()}
