"""DPALS's preparation of the data (dpals-paper, Algorithm 3): whom and what it learns from.

Noisy item counts, the split into frequent and infrequent items, the choice of k items per user (or
weights on all of them), and private centring.

Provides ``Basis``, what everybody knows before the first round. Sensitivities are derived in
``plan``.

``spreads`` says how unevenly the ratings that take part are spread over items, under each way of
limiting a user to k of them: the curves and histograms of dpals-paper figures 2 and 6, from exact
counts, which describe data that one holds and are no release.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from dpmc_core.arrays import BoolArray, FloatArray, IntArray
from dpmc_core.completion.common.parameters import ITEMS_PER_USER
from dpmc_core.completion.common.population import Group, Population
from dpmc_core.completion.common.profiles import clipped_values
from dpmc_core.completion.dpals.plan import DPALSConfig, n_frequent, value_clip_of
from dpmc_core.datasets.ratings import Ratings, places_within, spread_bits
from dpmc_core.privacy.budget import Curator
from dpmc_core.privacy.moments import most_popular_columns


@dataclass(frozen=True, eq=False)
class Basis:
    """What everybody knows before the first round, and how ratings are chosen by it.

    ``value_clip`` Γ_M, ``public`` the scaled item features (n_items×q) or None, ``norm`` that of
    weights. ``frequent`` marks the items that are learned (n_items,), ``first_counts`` are the
    released item counts (1 where none were), ``counts`` those of the ratings that take part, at
    least 1, and ``mean`` is the released mean (0 if none is).
    """

    config: DPALSConfig
    value_clip: float
    public: FloatArray | None
    norm: int
    salt: int
    frequent: BoolArray
    first_counts: FloatArray
    counts: FloatArray
    mean: float = 0.0

    @cached_property
    def learned(self) -> IntArray:
        """The numbers of the frequent items."""
        return np.flatnonzero(self.frequent)

    @cached_property
    def place(self) -> IntArray:
        """Where a frequent item's statistics stand in what is released (n_items,)."""
        return np.cumsum(self.frequent) - 1

    @cached_property
    def item_reg(self) -> FloatArray:
        """λ of each item (n_items,)."""
        scaled = self.counts**self.config.item_exponent
        return self.config.reg * scaled / scaled[self.frequent].mean()

    def limited(self, ratings: Ratings) -> BoolArray:
        """At most k ratings of each user, of frequent items: those with the lowest released counts
        (adaptive sampling; ties by lottery), or any.
        """
        priority = lottery(ratings, self.salt)
        if self.config.sampling == "adaptive":
            priority = self.first_counts[ratings.items] + 1e-9 * priority
        inside = self.frequent[ratings.items]
        return inside & first_k(
            ratings, np.where(inside, priority, np.inf), self.config.items_per_user
        )

    def taking_part(self, ratings: Ratings) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Which of these ``ratings`` enter the item pass, and with which weights ω_ij = f_i·g_j:
        all of frequent items by ``weights_of``, or those that are ``limited``, by 1.
        """
        if self.config.sampling != "weights":
            return self.limited(ratings), np.ones(ratings.n_users), np.ones(ratings.n_items)
        inside = self.frequent[ratings.items]
        k, power = min(self.config.items_per_user, ratings.n_items), self.config.weight_exponent
        return inside, *weights_of(ratings, inside, self.first_counts, k, self.norm, power)


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
    return (spread_bits(x) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def first_k(ratings: Ratings, priority: FloatArray, k: int) -> BoolArray:
    """True for the ``k`` ratings of lowest ``priority`` of every user."""
    return places_within(ratings, np.argsort(priority, kind="stable")) < k


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
    by_user = math.sqrt(k) / np.maximum(np.sqrt(ratings.by_user(raw**2)), 1e-150)
    if norm == 1:
        by_user = np.minimum(by_user, k / np.maximum(ratings.by_user(raw), 1e-150))
    return by_user, by_item


def prepare(
    people: Population, config: DPALSConfig, public: FloatArray | None, curator: Curator, salt: int
) -> Basis:
    """Algorithm 3: counts, frequent items and the mean, of clipped values.

    The ``n_frequent`` items of highest released count are learned. What a setting makes no use of
    is not released.
    """
    uses, ones = config.preparation(people.n_items), np.ones(people.n_items)
    uniform, clip = replace(config, sampling="uniform"), value_clip_of(people, config)
    of_all = Basis(uniform, clip, public, config.norm, salt, ones > 0, ones, ones)
    counts = again = ones
    if "counts" in uses:
        counts = curator.total("counts", people, _counted, of_all)
    _, place = most_popular_columns(counts, n_frequent(people.n_items, config))
    first, mean = replace(of_all, config=config, frequent=place >= 0, first_counts=counts), 0.0
    if "counts again" in uses:
        again = curator.total("counts again", people, _counted, first)
    if "sum of ratings" in uses:
        both = cache(lambda: people.total(_sum_and_number, first))
        total = curator.release("sum of ratings", lambda: both()[:1])[0]
        number = curator.release("number of ratings", lambda: both()[1:])[0]
        mean = float(total / max(number, 1.0))
    return replace(first, counts=np.maximum(again, 1.0), mean=mean)


def _counted(group: Group, basis: Basis) -> FloatArray:
    """How often each item is among the ratings that take part, at most k of a user (n_items,)."""
    ratings = group.ratings
    return ratings.by_item(basis.limited(ratings).astype(np.float64))


def _sum_and_number(group: Group, first: Basis) -> FloatArray:
    """The sum of the clipped values that take part, and how many there are (2,)."""
    values = clipped_values(group.ratings, first.value_clip)
    limited = first.limited(values)
    return np.array([values.values[limited].sum(), limited.sum()])


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
    per_user = ratings.per_user[ratings.users]
    per_item = ratings.per_item
    counts = per_item[ratings.items]
    by_user, by_item = weights_of(
        ratings, np.ones(len(ratings), dtype=bool), per_item.astype(np.float64), k, 2
    )
    taking = {
        "all ratings": np.ones(len(ratings)),
        "uniform": first_k(ratings, draw, k).astype(np.float64),
        "adaptive": first_k(ratings, counts + 1e-9 * draw, k).astype(np.float64),
        "all, by weights": (by_user[ratings.users] * by_item[ratings.items]) ** 2,
    }
    edges = [
        np.geomspace(max(int(c.min()), 1) * 0.999, c.max() * 1.001, _BINS + 1)
        for c in (per_user, counts)
    ]
    out = []
    for name, weight in taking.items():
        held = np.sort(ratings.by_item(weight))[::-1]
        shares = np.concatenate([[0.0], np.cumsum(held)]) / weight.sum()
        cells, _, _ = np.histogram2d(per_user, counts, bins=edges, weights=weight / weight.sum())
        top = float(np.interp(0.2 * ratings.n_items, np.arange(ratings.n_items + 1), shares))
        cov = np.cov(per_user, counts, ddof=0, aweights=weight)
        spread = math.sqrt(cov[0, 0] * cov[1, 1])
        correlation = float(cov[0, 1]) / spread if spread else 0.0
        out.append(Skew(name, shares, top, cells, edges[0], edges[1], correlation))
    return tuple(out)
