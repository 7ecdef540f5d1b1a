"""Recommending from likes: the most popular items, and one-shot moments for likes.

Two solvers whose released sums say how often items are liked and which are liked together.

Every user puts weights of norm 1 on the items they liked; unit: user, add/remove one. Users who are
served without taking part ("visitors", dpals-paper D.1) add to nothing that leaves.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.parameters import Rank, UseOfFeatures, public_features
from dpmc_core.completion.common.profiles import (
    fit_likes,
    model_with_offsets,
    squared_residuals,
    together,
)
from dpmc_core.completion.common.step import Step
from dpmc_core.completion.kernel.solve import group_rows
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.completion.offsets import user_weights
from dpmc_core.config import Config
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.budget import Budget, Curator, Part, norm_of, plan, shift_of
from dpmc_core.privacy.moments import (
    most_popular_columns,
    release_moment,
    second_moment,
    second_moment_part,
    shrink_off_diagonal,
    sum_part,
)
from dpmc_core.privacy.noise import TotalEpsilon

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
class LikesConfig(Config):
    """``rank`` is the most factors kept; ``budget`` None for no noise."""

    rank: Rank = 32
    item_features: UseOfFeatures = "none"
    budget: Budget | None = None


@dataclass(frozen=True, kw_only=True)
class PopularConfig(Config):
    """``budget`` None for no noise."""

    budget: Budget | None = None


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
    norm = norm_of(config.budget)
    curator = Curator(plan({"popularity": _popularity(likes, norm, 1.0)}, config.budget), rng)
    yield _step(1, likes, _released(likes, curator, norm), curator)


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
    norm = norm_of(config.budget)
    size = min(MOST_ITEMS, likes.n_items)
    second = size >= 2 and likes_items_worth_it(likes, config) >= WORTH_IT
    parts = _parts(likes, norm, size) if second else {"popularity": _popularity(likes, norm, 1.0)}
    curator = Curator(plan(parts, config.budget), rng)
    n_users = 0.0
    if second:
        n_users = float(curator.release("users", np.array([float(np.unique(likes.users).size)]))[0])
    popularity = _released(likes, curator, norm)
    served = together(likes, visitors)
    yield _step(1, likes, popularity, curator)

    factors = np.zeros((likes.n_items, 0))
    if second:
        factors = _factors(likes, popularity, n_users, config.rank, size, curator, norm)
    public = public_features(likes, config.item_features)
    if public is not None:
        factors = np.hstack([factors, (TASTE if factors.shape[1] else TASTE_ALONE) * public])
    users = np.zeros((likes.n_users, factors.shape[1]))
    if factors.shape[1]:
        with Workers(workers) as pool:
            side = group_rows(
                served.users,
                served.items,
                served.values,
                served.n_users,
                served.n_items,
                factors.shape[1],
            )
            users = fit_likes(side, factors, REG, PENALTY, factors, pool)
    yield _step(2, likes, popularity, curator, users, factors)


def likes_items_worth_it(likes: Ratings, config: LikesConfig) -> float:
    """How many items the second moment would be of, n_users·(Δ/σ)/20, by its plan, for all rows,
    held-out ones included: reads sizes, and no rating. ∞ without noise.
    """
    size = min(MOST_ITEMS, likes.n_items)
    if size < 2:
        return math.inf
    planned = plan(_parts(likes, norm_of(config.budget), size), config.budget)
    return likes.n_users * shift_of(planned, "together") / ITEMS_PER_SIGNAL


def _parts(likes: Ratings, norm: int, size: int) -> dict[str, Part]:
    """Everything that leaves with the second moment over ``size`` ≥ 2 items."""
    return {
        "users": sum_part(
            "how many users there are", clip=1.0, norm=norm, coordinates=1, share=SHARES["users"]
        ),
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


def _released(likes: Ratings, curator: Curator, norm: int) -> FloatArray:
    """The noisy sum of weights of each item (n_items,)."""
    weights = user_weights(likes, np.ones(likes.n_items), norm)
    return curator.release("popularity", likes.by_item(weights))


def _factors(
    likes: Ratings,
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
    n_retained = size
    if curator.private:
        weights = np.sort(floored)[::-1][:size] ** 2 / max(n_users, 1.0)
        wanted = int(np.count_nonzero(weights * curator.shift("together") >= WEIGHT_WORTH_IT))
        n_retained = min(max(wanted, FEWEST_ITEMS), size)
    best, place = most_popular_columns(floored, n_retained)
    inside = likes.take(place[likes.items] >= 0)
    weights = user_weights(inside, floored**-POPULARITY_POWER, norm)
    rows = inside.users, place[inside.items], weights, likes.n_users, n_retained
    noisy = release_moment(curator, "together", partial(second_moment, *rows), n_retained, size)
    vectors, strengths = shrink_off_diagonal(noisy, curator.std("together"), rank)
    factors = np.zeros((likes.n_items, len(strengths)))
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
    squares = squared_residuals(likes, model)
    return Step(iteration, model, squares, squares, curator.made(), curator.rest())


ALGORITHMS = (
    Algorithm(
        name="popular",
        title="Most liked",
        summary="Everybody gets the items that most people like, by noisy counts: the "
        "baseline of any recommender.",
        source="this project; DPALS paper, section 5.1 (noisy counts)",
        config=PopularConfig,
        order=8,
        noise=(TotalEpsilon,),
        unit="user",
        guarantee=True,
        recommend=most_popular,
        steps=1,
    ),
)
