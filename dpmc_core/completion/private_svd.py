"""Private SVD after McSherry & Mironov 2009.

Item means, then the covariance of what is left, each released once.

The solver. Item offsets are those of ``offsets``; sums, second moments and their sensitivities
those of ``privacy.moments``. The paper's own weights and clamps are kept in kind: each user's row
is centred, clamped and scaled to a bounded norm.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpmc_core.completion.common.parameters import Rank
from dpmc_core.completion.common.population import Whole
from dpmc_core.completion.common.profiles import (
    MEAN_PULL,
    centre,
    model_with_offsets,
    squared_residuals,
)
from dpmc_core.completion.common.step import Step, check_rank
from dpmc_core.completion.offsets import Profile, offset_parts, release_offsets, user_weights
from dpmc_core.config import Config
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.budget import Budget, Curator, norm_of, plan
from dpmc_core.privacy.moments import (
    clip_rows,
    most_popular_columns,
    second_moment,
    second_moment_part,
    symmetric,
)
from dpmc_core.privacy.noise import TotalEpsilon

# of the scale's width: largest residual of one rating, and largest norm of a user's scaled row
CLAMP = 0.25
MOST_ITEMS = 2000


@dataclass(frozen=True, kw_only=True)
class PrivateSVDConfig(Config):
    """``budget`` None for the same algorithm without noise."""

    rank: Rank = 8
    budget: Budget | None = None


def private_svd(
    ratings: Ratings, config: PrivateSVDConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """One step: offsets, then the top r eigenvectors E of the noisy covariance.

    A user's row of residuals, zero where unrated, is projected: x̂ = m_i + b_j + (r_i E Eᵀ)_j.
    Covers the 2,000 most-rated items.

    The objective is Σ (x − prediction)². Raises ``ParameterError`` for a rank above the smaller
    side of the matrix.
    """
    check_rank(ratings, config.rank)
    people = Whole(ratings, workers)
    ratings = people.whole.ratings
    norm = norm_of(config.budget)
    size, clip = min(MOST_ITEMS, ratings.n_items), CLAMP * ratings.width
    parts = offset_parts(ratings, norm, (0.1, 0.1, 0.4))
    if size >= 2:
        parts["covariance"] = second_moment_part(
            "covariance of residuals", clip=clip, norm=norm, size=size, share=0.4
        )
    curator = Curator(plan(parts, config.budget), rng)
    offsets = release_offsets(people, curator, norm)
    base = offsets.offset + centre(ratings)
    one = np.ones((ratings.n_items, 1))
    profile = Profile(base, one, MEAN_PULL)
    means = profile.fits(people.whole)
    left = np.clip(profile.left(people.whole), -clip, clip)
    vectors = np.zeros((ratings.n_items, 0))
    projected = np.zeros((ratings.n_users, 0))
    if size >= 2:
        best, place = most_popular_columns(offsets.popularity, size)
        inside = place[ratings.items] >= 0
        users, columns = ratings.users[inside], place[ratings.items[inside]]
        weights = user_weights(ratings.take(inside), np.ones(ratings.n_items), norm)
        rows = clip_rows(users, weights * left[inside], ratings.n_users, norm, clip)
        noisy = curator.release(
            "covariance", second_moment(users, columns, rows, ratings.n_users, size)
        )
        _, eigenvectors = np.linalg.eigh(symmetric(noisy, size, 1))
        vectors = np.zeros((ratings.n_items, min(config.rank, size)))
        vectors[best] = eigenvectors[:, ::-1][:, : config.rank]
        projected = np.asarray(ratings.table(left) @ vectors)
    model = model_with_offsets(base, np.hstack([one, vectors]), np.hstack([means, projected]))
    squares = squared_residuals(ratings, model)
    yield Step(1, model, squares, squares, curator.made(), curator.rest())


ALGORITHMS = (
    Algorithm(
        name="private-svd",
        title="Private SVD",
        summary="Noisy item offsets, then the top directions of a noisy covariance of what is "
        "left.",
        source="after McSherry & Mironov 2009",
        tuned="MovieLens 100K",
        config=PrivateSVDConfig,
        order=10,
        noise=(TotalEpsilon,),
        unit="user",
        guarantee=True,
        rate=private_svd,
        steps=1,
    ),
)
