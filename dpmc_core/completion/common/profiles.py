"""Users from released item features: what each user works out alone, from their own ratings.

The ridge solution of every user on fixed item features, and small helpers that private models
share. Nothing here draws noise or leaves the user: under joint differential privacy (Kearns et al.
2014; dpals-paper section 2.3) a user may see anything computed from their own ratings and from what
was released.
"""

import math
from dataclasses import replace

import numpy as np

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.completion.common.step import FactorModel, Step, Table, grouped_by_user
from dpmc_core.completion.kernel.lapack import add_ridge, solve_spd
from dpmc_core.completion.kernel.solve import BlockSolver, Side, half_sweep
from dpmc_core.completion.kernel.threads import Workers
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.privacy.budget import Curator

_LARGEST, _NARROWEST = 1e40, 1e-10  # of a scale: fourth powers are sums' variances
_ROOM = 10.0  # widths of the scale: synthetic values with noise leave it a little
# in widths of the scale; chosen on MovieLens 100K and 1M (docs/one-shot-moments.md)
RATING_SD = 0.22  # how far a rating lies from what a model says of it
TASTE_SD = 0.04  # spread over users of what a public item feature, within ±1, is worth to them
MEAN_PULL = 5.0  # a user's mean is pulled to the middle of the scale as if by so many ratings


def centre(scale: Table) -> float:
    """The middle of the rating scale: public, where the mean rating is not."""
    return (scale.low + scale.high) / 2


def on_scale(ratings: Ratings) -> Ratings:
    """``ratings`` with values moved to where they are at most ten widths off their scale: what a
    user says must not be able to overflow a sum before it is clipped.

    Raises ``ParameterError`` for a scale in whose units nothing can be clipped: of no width, or so
    narrow or wide that sums of its powers leave the range of numbers.
    """
    low, high = ratings.low, ratings.high
    ends = max(abs(low), abs(high))
    width = high - low if ends <= _LARGEST else math.inf
    if not max(1e-9 * ends, _NARROWEST) <= width <= 2 * _LARGEST:
        raise ParameterError(
            "rating scale",
            f"{low:.17g} to {high:.17g}",
            f"a lower and a higher number within ±{_LARGEST:g}, apart by at least {_NARROWEST:g} "
            "and 1e-9 of the larger",
        )
    room = _ROOM * width
    inside = np.clip(ratings.values, low - room, high + room)
    return ratings if np.array_equal(inside, ratings.values) else replace(ratings, values=inside)


def own_means(ratings: Ratings) -> FloatArray:
    """Each user's mean rating (n_users,), pulled to the middle of the scale.

    The middle itself without ratings.
    """
    sums = ratings.by_user(ratings.values)
    return (sums + MEAN_PULL * centre(ratings)) / (ratings.per_user + MEAN_PULL)


def fit_users(targets: Ratings, features: FloatArray, reg: float, pool: Workers) -> FloatArray:
    """Every user's ridge coefficients (n_users×p) of their ``targets`` on the items' ``features``
    (n_items×p).

    Users without ratings get zeros.
    """
    side = grouped_by_user(targets, features.shape[1])
    coefficients, _ = half_sweep(side, features, reg, pool)
    return coefficients


def own_tastes(targets: Ratings, public: FloatArray, pool: Workers) -> FloatArray:
    """What public item features (n_items×q, within ±1) are worth to each user (n_users×q), by a
    ridge on their own ``targets`` alone; its λ is the ratio of the variances of both.
    """
    return fit_users(targets, public, (RATING_SD / TASTE_SD) ** 2, pool)


def fit_likes(
    by_user: Side,
    features: FloatArray,
    reg: float | FloatArray,
    penalty: float,
    everywhere: FloatArray,
    pool: Workers,
) -> FloatArray:
    """Every user's vector u with Σ (x − u·v)² over their own ratings + λ₀ Σ (u·v)² over
    ``everywhere`` + λ‖u‖² least.

    ``features`` v (n_items×r) of all items, ``everywhere`` those of the items that λ₀ (``penalty``)
    is about, ``reg`` λ for all or for each user: the user pass of dpals-paper (35). ``by_user`` are
    their ratings, grouped.
    """
    shared = penalty * everywhere.T @ everywhere
    each = np.broadcast_to(np.asarray(reg, dtype=np.float64), by_user.n_rows)

    def update(a: FloatArray, y: FloatArray, rows: IntArray, solver: BlockSolver) -> FloatArray:
        gram = np.matmul(a.transpose(0, 2, 1), a) + shared
        add_ridge(gram, each[rows, None])
        return solve_spd(gram, np.vecmat(y, a))

    users, _ = half_sweep(by_user, features, 1.0, pool, update=update)
    return users


def together(ratings: Ratings, visitors: Ratings | None) -> Ratings:
    """The ratings of both, in one matrix."""
    if visitors is None:
        return ratings
    return replace(
        ratings,
        users=np.concatenate([ratings.users, visitors.users]),
        items=np.concatenate([ratings.items, visitors.items]),
        values=np.concatenate([ratings.values, visitors.values]),
    )


def residuals(targets: Ratings, features: FloatArray, coefficients: FloatArray) -> FloatArray:
    """What the users' fits leave of their own ``targets``."""
    return targets.values - targets.predicted_by(FactorModel(coefficients, features))


def left_out_squares(
    targets: Ratings, features: FloatArray, reg: float, pool: Workers
) -> FloatArray:
    """Every user's Σ (target − prediction)² (n_users,), each rating left out of the ridge on
    ``features`` (n_items×p, few) that predicts it: r/(1 − h), h = vᵀ(Σ v vᵀ + λI)⁻¹v.
    """
    columns, rank = features.T, features.shape[1]
    # a pair at a time: all at once are rank² numbers for each rating
    pairs = [(a, b) for a in range(rank) for b in range(a, rank)]
    gram = np.empty((targets.n_users, rank, rank))
    for a, b in pairs:
        gram[:, a, b] = gram[:, b, a] = targets.by_user((columns[a] * columns[b])[targets.items])
    inverse = np.linalg.inv(gram + reg * np.eye(rank))
    leverage = np.zeros(len(targets))
    for a, b in pairs:
        products = (1 if a == b else 2) * columns[a] * columns[b]
        leverage += inverse[targets.users, a, b] * products[targets.items]
    fits = fit_users(targets, features, reg, pool)
    return targets.by_user((residuals(targets, features, fits) / (1 - leverage)) ** 2)


def model_with_offsets(
    offsets: FloatArray, features: FloatArray, coefficients: FloatArray
) -> FactorModel:
    """The model offsets[j] + coefficients[i]·features[j] as factors."""
    ones = np.ones((len(coefficients), 1))
    return FactorModel(np.hstack([ones, coefficients]), np.hstack([offsets[:, None], features]))


def squared_residuals(ratings: Ratings, model: FactorModel) -> float:
    """Σ (rating − prediction)² over ``ratings``."""
    error = ratings.values - ratings.predicted_by(model)
    return float(np.vdot(error, error))


def squares_step(iteration: int, ratings: Ratings, model: FactorModel, curator: Curator) -> Step:
    """The step of a solver whose objective is ``squared_residuals``."""
    squares = squared_residuals(ratings, model)
    return Step(iteration, model, squares, squares, curator.made(), curator.rest())


def clipped_values(ratings: Ratings, most: float) -> Ratings:
    """``ratings`` minus the middle of the scale, moved into [−``most``, ``most``] where they leave
    it.
    """
    return replace(ratings, values=np.clip(ratings.values - centre(ratings), -most, most))
