"""What solvers on users in partitions yield."""

from dataclasses import dataclass
from typing import Protocol

from dpmc_core.completion.common.population import Group
from dpmc_core.completion.common.step import FactorModel
from dpmc_core.privacy.ledger import Release

__all__ = ["Learned", "PartitionStep"]


class Learned(Protocol):
    """What left the users, and what each of them adds alone."""

    def model(self, group: Group) -> FactorModel:
        """The group's users with all items: their rows never leave their partition."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionStep:
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
