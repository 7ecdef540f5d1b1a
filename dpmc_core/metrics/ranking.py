"""How many of the items that somebody will like are among those recommended.

Recall@k over held-out users.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.ratings import Ratings

RECALL_AT = 20  # k, as the papers report it
_USERS_AT_ONCE = 256
Scores = Callable[[NDArray[np.integer]], FloatArray]


def recall_by_user(
    scores_of: Scores, query: Ratings, target: Ratings, k: int = RECALL_AT
) -> FloatArray:
    """|best k ∩ target| / min(k, |target|) of each user with a ``target``, in the order of their
    numbers (dpals-paper D.1).

    ``scores_of`` gives the scores of some users for all items (len(users)×n_items). The best k are
    the items of highest score that are not in the user's ``query``; equal scores are put in an
    order that has nothing to do with the data.
    """
    n_items = query.n_items
    shuffled = np.random.default_rng(0).permutation(n_items)
    place = np.empty(n_items, dtype=np.intp)
    place[shuffled] = np.arange(n_items)
    counts = np.bincount(target.users, minlength=target.n_users)
    users = np.flatnonzero(counts)
    known, wanted = (_by_user(part) for part in (query, target))
    out = np.empty(users.size)
    for start in range(0, users.size, _USERS_AT_ONCE):
        block = users[start : start + _USERS_AT_ONCE]
        scores = scores_of(block)[:, shuffled]
        hit = np.zeros(scores.shape, dtype=bool)
        for row, user in enumerate(block):
            scores[row, place[known[user]]] = -np.inf
            hit[row, place[wanted[user]]] = True
        best = np.argpartition(-scores, min(k, n_items) - 1, axis=1)[:, :k]
        found = np.take_along_axis(hit & np.isfinite(scores), best, axis=1).sum(axis=1)
        out[start : start + block.size] = found / np.minimum(k, counts[block])
    return out


def recall_by_chance(query: Ratings, target: Ratings, k: int = RECALL_AT) -> FloatArray:
    """The expected ``recall_by_user`` of k items drawn evenly from those not in the user's
    ``query``: k of n − |query| items, so each target is among them with probability min(1, k/(n −
    |query|)).
    """
    wanted = np.bincount(target.users, minlength=target.n_users)
    users = np.flatnonzero(wanted)
    left = query.n_items - np.bincount(query.users, minlength=query.n_users)[users]
    return np.asarray(np.minimum(1.0, k / left) * wanted[users] / np.minimum(k, wanted[users]))


def _by_user(ratings: Ratings) -> list[NDArray[np.integer]]:
    order = np.argsort(ratings.users, kind="stable")
    edges = np.searchsorted(ratings.users[order], np.arange(ratings.n_users + 1))
    items = ratings.items[order]
    return [items[edges[user] : edges[user + 1]] for user in range(ratings.n_users)]
