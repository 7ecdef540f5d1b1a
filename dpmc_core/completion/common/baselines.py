"""The baselines that every result is held against.

Lives here: global mean, user mean, item mean, and the sum of user and item effects, by plain means
and by regularised least squares. They use no factor and no noise; a private run that does not beat
them has learned nothing useful.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmc_core.datasets.ratings import Ratings

FloatArray = NDArray[np.float64]

__all__ = [
    "BASELINES",
    "ITEM_SHRINKAGE",
    "MOST_SWEEPS",
    "SETTLED",
    "USER_SHRINKAGE",
    "Baseline",
    "fit_baselines",
]

BASELINES = ("global mean", "user mean", "item mean", "user + item", "user + item, fitted")
# shrinkage of user and item effects, in ratings: the defaults of the library Surprise (Hug 2020,
# after Koren 2010), chosen on no data here
USER_SHRINKAGE, ITEM_SHRINKAGE = 15.0, 10.0
MOST_SWEEPS, SETTLED = 30, 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """Predicts ``user_part[i] + item_part[j]``."""

    name: str
    user_part: FloatArray
    item_part: FloatArray

    def predict(self, users: NDArray[np.integer], items: NDArray[np.integer]) -> FloatArray:
        """The predictions for each pair."""
        return self.user_part[users] + self.item_part[items]


def fit_baselines(train: Ratings) -> tuple[Baseline, ...]:
    """The predictors fitted on ``train``.

    Users or items without ratings get the global mean (effect 0).

    "user + item" is the item's mean residual after removing user means, added to the user mean.
    "user + item, fitted" is μ + b_i + c_j with Σ(r − μ − b_i − c_j)² + 15·Σb² + 10·Σc² least, the
    strongest of them as a rule (Koren 2010, "Factor in the neighbors", eq. 2).
    """
    mean = float(train.values.mean())
    user_mean = _means(train.users, train.values, train.n_users, mean)
    item_mean = _means(train.items, train.values, train.n_items, mean)
    item_effect = _means(train.items, train.values - user_mean[train.users], train.n_items, 0.0)
    no_user, no_item = np.zeros(train.n_users), np.zeros(train.n_items)
    return (
        Baseline("global mean", no_user + mean, no_item),
        Baseline("user mean", user_mean, no_item),
        Baseline("item mean", no_user, item_mean),
        Baseline("user + item", user_mean, item_effect),
        _least_squares(train, mean),
    )


def _least_squares(train: Ratings, mean: float) -> Baseline:
    """User and item effects in turns until they settle; each step is exact."""
    centred = train.values - mean
    user_weight = np.bincount(train.users, minlength=train.n_users) + USER_SHRINKAGE
    item_weight = np.bincount(train.items, minlength=train.n_items) + ITEM_SHRINKAGE
    of_user, of_item = np.zeros(train.n_users), np.zeros(train.n_items)
    for _ in range(MOST_SWEEPS):
        before = of_item
        left = np.bincount(train.items, centred - of_user[train.users], minlength=train.n_items)
        of_item = left / item_weight
        left = np.bincount(train.users, centred - of_item[train.items], minlength=train.n_users)
        of_user = left / user_weight
        if np.abs(of_item - before).max() <= SETTLED * max(train.high - train.low, 1e-300):
            break
    return Baseline("user + item, fitted", of_user + mean, of_item)


def _means(
    groups: NDArray[np.integer], values: FloatArray, count: int, default: float
) -> FloatArray:
    totals = np.bincount(groups, values, minlength=count)
    counts = np.bincount(groups, minlength=count)
    return np.where(counts > 0, totals / np.maximum(counts, 1), default)
