"""The baselines that every result is held against.

Provides ``fit_baselines``, and ``fit_items``, the same for users in partitions: global mean, user
mean, item mean, and the sum of user and item effects, by plain means and by regularised least
squares. They use no factor and no noise; a private run that does not beat them has learned nothing
useful.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.completion.common.population import Group, Population, Whole
from dpmc_core.datasets.ratings import Ratings

BASELINES = ("global mean", "user mean", "item mean", "user + item", "user + item, fitted")
MOST_SWEEPS, SETTLED = 30, 1e-5
# σ²/σ_b² and σ²/σ_c² where few ratings tell them, and how much that weighs beside √ratings
USUAL_SHRINKAGE, USUAL_WEIGHT = 4.0, 2.0
LEAST_SHARE = 1e-4  # of all variance, for each part of it: no division by 0


@dataclass(frozen=True, eq=False)
class Baseline:
    """Predicts ``user_part[i] + item_part[j]``."""

    name: str
    user_part: FloatArray
    item_part: FloatArray

    def predict(self, users: IntArray, items: IntArray) -> FloatArray:
        """The predictions for each pair."""
        return self.user_part[users] + self.item_part[items]


@dataclass(frozen=True, eq=False)
class ItemParts:
    """What the baselines know of items, and the ``mean`` of all training ratings: the means of
    items, the mean residual over user means, and μ + c_j of least squares, all (n_items,); its
    users' effects have the ``shrinkage``.
    """

    mean: float
    item_mean: FloatArray
    effect: FloatArray
    fitted: FloatArray
    shrinkage: float

    def predictors(self, train: Ratings) -> tuple[Baseline, ...]:
        """In the order of ``BASELINES``, for the users of ``train``."""
        no_user, no_item = np.zeros(train.n_users), np.zeros(train.n_items)
        user_mean = _user_means(train, self.mean)
        parts = (
            (no_user + self.mean, no_item),
            (user_mean, no_item),
            (no_user, self.item_mean),
            (user_mean, self.effect),
            (_user_effects(train, self.fitted, self.shrinkage), self.fitted),
        )
        return tuple(Baseline(name, *both) for name, both in zip(BASELINES, parts, strict=True))


def fit_baselines(train: Ratings) -> tuple[Baseline, ...]:
    """The predictors fitted on ``train``.

    Users or items without ratings get the global mean (effect 0).

    "user + item" is the item's mean residual after removing user means, added to the user mean.
    "user + item, fitted" is μ + b_i + c_j with Σ(r − μ − b_i − c_j)² + λ·Σb² + κ·Σc² least, the
    strongest of them as a rule (Koren 2010, "Factor in the neighbors", eq. 2, with μ fitted and λ
    and κ of ``_shrinkages``).
    """
    return fit_items(Whole(train, as_given=True)).predictors(train)


def fit_items(people: Population) -> ItemParts:
    """Two passes over the users, then one for each sweep of fitted effects."""
    total, n_items, width = people.total, people.n_items, max(people.width, 1e-300)
    sums, counts = total(_sums)
    n = max(float(counts.sum()), 1.0)
    mean = float(sums.sum() / n)
    item_mean = _over(sums, counts, mean)
    left = total(_left_of_user_means, mean, width)
    effect = _over(left[:n_items], counts, 0.0)
    squares, of_users = left[n_items], left[n_items + 1 :]
    of_items = _spread((item_mean - mean) / width, counts)
    shrinkage, of_item = _shrinkages(n, squares, of_users, of_items)
    share = of_item / (counts + of_item)
    fitted = item_mean
    for _ in range(MOST_SWEEPS):
        before = fitted
        left = total(_left_of_effects, before, shrinkage)
        level = np.vdot(left[:-1], share) / max(np.vdot(counts, share), 1e-300)
        # both best for users' effects as they are; their mean, 0 in the end, moves to μ at once
        fitted = (
            level
            + left[-1] / max(of_users[0], 1.0)
            + (left[:-1] - counts * level) / (counts + of_item)
        )
        if np.abs(fitted - before).max() <= SETTLED * width:
            break
    return ItemParts(mean, item_mean, effect, fitted, shrinkage)


def _shrinkages(
    n: float, squares: float, of_users: FloatArray, of_items: FloatArray
) -> tuple[float, float]:
    """σ²/σ_b² and σ²/σ_c², with which least squares predicts best where effects of users, of items
    and residuals are independent with variances σ_b², σ_c² and σ².

    With y = rating − mean, n ratings by a users, n_i each, and of b items, n_j each, no pair twice,
    squares within users are (n − a)(σ_c² + σ²) on average, those within items (n − b)(σ_b² + σ²),
    and Σ y² is (n − Σ n_i²/n)·σ_b² + (n − Σ n_j²/n)·σ_c² + (n − 1)·σ² (Henderson 1953, "Estimation
    of variance and covariance components", method 1). From Σ y² and each side's ``_spread`` by
    non-negative least squares; an equation of k squares is weighted by 1/√k. Two more equations
    draw both ratios to the usual one, and decide where ratings are few.
    """
    (users, of_means, user_squares), (items, of_item_means, item_squares) = of_users, of_items
    equations = np.array(
        [
            [0, n - users, n - users, squares - of_means],
            [n - items, 0, n - items, squares - of_item_means],
            [n - user_squares / n, n - item_squares / n, n - 1, squares],
            [-USUAL_SHRINKAGE, 0, 1, 0],
            [0, -USUAL_SHRINKAGE, 1, 0],
        ]
    )
    equations[:3] /= np.sqrt(np.maximum([[n - users], [n - items], [n]], 1))
    equations[3:] *= USUAL_WEIGHT
    variances, _ = nnls(equations[:, :3], equations[:, 3])
    of_user, of_item, residual = np.maximum(variances, max(LEAST_SHARE * variances.sum(), 1e-300))
    return float(residual / of_user), float(residual / of_item)


def _sums(group: Group) -> FloatArray:
    """Each item's sum and number of training ratings (2×n_items)."""
    ratings = group.ratings
    return np.stack([ratings.by_item(ratings.values), ratings.per_item])


def _left_of_user_means(group: Group, mean: float, width: float) -> FloatArray:
    """What users' means leave of each item's ratings; then, of (rating − mean)/width, the sum of
    squares and users' ``_spread`` (n_items + 4).
    """
    ratings = group.ratings
    means = _user_means(ratings, mean)
    left = ratings.by_item(ratings.values - means[ratings.users])
    y = (ratings.values - mean) / width
    return np.concatenate(
        [left, [np.vdot(y, y)], _spread((means - mean) / width, ratings.per_user)]
    )


def _left_of_effects(group: Group, of_item: FloatArray, shrinkage: float) -> FloatArray:
    """What users' effects beside ``of_item`` leave of each item's ratings, and the sum of these
    effects (n_items + 1).
    """
    ratings = group.ratings
    effects = _user_effects(ratings, of_item, shrinkage)
    left = ratings.by_item(ratings.values - effects[ratings.users])
    return np.append(left, effects.sum())


def _spread(means: FloatArray, counts: NDArray[Any]) -> FloatArray:
    """How many groups have ratings, Σ n·mean² and Σ n² (3,); adds up over parts of the groups."""
    return np.array([np.sum(counts > 0), np.vdot(counts, means**2), np.vdot(counts, counts)])


def _user_means(ratings: Ratings, mean: float) -> FloatArray:
    return _over(ratings.by_user(ratings.values), ratings.per_user, mean)


def _user_effects(ratings: Ratings, of_item: FloatArray, shrinkage: float) -> FloatArray:
    left = ratings.values - of_item[ratings.items]
    return ratings.by_user(left) / (ratings.per_user + shrinkage)


def _over(sums: FloatArray, counts: NDArray[Any], default: float) -> FloatArray:
    return np.where(counts > 0, sums / np.maximum(counts, 1.0), default)
