"""How a model does on held-out ratings of users in partitions, beside the usual baselines.

Provides ``measured``: the same numbers as ``experiments.tasks.rate`` gives in memory. They are
exact, and covered by no ε: they describe data that one holds.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.baselines import BASELINES, ItemParts
from dpmc_core.completion.common.population import Learned
from dpmc_core.metrics.ratings import clipped
from dpmc_core.partitioned.partition import PartitionGroup
from dpmc_core.partitioned.population import Partitions


@dataclass(frozen=True, kw_only=True)
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


def measured(people: Partitions, learned: Learned, parts: ItemParts) -> Errors:
    """One pass with the model that every user completes alone."""
    sums = people.total(_errors, learned, parts)
    squares, fourths, products = sums[:-3].reshape(-1, 3).T
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


def half_width(total: float, squares: float, n: int) -> float:
    """1.96 standard errors of a mean of n numbers, from Σ x and Σ x²."""
    if n < 2:
        return math.inf
    return 1.96 * math.sqrt(max(squares - total**2 / n, 0.0) / (n - 1) / n)


def _errors(group: PartitionGroup, learned: Learned, parts: ItemParts) -> FloatArray:
    """For each of the model, the model clipped and the baselines clipped: Σ e², Σ e⁴ and Σ
    e²·(clipped model's e²) on held-out ratings; then the training Σ e², and both numbers of
    ratings.
    """
    train, test = group.ratings, group.held_out
    model = learned.model(group)
    users, items = test.users, test.items
    predictions = [each.predict(users, items) for each in parts.predictors(train)]
    raw = model.predict(users, items)
    squares = [(raw - test.values) ** 2]
    squares += [(clipped(each, test) - test.values) ** 2 for each in (raw, *predictions)]
    sums = [(e.sum(), np.vdot(e, e), np.vdot(e, squares[1])) for e in squares]
    trained = train.values - model.predict(train.users, train.items)
    return np.array([*np.ravel(sums), np.vdot(trained, trained), len(test), len(train)])
