"""Item factors of one-shot moments: from the second moments of residuals and weights.

Which items take part, what is released of them, and how factors are read through the noise.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.population import Group, Population
from dpmc_core.completion.common.profiles import fit_users, residuals
from dpmc_core.completion.offsets import Offsets, user_weights
from dpmc_core.privacy.budget import Curator
from dpmc_core.privacy.moments import clip_rows, second_moment, shrink_off_diagonal, symmetric

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


@dataclass(frozen=True, eq=False)
class Profile:
    """What everybody knows of items, and users fit alone: ``base`` (n_items,) in rating units, and
    ``features`` (n_items×p) whose coefficients they find by a ridge with λ = ``reg``.
    """

    base: FloatArray
    features: FloatArray
    reg: float

    def fits(self, group: Group) -> FloatArray:
        """Every user's coefficients (n_users×p)."""
        ratings = group.ratings
        targets = ratings.values - self.base[ratings.items]
        pool = group.pool
        return fit_users(ratings, targets, self.features, self.reg, pool)

    def left(self, group: Group) -> FloatArray:
        """What the users' fits leave of their ratings."""
        ratings = group.ratings
        targets = ratings.values - self.base[ratings.items]
        return residuals(ratings, targets, self.features, self.fits(group))


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
    n_users = float(curator.release("users", lambda: people.total(_present))[0])
    shift = curator.shift("tastes") if curator.private else math.inf
    n_retained = _items_kept(offsets.popularity, max(n_users, 1.0), shift, size)
    # items that are left out keep a row and column of noise only: the release has the planned
    # length whatever is kept
    best = np.argsort(-offsets.popularity, kind="stable")[:size]
    place = np.full(people.n_items, -1)
    place[best[:n_retained]] = np.arange(n_retained)
    weight, unit = offsets.popularity**-POPULARITY_POWER, offsets.spread

    def released(name: str, profile: Profile | None) -> FloatArray:
        """The noisy symmetric second moment over the kept items."""

        def exact() -> FloatArray:
            whole = np.zeros((size, size))
            triangle = people.total(_moment, place, n_retained, weight, norm, profile, unit)
            whole[:n_retained, :n_retained] = symmetric(triangle, n_retained)
            return whole[np.triu_indices(size, 1)]

        return symmetric(curator.release(name, exact), size)[:n_retained, :n_retained]

    often = _together(released("together", None), curator.std("together"))
    moved = released("tastes", profile)
    vectors, strengths = shrink_off_diagonal(moved, curator.std("tastes"), rank)
    raw_factors = unit * vectors * np.sqrt(CLIPPED * strengths) / often[:, None]
    length, longest = np.linalg.norm(raw_factors, axis=1), LONGEST * (people.high - people.low)
    factors = np.zeros((people.n_items, len(strengths)))
    factors[best[:n_retained]] = raw_factors * (longest / np.maximum(length, longest))[:, None]
    return factors


def _items_kept(popularity: FloatArray, n_users: float, shift: float, size: int) -> int:
    """How many of the most popular items, at most ``size``, bring more signal than noise.

    n̂·(Δ/σ)/24 of them, or more where their own co-rating weights, about p_j²/n̂ for a released
    ``popularity`` p_j, stand out from the noise: in a matrix of few items rated by many, all do.
    ``shift`` is Δ/σ of the residuals' second moment (∞ without noise). All that is read was
    released.
    """
    shift = min(shift, SAMPLING * size / math.sqrt(n_users))
    largest = np.sort(popularity)[::-1][:size]
    by_weight = int(np.count_nonzero(largest**2 / n_users * shift >= WEIGHT_WORTH_IT))
    wanted = max(int(n_users * shift / ITEMS_PER_SIGNAL), by_weight)
    return min(max(wanted, FEWEST_ITEMS), size)


def _present(group: Group) -> FloatArray:
    """How many users have ratings (1,)."""
    return np.array([float(np.unique(group.ratings.users).size)])


def _moment(
    group: Group,
    place: NDArray[np.integer],
    n_retained: int,
    weight: FloatArray,
    norm: int,
    profile: Profile | None,
    unit: float,
) -> FloatArray:
    """The strict upper triangle of Σ z zᵀ over the ``n_retained`` items that have a ``place``: z
    the weights of a user's items, times what ``profile`` leaves of their ratings, in units of
    ``unit`` and clipped, where one is given.
    """
    ratings = group.ratings
    inside = place[ratings.items] >= 0
    taken = ratings.take(inside)
    values = user_weights(taken, weight, norm)
    if profile is not None:
        values = values * profile.left(group)[inside] / unit
        clip = RESIDUAL_CLIP * (ratings.high - ratings.low)
        values = clip_rows(taken.users, values, ratings.n_users, norm, clip)
    return second_moment(taken.users, place[taken.items], values, ratings.n_users, n_retained)


def _together(together: FloatArray, std: float) -> FloatArray:
    """ν with N ≈ ν νᵀ, from the part of the released co-rating weights above its noise."""
    vectors, values = shrink_off_diagonal(together, std, CORATING_RANK)
    if not len(values):
        vectors, values = np.ones((len(together), 1)), np.array([max(float(together.mean()), 1e-3)])
    smooth = (vectors * values) @ vectors.T
    smooth = np.maximum(smooth, 1e-3 * np.abs(smooth).mean())
    return np.asarray(smooth.sum(axis=1) / math.sqrt(smooth.sum()))
