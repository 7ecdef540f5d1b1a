"""Recommending from likes: the most popular items, and one-shot moments for likes.

Two solvers whose released sums say how often items are liked and which are liked together.

Every user puts weights of norm 1 on the items they liked; unit: user, add/remove one. Users who are
served without taking part ("visitors", dpals-paper D.1) add to nothing that leaves.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.parameters import (
    BudgetConfig,
    Rank,
    UseOfFeatures,
    public_features,
)
from dpmc_core.completion.common.population import Whole
from dpmc_core.completion.common.profiles import (
    fit_likes,
    model_with_offsets,
    squares_step,
    together,
)
from dpmc_core.completion.common.step import Step, grouped_by_user
from dpmc_core.completion.offsets import (
    item_weights,
    number_part,
    present,
    release_moment,
    standing_out,
)
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Curator, Part, plan, shift_of
from dpmc_core.privacy.moments import (
    most_popular_columns,
    second_moment_part,
    shrink_off_diagonal,
    sum_part,
)

# Chosen on MovieLens 1M, on the split of seed 101; the tables use other splits
# (docs/one-shot-moments.md).
SHARES = {"users": 0.02, "popularity": 0.15, "together": 0.83}
POPULARITY_POWER = 0.35  # items are weighted by popularity to minus this power
PENALTY, REG = (
    0.3,
    1.0,
)  # λ₀ and λ of a user's own fit, for factors with a mean square of 1 over the items
# of public features in a user's own fit, within ±1: beside factors, and beside popularity alone
TASTE, TASTE_ALONE = 0.15, 0.03
POPULAR_WEIGHT = 0.1  # how much the most popular item scores before anything is known of a user
# about how many (users × sensitivity/σ) one item more asks for, before anything is known of them,
# and the items below which the second moment is left out: the budget does more for popularity
ITEMS_PER_SIGNAL, WORTH_IT = 20.0, 20.0
# an item takes part whose own weight in the second moment is so many σ/sensitivity
WEIGHT_WORTH_IT = 0.17
MOST_ITEMS, FEWEST_ITEMS = 2000, 10


@dataclass(frozen=True, kw_only=True)
class LikesConfig(BudgetConfig):
    """``rank`` is the most factors kept."""

    rank: Rank = 32
    item_features: UseOfFeatures = "none"


@dataclass(frozen=True, kw_only=True)
class PopularConfig(BudgetConfig):
    """``budget`` None for no noise."""


def most_popular(
    likes: Ratings,
    config: LikesConfig | PopularConfig,
    rng: np.random.Generator,
    workers: int | None = None,
    visitors: Ratings | None = None,
) -> Iterator[Step]:
    """One step: everybody gets the items with the largest released sum of weights.

    The objective is Σ (1 − score)².
    """
    people, norm = Whole(likes, workers, as_given=True), config.norm
    curator = Curator(plan({"popularity": _popularity(likes, norm, 1.0)}, config.budget), rng)
    yield _step(1, likes, _released(people, curator, norm), curator)


def moments_of_likes(
    likes: Ratings,
    config: LikesConfig,
    rng: np.random.Generator,
    workers: int | None = None,
    visitors: Ratings | None = None,
) -> Iterator[Step]:
    """Two steps: (1) popularity.

    (2) factors from the released second moment of the users' weights, and users fit their own
    vectors.

    The second moment's leading part, shrunk to E diag(g) Eᵀ, gives item factors E√g, scaled to a
    mean square of 1; a user's vector solves ``fit_likes``. With few rows or little ε the plan
    leaves the second moment out, by the size of the matrix and ε alone, and what remains is
    ``most_popular``. The items that take part are those whose weight in the second moment, about
    p_j²/n̂ for released popularities p_j and number of users n̂, stands out from its noise. Public
    item features are further factors, whose weights every user finds alone.
    """
    people, norm = Whole(likes, workers, visitors, as_given=True), config.norm
    size = min(MOST_ITEMS, likes.n_items)
    second = size >= 2 and likes_items_worth_it(likes, config) >= WORTH_IT
    parts = _parts(likes, norm, size) if second else {"popularity": _popularity(likes, norm, 1.0)}
    curator = Curator(plan(parts, config.budget), rng)
    n_users = curator.total("users", people, present)[0] if second else 0.0
    popularity = _released(people, curator, norm)
    yield _step(1, likes, popularity, curator)

    factors = np.zeros((likes.n_items, 0))
    if second:
        factors = _factors(people, popularity, n_users, config.rank, size, curator, norm)
    public = public_features(likes, config.item_features)
    if public is not None:
        factors = np.hstack([factors, (TASTE if factors.shape[1] else TASTE_ALONE) * public])
    users = np.zeros((likes.n_users, factors.shape[1]))
    if factors.shape[1]:
        side = grouped_by_user(together(likes, visitors), factors.shape[1])
        users = fit_likes(side, factors, REG, PENALTY, factors, people.whole.pool)
    yield _step(2, likes, popularity, curator, users, factors)


def likes_items_worth_it(likes: Ratings, config: LikesConfig) -> float:
    """How many items the second moment would be of, n_users·(Δ/σ)/20, by its plan, for all rows,
    held-out ones included: reads sizes, and no rating. ∞ without noise.
    """
    size = min(MOST_ITEMS, likes.n_items)
    if size < 2:
        return math.inf
    planned = plan(_parts(likes, config.norm, size), config.budget)
    return likes.n_users * shift_of(planned, "together") / ITEMS_PER_SIGNAL


def _parts(likes: Ratings, norm: int, size: int) -> dict[str, Part]:
    """Everything that leaves with the second moment over ``size`` ≥ 2 items."""
    return {
        "users": number_part(norm, SHARES["users"]),
        "popularity": _popularity(likes, norm, SHARES["popularity"]),
        "together": second_moment_part(
            "which items are liked together",
            clip=1.0,
            norm=norm,
            size=size,
            share=SHARES["together"],
        ),
    }


def _popularity(likes: Ratings, norm: int, share: float) -> Part:
    return sum_part(
        "how often items are liked", clip=1.0, norm=norm, coordinates=likes.n_items, share=share
    )


def _released(people: Whole, curator: Curator, norm: int) -> FloatArray:
    """The noisy sum of weights of each item (n_items,)."""
    even = np.ones(people.n_items)
    return curator.total("popularity", people, item_weights, even, norm)


def _factors(
    people: Whole,
    popularity: FloatArray,
    n_users: float,
    rank: int,
    size: int,
    curator: Curator,
    norm: int,
) -> FloatArray:
    """Item factors (n_items×r), zero outside the M most popular.

    None where nothing stands above the noise.
    """
    floored = np.maximum(popularity, max(curator.std("popularity"), 1e-2))
    shift = curator.shift("together")
    wanted = standing_out(floored, max(n_users, 1.0), shift, size, WEIGHT_WORTH_IT)
    n_retained = min(max(wanted, FEWEST_ITEMS), size)
    best, place = most_popular_columns(floored, n_retained)
    weight = floored**-POPULARITY_POWER
    noisy = release_moment(people, curator, "together", size, place, weight, norm)
    vectors, strengths = shrink_off_diagonal(noisy, curator.std("together"), rank)
    factors = np.zeros((people.n_items, len(strengths)))
    if len(strengths):
        factors[best] = vectors * np.sqrt(strengths / strengths[0] * n_retained)
    return factors


def _step(
    iteration: int, likes: Ratings, popularity: FloatArray, curator: Curator, *factors: FloatArray
) -> Step:
    """The step whose scores are popularity and, if any, users' and items' ``factors``."""
    first = POPULAR_WEIGHT * popularity / max(float(popularity.max()), 1e-12)
    users, items = factors or (np.zeros((likes.n_users, 0)), np.zeros((likes.n_items, 0)))
    model = model_with_offsets(first, items, users)
    return squares_step(iteration, likes, model, curator)


ALGORITHMS = (
    guaranteed(
        name="popular",
        title="Most liked",
        summary="Everybody gets the items that most people like, by noisy counts: the "
        "baseline of any recommender.",
        source="this project; DPALS paper, section 5.1 (noisy counts)",
        config=PopularConfig,
        order=8,
        recommend=most_popular,
        steps=1,
    ),
)
