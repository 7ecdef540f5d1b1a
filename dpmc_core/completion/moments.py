"""One-shot moments: private completion from five sums and two second moments, each released once.

Lives here: the house's own model (findings 11). Its second stage clips each user's residual vector
over the most-rated items to a norm, releases its second moment and the co-rating weights once,
shrinks what stands above the noise to item factors, and lets every user solve for themselves. Does
not live here: the first stage (``offsets``), sums, sensitivities and shrinkage
(``privacy.moments``).

No iteration: nothing is released that was computed from users' fits to an earlier release and then
has to be released again. So the budget is split once, and everything after the last release is
free.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmc_core.completion.common.parameters import Rank
from dpmc_core.completion.common.profiles import (
    centre,
    fit_users,
    left_out_squares,
    model_with_offsets,
    on_scale,
    residuals,
    squared_residuals,
)
from dpmc_core.completion.common.step import FactorModel, Step
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.completion.offsets import (
    POPULARITY_POWER,
    RATING_SD,
    Offsets,
    offset_parts,
    release_offsets,
    user_weights,
)
from dpmc_core.completion.recommending import LikesConfig, moments_of_likes
from dpmc_core.config import Config
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.budget import Budget, Curator, Part, plan, shift_of
from dpmc_core.privacy.moments import (
    clip_rows,
    second_moment,
    second_moment_part,
    shrink,
    sum_part,
    symmetric,
)
from dpmc_core.privacy.noise import TotalEpsilon

FloatArray = NDArray[np.float64]

__all__ = ["ALGORITHMS", "MomentsConfig", "items_worth_it", "one_shot_moments"]

# Fixed in advance of any run, and chosen on other splits of the data shown; see ``offsets`` for how
# they were chosen.
RESIDUAL_CLIP = 0.2  # R: largest norm of a user's weighted residuals
SHARES = {
    "users": 0.01,
    "popularity": 0.15,
    "weights": 0.08,
    "deviations": 0.45,
    "profile": 0.01,
    "together": 0.04,
    "tastes": 0.26,
}
# popularity, weights, deviations, profile, where the second stage is left out
FIRST_SHARES = (0.2, 0.1, 0.67, 0.03)
MOST_GAIN = 3.0  # nats by which one user may speak for or against slopes
WORTH_IT = (
    20.0  # items in the second stage below which it is left out: its budget does more in the first
)
ITEMS_PER_SIGNAL = (
    24.0  # one item more is worth its noise for about so many (users × sensitivity/σ)
)
MOST_ITEMS, FEWEST_ITEMS = 2000, 10
PROFILE_SD = (
    0.5,
    0.5,
    0.1,
)  # spread over users of: mean (in R/4), slope on offsets, slope on log-popularity (in R/4)
CORATING_RANK = 20
# longest factor of an item, in widths of the scale: residuals spread over users by half a width at
# most, and where noise leaves next to no co-rating weight a quotient would be any number
LONGEST = 0.25


@dataclass(frozen=True, kw_only=True)
class MomentsConfig(Config):
    """``rank`` is the most factors kept; what does not stand above the noise is dropped.

    ``budget`` None for no noise.
    """

    rank: Rank = 16
    budget: Budget | None = None


def one_shot_moments(
    ratings: Ratings, config: MomentsConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """Two steps: (1) offsets, and users fit mean, slope on offsets and slope on popularity.

    (2) the factors as well.

    With few users or little ε the second step adds nothing: the plan then leaves its releases out
    (``items_worth_it``), by the size of the matrix and ε alone.

    Unit: user, add/remove one. The number of items M of the second stage is n̂·(Δ/σ)/24, n̂ the
    released number of users and σ the noise on the second moment: an estimate of where one more
    item brings as much noise as signal. The objective is Σ (x − prediction)² + s²‖users'
    coefficients‖², the negative log-posterior of the users' own fits.
    """
    ratings = on_scale(ratings)
    norm = 2 if config.budget is None else config.budget.norm
    width = ratings.high - ratings.low
    size = min(MOST_ITEMS, ratings.n_items)
    if items_worth_it(ratings, config) < WORTH_IT:
        size = 0
    curator = Curator(plan(_parts(ratings, norm, size), config.budget), rng)
    reg = (RATING_SD * width) ** 2
    with Workers(workers) as pool:
        offsets = release_offsets(ratings, curator, norm)
        base = offsets.offset + centre(ratings)
        profile = _profile_features(offsets, width)
        targets = ratings.values - base[ratings.items]
        profile = _profile_worth_it(ratings, targets, profile, reg, curator, pool)
        fits = fit_users(ratings, targets, profile, reg, pool)
        yield _step(1, ratings, model_with_offsets(base, profile, fits), fits, reg, curator)

        left = residuals(ratings, targets, profile, fits)
        factors = _release_factors(ratings, left, offsets, config.rank, size, curator, norm)
        features = np.hstack([profile, factors])
        fits = fit_users(ratings, targets, features, reg, pool)
        yield _step(2, ratings, model_with_offsets(base, features, fits), fits, reg, curator)


def items_worth_it(ratings: Ratings, config: MomentsConfig) -> float:
    """How many items the second stage would take, n_users·(Δ/σ)/24, by its plan.

    Reads the matrix's sizes and scale, and no rating. ∞ without noise.
    """
    size = min(MOST_ITEMS, ratings.n_items)
    if config.budget is None or size < 2:
        return math.inf
    planned = plan(_parts(ratings, config.budget.norm, size), config.budget)
    assert planned is not None
    return ratings.n_users * shift_of(planned["tastes"]) / ITEMS_PER_SIGNAL


def _parts(ratings: Ratings, norm: int, size: int) -> dict[str, Part]:
    """Both stages' releases; the first alone for a ``size`` of 0."""
    clip = RESIDUAL_CLIP * (ratings.high - ratings.low)
    *shares, last = (
        FIRST_SHARES
        if not size
        else tuple(SHARES[name] for name in ("popularity", "weights", "deviations", "profile"))
    )
    parts = offset_parts(ratings, norm, (shares[0], shares[1], shares[2]))
    parts["profile"] = sum_part(
        "whether users' slopes predict what they left out",
        clip=MOST_GAIN,
        norm=norm,
        coordinates=1,
        share=last,
    )
    if size >= 2:
        parts["users"] = sum_part(
            "how many users there are", clip=1.0, norm=norm, coordinates=1, share=SHARES["users"]
        )
        parts["together"] = second_moment_part(
            "which items are rated together",
            clip=1.0,
            norm=norm,
            size=size,
            share=SHARES["together"],
        )
        parts["tastes"] = second_moment_part(
            "which items' residuals go together",
            clip=clip,
            norm=norm,
            size=size,
            share=SHARES["tastes"],
        )
    return parts


def _profile_features(offsets: Offsets, width: float) -> FloatArray:
    """Item features that users fit with coefficients of variance 1.

    A constant, the offset, log-popularity.
    """
    mean, slope, popular = PROFILE_SD
    ones = np.full(len(offsets.offset), mean * width / 4)
    return np.stack(
        [ones, slope * offsets.offset, popular * width / 4 * offsets.log_popularity], axis=1
    )


def _profile_worth_it(
    ratings: Ratings,
    targets: FloatArray,
    profile: FloatArray,
    reg: float,
    curator: Curator,
    pool: Workers,
) -> FloatArray:
    """``profile`` with its slopes at 0, unless users speak for them: the sum of what slopes gain
    each user in log likelihood on their own ratings, each left out in turn, cut to ±3, leaves with
    noise, and its sign decides.
    """
    level = profile * np.array([1.0, 0.0, 0.0])
    without, with_slopes = (
        left_out_squares(
            ratings, targets, features, fit_users(ratings, targets, features, reg, pool), reg
        )
        for features in (level, profile)
    )
    gains = np.clip((without - with_slopes) / (2 * reg), -MOST_GAIN, MOST_GAIN)
    (gain,) = curator.release("profile", np.array([gains.sum()]))
    return profile if gain > 0 else level


def _release_factors(
    ratings: Ratings,
    left: FloatArray,
    offsets: Offsets,
    rank: int,
    size: int,
    curator: Curator,
    norm: int,
) -> FloatArray:
    """Item factors (n_items×r), zero outside the M most-rated items, from the second moments of
    residuals and weights.

    With user factors of variance 1, E Σ_i z_ij z_ik = N_jk·v_j·v_k with N_jk = Σ_i w_ij w_ik. N is
    close to ν_j ν_k, so the leading part of the released matrix, shrunk to E diag(g) Eᵀ, gives v_j
    = √g·e_j/ν_j.
    """
    if size < 2:
        return np.zeros((ratings.n_items, 0))
    n_users = float(curator.release("users", np.array([float(np.unique(ratings.users).size)]))[0])
    wanted = (
        size
        if not curator.private
        else int(max(n_users, 1.0) * curator.shift("tastes") / ITEMS_PER_SIGNAL)
    )
    kept = min(max(wanted, FEWEST_ITEMS), size)
    # items that are left out keep a row and column of noise only: the release has the planned
    # length whatever is kept
    best = np.argsort(-offsets.popularity, kind="stable")[:size]
    place = np.full(ratings.n_items, -1)
    place[best[:kept]] = np.arange(kept)
    inside = place[ratings.items] >= 0
    users, columns = ratings.users[inside], place[ratings.items[inside]]
    weights = user_weights(ratings.take(inside), offsets.popularity**-POPULARITY_POWER, norm)
    clip = RESIDUAL_CLIP * (ratings.high - ratings.low)
    tastes = clip_rows(users, weights * left[inside], ratings.n_users, norm, clip)

    together = _released(curator, "together", users, columns, weights, ratings.n_users, kept, size)
    spread = _spread(together, curator.std("together"))
    moved = _released(curator, "tastes", users, columns, tastes, ratings.n_users, kept, size)
    vectors, strengths = shrink(moved, curator.std("tastes"), rank)
    found = vectors * np.sqrt(strengths) / spread[:, None]
    length, longest = np.linalg.norm(found, axis=1), LONGEST * (ratings.high - ratings.low)
    factors = np.zeros((ratings.n_items, len(strengths)))
    factors[best[:kept]] = found * (longest / np.maximum(length, longest))[:, None]
    return factors


def _released(
    curator: Curator,
    name: str,
    users: NDArray[np.integer],
    columns: NDArray[np.integer],
    values: FloatArray,
    n_users: int,
    kept: int,
    size: int,
) -> FloatArray:
    """The noisy symmetric second moment over the ``kept`` items."""
    exact = np.zeros((size, size))
    exact[:kept, :kept] = symmetric(second_moment(users, columns, values, n_users, kept), kept)
    noisy = curator.release(name, exact[np.triu_indices(size, 1)])
    return symmetric(noisy, size)[:kept, :kept]


def _spread(together: FloatArray, std: float) -> FloatArray:
    """ν with N ≈ ν νᵀ, from the part of the released co-rating weights above its noise."""
    vectors, values = shrink(together, std, CORATING_RANK)
    if not len(values):
        vectors, values = np.ones((len(together), 1)), np.array([max(float(together.mean()), 1e-3)])
    smooth = (vectors * values) @ vectors.T
    smooth = np.maximum(smooth, 1e-3 * np.abs(smooth).mean())
    return np.asarray(smooth.sum(axis=1) / math.sqrt(smooth.sum()))


def _step(
    iteration: int,
    ratings: Ratings,
    model: FactorModel,
    fits: FloatArray,
    reg: float,
    curator: Curator,
) -> Step:
    squares = squared_residuals(ratings, model)
    objective = squares + reg * float(np.vdot(fits, fits))
    return Step(iteration, model, squares, objective, curator.made(), curator.rest())


def _of_likes(
    likes: Ratings,
    config: MomentsConfig,
    rng: np.random.Generator,
    workers: int | None,
    visitors: Ratings,
) -> Iterator[Step]:
    settings = LikesConfig(rank=config.rank, budget=config.budget)
    return moments_of_likes(likes, settings, rng, workers, visitors)


ALGORITHMS = (
    Algorithm(
        name="moments",
        title="One-shot moments",
        summary="Popularity, offsets and which tastes go together leave once, with noise; every "
        "user does the rest alone.",
        source="this project, after finding 11 (docs/moments-once.md)",
        tuned="MovieLens 1M and 100K (docs/moments-once.md)",
        config=MomentsConfig,
        order=5,
        noise=(TotalEpsilon,),
        unit="user",
        guarantee=True,
        rate=one_shot_moments,
        recommend=_of_likes,
        steps=2,
    ),
)
