"""Recommended lists against a slow count."""

import math

import numpy as np
import pytest

from dpmc_core.datasets.ratings import Ratings
from dpmc_core.metrics import half_width, list_quality, recall_by_user, recalls_by_user
from dpmc_core.metrics.ratings import best_lists


def listed(pairs: list[tuple[int, int]], n_users: int, n_items: int) -> Ratings:
    users, items = np.array(pairs).T
    return Ratings.checked(
        users, items, np.ones(len(pairs)), n_users=n_users, n_items=n_items, low=-1, high=1
    )


def test_lists_are_as_good_and_as_alike_as_a_slow_count_says() -> None:
    rng = np.random.default_rng(5)
    scores, rated = rng.standard_normal((600, 25)), rng.integers(1, 90, 25)
    query = {(u, int(j)) for u in range(600) for j in rng.permutation(25)[:3]}
    target = {(u, int(j)) for u in range(0, 600, 2) for j in rng.permutation(25)[:6]} - query
    parts = listed(sorted(query), 600, 25), listed(sorted(target), 600, 25)
    best, wanted = [], []
    for user in sorted({u for u, _ in target}):
        shown, own = ({j for u, j in pairs if u == user} for pairs in (query, target))
        best.append(sorted(set(range(25)) - shown, key=lambda j: -scores[user, j]))
        wanted.append(own)
    users = list(zip(best, wanted, strict=True))
    several = (1, 3, 20, 40)
    of_each = recalls_by_user(scores.__getitem__, *parts, several)
    for k, recalls in zip(several, of_each, strict=True):
        slow = [len(own & set(items[:k])) / min(k, len(own)) for items, own in users]
        np.testing.assert_allclose(recalls, slow)
        np.testing.assert_array_equal(recall_by_user(scores.__getitem__, *parts, k), recalls)
    lists, hits = best_lists(scores.__getitem__, *parts, 40)
    assert lists.tolist() == [[*items, -1, -1, -1] for items in best]  # those that were shown
    assert hits.tolist() == [[*(j in own for j in items), *[False] * 3] for items, own in users]
    quality, gains = list_quality(scores.__getitem__, *parts, rated, 5), 1 / np.log2(range(2, 7))
    ndcg = [gains @ [j in own for j in items[:5]] / gains[: len(own)].sum() for items, own in users]
    assert quality.ndcg == pytest.approx(np.mean(ndcg), abs=1e-12)
    assert quality.half_width == pytest.approx(
        1.96 * np.std(ndcg, ddof=1) / math.sqrt(len(ndcg)), abs=1e-12
    )
    taken = np.array([items[:5] for items in best])
    times = np.bincount(taken.ravel(), minlength=25)
    apart = np.abs(np.subtract.outer(times, times)).mean()
    assert quality.coverage == np.mean(times > 0)
    assert quality.gini == pytest.approx(apart / (2 * times.mean()), abs=1e-12)
    assert quality.popular == np.isin(taken, np.argsort(-rated, kind="stable")[:3]).mean()


def test_equal_scores_know_nothing() -> None:
    """They are as good as chance, whatever the items' numbers."""
    rng = np.random.default_rng(0)
    wanted = listed([(u, int(j)) for u, j in enumerate(rng.integers(0, 50, 2000))], 2000, 50)
    nothing = wanted.take(np.zeros(2000, dtype=bool))
    mean = recall_by_user(lambda users: np.zeros((len(users), 50)), nothing, wanted, 10).mean()
    assert abs(mean - 0.2) < 5 * math.sqrt(0.2 * 0.8 / 2000)
    assert math.isnan(half_width(np.array([0.5])))
