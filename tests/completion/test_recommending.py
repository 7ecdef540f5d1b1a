"""Recommending from likes: against independent references, and what changes with size and ε."""

import math

import numpy as np
import pytest

from dpmc_core.completion import recommending
from dpmc_core.completion.moments import WORTH_IT, MomentsConfig, _items_kept, items_worth_it
from dpmc_core.completion.private_svd import PrivateSVDConfig
from dpmc_core.completion.recommending import PopularConfig, likes_items_worth_it
from dpmc_core.datasets.ratings import Ratings, likes, user_split
from dpmc_core.datasets.synthetic.ratings import skewed
from dpmc_core.privacy import state
from dpmc_core.privacy.budget import Budget
from tests.completion.references import error, papers_dpals, solved_rows
from tests.steps import last_of, spending, steps_of


@pytest.fixture(scope="module")
def split():
    return user_split(skewed(300, 40, 4_000, seed=3), 0.2, 0)


def dense(ratings: Ratings) -> np.ndarray:
    table = np.zeros((ratings.n_users, ratings.n_items))
    table[ratings.users, ratings.items] = ratings.values
    return table


def rows_of_length_one(table: np.ndarray) -> np.ndarray:
    return table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)


def test_without_noise_the_model_is_the_plain_calculation(split) -> None:
    """Weights, second moment, eigenvectors and every user's ridge system, written out with dense
    matrices.
    """
    last = last_of(MomentsConfig(rank=4), split.train, 0, 1, split.query, task="recommend")
    train, served = dense(split.train), dense(split.train) + dense(split.query)
    popularity = rows_of_length_one(train).sum(axis=0)
    weights = train * np.maximum(popularity, 1e-2) ** -0.35
    weights = rows_of_length_one(weights)
    moment, apart = weights.T @ weights, ~np.eye(40, dtype=bool)
    part, strength, edge = np.zeros((40, 40)), {}, 0.0
    for _ in range(4):  # the diagonal is not released: that of the part so far stands there
        values, vectors = np.linalg.eigh(np.where(apart, moment, part))
        strength = {
            k: np.sign(values[k]) * np.sqrt(values[k] ** 2 - edge**2)
            for k in (39, 38, 37, 36, 0)
            if abs(values[k]) > edge
        }
        part = sum(s * np.outer(vectors[:, k], vectors[:, k]) for k, s in strength.items())
        rows = np.sum(np.where(apart, moment - part, 0) ** 2, axis=1)
        tail = np.log(40) / 40
        edge = 2 * np.sqrt(max(rows.mean(), rows.max() / (1 + 2 * np.sqrt(tail) + 2 * tail)))
    retained = [k for k, s in strength.items() if s > 0]
    assert len(retained) == last.model.item_factors.shape[1] - 1 > 0
    factors = np.stack(
        [vectors[:, k] * np.sqrt(strength[k] / strength[39] * 40) for k in retained], 1
    )
    shared = 0.3 * factors.T @ factors + np.eye(len(retained))
    users = solved_rows(
        *np.nonzero(served), np.ones(np.count_nonzero(served)), factors, shared, 300
    )
    scores = users @ factors.T + 0.1 * popularity / popularity.max()
    assert np.allclose(last.model.block(np.arange(300)), scores, atol=1e-9)
    (step,) = steps_of(PopularConfig(), split.train)
    assert np.allclose(step.model.block(np.array([7]))[0], 0.1 * popularity / popularity.max())
    assert last.releases == step.releases == ()


def test_visitors_change_nothing_that_is_released(split) -> None:
    """The same run with and without them draws and releases the same, and gives everybody else the
    same vectors.
    """
    budget = Budget(epsilon=3.0)
    dpals = papers_dpals(rank=3, reg=1.0, global_penalty=0.3, budget=budget)
    others = np.setdiff1d(split.train.users, split.query.users)
    for config in (dpals, MomentsConfig(budget=budget)):
        first, second = (
            last_of(config, split.train, 1, 1, visitors, task="recommend").model
            for visitors in (split.query, None)
        )
        assert np.allclose(first.item_factors, second.item_factors, rtol=0, atol=1e-9)
        assert np.allclose(first.user_factors[others], second.user_factors[others], atol=1e-12)


def test_an_item_without_factors_scores_nothing(split) -> None:
    config = papers_dpals(rank=2, item_share=0.25, private=False)
    last = last_of(config, split.train, 0, 1, None, task="recommend")
    largest = np.abs(last.model.block(np.arange(300))).max(axis=0)
    assert np.count_nonzero(largest > 0) == 10
    assert np.allclose(np.sort(largest)[:30], 0, atol=1e-12)


def test_all_items_take_part_where_few_are_rated_by_many() -> None:
    # each of 100 items rated by half of 20,000, weights 1/√50: p² /n is half of n/100
    popularity = np.full(100, 20_000 * 0.5 / math.sqrt(50))
    assert _items_kept(popularity, 20_000, 0.05, 100) == 100
    # a tenth of the sensitivity: 8 items by their number, all by their weight
    assert _items_kept(popularity, 20_000, 0.01, 100) == 100
    assert _items_kept(popularity, 20_000, 0.001, 100) == 10  # the fewest
    # p_j²/n·.02 ≥ .32 for p_j ≥ 566: up to the 21st of items rated k^−.3 as often as the first
    assert _items_kept(popularity * np.arange(1, 101) ** -0.3, 20_000, 0.02, 100) == 21
    assert _items_kept(popularity, 20_000, math.inf, 80) == 80


def test_few_items_rated_by_many_beat_private_svd() -> None:
    """A hundred items of like popularity, half of the cells rated: what is noise to others' zeros
    is signal here, and the diagonal that nobody releases counts.
    """
    ratings = skewed(4_000, 100, 200_000, popularity=0.0, seed=3)
    held = np.random.default_rng(0).random(len(ratings)) < 0.2
    train, test = ratings.take(~held), ratings.take(held)
    for epsilon in (2.0, 20.0, None):
        budget = None if epsilon is None else Budget(epsilon=epsilon)
        by_moments, by_svd = (
            error(last_of(kind(budget=budget), train, 1).model, test)
            for kind in (MomentsConfig, PrivateSVDConfig)
        )
        assert by_moments < 0.9 * by_svd


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 5.0, 500.0])
def test_second_moments_are_left_out_where_size_and_epsilon_say_so(epsilon: float) -> None:
    """The decision is the plan's.

    Two tables of one shape get the same, and either way the whole budget is spent.
    """
    config = MomentsConfig(budget=Budget(epsilon=epsilon))
    tables = [skewed(400, 60, 4_000 + 1_000 * seed, seed=seed) for seed in (0, 1)]
    of_likes = likes_items_worth_it, recommending.WORTH_IT
    for task, worth, least, data in (
        ("rate", items_worth_it, WORTH_IT, tables),
        ("recommend", *of_likes, list(map(likes, tables))),
    ):
        ledgers = [
            spending(steps_of(config, table, seed, 1, task=task))[1]
            for seed, table in enumerate(data)
        ]
        # nothing but the size and ε decides: the other table, with other ratings, gets the very
        # same releases
        assert set(ledgers[0].releases) == set(ledgers[1].releases)
        planned = " ".join(release.what for release in ledgers[0].releases)
        both = "together" in planned
        assert ("how many users there are" in planned) == both  # what nothing reads is not released
        for table in data:
            assert both == (worth(table, config) >= least)
        assert epsilon * 0.999 < state(ledgers[0], 1e-5).epsilon <= epsilon
    assert items_worth_it(tables[0], MomentsConfig()) == np.inf


def test_which_users_are_held_out_changes_no_plan() -> None:
    """One held-out user fewer, at the edge where second moments begin to pay."""
    liked = likes(skewed(600, 40, 6_000, seed=2))
    visiting = liked.users % 5 == 0
    train, visitors = liked.take(~visiting), liked.take(visiting)
    fewer = visitors.take(visitors.users != visitors.users[0])
    for epsilon in np.geomspace(0.5, 20, 25):
        config = MomentsConfig(budget=Budget(epsilon=float(epsilon)))
        first, second = (
            next(steps_of(config, train, 0, 1, served, task="recommend"))
            for served in (visitors, fewer)
        )
        assert (first.releases, first.rest) == (second.releases, second.rest)
