"""Item offsets released in two rounds.

How much better or worse than a user's average an item is, and how often it is rated.

The private baseline (user means with noisy item offsets), and its first stage, which *one-shot
moments* shares.

Each user puts weights w_ij = ω_j/‖ω‖ on the items they rated (norm over those items, so ‖w_i‖ = 1).
Five sums leave: one number, how far users' ratings lie from their own mean (below); the weights
with ω = 1 (how popular each item is); then, with rare items weighted up by the popularity just
released, the weights again, and twice the weighted deviations of the user's ratings from what was
known before, clipped to a norm: from the user's own mean, and then from the first round's offsets
and the user's mean over them. (A user who rates good films has a high mean: the first round takes
too little of an item's offset.) Popular items need less of a user's say to be known well; this is
the idea of Krichene et al. 2023.

Clips and prior widths are shares of the scale's width R that suit users who spread their ratings
over it as MovieLens's do, with a variance of about v₀ = (``USER_SD``·R)². With v_i = (Σ_j (x_ij −
x̄_i)² + v₀)/n_i, the variance of a user's n_i ratings as if v₀ were one squared deviation more,
each user adds min(v_i/v₀, 2) − 1 to the released number. As v_i ≥ 0, this lies within ±1, and
users without ratings add 0: one user added or removed moves the sum by at most 1. Who has one
rating adds 0 as well, for v_i = v₀. Over the number of rows, which is public, and after a pull to 0
as far as the noise asks, the sum says by how much the variance differs from v₀, relatively; the
root of 1 plus that is ``spread``. Later contributions are divided by the spread before they are
clipped, so their sensitivities do not depend on it, and what is released is multiplied by it.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.completion.common.parameters import BudgetConfig
from dpmc_core.completion.common.population import Group, Learning, Population, in_memory
from dpmc_core.completion.common.profiles import (
    MEAN_PULL,
    RATING_SD,
    centre,
    fit_users,
    model_with_offsets,
    own_means,
    residuals,
)
from dpmc_core.completion.common.step import FactorModel, Table
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Curator, Journal, Part, plan
from dpmc_core.privacy.moments import clip_rows, row_norms, second_moment, sum_part, symmetric

_GRID, _ROUNDS, _ENOUGH = 120, 60, 5000  # possible popularities, rounds of EM, numbers it reads
_PLAIN = 30.0
_SMALLEST = 0.03  # of the noise: popularities below are one
_SMOOTH = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
_MODEL = 0.1  # how far, relatively, an item's second weight lies from what its popularity says


def positive_means(noisy: FloatArray, std: FloatArray) -> FloatArray:
    """Posterior means (n,) of positive numbers that were released with Gaussian noise.

    ``noisy`` (n,) with noise of standard deviation ``std`` (n,). Their distribution is estimated
    from all of them together: by EM on a logarithmic grid, slightly smoothed (non-parametric
    empirical Bayes, Kiefer & Wolfowitz 1956). Noise of another family is treated as Gaussian. What
    is thirty times its noise stays as released: the grid is coarser than that.
    """
    smallest = _SMALLEST * float(std.min())
    grid = np.geomspace(smallest, max(float(noisy.max()), 4 * float(std.max())), _GRID)
    misfit = ((noisy[:, None] - grid) / std[:, None]) ** 2 / 2
    likelihood = np.exp(misfit.min(axis=1, keepdims=True) - misfit)
    # of very many numbers, some of all sizes tell how they are distributed
    few = np.argsort(noisy, kind="stable")[:: -(-len(noisy) // _ENOUGH)]
    prior = np.full(_GRID, 1 / _GRID)
    for _ in range(_ROUNDS):
        joint = likelihood[few] * prior
        prior = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        prior = np.convolve(np.pad(prior, 2, mode="edge"), _SMOOTH, "valid")
    joint = likelihood * prior
    means = (joint @ grid) / joint.sum(axis=1)
    return np.where(noisy > _PLAIN * std, noisy, means)


def standardised_log(positive: FloatArray) -> FloatArray:
    """Logarithms of ``positive`` numbers, centred and scaled over them."""
    logs = np.log(positive)
    return (logs - logs.mean()) / max(float(logs.std()), 1e-9)


def from_two_sums(
    first: FloatArray,
    first_std: float,
    weights: FloatArray,
    weights_std: float,
    item_weight: FloatArray,
    popularity: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Each item's popularity and total weight (n_items,), from both sums together.

    ``first`` is the noisy sum of users' even weights, whose ``popularity`` is what it says alone;
    ``weights`` the noisy sum of weights proportional to ``item_weight``. An item's weight is about
    its popularity times ``item_weight`` times a quadratic of log-popularity, which is fitted. So
    both sums tell of the same number, and their noise is averaged.
    """
    terms = np.vander(standardised_log(popularity), 3, increasing=True)
    expected = popularity * item_weight
    level = float(np.median(weights / np.maximum(expected, 1e-9)))
    variance = (
        weights_std**2 + (first_std * item_weight * level) ** 2 + (_MODEL * np.abs(weights)) ** 2
    )
    design = terms * expected[:, None]
    scaled = design / variance[:, None]
    gram = scaled.T @ design
    ridge = (1e-9 + 1e-9 * float(np.trace(gram))) * np.eye(3)
    fitted = terms @ np.linalg.solve(gram + ridge, scaled.T @ weights)
    lowest = max(1e-2 * float(np.median(np.abs(fitted))), 1e-9)
    ratio = np.maximum(fitted, lowest) * item_weight
    second, second_std = weights / ratio, np.hypot(weights_std / ratio, _MODEL * popularity)
    of_first, of_second = first_std**-2, second_std**-2
    trust = of_first + of_second
    pooled = positive_means((first * of_first + second * of_second) / trust, trust**-0.5)
    return pooled, np.maximum(pooled * ratio, 0.1 * weights_std)


# Fixed in advance of any run, in units of the rating scale's width R where they have one. They were
# chosen on MovieLens 100K and 1M; docs/one-shot-moments.md says on which splits, a few of them on
# those of the tables shown.
USER_SD = 0.256  # R: of users' ratings about their mean on MovieLens, where the spread is 1
SPREAD_SD = 0.5  # how much users' variance differs between sets of ratings, relatively
LEAST_SPREAD = 0.1  # clips of 0 would hide everything
SPREAD_SHARE = 0.01  # of the budget
DEVIATION_CLIP = 0.2  # R times spread: largest norm of a user's weighted deviations
CLIPPED = 1.2  # deviations before clipping over those after it
OFFSET_SD = 0.1  # R: how far offsets lie from what an item's popularity suggests
CURVE_SD = 0.025  # R: how large the coefficients of that curve of popularity are
FEATURE_SD = 0.02  # R: the same of the coefficients of public item features
OFFSET_POWER = 0.4  # items are weighted by popularity to minus this power
MEANS_SHARES = {"popularity": 0.12, "weights": 0.12, "deviations": 0.76}  # of the budget
FIRST_ROUND = 0.3  # of the budget for deviations


@dataclass(frozen=True, eq=False)
class Offsets:
    """What the first stage knows of each item (n_items,).

    ``offset`` against a user's mean in rating units, and ``popularity``, the sum of users' weights
    as the releases tell it, above 0. ``spread`` is that of users' ratings over MovieLens's.
    """

    offset: FloatArray
    popularity: FloatArray
    spread: float


@dataclass(frozen=True, kw_only=True)
class PrivateMeansConfig(BudgetConfig):
    """``budget`` None for the same predictor without noise."""


def offset_parts(people: Table, norm: int, shares: Mapping[str, float]) -> dict[str, Part]:
    """The five sums of this stage, with ``shares`` for popularity, weights and both rounds of
    deviations.
    """
    clip, deviations = DEVIATION_CLIP * people.width, shares["deviations"]
    planned = {
        "spread": ("how far ratings lie from their user's mean", 1.0, SPREAD_SHARE),
        "popularity": ("how often items are rated", 1.0, shares["popularity"]),
        "weights": ("weight on each item", 1.0, shares["weights"]),
        "deviations": (
            "weighted deviations of ratings from their user's mean",
            clip,
            FIRST_ROUND * deviations,
        ),
        "remainders": (
            "weighted deviations from the offsets released before",
            clip,
            (1 - FIRST_ROUND) * deviations,
        ),
    }
    return {
        name: sum_part(
            what,
            clip=most,
            norm=norm,
            coordinates=1 if name == "spread" else people.n_items,
            share=share,
        )
        for name, (what, most, share) in planned.items()
    }


def user_weights(ratings: Ratings, item_weight: FloatArray, norm: int) -> FloatArray:
    """w_ij of each rating: the item's weight over the norm of those of all items that the user
    rated.
    """
    weights = item_weight[ratings.items]
    return weights / row_norms(ratings.users, weights, norm)[ratings.users]


def release_offsets(
    people: Population, curator: Curator, norm: int, features: FloatArray | None = None
) -> Offsets:
    """Release the five sums and read offsets from them, by a regression on log-popularity that
    knows the noise.

    What a round tells of an offset is a weighted mean of deviations, of variance s²q/C_j + σ²/C_j²
    (C_j the item's weight, q a typical squared weight over a typical weight); it is pulled to a
    quadratic of log-popularity in the proportion of that variance to the offsets' own, which is
    (``OFFSET_SD``)² before the first round and what that leaves before the second. Public
    ``features`` (n_items×q, centred and within ±1) are further columns of that regression.
    """
    width, n_items = people.width, people.n_items
    (apart,) = curator.total("spread", people, _variances) / people.n_users
    spread = _spread(apart, curator.std("spread") / people.n_users)
    even = np.ones(n_items)
    noisy = curator.total("popularity", people, item_weights, even, norm)
    std = max(curator.std("popularity"), 1e-2)
    popularity = positive_means(noisy, np.full(n_items, std))
    item_weight = np.maximum(popularity, std) ** -OFFSET_POWER
    summed = curator.total("weights", people, item_weights, item_weight, norm)
    weights_std = max(curator.std("weights"), 1e-3)
    popularity, total = from_two_sums(noisy, std, summed, weights_std, item_weight, popularity)

    design = np.vander(standardised_log(popularity), 3, increasing=True)
    sds = np.full(3, CURVE_SD)
    if features is not None:
        design = np.hstack([design, features])
        sds = np.append(sds, np.full(features.shape[1], FEATURE_SD))
    offsets, own = np.zeros(n_items), np.full(n_items, (OFFSET_SD * width) ** 2)
    for name in ("deviations", "remainders"):
        args = item_weight, offsets, norm, spread
        moved = spread * curator.total(name, people, _deviations, *args)
        raw = CLIPPED * moved / total
        noise = spread * curator.std(name) / total
        variance = (RATING_SD * spread * width) ** 2 * 0.1 / total + noise**2
        trust = 1 / (own + variance)
        suggested = design @ np.linalg.solve(
            (design.T * trust) @ design + np.diag(1 / (sds * width) ** 2), (design.T * trust) @ raw
        )
        offsets = offsets + suggested + (raw - suggested) * own * trust
        own = own * variance * trust
    return Offsets(offsets, popularity, spread)


def _variances(group: Group) -> FloatArray:
    """The sum of users' min(v_i/v₀, 2) − 1 (1,), as the module derives."""
    ratings = group.ratings
    counts = np.maximum(ratings.per_user, 1)
    means = ratings.by_user(ratings.values) / counts
    squares = ratings.by_user((ratings.values - means[ratings.users]) ** 2)
    usual = (USER_SD * ratings.width) ** 2
    return np.array([np.sum(np.minimum((squares / usual + 1) / counts, 2.0) - 1)])


def _spread(apart: float, std: float) -> float:
    """The spread of users' ratings whose variance is relatively so much ``apart`` from the usual
    one, by a release with noise of standard deviation ``std``.
    """
    trust = SPREAD_SD**2 / (SPREAD_SD**2 + std**2)
    return math.sqrt(min(max(1 + apart * trust, LEAST_SPREAD**2), 2.0))


def item_weights(group: Group, item_weight: FloatArray, norm: int) -> FloatArray:
    """Σ w_ij of each item (n_items,)."""
    ratings = group.ratings
    return ratings.by_item(user_weights(ratings, item_weight, norm))


def present(group: Group) -> FloatArray:
    """How many users have ratings (1,)."""
    return np.array([float(np.unique(group.ratings.users).size)])


def number_part(norm: int, share: float) -> Part:
    """The plan of ``present``."""
    return sum_part("how many users there are", clip=1.0, norm=norm, coordinates=1, share=share)


def moment(
    group: Group,
    place: IntArray,
    weight: FloatArray,
    norm: int,
    profile: "Profile | None" = None,
    unit: float = 1.0,
    clip: float = math.inf,
    clamp: float = math.inf,
) -> FloatArray:
    """The strict upper triangle of Σ z zᵀ over the items that have a ``place`` (from 0): z the
    weights of a user's items, times what ``profile`` leaves of their ratings, within ±``clamp``
    and in units of ``unit``, and clipped to ``clip``, where one is given.
    """
    ratings = group.ratings
    inside = place[ratings.items] >= 0
    taken = ratings.take(inside)
    values = user_weights(taken, weight, norm)
    if profile is not None:
        values = values * np.clip(profile.left(group), -clamp, clamp)[inside] / unit
        values = clip_rows(taken.users, values, norm, clip)
    return second_moment(
        taken.users, place[taken.items], values, ratings.n_users, int(place.max()) + 1
    )


def release_moment(
    people: Population, curator: Curator, name: str, size: int, place: IntArray, *how: Any
) -> FloatArray:
    """The noisy ``moment`` over the items that have a ``place``, a matrix with a diagonal of zeros.

    ``size`` items are planned. Those that are left out keep a row and column of noise only: the
    release has the planned length however many they are.
    """
    n_retained = int(place.max()) + 1

    def padded() -> FloatArray:
        whole = np.zeros((size, size))
        exact = people.total(moment, place, *how)
        whole[:n_retained, :n_retained] = symmetric(exact, n_retained, 1)
        return whole[np.triu_indices(size, 1)]

    return symmetric(curator.release(name, padded), size, 1)[:n_retained, :n_retained]


def standing_out(
    popularity: FloatArray, n_users: float, shift: float, size: int, least: float
) -> int:
    """How many of the ``size`` most popular items have a weight of their own in a second moment,
    about p_j²/n̂ for a released ``popularity`` p_j, of ``least`` σ/Δ or more, ``shift`` = Δ/σ.
    """
    largest = np.sort(popularity)[::-1][:size]
    return int(np.count_nonzero(largest**2 / n_users * shift >= least))


def _deviations(
    group: Group, item_weight: FloatArray, offsets: FloatArray, norm: int, spread: float
) -> FloatArray:
    """Σ of each item's weighted deviations from its offset and the user's mean over offsets, in
    units of ``spread``, a user's vector clipped (n_items,).
    """
    ratings = group.ratings
    left = replace(ratings, values=ratings.values - offsets[ratings.items])
    deviations = user_weights(ratings, item_weight, norm)
    deviations = deviations * (left.values - own_means(left)[ratings.users]) / spread
    clip = DEVIATION_CLIP * ratings.width
    deviations = clip_rows(ratings.users, deviations, norm, clip)
    return ratings.by_item(deviations)


@dataclass(frozen=True, eq=False)
class Profile:
    """What everybody knows of items, and users fit alone: ``base`` (n_items,) in rating units, and
    ``features`` (n_items×p) whose coefficients they find by a ridge with λ = ``reg``.
    """

    base: FloatArray
    features: FloatArray
    reg: float

    def targets(self, group: Group) -> Ratings:
        """What the users' ratings have beyond ``base``."""
        ratings = group.ratings
        return replace(ratings, values=ratings.values - self.base[ratings.items])

    def fits(self, group: Group) -> FloatArray:
        """Every user's coefficients (n_users×p)."""
        return fit_users(self.targets(group), self.features, self.reg, group.pool)

    def left(self, group: Group) -> FloatArray:
        """What the users' fits leave of their ratings."""
        return residuals(self.targets(group), self.features, self.fits(group))

    def model(self, group: Group) -> FactorModel:
        """What each user adds alone to what was released: their own coefficients."""
        return model_with_offsets(self.base, self.features, self.fits(group))

    def penalty(self, model: FactorModel) -> float:
        """λ times the squares of users' coefficients."""
        fits = model.user_factors[:, 1:]
        return self.reg * float(np.vdot(fits, fits))

    def released(self) -> dict[str, Any]:
        """All of it: see ``population.Learned``."""
        return dict(vars(self))


def learn_private_means(
    people: Population, config: PrivateMeansConfig, rng: np.random.Generator, journal: Journal
) -> Iterator[Learning]:
    """One step: offsets released, then every user re-fits their own mean.

    X_ij ≈ m_i + b_j.

    The objective is Σ (x − m − b)² + λ Σ (m − middle of the scale)², λ the pull that the user means
    have. Unit: user, add/remove one; every sensitivity is derived in ``privacy.moments``.
    """
    norm = config.norm
    parts = plan(offset_parts(people, norm, MEANS_SHARES), config.budget)
    curator = Curator(parts, rng, journal)
    offsets = release_offsets(people, curator, norm).offset + centre(people)
    profile = Profile(offsets, np.ones((people.n_items, 1)), MEAN_PULL)
    yield Learning(1, profile, curator.made(), curator.rest())


private_means = in_memory(learn_private_means)


ALGORITHMS = (
    guaranteed(
        name="private-means",
        title="Private means",
        summary="The baseline made private: noisy item offsets, and every user's own mean.",
        source="this project",
        tuned="MovieLens 1M and 100K",
        config=PrivateMeansConfig,
        order=7,
        rate=private_means,
        learn=learn_private_means,
        steps=1,
    ),
)
