"""Item offsets released once.

How much better or worse than a user's average an item is, and how often it is rated.

Lives here: the private baseline (user means with noisy item offsets, findings 11), and its
first stage, which *moments once* shares. Does not live here: second moments (``moments``), noise
(``privacy.budget``), or sensitivities of sums (``privacy.moments``).

Each user puts weights w_ij = ω_j/‖ω‖ on the items they rated (norm over those items, so ‖w_i‖ = 1).
Three sums leave: the weights with ω = 1 (how popular each item is); then, with rare items weighted
up by the popularity just released, the weights again, and the weighted deviations of the user's
ratings from the user's own mean, clipped to a norm. Popular items need less of a user's say to be
known well; this is the idea of Krichene et al. 2023 (findings 12).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmc_core.completion.common.profiles import (
    MEAN_PULL,
    centre,
    fit_users,
    model_with_offsets,
    on_scale,
    own_means,
    squared_residuals,
)
from dpmc_core.completion.common.step import Step
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.config import Config
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.budget import Budget, Curator, Part, plan
from dpmc_core.privacy.moments import clip_rows, normalised, sum_part, totals
from dpmc_core.privacy.noise import TotalEpsilon

FloatArray = NDArray[np.float64]

__all__ = [
    "ALGORITHMS",
    "Offsets",
    "PrivateMeansConfig",
    "offset_parts",
    "private_means",
    "release_offsets",
    "user_weights",
]

# Fixed in advance of any run, in units of the rating scale's width R where they have one. They were
# chosen on MovieLens 100K and 1M; docs/moments-once.md says on which splits, a few of them on those
# of the tables shown.
DEVIATION_CLIP = 0.25  # R: largest norm of a user's weighted deviations
OFFSET_SD = 0.1  # R: how far offsets lie from what an item's popularity suggests
RATING_SD = 0.22  # R: how far a rating lies from what a model says of it
POPULARITY_POWER = 0.25  # items are weighted by popularity to minus this power


@dataclass(frozen=True, slots=True, eq=False)
class Offsets:
    """What the first stage knows of each item (n_items,).

    ``offset`` against a user's mean in rating units, and ``popularity``, the released sum of
    weights, at least its noise.
    """

    offset: FloatArray
    popularity: FloatArray

    @property
    def log_popularity(self) -> FloatArray:
        """Logarithm of popularity, centred and scaled over the items."""
        logs = np.log(self.popularity)
        return np.asarray((logs - logs.mean()) / max(float(logs.std()), 1e-9))


@dataclass(frozen=True, kw_only=True)
class PrivateMeansConfig(Config):
    """``budget`` None for the same predictor without noise."""

    budget: Budget | None = None


def offset_parts(
    ratings: Ratings, norm: int, shares: tuple[float, float, float]
) -> dict[str, Part]:
    """The three sums of this stage, with ``shares`` for popularity, weights and deviations."""
    n, clip = ratings.n_items, DEVIATION_CLIP * (ratings.high - ratings.low)
    popularity, weights, deviations = shares
    return {
        "popularity": sum_part(
            "how often items are rated", clip=1.0, norm=norm, coordinates=n, share=popularity
        ),
        "weights": sum_part(
            "weight on each item", clip=1.0, norm=norm, coordinates=n, share=weights
        ),
        "deviations": sum_part(
            "weighted deviations of ratings from their user's mean",
            clip=clip,
            norm=norm,
            coordinates=n,
            share=deviations,
        ),
    }


def user_weights(ratings: Ratings, item_weight: FloatArray, norm: int) -> FloatArray:
    """w_ij of each rating: the item's weight over the norm of those of all items that the user
    rated.
    """
    return normalised(ratings.users, item_weight[ratings.items], ratings.n_users, norm)


def release_offsets(ratings: Ratings, curator: Curator, norm: int) -> Offsets:
    """Release the three sums and read offsets from them, by a regression of offset on
    log-popularity that knows the noise.

    An offset is a weighted mean of deviations, of variance s²q_j/C_j + σ²/C_j² (C_j the item's
    weight, q_j a typical squared weight over a typical weight); it is pulled to a quadratic of
    log-popularity in the proportion of that variance to the offsets' own (``OFFSET_SD``).
    """
    width = ratings.high - ratings.low
    clip = DEVIATION_CLIP * width
    ones = user_weights(ratings, np.ones(ratings.n_items), norm)
    noisy = curator.release("popularity", totals(ratings.items, ones, ratings.n_items))
    popularity = np.maximum(noisy, max(curator.std("popularity"), 1e-2))

    mean = own_means(ratings)
    weights = user_weights(ratings, popularity**-POPULARITY_POWER, norm)
    total = curator.release("weights", totals(ratings.items, weights, ratings.n_items))
    total = np.maximum(total, max(0.5 * curator.std("weights"), 1e-3))
    deviations = weights * (ratings.values - mean[ratings.users])
    deviations = clip_rows(ratings.users, deviations, ratings.n_users, norm, clip)
    moved = curator.release("deviations", totals(ratings.items, deviations, ratings.n_items))

    raw = moved / total
    variance = (RATING_SD * width) ** 2 * 0.1 / total + (curator.std("deviations") / total) ** 2
    own = (OFFSET_SD * width) ** 2
    logs = Offsets(raw, popularity).log_popularity
    design = np.stack([np.ones_like(logs), logs, logs**2], axis=1)
    trust = 1 / (own + variance)
    suggested = design @ np.linalg.solve(
        (design.T * trust) @ design + 1e-3 * np.eye(3), (design.T * trust) @ raw
    )
    return Offsets(suggested + (raw - suggested) * own * trust, popularity)


def private_means(
    ratings: Ratings,
    config: PrivateMeansConfig,
    rng: np.random.Generator,
    workers: int | None = None,
) -> Iterator[Step]:
    """One step: offsets released, then every user re-fits their own mean.

    X_ij ≈ m_i + b_j (findings 11).

    The objective is Σ (x − m − b)² + λ Σ (m − middle of the scale)², λ the pull that the user means
    have. Unit: user, add/remove one; every sensitivity is derived in ``privacy.moments``.
    """
    ratings = on_scale(ratings)
    norm = 2 if config.budget is None else config.budget.norm
    curator = Curator(plan(offset_parts(ratings, norm, (0.2, 0.1, 0.7)), config.budget), rng)
    offsets = release_offsets(ratings, curator, norm).offset + centre(ratings)
    targets = ratings.values - offsets[ratings.items]
    one = np.ones((ratings.n_items, 1))
    with Workers(workers) as pool:
        means = fit_users(ratings, targets, one, MEAN_PULL, pool)
    model = model_with_offsets(offsets, one, means)
    squares = squared_residuals(ratings, model)
    objective = squares + MEAN_PULL * float(np.vdot(means, means))
    yield Step(1, model, squares, objective, curator.made(), curator.rest())


ALGORITHMS = (
    Algorithm(
        name="private-means",
        title="Private means",
        summary="The baseline made private: noisy item offsets, and every user's own mean.",
        source="this project (findings 11)",
        tuned="MovieLens 1M and 100K",
        config=PrivateMeansConfig,
        order=7,
        noise=(TotalEpsilon,),
        unit="user",
        guarantee=True,
        rate=private_means,
        steps=1,
    ),
)
