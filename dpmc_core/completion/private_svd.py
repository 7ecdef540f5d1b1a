"""Private SVD after McSherry & Mironov 2009.

Item means, then the covariance of what is left, each released once.

The solver. Item offsets are those of ``offsets``; sums, second moments and their sensitivities
those of ``privacy.moments``. The paper's own weights and clamps are kept in kind: each user's row
is centred, clamped and scaled to a bounded norm.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpmc_core.completion.common.parameters import BudgetConfig, Rank
from dpmc_core.completion.common.population import Whole
from dpmc_core.completion.common.profiles import (
    MEAN_PULL,
    centre,
    model_with_offsets,
    residuals,
    squares_step,
)
from dpmc_core.completion.common.step import Step, check_rank
from dpmc_core.completion.offsets import Profile, offset_parts, release_moment, release_offsets
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Curator, plan
from dpmc_core.privacy.moments import most_popular_columns, second_moment_part

# of the scale's width: largest residual of one rating, and largest norm of a user's scaled row
CLAMP = 0.25
MOST_ITEMS = 2000
SHARES = {"popularity": 0.1, "weights": 0.1, "deviations": 0.4}  # of the budget


@dataclass(frozen=True, kw_only=True)
class PrivateSVDConfig(BudgetConfig):
    """``budget`` None for the same algorithm without noise."""

    rank: Rank = 8


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
    group, norm = people.whole, config.norm
    size, clip = min(MOST_ITEMS, people.n_items), CLAMP * people.width
    parts = offset_parts(people, norm, SHARES)
    if size >= 2:
        parts["covariance"] = second_moment_part(
            "covariance of residuals", clip=clip, norm=norm, size=size, share=0.4
        )
    curator = Curator(plan(parts, config.budget), rng)
    offsets = release_offsets(people, curator, norm)
    even = np.ones(people.n_items)
    profile = Profile(offsets.offset + centre(people), even[:, None], MEAN_PULL)
    vectors = np.zeros((people.n_items, 0))
    if size >= 2:
        best, place = most_popular_columns(offsets.popularity, size)
        how = even, norm, profile, 1.0, clip, clip
        noisy = release_moment(people, curator, "covariance", size, place, *how)
        _, eigenvectors = np.linalg.eigh(noisy)
        vectors = np.zeros((people.n_items, min(config.rank, size)))
        vectors[best] = eigenvectors[:, ::-1][:, : config.rank]
    means = profile.fits(group)
    left = np.clip(residuals(profile.targets(group), profile.features, means), -clip, clip)
    projected = group.ratings.table(left) @ vectors
    features = np.hstack([profile.features, vectors])
    model = model_with_offsets(profile.base, features, np.hstack([means, projected]))
    yield squares_step(1, group.ratings, model, curator)


ALGORITHMS = (
    guaranteed(
        name="private-svd",
        title="Private SVD",
        summary="Noisy item offsets, then the top directions of a noisy covariance of what is "
        "left.",
        source="after McSherry & Mironov 2009",
        tuned="MovieLens 100K",
        config=PrivateSVDConfig,
        order=10,
        rate=private_svd,
        steps=1,
    ),
)
