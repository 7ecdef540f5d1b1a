"""What every completion solver yields and takes.

The factor model and the ``Step``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dpmc_core.arrays import FloatArray, IntArray, products_at
from dpmc_core.completion.kernel.solve import Side, group_rows
from dpmc_core.datasets.ratings import ItemFeatures, Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.privacy.ledger import Release


@dataclass(frozen=True, eq=False)
class FactorModel:
    """X ≈ UVᵀ with ``user_factors`` U (m×r) and ``item_factors`` V (n×r)."""

    user_factors: FloatArray
    item_factors: FloatArray

    def predict(self, users: IntArray, items: IntArray) -> FloatArray:
        """u_i·v_j for each pair (same length)."""
        return products_at(self.user_factors, self.item_factors, users, items)

    def block(self, users: slice | IntArray) -> FloatArray:
        """Predictions for these users and all items."""
        return self.user_factors[users] @ self.item_factors.T


@dataclass(frozen=True, eq=False)
class Step:
    """State after one outer iteration (counted from 1).

    The model, Σ residual² over the training ratings, the objective, the releases made *in this
    step*, and those that the plan still holds (``rest``). ``chosen_reg`` is the λ of the best of
    several ``runs``, whose number no result tells. ``released`` has the numbers that a new user's
    fit reads (``population.Learned``); empty where the algorithm has no such fit.
    """

    iteration: int
    model: FactorModel
    squared_residuals: float
    objective: float
    releases: tuple[Release, ...]
    rest: tuple[Release, ...] = ()
    chosen_reg: float | None = None
    runs: int = 1
    released: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Sides:
    """The training ratings grouped by user and by item, made once per run."""

    by_user: Side
    by_item: Side

    @classmethod
    def of(cls, ratings: Ratings, rank: int) -> "Sides":
        """Group ``ratings`` both ways, in blocks sized for ``rank``."""
        return cls(grouped_by_user(ratings, rank), grouped_by_item(ratings, rank))

    def short(self) -> "Sides":
        """The same in as few bytes as lose nothing."""
        return Sides(self.by_user.short(), self.by_item.short())


def grouped_by_user(ratings: Ratings, rank: int) -> Side:
    """A row of ratings for each user, in blocks sized for ``rank``."""
    users, items, values = ratings.numbers
    return group_rows(users, items, values, ratings.n_users, ratings.n_items, rank)


def grouped_by_item(ratings: Ratings, rank: int) -> Side:
    """A row of ratings for each item, in blocks sized for ``rank``."""
    users, items, values = ratings.numbers
    return group_rows(items, users, values, ratings.n_items, ratings.n_users, rank)


class Table(Protocol):
    """What is known of ratings without any of them: ``Ratings``, and a ``Population``."""

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
    def width(self) -> float:
        """How wide the scale is."""

    @property
    def name(self) -> str:
        """What the data is called."""

    @property
    def item_features(self) -> ItemFeatures | None:
        """What is publicly known of items."""


def check_rank(matrix: Table, rank: int) -> None:
    """Raise ``ParameterError`` when ``rank`` exceeds the smaller side of the matrix."""
    smaller = min(matrix.n_users, matrix.n_items)
    if rank > smaller:
        raise ParameterError(
            "rank",
            rank,
            f"at most {smaller}, the smaller side of the {matrix.n_users} × {matrix.n_items} "
            "matrix",
        )


def start_item_factors(n_items: int, rank: int, rng: np.random.Generator) -> FloatArray:
    """Random start for V (n_items×rank), entries uniform on (0, 1).

    It does not depend on the ratings.

    The papers say "random entries" and no more; uniform is how the thesis draws its synthetic
    factors (section 5.2). The choice matters at λ = 0.5 and T = 20 on MovieLens 100K: from N(0,
    1/r) the scale of U and V is still settling, and noise of variance 2 *raises* the test RMSE,
    where from U(0, 1) or N(0, 1) it lowers it. At λ = 10 it does not matter. U needs no start: the
    first half-sweep computes it.
    """
    return rng.random((n_items, rank))
