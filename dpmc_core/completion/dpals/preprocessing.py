"""DPALS's preparation of the data (dpals-paper, Algorithm 3): whom and what it learns from.

Noisy item counts, the split into frequent and infrequent items, the choice of k items per user (or
weights on all of them), and private centring.

Sensitivities for one user added or removed, who takes part with at most k items: counts of items
move by 1 in at most k places, ℓ1 ≤ k and ℓ2 ≤ √k. The sum of the user's values, each within ±Γ_M,
is *one* number and moves by up to k·Γ_M, and the number of ratings by up to k. The paper (section
5.2 and Appendix C) takes √k·Γ_M and √k for these two; that would need k separate numbers, so its
count of the preparation, (k + 1)/σ_p², should be 2k/σ_p². We plan with the derived values.

``spreads`` says how unevenly the ratings that take part are spread over items, under each way of
limiting a user to k of them: the curves and histograms of dpals-paper figures 2 and 6, from exact
counts, which describe data that one holds and are no release.
"""

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.parameters import ITEMS_PER_USER
from dpmc_core.completion.common.population import Group, Population
from dpmc_core.completion.common.profiles import clipped_values
from dpmc_core.datasets.ratings import Ratings, spread_bits
from dpmc_core.privacy.budget import Curator, Part
from dpmc_core.privacy.moments import totals

BoolArray = NDArray[np.bool_]

SAMPLING = ("adaptive", "uniform", "weights")


@dataclass(frozen=True, slots=True, eq=False)
class TakingPart:
    """Which ratings of a group enter the item pass (``ratings``, a mask), and with which weights
    ω_ij = ``user_weight``[i]·``item_weight``[j] (1 unless weights replace sampling). ``limited``
    marks at most k of a user's ratings, whatever takes part.
    """

    ratings: BoolArray
    limited: BoolArray
    user_weight: FloatArray
    item_weight: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Preparation:
    """What was released before the first round, and how ratings are chosen by it.

    ``frequent`` marks the items that are learned (n_items,), ``first_counts`` are the released
    item counts (1 where none were), ``counts`` those of the ratings that take part, at least 1,
    ``mean`` is the released mean (0 if none is), and at most ``k`` ratings of a user take part.
    ``weight_exponent`` is that of the counts in weights.
    """

    frequent: BoolArray
    first_counts: FloatArray
    counts: FloatArray
    mean: float
    k: int
    sampling: str
    weight_exponent: float
    norm: int
    salt: int

    def taking_part(self, ratings: Ratings) -> TakingPart:
        """Which of these ``ratings`` take part: a user's k frequent items with the lowest released
        counts (adaptive sampling; ties by lottery), any k (uniform), or all with weights.
        """
        draw = lottery(ratings, self.salt)
        inside = self.frequent[ratings.items]
        adaptive = self.sampling == "adaptive"
        priority = self.first_counts[ratings.items] + 1e-9 * draw if adaptive else draw
        limited = inside & first_k(ratings.users, np.where(inside, priority, np.inf), self.k)
        if self.sampling == "weights":
            power = self.weight_exponent
            weights = weights_of(ratings, inside, self.first_counts, self.k, self.norm, power)
            return TakingPart(inside, limited, *weights)
        even = np.ones(ratings.n_users), np.ones(ratings.n_items)
        return TakingPart(limited, limited, *even)


def preparation_parts(
    n_items: int,
    k: int,
    value_clip: float,
    share: float,
    *,
    counted: bool,
    recounted: bool,
    centred: bool,
) -> dict[str, Part]:
    """The releases of the preparation, of those that are made use of.

    ``share`` of the budget for all of them, two parts of five for each set of counts. σ_p is in the
    units of Algorithm 3: of counts 1, √k·Γ_M for the sum and √k for the number.
    """
    k = min(k, n_items)
    root = math.sqrt(k)
    # by name: whether it is used, its part of the share, what it is, ℓ1, ℓ2, length, unit of σ_p
    table = {
        "counts": (counted, 0.4, "item counts of k ratings per user", k, root, n_items, 1.0),
        "counts again": (
            recounted, 0.4, "item counts of the ratings that take part", k, root, n_items, 1.0,
        ),
        "sum of ratings": (
            centred, 0.1, "sum of the ratings that take part",
            k * value_clip, k * value_clip, 1, root * value_clip,
        ),
        "number of ratings": (centred, 0.1, "number of ratings that take part", k, k, 1, root),
    }  # fmt: skip
    used = {name: row[1:] for name, row in table.items() if row[0]}
    whole = sum(portion for portion, *_ in used.values())
    return {
        name: Part(
            what=what,
            l1=l1,
            l2=l2,
            coordinates=coordinates,
            share=share * portion / whole,
            source="dpmc_core.completion.dpals.preprocessing: at most k items of a user take part",
            bounded_in=2,
            linf=1.0 if name.startswith("counts") else None,
            sigma_unit=unit,
        )
        for name, (portion, what, l1, l2, coordinates, unit) in used.items()
    }


def lottery(ratings: Ratings, salt: int) -> FloatArray:
    """A pseudo-random number in [0, 1) for each rating, from its user, item and ``salt`` alone
    (SplitMix64's finaliser).

    Whether a rating of one user is drawn must not depend on who else is there: then leaving does
    not change the others' draws, which is what the sensitivities assume.
    """
    x = ratings.drawing_numbers[ratings.users] * np.uint64(0x9E3779B97F4A7C15) + np.uint64(
        salt % 2**64
    )
    x ^= (ratings.items.astype(np.uint64) + np.uint64(1)) * np.uint64(0xD1B54A32D192ED03)
    return np.asarray((spread_bits(x) >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def first_k(users: NDArray[np.integer], priority: FloatArray, k: int) -> BoolArray:
    """True for the ``k`` ratings of lowest ``priority`` of every user."""
    # by user, then by priority, ties as they stand: one sort of whole numbers is half the time of
    # numpy's lexsort
    place = np.empty(users.size, dtype=np.int64)
    place[np.argsort(priority, kind="stable")] = np.arange(users.size)
    order = np.argsort(users.astype(np.int64) * users.size + place)
    ordered = users[order]
    starts = (
        np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        if ordered.size
        else np.empty(0, dtype=np.intp)
    )
    rank = np.arange(ordered.size) - np.repeat(starts, np.diff(np.r_[starts, ordered.size]))
    chosen = np.zeros(users.size, dtype=np.bool_)
    chosen[order[rank < k]] = True
    return chosen


def weights_of(
    ratings: Ratings, inside: BoolArray, counts: FloatArray, k: int, norm: int, power: float = -0.5
) -> tuple[FloatArray, FloatArray]:
    """Weights ω_ij = f_i·g_j in place of sampling (Krichene et al. 2023), as (f, g).

    G_j = count_j^``power`` and f_i such that Σ_j ω_ij² = k over the user's ratings that are
    ``inside``. Where the noise asks for the ℓ1 norm (``norm`` 1), Σ_j ω_ij ≤ k as well. Both hold
    for any g, and g follows from released counts alone: no ``power`` changes what a user can move.
    """
    by_item = np.maximum(counts, 1.0) ** power
    raw = np.where(inside, by_item[ratings.items], 0.0)
    n = ratings.n_users
    by_user = math.sqrt(k) / np.maximum(
        np.sqrt(np.bincount(ratings.users, raw**2, minlength=n)), 1e-150
    )
    if norm == 1:
        by_user = np.minimum(
            by_user, k / np.maximum(np.bincount(ratings.users, raw, minlength=n), 1e-150)
        )
    return by_user, by_item


def prepare(
    people: Population,
    curator: Curator,
    *,
    value_clip: float,
    k: int,
    n_frequent: int,
    sampling: str,
    weight_exponent: float,
    counted: bool,
    recounted: bool,
    centred: bool,
    norm: int,
    salt: int,
) -> Preparation:
    """Algorithm 3: counts, frequent items and the mean, of values clipped to ±``value_clip``.

    ``n_frequent`` items of highest released count are learned. ``counted``, ``recounted`` and
    ``centred`` say which of them are made use of; the others are not released.
    """
    k, ones = min(k, people.n_items), np.ones(people.n_items)
    counts = ones
    if counted:
        counts = curator.release("counts", lambda: people.total(_counted, k, salt))
    frequent = np.zeros(people.n_items, dtype=np.bool_)
    frequent[np.argsort(-counts, kind="stable")[:n_frequent]] = True
    first = Preparation(frequent, counts, ones, 0.0, k, sampling, weight_exponent, norm, salt)
    again, mean = ones, 0.0
    if recounted:
        again = curator.release("counts again", lambda: people.total(_counted_again, first))
    if centred:
        both = cache(lambda: people.total(_sum_and_number, first, value_clip))
        total = curator.release("sum of ratings", lambda: both()[:1])[0]
        number = curator.release("number of ratings", lambda: both()[1:])[0]
        mean = float(total / max(number, 1.0))
    return replace(first, counts=np.maximum(again, 1.0), mean=mean)


def _counted(group: Group, k: int, salt: int) -> FloatArray:
    """How often each item is among any k ratings of a user (n_items,)."""
    ratings = group.ratings
    uniform = first_k(ratings.users, lottery(ratings, salt), k)
    return totals(ratings.items, uniform.astype(np.float64), ratings.n_items)


def _counted_again(group: Group, first: Preparation) -> FloatArray:
    """How often each item is among the ratings that take part (n_items,)."""
    ratings = group.ratings
    limited = first.taking_part(ratings).limited
    return totals(ratings.items, limited.astype(np.float64), ratings.n_items)


def _sum_and_number(group: Group, first: Preparation, value_clip: float) -> FloatArray:
    """The sum of the clipped values that take part, and how many there are (2,)."""
    values = clipped_values(group.ratings, value_clip)
    limited = first.taking_part(values).limited
    return np.array([float(values.values[limited].sum()), float(limited.sum())])


_BINS = 12


@dataclass(frozen=True, eq=False)
class Skew:
    """For one way of taking part (``name``).

    The share of all weight (n_items + 1,) that the most-taken items hold, from none to all of them;
    ``top``, what the top fifth of the items holds; and ``cells``, the share of weight by user count
    × item count, on the logarithmic ``edges`` of both in the whole data, and the ``correlation`` of
    these counts (0 where one is constant).
    """

    name: str
    shares: FloatArray
    top: float
    cells: FloatArray
    user_edges: FloatArray
    item_edges: FloatArray
    correlation: float


def spreads(ratings: Ratings, k: int, seed: int = 0) -> tuple[Skew, ...]:
    """All ratings, then at most ``k`` of each user.

    Drawn evenly, the user's rarest, and all with weights ω² (Σω² = k).

    The exact item counts stand in for the noisy ones that a private run would sample by. Raises
    ``ParameterError`` for k out of range.
    """
    k = min(int(ITEMS_PER_USER.check(k)), ratings.n_items)
    draw = lottery(ratings, seed)
    per_user = np.bincount(ratings.users, minlength=ratings.n_users)[ratings.users]
    per_item = np.bincount(ratings.items, minlength=ratings.n_items)
    counts = per_item[ratings.items]
    by_user, by_item = weights_of(
        ratings, np.ones(len(ratings), dtype=bool), per_item.astype(np.float64), k, 2
    )
    taking = {
        "all ratings": np.ones(len(ratings)),
        "uniform": first_k(ratings.users, draw, k).astype(np.float64),
        "adaptive": first_k(ratings.users, counts + 1e-9 * draw, k).astype(np.float64),
        "all, by weights": (by_user[ratings.users] * by_item[ratings.items]) ** 2,
    }
    edges = [
        np.geomspace(max(int(c.min()), 1) * 0.999, c.max() * 1.001, _BINS + 1)
        for c in (per_user, counts)
    ]
    out = []
    for name, weight in taking.items():
        held = np.sort(np.bincount(ratings.items, weight, minlength=ratings.n_items))[::-1]
        shares = np.concatenate([[0.0], np.cumsum(held)]) / weight.sum()
        cells, _, _ = np.histogram2d(per_user, counts, bins=edges, weights=weight / weight.sum())
        top = float(np.interp(0.2 * ratings.n_items, np.arange(ratings.n_items + 1), shares))
        cov = np.cov(per_user, counts, ddof=0, aweights=weight)
        spread = math.sqrt(cov[0, 0] * cov[1, 1])
        correlation = float(cov[0, 1]) / spread if spread else 0.0
        out.append(Skew(name, shares, top, cells, edges[0], edges[1], correlation))
    return tuple(out)
