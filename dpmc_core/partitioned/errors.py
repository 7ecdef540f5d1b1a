"""How a model does on held-out ratings of users in partitions, beside the usual baselines.

Provides ``fit_baselines`` and ``measured``. The same numbers as ``completion.common.baselines`` and
``experiments.tasks.rate`` give in memory. They are exact, and cover by no ε: they describe data
that one holds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.completion.common.baselines import (
    BASELINES,
    ITEM_SHRINKAGE,
    MOST_SWEEPS,
    SETTLED,
    USER_SHRINKAGE,
)
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.metrics.ratings import clipped
from dpmc_core.partitioned.partition import PartitionGroup
from dpmc_core.partitioned.population import Learned, Partitions
from dpmc_core.privacy.moments import totals

__all__ = ["Errors", "ItemParts", "fit_baselines", "half_width", "measured"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ItemParts:
    """What the baselines know of items, and the ``mean`` of all training ratings: the means of
    items, the mean residual over user means, and fitted effects, all (n_items,).
    """

    mean: float
    item_mean: FloatArray
    effect: FloatArray
    fitted: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Errors:
    """RMSE in rating units on ``held_out`` ratings, and on the training ratings; half widths of 95
    % intervals are over the choice of held-out ratings. ``baselines`` by name, their predictions
    clipped to the scale; ``against`` is the best one's name, ``apart`` this model's clipped RMSE
    minus its, paired.
    """

    held_out: int
    train_rmse: float
    test_rmse: float
    test_half_width: float
    test_rmse_clipped: float
    test_half_width_clipped: float
    baselines: dict[str, float]
    against: str
    apart: float
    apart_half_width: float

    def as_dict(self) -> dict[str, Any]:
        """A JSON-able copy."""
        return asdict(self)


def fit_baselines(people: Partitions) -> ItemParts:
    """Two passes, and one for each sweep of the fitted effects until they settle."""
    n_items = people.n_items
    sums = people.total(_sums)
    mean = float(sums[0].sum() / max(sums[1].sum(), 1.0))
    item_mean = _over(sums[0], sums[1], mean)
    left = people.total(_left_of_user_means, mean)
    effect = _over(left, sums[1], 0.0)
    fitted = np.zeros(n_items)
    for sweep in range(MOST_SWEEPS):
        before = fitted
        left = people.total(_left_of_fitted, mean, before if sweep else None)
        fitted = left / (sums[1] + ITEM_SHRINKAGE)
        width = max(people.high - people.low, 1e-300)
        if np.abs(fitted - before).max() <= SETTLED * width:
            break
    return ItemParts(mean, item_mean, effect, fitted)


def measured(people: Partitions, learned: Learned, parts: ItemParts) -> Errors:
    """One pass with the model that every user completes alone."""
    sums = people.total(_errors, learned, parts)
    squares, fourths, products = sums[: 3 * _MODELS].reshape(3, _MODELS)
    train_squares, n, trained = float(sums[-3]), int(sums[-2]), float(sums[-1])
    values = np.sqrt(squares / max(n, 1))
    best = 2 + int(np.argmin(values[2:]))
    # each rating moves an RMSE by e²/(2·RMSE)
    of_mine, of_best = 1 / np.maximum(2 * values[[1, best]], 1e-300)
    moved = float(
        fourths[1] * of_mine**2
        + fourths[best] * of_best**2
        - 2 * products[best] * of_mine * of_best
    )
    pulled = float(squares[1] * of_mine - squares[best] * of_best)
    return Errors(
        held_out=n,
        train_rmse=math.sqrt(max(train_squares, 0.0) / max(trained, 1.0)),
        test_rmse=float(values[0]),
        test_half_width=half_width(squares[0], fourths[0], n) / max(2 * values[0], 1e-300),
        test_rmse_clipped=float(values[1]),
        test_half_width_clipped=half_width(squares[1], fourths[1], n) / max(2 * values[1], 1e-300),
        baselines=dict(zip(BASELINES, map(float, values[2:]), strict=True)),
        against=BASELINES[best - 2],
        apart=float(values[1] - values[best]),
        apart_half_width=half_width(pulled, moved, n),
    )


_MODELS = 2 + len(BASELINES)  # the model as it is and clipped, and the baselines clipped


def half_width(total: float, squares: float, n: int) -> float:
    """1.96 standard errors of a mean of n numbers, from Σ x and Σ x²."""
    if n < 2:
        return math.inf
    return 1.96 * math.sqrt(max(squares - total**2 / n, 0.0) / (n - 1) / n)


def _over(sums: FloatArray, counts: FloatArray, default: float) -> FloatArray:
    return np.where(counts > 0, sums / np.maximum(counts, 1.0), default)


def _sums(group: PartitionGroup) -> FloatArray:
    """Each item's sum and number of training ratings (2×n_items)."""
    ratings = group.ratings
    ones = np.ones(len(ratings))
    return np.stack(
        [totals(ratings.items, values, ratings.n_items) for values in (ratings.values, ones)]
    )


def _user_means(ratings: Ratings, mean: float) -> FloatArray:
    sums = totals(ratings.users, ratings.values, ratings.n_users)
    counts = np.bincount(ratings.users, minlength=ratings.n_users)
    return _over(sums, counts.astype(np.float64), mean)


def _left_of_user_means(group: PartitionGroup, mean: float) -> FloatArray:
    ratings = group.ratings
    left = ratings.values - _user_means(ratings, mean)[ratings.users]
    return totals(ratings.items, left, ratings.n_items)


def _user_effects(ratings: Ratings, mean: float, of_item: FloatArray) -> FloatArray:
    left = ratings.values - mean - of_item[ratings.items]
    counts = np.bincount(ratings.users, minlength=ratings.n_users)
    return totals(ratings.users, left, ratings.n_users) / (counts + USER_SHRINKAGE)


def _left_of_fitted(group: PartitionGroup, mean: float, of_item: FloatArray | None) -> FloatArray:
    """What users' effects on the ``of_item`` effects leave of each item's ratings."""
    ratings = group.ratings
    left = ratings.values - mean
    if of_item is not None:
        left = left - _user_effects(ratings, mean, of_item)[ratings.users]
    return totals(ratings.items, left, ratings.n_items)


def _errors(group: PartitionGroup, learned: Learned, parts: ItemParts) -> FloatArray:
    """For the model, the model clipped and each baseline clipped: Σ e², Σ e⁴ and Σ e²·(clipped
    model's e²) on held-out ratings; then the training Σ e², and both numbers of ratings.
    """
    train, test = group.ratings, group.held_out
    model = learned.model(group)
    users, items = test.users, test.items
    own = _user_means(train, parts.mean)
    effects = _user_effects(train, parts.mean, parts.fitted) + parts.mean
    predictions: Sequence[FloatArray] = (
        np.full(len(test), parts.mean),
        own[users],
        parts.item_mean[items],
        own[users] + parts.effect[items],
        effects[users] + parts.fitted[items],
    )
    raw = model.predict(users, items)
    squares = [(raw - test.values) ** 2]
    squares += [(clipped(each, test) - test.values) ** 2 for each in (raw, *predictions)]
    reduced: Sequence[Callable[[FloatArray], float]] = (
        lambda e: float(e.sum()),
        lambda e: float(np.vdot(e, e)),
        lambda e: float(np.vdot(e, squares[1])),
    )
    trained = train.values - model.predict(train.users, train.items)
    rest = [float(np.vdot(trained, trained)), float(len(test)), float(len(train))]
    return np.array([reduce(e) for reduce in reduced for e in squares] + rest)
