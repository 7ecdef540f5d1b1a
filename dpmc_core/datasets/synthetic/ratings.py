"""Synthetic ratings: the papers' low-rank matrices, and a skewed set that looks like a real
service.

The generators, each a pure function of its parameters and seed. They need no network and carry
their ground truth, so error on the whole matrix can be measured.
"""

import numpy as np

from dpmc_core import limits
from dpmc_core.arrays import FloatArray, IntArray, products_at
from dpmc_core.datasets.ratings import Ratings, Truth
from dpmc_core.errors import ParameterError


def low_rank(
    n_users: int,
    n_items: int,
    *,
    rank: int = 5,
    observed: float = 0.1,
    value_scale: float = 1.0,
    seed: int = 0,
) -> Ratings:
    """The papers' synthetic data.

    M = c·UVᵀ with U, V entries uniform on (0, 1) (huber-thesis section 5.2).

    ``observed`` is the share of entries kept, chosen uniformly; c is ``value_scale``. The papers
    print neither the sizes nor c. Entries are exact (no rating noise), so the noise floor is 0.
    """
    n_users, n_items, rank = _checked(n_users, n_items, rank)
    observed = limits.check("observed", observed)
    scale = limits.check("value_scale", value_scale)
    cells = n_users * n_items
    n = max(1, round(cells * observed))
    _check_count(n)
    rng = np.random.default_rng(seed)
    left, right = scale * rng.random((n_users, rank)), rng.random((n_items, rank))
    if (
        observed <= 0.5 and cells > 20_000_000
    ):  # choosing from all cells would hold them all in memory
        chosen = distinct_pairs(np.ones(n_users), np.ones(n_items), n, rng)
    else:
        chosen = np.sort(rng.choice(cells, n, replace=False, shuffle=False))
    users, items = np.divmod(chosen, n_items)
    return _observed(Truth(left, right, 0.0), users, items, 0.0, None, f"synthetic rank {rank}")


def orthogonal(
    n_users: int, n_items: int, *, rank: int = 5, observed: float = 0.2, seed: int = 0
) -> Ratings:
    """The DPALS paper's synthetic data.

    The product of two random orthonormal factors, scaled to standard deviation 1 (dpals-paper
    section 6).

    Every entry is observed with probability ``observed`` (the paper takes 20·ln(n_users)/n_items),
    and exactly, so the noise floor is 0. The scale is declared as −4 to 4, before any entry is
    drawn. Entries outside are left there: about 13 in ten thousand at rank 5, 65 at rank 1.
    """
    n_users, n_items, rank = _checked(n_users, n_items, rank)
    observed = limits.check("observed", observed)
    if rank > min(n_users, n_items):
        raise ParameterError(
            "true_rank", rank, f"at most {min(n_users, n_items)}, the smaller side of the matrix"
        )
    _check_count(round(n_users * n_items * observed))
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((n_users, rank)))[0] * np.sqrt(n_users * n_items / rank)
    right = np.linalg.qr(rng.standard_normal((n_items, rank)))[0]
    counts = np.maximum(rng.binomial(n_items, observed, n_users), 1)
    users = np.repeat(np.arange(n_users), counts)
    items = np.concatenate(
        [rng.choice(n_items, count, replace=False, shuffle=False) for count in counts]
    )
    return _observed(Truth(left, right, 0.0), users, items, -4.0, 4.0, f"orthonormal rank {rank}")


def skewed(
    n_users: int,
    n_items: int,
    n_ratings: int,
    *,
    rank: int = 8,
    popularity: float = 0.9,
    noise_floor: float = 0.5,
    seed: int = 0,
) -> Ratings:
    """Ratings as a service collects them.

    Few items get most of them, users differ in zeal, and taste is low-rank.

    Item k is drawn with weight k^(−``popularity``) (shuffled), users with log-normal weights (σ =
    1). A rating is 3.5 + user bias (sd 0.4) + item bias (sd 0.4) + planted rank-``rank`` taste (sd
    0.6) + noise (sd ``noise_floor``), on an unrounded scale around 1–5, so the noise floor is
    exact. At most half of the cells can be asked for.
    """
    n_users, n_items, rank = _checked(n_users, n_items, rank)
    n_ratings = limits.check_int("n_ratings", n_ratings)
    popularity = limits.check("popularity", popularity)
    noise_floor = limits.check("noise_floor", noise_floor)
    if n_ratings > n_users * n_items // 2:
        raise ParameterError(
            "n_ratings", n_ratings, f"at most half of the {n_users} × {n_items} cells"
        )
    rng = np.random.default_rng(seed)
    item_weight = rng.permutation(np.arange(1.0, n_items + 1.0) ** -popularity)
    user_weight = np.exp(rng.standard_normal(n_users))
    pairs = distinct_pairs(user_weight, item_weight, n_ratings, rng)
    users, items = np.divmod(pairs, n_items)
    user_bias, item_bias = 0.4 * rng.standard_normal(n_users), 0.4 * rng.standard_normal(n_items)
    taste = 0.6 / rank**0.5
    left = np.column_stack(
        [np.ones(n_users), user_bias, taste * rng.standard_normal((n_users, rank))]
    )
    right = np.column_stack(
        [3.5 + item_bias, np.ones(n_items), rng.standard_normal((n_items, rank))]
    )
    noise = noise_floor * rng.standard_normal(n_ratings)
    truth = Truth(left, right, noise_floor)
    return _observed(truth, users, items, 1.0, 5.0, "synthetic skewed", noise)


def _observed(
    truth: Truth,
    users: IntArray,
    items: IntArray,
    low: float,
    high: float | None,
    name: str,
    noise: FloatArray | float = 0.0,
) -> Ratings:
    """Ratings of the whole matrix ``truth`` at these cells, with ``noise``; ``high`` None
    is the largest of them.
    """
    values = noise + products_at(truth.left, truth.right, users, items)
    return Ratings.checked(
        users,
        items,
        values,
        n_users=len(truth.left),
        n_items=len(truth.right),
        low=low,
        high=float(np.max(values)) if high is None else high,
        name=name,
        truth=truth,
    )


def distinct_pairs(
    user_weight: FloatArray, item_weight: FloatArray, count: int, rng: np.random.Generator
) -> IntArray:
    """``count`` different cells, drawn by weight with no user or item expected to fill more than
    half of its line.

    Without that cap the most popular cells saturate and the draw never ends. Cells come in rounds,
    each dropping those already found; if weights still leave too few, the rest is spread evenly (at
    most half of all cells are asked for).
    """
    n_users, n_items = user_weight.size, item_weight.size
    user_edges = np.cumsum(_capped(user_weight, count, n_items / 2))
    item_edges = np.cumsum(_capped(item_weight, count, n_users / 2))
    pairs = np.empty(0, dtype=np.int64)
    rounds = 0
    while pairs.size < count:
        n = int((count - pairs.size) * 1.5) + 1000
        if rounds < 20:
            users = np.minimum(np.searchsorted(user_edges, np.sort(rng.random(n))), n_users - 1)
            items = np.minimum(np.searchsorted(item_edges, rng.random(n)), n_items - 1)
        else:
            users, items = rng.integers(0, n_users, n), rng.integers(0, n_items, n)
        cells = users * np.int64(n_items) + items
        pairs = np.union1d(pairs, cells)
        rounds += 1
    too_many = rng.choice(pairs.size, pairs.size - count, replace=False, shuffle=False)
    return np.delete(pairs, too_many)


def _capped(weight: FloatArray, count: int, most: float) -> FloatArray:
    """``weight`` as shares of one, none above ``most``/``count``, the excess handed on in
    proportion.
    """
    top = max(most / count, 1 / weight.size)
    share = weight / weight.sum()
    for _ in range(20):
        over = share > top
        if not over.any():
            break
        free = 1 - top * np.count_nonzero(over)
        rest = share[~over].sum()
        share = np.where(over, top, share * (free / rest) if rest > 0 else share)
    return share / share.sum()


def _checked(n_users: int, n_items: int, rank: int) -> tuple[int, int, int]:
    return (
        limits.check_int("n_users", n_users),
        limits.check_int("n_items", n_items),
        limits.check_int("true_rank", rank),
    )


def _check_count(n: int) -> None:
    top = int(limits.LIMITS["n_ratings"].high)
    if n > top:
        raise ParameterError("observed", n, f"small enough for at most {top:,} observed ratings")
