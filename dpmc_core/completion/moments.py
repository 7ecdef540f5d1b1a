"""One-shot moments: private completion from seven sums and two second moments, each released once.

This project's own model. Its second stage clips each user's residual vector over the
most-rated items to a norm, releases its second moment and the co-rating weights once, shrinks what
stands above the noise to item factors, and lets every user solve for themselves. The first stage is
in ``offsets``, sums, sensitivities and shrinkage in ``privacy.moments``. First comes the second
stage: which items take part, what is released of them, and how factors are read through the noise.

No rounds of factors: nothing is released that was computed from users' fits to earlier factors. So
the budget is split once, and everything after the last release is free.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.parameters import Rank, public_features
from dpmc_core.completion.common.population import Group, Learning, Population, in_memory
from dpmc_core.completion.common.profiles import RATING_SD, TASTE_SD, centre, left_out_squares
from dpmc_core.completion.common.step import Table
from dpmc_core.completion.offsets import (
    Offsets,
    Profile,
    number_part,
    offset_parts,
    present,
    release_moment,
    release_offsets,
    standardised_log,
    standing_out,
)
from dpmc_core.completion.recommending import LikesConfig, moments_of_likes
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Curator, Journal, Part, plan, shift_of
from dpmc_core.privacy.moments import (
    most_popular_columns,
    second_moment_part,
    shrink_off_diagonal,
    sum_part,
)

# Fixed in advance of any run; docs/one-shot-moments.md says on which data they were chosen.
POPULARITY_POWER = 0.25  # items are weighted by popularity to minus this power
RESIDUAL_CLIP = 0.2  # R times spread: largest norm of a user's weighted residuals
# one item more is worth its noise for about so many (users × sensitivity/σ), or where its own
# co-rating weight, in units of σ/sensitivity, is this large
ITEMS_PER_SIGNAL, WEIGHT_WORTH_IT = 24.0, 0.32
# who happens to be there counts as noise of √users/(this × items) sensitivities
SAMPLING = 0.3
FEWEST_ITEMS = 10
CLIPPED = 1.25  # residuals' second moments before clipping over those after it
CORATING_RANK = 20
# longest factor of an item, in widths of the scale: residuals spread over users by half a width at
# most, and where noise leaves next to no co-rating weight a quotient would be any number
LONGEST = 0.25


def release_item_factors(
    people: Population,
    profile: Profile,
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
        return np.zeros((people.n_items, 0))
    (n_users,) = curator.total("users", people, present)
    shift = curator.shift("tastes")
    n_retained = _items_kept(offsets.popularity, max(n_users, 1.0), shift, size)
    best, place = most_popular_columns(offsets.popularity, n_retained)
    weight, unit = offsets.popularity**-POPULARITY_POWER, offsets.spread
    together = release_moment(people, curator, "together", size, place, weight, norm)
    often = _together(together, curator.std("together"))
    how = weight, norm, profile, unit, RESIDUAL_CLIP * people.width
    moved = release_moment(people, curator, "tastes", size, place, *how)
    vectors, strengths = shrink_off_diagonal(moved, curator.std("tastes"), rank)
    raw_factors = unit * vectors * np.sqrt(CLIPPED * strengths) / often[:, None]
    length, longest = np.linalg.norm(raw_factors, axis=1), LONGEST * people.width
    factors = np.zeros((people.n_items, len(strengths)))
    factors[best] = raw_factors * (longest / np.maximum(length, longest))[:, None]
    return factors


def _items_kept(popularity: FloatArray, n_users: float, shift: float, size: int) -> int:
    """How many of the most popular items, at most ``size``, bring more signal than noise.

    n̂·(Δ/σ)/24 of them, or more where their own co-rating weights, about p_j²/n̂ for a released
    ``popularity`` p_j, stand out from the noise: in a matrix of few items rated by many, all do.
    ``shift`` is Δ/σ of the residuals' second moment (∞ without noise). All that is read was
    released.
    """
    shift = min(shift, SAMPLING * size / math.sqrt(n_users))
    by_weight = standing_out(popularity, n_users, shift, size, WEIGHT_WORTH_IT)
    return min(max(int(n_users * shift / ITEMS_PER_SIGNAL), by_weight, FEWEST_ITEMS), size)


def _together(together: FloatArray, std: float) -> FloatArray:
    """ν with N ≈ ν νᵀ, from the part of the released co-rating weights above its noise."""
    vectors, values = shrink_off_diagonal(together, std, CORATING_RANK)
    if not len(values):
        vectors, values = np.ones((len(together), 1)), np.array([max(float(together.mean()), 1e-3)])
    smooth = (vectors * values) @ vectors.T
    smooth = np.maximum(smooth, 1e-3 * np.abs(smooth).mean())
    return smooth.sum(axis=1) / math.sqrt(smooth.sum())


# Fixed in advance of any run, and chosen on other splits of the data shown; see ``offsets`` for how
# they were chosen.
SHARES = {
    "users": 0.01,
    "popularity": 0.08,
    "weights": 0.08,
    "deviations": 0.52,
    "profile": 0.01,
    "together": 0.04,
    "tastes": 0.26,
}
# where the second stage is left out
FIRST_SHARES = {"popularity": 0.11, "weights": 0.11, "deviations": 0.75, "profile": 0.03}
MOST_GAIN = 3.0  # nats by which one user may speak for or against slopes
# items in the second stage below which it is left out: its budget does more in the first
WORTH_IT = 20.0
# for items all alike, half of them rated by everybody, sensitivities/σ per item from which all are
# taken (``WEIGHT_WORTH_IT``)
ALIKE_WORTH_IT = 1.6
MOST_ITEMS = 2000
PROFILE_SD = (
    0.5,
    0.5,
    0.1,
)  # spread over users of: mean (in R/4), slope on offsets, slope on log-popularity (in R/4)


@dataclass(frozen=True, kw_only=True)
class MomentsConfig(LikesConfig):
    """``rank`` is the most factors kept; what does not stand above the noise is dropped."""

    rank: Rank = 16


def learn_one_shot_moments(
    people: Population, config: MomentsConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[Learning]:
    """Two steps: (1) offsets, and users fit mean, slope on offsets and slope on popularity.

    (2) the factors as well.

    With few users or little ε the second step adds nothing: the plan then leaves its releases out
    (``items_worth_it``), by the size of the matrix and ε alone.

    Unit: user, add/remove one. How many items M the second stage takes follows from what was
    released (``_items_kept``): an estimate of where one more brings as much noise as signal. The
    objective is Σ (x − prediction)² + s²‖users'
    coefficients‖², the negative log-posterior of the users' own fits.
    """
    # over how many items second moments are planned; 0 leaves the second stage out
    worth_it, norm = items_worth_it(people, config) >= WORTH_IT, config.norm
    size = min(MOST_ITEMS, people.n_items) if worth_it else 0
    public = public_features(people, config.item_features)
    curator = Curator(plan(_parts(people, norm, size), config.budget), rng, journal)
    width = people.width
    offsets = release_offsets(people, curator, norm, public)
    # users fit a constant, the offset and log-popularity, with coefficients of variance 1
    mean, slope, popular = PROFILE_SD
    ones = np.full(people.n_items, mean * width / 4)
    logs = standardised_log(offsets.popularity)
    features = np.stack([ones, slope * offsets.offset, popular * width / 4 * logs], axis=1)
    reg = (RATING_SD * offsets.spread * width) ** 2
    first = Profile(offsets.offset + centre(people), features, reg)
    (gain,) = curator.total("profile", people, _gain_of_slopes, first)
    if gain <= 0:
        first = replace(first, features=first.features * np.array([1.0, 0.0, 0.0]))
    if public is not None:
        tastes = TASTE_SD * width * public
        first = replace(first, features=np.hstack([first.features, tastes]))
    yield Learning(1, first, curator.made(), curator.rest())
    factors = release_item_factors(people, first, offsets, config.rank, size, curator, norm)
    second = replace(first, features=np.hstack([first.features, factors]))
    yield Learning(2, second, curator.made(), curator.rest())


one_shot_moments = in_memory(learn_one_shot_moments)


def items_worth_it(people: Table, config: MomentsConfig) -> float:
    """How many items the second stage would take by its plan: n_users·(Δ/σ)/24, or all of them
    where they are so few that they would be worth it if all were alike.

    Reads the matrix's sizes and scale, and no rating. ∞ without noise.
    """
    size = min(MOST_ITEMS, people.n_items)
    if size < 2:
        return math.inf
    planned = plan(_parts(people, config.norm, size), config.budget)
    signal = people.n_users * shift_of(planned, "tastes")
    all_alike = max(float(size), WORTH_IT) if signal >= ALIKE_WORTH_IT * size else 0.0
    return max(signal / ITEMS_PER_SIGNAL, all_alike)


def _parts(people: Table, norm: int, size: int) -> dict[str, Part]:
    """Both stages' releases; the first alone for a ``size`` of 0."""
    shares = SHARES if size else FIRST_SHARES
    parts = offset_parts(people, norm, shares)
    parts["profile"] = sum_part(
        "whether users' slopes predict what they left out",
        clip=MOST_GAIN,
        norm=norm,
        coordinates=1,
        share=shares["profile"],
    )
    if size >= 2:
        parts["users"] = number_part(norm, SHARES["users"])
        parts["together"] = second_moment_part(
            "which items are rated together",
            clip=1.0,
            norm=norm,
            size=size,
            share=SHARES["together"],
        )
        parts["tastes"] = second_moment_part(
            "which items' residuals go together",
            clip=RESIDUAL_CLIP * people.width,
            norm=norm,
            size=size,
            share=SHARES["tastes"],
        )
    return parts


def _gain_of_slopes(group: Group, profile: Profile) -> FloatArray:
    """The sum of what the slopes of ``profile`` gain each user in log likelihood on their own
    ratings, each left out in turn, cut to ±3 (1,). Its sign decides whether slopes stay.
    """
    targets, reg = profile.targets(group), profile.reg
    without, with_slopes = (
        left_out_squares(targets, features, reg, group.pool)
        for features in (profile.features[:, :1], profile.features)
    )
    gains = np.clip((without - with_slopes) / (2 * reg), -MOST_GAIN, MOST_GAIN)
    return np.array([gains.sum()])


ALGORITHMS = (
    guaranteed(
        name="moments",
        title="One-shot moments",
        summary="Popularity, offsets and which tastes go together leave once, with noise; every "
        "user does the rest alone.",
        source="this project, after finding 11 (docs/one-shot-moments.md)",
        tuned="MovieLens 1M and 100K, SweetRS and synthetic sets (docs/one-shot-moments.md)",
        config=MomentsConfig,
        order=5,
        rate=one_shot_moments,
        learn=learn_one_shot_moments,
        recommend=moments_of_likes,
        steps=2,
    ),
)
