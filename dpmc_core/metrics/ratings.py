"""How good predicted ratings and recommended items are.

RMSE on listed ratings and on the whole ground-truth matrix, and a user's best items; and how many
of the items that somebody will like are among those recommended: Recall@k over held-out users.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpmc_core.arrays import BoolArray, FloatArray, IntArray, pieces
from dpmc_core.datasets.ratings import Ratings, Truth
from dpmc_core.metrics.intervals import Comparison, half_width

_CLIPPED_CELLS = 40_000_000  # above this many cells the clipped whole-matrix error is not computed


def rmse(predicted: FloatArray, actual: FloatArray) -> float:
    """√ mean (predicted − actual)², in rating units."""
    error = predicted - actual
    return float(np.sqrt(np.vdot(error, error) / error.size))


def rmse_half_width(squares: FloatArray) -> float:
    """Half of the 95 % interval of an RMSE over the choice of ratings, whose squared errors are
    given (n,): each rating moves it by e²/(2·RMSE), by the delta method.
    """
    mean = float(squares.mean())
    if squares.size < 2 or mean == 0:
        return 0.0
    return half_width(squares) / (2 * math.sqrt(mean))


def compared_rmse(squares: FloatArray, others: FloatArray) -> Comparison:
    """One RMSE minus another, of the squared errors (n,) of both on the same ratings; its interval
    over the choice of these, by the delta method.
    """
    one, other = (math.sqrt(float(each.mean())) for each in (squares, others))
    pulls = squares / max(2 * one, 1e-300) - others / max(2 * other, 1e-300)
    return replace(Comparison.of_rows(pulls), mean=one - other)


def clipped(predicted: FloatArray, ratings: Ratings) -> FloatArray:
    """Predictions moved to the nearest end of the rating scale where they leave it."""
    return np.clip(predicted, ratings.low, ratings.high)


def truth_rmse(left: FloatArray, right: FloatArray, truth: Truth) -> float:
    """√(‖UVᵀ − M‖²/mn) over the whole matrix, the papers' metric for synthetic data (huber-paper
    section 4).

    ‖UVᵀ − M‖ = ‖[U, −L][V, R]ᵀ‖ equals the norm of the product of the two triangular QR factors, so
    the m×n matrix is never formed and nothing cancels.
    """
    a, b = (
        np.asarray(np.linalg.qr(np.hstack(sides), mode="r"))
        for sides in ([left, -truth.left], [right, truth.right])
    )
    return float(np.linalg.norm(a @ b.T) / np.sqrt(left.shape[0] * right.shape[0]))


def truth_rmse_clipped(
    left: FloatArray, right: FloatArray, truth: Truth, low: float, high: float
) -> float | None:
    """The same with predictions clipped to the scale; None for matrices above 40 million cells."""
    if left.shape[0] * right.shape[0] > _CLIPPED_CELLS:
        return None
    total = 0.0
    for rows in pieces(left.shape[0], 512):
        error = np.clip(left[rows] @ right.T, low, high) - truth.left[rows] @ truth.right.T
        total += float(np.vdot(error, error))
    return float(np.sqrt(total / (left.shape[0] * right.shape[0])))


def top_items(scores: FloatArray, exclude: IntArray, count: int = 10) -> IntArray:
    """The ``count`` items of highest score (n_items,), best first, without those in ``exclude``.

    Ties by item number.
    """
    usable = scores.copy()
    usable[exclude] = -np.inf
    count = min(count, scores.size)
    near = np.flatnonzero(usable >= np.partition(usable, -count)[-count])  # ties included
    order = near[np.argsort(-usable[near], kind="stable")][:count]
    return order[np.isfinite(usable[order])]


RECALL_AT = 20  # k, as the papers report it
RECALLS_AT = (5, 10, RECALL_AT, 50, 100)  # k of the tables
_USERS_AT_ONCE = 256
Scores = Callable[[IntArray], FloatArray]


def recall_by_user(
    scores_of: Scores, query: Ratings, target: Ratings, k: int = RECALL_AT
) -> FloatArray:
    """``recalls_by_user`` at one ``k`` (users,)."""
    return recalls_by_user(scores_of, query, target, (k,))[0]


def recalls_by_user(
    scores_of: Scores, query: Ratings, target: Ratings, ks: Sequence[int]
) -> FloatArray:
    """|best k ∩ target| / min(k, |target|) at each of ``ks`` for each user with a ``target``, in
    the order of their numbers (len(ks)×users; dpals-paper section 6.1).

    ``scores_of`` and equal scores: as in ``best_lists``.
    """
    hits = best_lists(scores_of, query, target, max(ks))[1].cumsum(axis=1)
    wanted = target.per_user[target.per_user > 0]
    return np.array([hits[:, min(k, hits.shape[1]) - 1] / np.minimum(k, wanted) for k in ks])


def best_lists(
    scores_of: Scores, query: Ratings, target: Ratings, k: int
) -> tuple[IntArray, BoolArray]:
    """The best k items of each user with a ``target``, best first, and which of them are targets
    (both users×min(k, n_items), users in the order of their numbers; items are −1 where there are
    no more).

    ``scores_of`` gives the scores of some users for all items (len(users)×n_items). The best k are
    the items of highest score that are not in the user's ``query``; equal scores are put in an
    order that has nothing to do with the data.
    """
    n_items = query.n_items
    shuffled = np.random.default_rng(0).permutation(n_items)
    place = np.argsort(shuffled)
    users = np.unique(target.users)
    query_items, wanted = (_by_user(part) for part in (query, target))
    k = min(k, n_items)
    lists = np.empty((users.size, k), dtype=np.intp)
    hits = np.empty(lists.shape, dtype=bool)
    for rows in pieces(users.size, _USERS_AT_ONCE):
        block = users[rows]
        scores = scores_of(block)[:, shuffled]
        hit = np.zeros(scores.shape, dtype=bool)
        for row, user in enumerate(block):
            scores[row, place[query_items[user]]] = -np.inf
            hit[row, place[wanted[user]]] = True
        best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        best.sort(axis=1)  # so that the order of equal scores is that of the shuffle
        ranks = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, ranks, axis=1)
        there = np.isfinite(np.take_along_axis(scores, best, axis=1))
        lists[rows] = np.where(there, shuffled[best], -1)
        hits[rows] = np.take_along_axis(hit, best, axis=1) & there
    return lists, hits


@dataclass(frozen=True, kw_only=True)
class ListQuality:
    """How good lists of k items are, and how alike: mean NDCG@k over users with half of its 95 %
    interval; the share of all items that somebody is recommended (``coverage``); the Gini
    coefficient of how often each is (0: all alike often, towards 1: always the same); and the share
    of all places that the most rated tenth of the items takes (``popular``).
    """

    ndcg: float
    half_width: float
    coverage: float
    gini: float
    popular: float


def list_quality(
    scores_of: Scores, query: Ratings, target: Ratings, rated: IntArray, k: int
) -> ListQuality:
    """The quality of everybody's best k; ``rated`` is how often each item was rated (n_items,).

    NDCG@k = Σⱼ hitⱼ/log₂(1 + j) over the same of a list that begins with all targets (Järvelin &
    Kekäläinen 2002, with relevance 0 or 1); j is the place in the list, from 1.
    """
    lists, hits = best_lists(scores_of, query, target, k)
    wanted = np.minimum(target.per_user[target.per_user > 0], lists.shape[1])
    gains = 1 / np.log2(np.arange(2, lists.shape[1] + 2))
    ndcg = (hits @ gains) / np.cumsum(gains)[wanted - 1]
    n_items = rated.size
    times = np.sort(np.bincount(lists[lists >= 0], minlength=n_items))
    places = max(int(times.sum()), 1)
    tenth = np.argsort(-rated, kind="stable")[: -(-n_items // 10)]
    return ListQuality(
        ndcg=float(ndcg.mean()),
        half_width=half_width(ndcg),
        coverage=float((times > 0).mean()),
        gini=float(((2 * np.arange(1, n_items + 1) - n_items - 1) @ times) / (n_items * places)),
        popular=float(np.isin(lists[lists >= 0], tenth).sum() / places),
    )


def recall_by_chance(query: Ratings, target: Ratings) -> FloatArray:
    """The expected ``recall_by_user`` of k = 20 items drawn evenly from those not in the user's
    ``query``: k of n − |query| items, so each target is among them with probability min(1, k/(n −
    |query|)).
    """
    wanted = target.per_user
    users = np.flatnonzero(wanted)
    left = query.n_items - query.per_user[users]
    return np.minimum(1.0, RECALL_AT / left) * wanted[users] / np.minimum(RECALL_AT, wanted[users])


def _by_user(ratings: Ratings) -> list[IntArray]:
    order = np.argsort(ratings.users, kind="stable")
    return np.split(ratings.items[order], np.cumsum(ratings.per_user)[:-1])
