"""Completion of ratings as a scikit-learn regressor on pairs (user, item)."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted, validate_data

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.completion import FactorModel, fit_baselines
from dpmc_core.completion.common.population import MemoryGroup
from dpmc_core.completion.moments import MomentsConfig, one_shot_moments
from dpmc_core.completion.offsets import Profile
from dpmc_core.datasets.ratings import ItemFeatures, Ratings, places_among
from dpmc_core.errors import DPMCError
from dpmc_core.estimators.comparison import Standing, Stated, generator_of, run_to_end
from dpmc_core.privacy.budget import Budget

_PAIRS = "X must have two columns of whole numbers, a user and an item in each row."
_EXACT = 2**53 - 1  # floats beyond it are not one number each


class RatingCompletion(Stated, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """One-shot moments on ratings: ``fit`` on pairs (user, item) and their ratings, ``predict`` of
    other pairs. (ε, δ)-DP for all ratings of one user, added or removed, under joint differential
    privacy: what is predicted for a user uses that user's own ratings without noise.

    ``low`` and ``high`` are the ends of the rating scale, which are public, as are all ``items``
    (numbers) and how many users there are at most, ``n_users``: without these two, those that
    happen to be there are read off the data, which no ε covers, and ``statement_`` is nominal.
    Ratings of other items are left out and ratings off the scale moved onto it, with a warning: no
    one user decides whether there is a result. ``epsilon`` None for no noise. ``random_state`` None
    draws the noise from the operating system; a seed repeats it, for teaching. Users that ``fit``
    did not see get an item's released average, or by ``predict_new_users`` what suits their own
    ratings; other items get the middle of the scale. ``item_features`` (names, table) are
    public features of the items, a row for each in rising order of their numbers.

    Fitted: ``users_`` (the numbers seen) and ``items_`` (all, or the numbers seen), in rising
    order, ``ledger_``, ``statement_``.
    """

    def __init__(
        self,
        low: float = 1.0,
        high: float = 5.0,
        *,
        epsilon: float | None = 1.0,
        delta: float = 1e-5,
        mechanism: str = "gaussian",
        rank: int = 16,
        items: Any = None,
        n_users: int | None = None,
        item_features: tuple[Any, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.low = low
        self.high = high
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.rank = rank
        self.items = items
        self.n_users = n_users
        self.item_features = item_features
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from pairs ``X`` (n×2 whole numbers) and ratings ``y`` (n,). Raises
        ``ValueError``: for other columns, a pair that is there twice, or more users than
        ``n_users``.
        """
        if not self.low < self.high:
            raise ValueError(f"low = {self.low} must be below high = {self.high}.")
        pairs, values = validate_data(self, X, y, dtype=_kind_of(X), y_numeric=True)
        pairs, values = _whole(pairs), np.asarray(values, dtype=np.float64)
        self.users_, users = np.unique(pairs[:, 0], return_inverse=True)
        if self.n_users is not None and len(self.users_) > self.n_users:
            raise ValueError(f"X has more users than n_users = {self.n_users}.")
        seen = pairs[:, 1] if self.items is None else _numbers(self.items, "items")
        self.items_ = np.unique(seen)
        items = places_among(pairs[:, 1], self.items_)
        listed = items >= 0
        inside = np.clip(values, self.low, self.high)
        if (inside != values).any() or not listed.all():
            # what the ratings are is not told: who asks may not be who may know
            opening = "Of X, items that are not among items are left out; y is moved between "
            warnings.warn(f"{opening}low = {self.low:g} and high = {self.high:g}.", stacklevel=2)
        try:
            budget, use = None, "none"
            if self.epsilon is not None:
                budget = Budget(epsilon=self.epsilon, delta=self.delta, family=self.mechanism)
            ratings = Ratings.checked(
                users[listed],
                items[listed],
                inside[listed],
                n_users=self.n_users or len(self.users_),
                n_items=None if self.items is None else len(self.items_),
                low=self.low,
                high=self.high,
            )
            if self.item_features is not None:
                names, table = self.item_features
                features = ItemFeatures.checked(names, table, ratings.n_items)
                ratings, use = replace(ratings, item_features=features), "shrink"
            config = MomentsConfig(rank=self.rank, item_features=use, budget=budget)
            rng = generator_of(self.random_state, private=budget is not None)
            step, ledger = run_to_end(one_shot_moments(ratings, config, rng))
        except DPMCError as error:
            raise ValueError(str(error)) from None
        self.model_, self.ledger_ = step.model, ledger
        self.released_ = Profile(**step.released)
        facts = dict(ratings.public)
        if self.n_users is None:
            facts["number of users"] = ""
        if ratings.item_features is not None:
            facts |= ratings.item_features.fact
        self._stated = (self.delta, self.random_state is None, facts)
        return self

    def predict(self, X: ArrayLike) -> FloatArray:
        """Ratings (n,) of pairs ``X`` (n×2), within the scale."""
        check_is_fitted(self)
        pairs = _whole(validate_data(self, X, reset=False, dtype=_kind_of(X)))
        return self._predicted(self.model_, places_among(pairs[:, 0], self.users_), pairs[:, 1])

    def predict_new_users(self, X: ArrayLike, X_rated: ArrayLike, y_rated: ArrayLike) -> FloatArray:
        """Ratings (n,) of pairs ``X`` (n×2) whose users took no part in ``fit``: each is fitted
        alone, to what was released and their own ratings ``y_rated`` (m,) of ``X_rated`` (m×2).

        It spends no ε of anybody in ``fit``. Ratings of items that ``fit`` did not see are left
        out. Raises ``ValueError`` where none is left, or a pair is rated twice.
        """
        check_is_fitted(self)
        pairs, rated = _whole(X), _whole(X_rated)
        ids, users = np.unique(rated[:, 0], return_inverse=True)
        items = places_among(rated[:, 1], self.items_)
        values = np.clip(np.asarray(y_rated, dtype=np.float64), self.low, self.high)
        seen = items >= 0
        new = Ratings.checked(
            users[seen],
            items[seen],
            values[seen],
            n_users=len(ids),
            n_items=len(self.items_),
            low=self.low,
            high=self.high,
        )
        model = self.released_.model(MemoryGroup(new))
        return self._predicted(model, places_among(pairs[:, 0], ids), pairs[:, 1])

    def _predicted(self, model: FactorModel, users: IntArray, ids: IntArray) -> FloatArray:
        """Ratings of pairs of ``users`` of the ``model`` (−1: none of them) and items' ``ids``."""
        items = places_among(ids, self.items_)
        predicted = np.where(items < 0, (self.low + self.high) / 2, self.released_.base[items])
        seen = (users >= 0) & (items >= 0)
        predicted[seen] = model.predict(users[seen], items[seen])
        return np.clip(predicted, self.low, self.high)

    def compare(self, X: ArrayLike, y: ArrayLike) -> Standing:
        """How well these settings predict a fifth of the ratings ``y`` of ``X``, drawn at random,
        from the others, beside baselines of those others. A model of its own is fitted, without
        noise in the baselines and errors: for who holds the ratings.
        """
        pairs, values = _whole(X), np.asarray(y, dtype=np.float64)
        rest, out = train_test_split(np.arange(len(values)), test_size=0.2, random_state=0)
        model = clone(self).fit(pairs[rest], values[rest])
        users, items = (np.unique(column, return_inverse=True)[1] for column in pairs.T)
        ratings = Ratings.checked(users, items, values, low=self.low, high=self.high)
        beside = {
            one.name: (
                np.clip(one.predict(users[out], items[out]), self.low, self.high) - values[out]
            )
            ** 2
            for one in fit_baselines(ratings.take(rest))
        }
        return Standing.of((model.predict(pairs[out]) - values[out]) ** 2, beside)


def _kind_of(X: Any) -> Any:
    """What pairs are read as: whole numbers stay what they are, for two users must not become one
    by being rounded.
    """
    return np.int64 if np.asarray(X).dtype.kind == "i" else np.float64


def _whole(given: Any) -> IntArray:
    pairs = np.asarray(given)
    if pairs.shape[1] != 2:
        raise ValueError(_PAIRS)
    return _numbers(pairs, "X")


def _numbers(given: Any, name: str) -> IntArray:
    numbers = np.asarray(given)
    if numbers.size == 0:
        raise ValueError(f"{name} is empty.")
    if numbers.dtype.kind in "iu" and (numbers.dtype.kind == "i" or numbers.max() < 2**63):
        return numbers.astype(np.int64)
    if numbers.dtype.kind != "f" or not np.array_equal(numbers, np.floor(numbers)):
        raise ValueError(_PAIRS if name == "X" else f"{name} must be whole numbers.")
    if np.abs(numbers).max() > _EXACT:
        raise ValueError(f"{name} has numbers beyond 2^53 as floats: give whole numbers (int64).")
    return numbers.astype(np.int64)
