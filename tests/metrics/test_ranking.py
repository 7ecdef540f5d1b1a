"""Recall@k against a slow count, and its edges."""

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


@pytest.mark.parametrize("k", [1, 3, 20])
def test_recall_is_what_the_paper_defines(k: int) -> None:
    rng = np.random.default_rng(k)
    scores = rng.standard_normal((600, 15))
    query = {(u, int(j)) for u in range(600) for j in rng.permutation(15)[:3]}
    target = {(u, int(j)) for u in range(0, 600, 2) for j in rng.permutation(15)[:6]} - query
    slow = []
    for user in sorted({u for u, _ in target}):
        shown, wanted = ({j for u, j in pairs if u == user} for pairs in (query, target))
        best = sorted(set(range(15)) - shown, key=lambda j: -scores[user, j])[:k]
        slow.append(len(wanted & set(best)) / min(k, len(wanted)))
    parts = listed(sorted(query), 600, 15), listed(sorted(target), 600, 15)
    assert np.allclose(recall_by_user(lambda users: scores[users].copy(), *parts, k), slow)
    several = recalls_by_user(lambda users: scores[users].copy(), *parts, (2, k, 40))
    assert np.array_equal(several[1], recall_by_user(lambda users: scores[users], *parts, k))
    assert (several[2] == 1).all()  # a list of all items leaves nothing out
    assert half_width(np.array(slow)) == pytest.approx(
        1.96 * np.std(slow, ddof=1) / math.sqrt(len(slow))
    )


def test_what_is_known_is_never_recommended_and_ties_know_nothing() -> None:
    query, target = listed([(0, 0), (0, 1)], 1, 4), listed([(0, 2)], 1, 4)
    for third, k, recall in ((1.0, 1, 1.0), (0.0, 1, 0.0), (0.0, 4, 1.0)):
        scores = np.array([[9.0, 8.0, third, 1 - third]])
        recalls = recall_by_user(lambda users, scores=scores: scores, query, target, k)
        assert recalls.tolist() == [recall]
    # all scores equal: as good as chance, whatever the items' numbers
    rng = np.random.default_rng(0)
    wanted = listed([(u, int(j)) for u, j in enumerate(rng.integers(0, 50, 2000))], 2000, 50)
    nothing = wanted.take(np.zeros(2000, dtype=bool))
    mean = recall_by_user(lambda users: np.zeros((len(users), 50)), nothing, wanted, 10).mean()
    assert abs(mean - 0.2) < 5 * math.sqrt(0.2 * 0.8 / 2000)
    assert math.isnan(half_width(np.array([0.5])))


def test_lists_are_as_good_and_as_alike_as_a_slow_count_says() -> None:
    rng = np.random.default_rng(5)
    scores, rated = rng.standard_normal((300, 25)), rng.integers(1, 90, 25)
    query = {(u, int(j)) for u in range(300) for j in rng.permutation(25)[:3]}
    target = {(u, int(j)) for u in range(0, 300, 2) for j in rng.permutation(25)[:4]} - query
    parts = listed(sorted(query), 300, 25), listed(sorted(target), 300, 25)
    popular = set(sorted(range(25), key=lambda j: -rated[j])[:3])
    gains, times, taken = [], dict.fromkeys(range(25), 0), 0
    for user in sorted({u for u, _ in target}):
        shown, wanted = ({j for u, j in pairs if u == user} for pairs in (query, target))
        best = sorted(set(range(25)) - shown, key=lambda j: -scores[user, j])[:5]
        ideal = sum(1 / math.log2(k + 2) for k in range(min(5, len(wanted))))
        gains.append(sum(1 / math.log2(k + 2) for k, j in enumerate(best) if j in wanted) / ideal)
        for j in best:
            times[j], taken = times[j] + 1, taken + (j in popular)
    quality = list_quality(lambda users: scores[users].copy(), *parts, rated, 5)
    apart = np.abs(np.subtract.outer(list(times.values()), list(times.values()))).mean()
    assert quality.ndcg == pytest.approx(np.mean(gains), abs=1e-12)
    assert quality.half_width == pytest.approx(half_width(np.array(gains)), abs=1e-12)
    assert quality.coverage == np.mean([count > 0 for count in times.values()])
    assert quality.gini == pytest.approx(apart / (2 * np.mean(list(times.values()))), abs=1e-12)
    assert quality.popular == taken / sum(times.values())
    lists, hits = best_lists(lambda users: scores[users].copy(), *parts, 40)
    assert lists.shape == hits.shape == (len(gains), 25)
    assert (lists == -1).sum() == 3 * len(gains)  # those that were shown
    assert not hits[lists == -1].any()
    same = list_quality(lambda users: np.tile(scores[0], (users.size, 1)), *parts, rated, 5)
    assert same.gini > quality.gini  # everybody is recommended nearly the same
