"""The baselines that every result is held against.

Lives here: global mean, user mean, item mean, and the sum of user and item effects. They use no
factor and no noise; a private run that does not beat them has learned nothing useful.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmc_core.datasets.ratings import Ratings

FloatArray = NDArray[np.float64]

__all__ = ["BASELINES", "Baseline", "fit_baselines"]

BASELINES = ("global mean", "user mean", "item mean", "user + item")


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
    """The four predictors fitted on ``train``.

    Users or items without ratings get the global mean (effect 0).

    "user + item" is the item's mean residual after removing user means, added to the user mean.
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
    )


def _means(
    groups: NDArray[np.integer], values: FloatArray, count: int, default: float
) -> FloatArray:
    totals = np.bincount(groups, values, minlength=count)
    counts = np.bincount(groups, minlength=count)
    return np.where(counts > 0, totals / np.maximum(counts, 1), default)
