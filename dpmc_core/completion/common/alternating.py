"""What ALS and IRLS share: settings, where noise is added, and the item pass.

The releases of an iteration say the noise that they have. Users are in one group in memory, whose
items are solved as their users' vectors are gathered, or in several: then the sums of each item
come together first, Σ u uᵀ, Σ x u and Σ x².
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from dpmc_core.arrays import FloatArray, IntArray, pieces
from dpmc_core.completion.common.parameters import Iterations, Penalty, Rank, Sensitivity
from dpmc_core.completion.common.population import Group, Population
from dpmc_core.completion.common.step import FactorModel, Sides
from dpmc_core.completion.kernel.lapack import add_ridge, solve_spd
from dpmc_core.completion.kernel.solve import BlockSolver, Side, half_sweep, upper_gram
from dpmc_core.completion.kernel.threads import Workers, single_blas_thread
from dpmc_core.config import Choice, Config
from dpmc_core.errors import ParameterError
from dpmc_core.mechanisms import Mechanism
from dpmc_core.mechanisms.huber import rho
from dpmc_core.privacy.ledger import Release, sample

_AT_ONCE = 1024  # items that are solved together


@dataclass(frozen=True, kw_only=True)
class AlternatingConfig(Config):
    """What ALS and IRLS share; ``mechanism`` is the noise, None for none, and the ledger records
    the Δ.
    """

    rank: Rank = 32
    reg: Penalty = 10.0
    iterations: Iterations = 20
    sensitivity: Sensitivity = 5.0
    noise_on: Annotated[
        str,
        Choice(
            ("right", "ratings", "both", "output"),
            "where noise is added: to right-hand sides of the item pass (Algorithms 1 and 3), to "
            "each rating's term of them (thesis, equation 3.11), in the user pass too, or to "
            "solved item factors",
            titles=("right-hand sides", "each rating's term", "both sides", "output"),
        ),
    ] = "right"
    mechanism: Mechanism | None = None


def releases_of(
    people: Population, config: AlternatingConfig, inner: int = 1
) -> tuple[Release, ...]:
    """The releases of one iteration: the item pass's and, with noise on both sides, the user
    pass's, at the same Δ; none without noise.

    For each of ``inner`` solves the right-hand sides Σ_i w_ij x_ij u_i of all items, r numbers each
    (huber-paper Alg. 1 line 8; Alg. 3 line 5). The sensitivity is the papers' assumption Δ₁ = Δ₂ =
    Δ, not a derived bound, hence ``sound=False``. A draw for each rating is accounted for as if
    every rating's noisy term were released, of which the noisy sums are computed. Users' right-hand
    sides Σ w x·v take part as items' do. Solved factors are released once, after the last of
    ``inner`` solves. Nothing is derived for them: their Δ is the papers' of right-hand sides.
    Raises ``ParameterError`` for noise elsewhere than on right-hand sides of ratings that are in
    partitions.
    """
    if people.whole is None and config.noise_on != "right":
        raise ParameterError("noise_on", config.noise_on, "right for ratings in partitions")
    if config.mechanism is None:
        return ()
    release = Release(
        what="right-hand sides Σ x·u of all items, one vector of r numbers each",
        mechanism=config.mechanism,
        l1_sensitivity=config.sensitivity,
        l2_sensitivity=config.sensitivity,
        unit="rating",
        neighbours="replace-one",
        coordinates=people.n_items * config.rank,
        count=inner,
        sound=False,
        source="huber-paper, Theorem 2.1 with Δ = width of the rating range (section 2.2)",
        kind="huber-paper",
    )
    if config.noise_on == "ratings" and people.whole is not None:
        release = replace(
            release,
            what="terms x·u of all ratings, r numbers each; only their sums are used",
            coordinates=len(people.whole.ratings) * config.rank,
            kind="huber-ratings",
        )
    elif config.noise_on == "output":
        release = replace(
            release,
            what="solved factors of all items, r numbers each",
            count=1,
            source="none: Δ of right-hand sides is taken, and nothing is derived for factors",
            kind="huber-output",
        )
    if config.noise_on != "both":
        return (release,)
    what = "right-hand sides Σ x·v of all users, one vector of r numbers each"
    coordinates = people.n_users * config.rank
    return release, replace(release, what=what, coordinates=coordinates, kind="huber-users")


def noise_of(
    people: Population, config: AlternatingConfig, release: Release, rng: np.random.Generator
) -> FloatArray:
    """The noise of one pass (count×n×r, n its users or items); with a draw for each rating, those
    of an item's ratings added up, one column at a time so that few are in memory.
    """
    if config.noise_on != "ratings" or people.whole is None:
        return sample(release, rng).reshape(release.count, -1, config.rank)
    items: IntArray = people.whole.ratings.items
    column = replace(release, coordinates=len(items), count=1)
    sums = [
        np.bincount(items, sample(column, rng), people.n_items)
        for _ in range(release.count * config.rank)
    ]
    columns = np.array(sums, dtype=np.float64).reshape(release.count, config.rank, -1)
    return columns.swapaxes(1, 2)


@dataclass(frozen=True, eq=False)
class Reweighting:
    """R-IRLS (huber-paper Algorithm 3): every row's factors after ``inner`` solves from ``start``
    (rows×r), ratings weighted by the Huber loss's min(1, α/|residual|), each with its own ``noise``
    (inner×rows×r) if any.
    """

    start: FloatArray
    noise: FloatArray | None
    inner: int
    loss_alpha: float

    def solve(self, side: Side, factors: FloatArray, reg: float, pool: Workers) -> FloatArray:
        """The factors (rows×r) of all rows of ``side``."""
        last = None if self.noise is None else self.noise[-1]
        return half_sweep(side, factors, reg, pool, noise=last, update=self.update)[0]

    def update(
        self, a: FloatArray, y: FloatArray, rows: IntArray, solver: BlockSolver
    ) -> FloatArray:
        """Those of one gathered block, for ``half_sweep``."""
        theta = self.start[rows]
        for k in range(self.inner):
            weights = np.matvec(a, theta)
            np.subtract(y, weights, out=weights)
            np.abs(weights, out=weights)
            np.maximum(
                weights, self.loss_alpha, out=weights
            )  # min(1, α/|r|) = α/max(|r|, α), without dividing by zero
            np.divide(self.loss_alpha, weights, out=weights)
            theta = solver.solve(y, weights, None if self.noise is None else self.noise[k][rows])
        return theta


@dataclass(frozen=True, eq=False)
class Alternating:
    """What every user solves alone: on ``before``, the items' factors that their own follow from,
    with ``noise`` (n_users×r) on right-hand sides if any, or by ``reweighting``; they are predicted
    with ``items``.
    """

    before: FloatArray
    items: FloatArray
    reg: float
    iteration: int
    noise: FloatArray | None = None
    reweighting: Reweighting | None = None

    def model(self, group: Group) -> FactorModel:
        """The group's users with all items."""
        return FactorModel(_users(group, self), self.items)

    def penalty(self, model: FactorModel) -> float:
        """λ(‖U‖² + ‖V‖²)."""
        users, items = model.user_factors, model.item_factors
        return self.reg * float(np.vdot(users, users) + np.vdot(items, items))

    def released(self) -> dict[str, Any]:
        """The last items' factors, on which a new user's own are a ridge, as an
        ``offsets.Profile`` without offsets: noise and start of users here are theirs alone.
        """
        return {"base": np.zeros(len(self.items)), "features": self.items, "reg": self.reg}


def solve_items(
    people: Population, state: Alternating, noise: FloatArray | None
) -> tuple[FloatArray, float, float]:
    """Every item's (Σ u uᵀ + λI)⁻¹(Σ x u + t), t its row of ``noise``; Σ residual² and Σ ‖u‖²."""
    group = people.whole
    if group is None:
        sums = people.total(_sums, state)
        items, squares = _solved(sums[:-1], state, noise)
        return items, squares, float(sums[-1, 0])
    users = _users(group, state)
    items, squares = half_sweep(
        _sides(group, state).by_item, users, state.reg, group.pool, noise=noise, measure=True
    )
    return items, squares, float(np.vdot(users, users))


def reweight_items(people: Population, state: Alternating, how: Reweighting) -> FloatArray:
    """Every item's factors by R-IRLS."""
    group = people.whole
    if group is not None:
        users = _users(group, state)
        return how.solve(_sides(group, state).by_item, users, state.reg, group.pool)
    theta = how.start
    for k in range(how.inner):
        sums = people.total(_sums, state, theta, how.loss_alpha)
        theta, _ = _solved(sums[:-1], state, None if how.noise is None else how.noise[k])
    return theta


def losses(people: Population, state: Alternating, loss_alpha: float) -> tuple[float, float, float]:
    """Σ residual², Σ ρ_α(residual) and Σ ‖u‖²."""
    squares, loss, of_users = people.total(_losses, state, loss_alpha)
    return float(squares), float(loss), float(of_users)


def _users(group: Group, state: Alternating, *, again: bool = False) -> FloatArray:
    """The vectors of a group's users, on the items' factors before this iteration; kept in
    memory, and where they will be asked for ``again``.
    """

    def solved() -> FloatArray:
        by_user = _sides(group, state).by_user
        if state.reweighting is not None:
            return state.reweighting.solve(by_user, state.before, state.reg, group.pool)
        return half_sweep(by_user, state.before, state.reg, group.pool, noise=state.noise)[0]

    if not (again or group.in_memory):
        return solved()
    start = None if state.reweighting is None else state.reweighting.start
    marks = [_mark(one) for one in (state.before, state.noise, start) if one is not None]
    return group.cached("users", (state.iteration, state.reg, marks), solved)


def _sides(group: Group, state: Alternating) -> Sides:
    def build() -> Sides:
        sides = Sides.of(group.ratings, rank)
        return sides if group.in_memory else sides.short()

    rank = state.before.shape[1]
    return group.cached("sides", rank, build)


def _mark(factors: FloatArray) -> tuple[float, ...]:
    """Tells factors from those of another run."""
    return float(factors.sum()), float(np.vdot(factors, factors))


def _sums(
    group: Group,
    state: Alternating,
    theta: FloatArray | None = None,
    loss_alpha: float = 0.0,
    *,
    into: FloatArray | None = None,
) -> FloatArray:
    """By item the upper triangle of Σ w u uᵀ, Σ w x u and Σ x² (n_items + 1 × r(r+1)/2 + r + 1);
    w = 1, or with ``theta`` (n_items×r) the Huber loss's min(1, α/|x − u·θ|). The last row begins
    with Σ ‖u‖².
    """
    sides, users = _sides(group, state), _users(group, state, again=theta is not None)
    rank = users.shape[1]
    upper = np.ravel_multi_index(np.triu_indices(rank), (rank, rank))
    triangle = len(upper)
    out = np.zeros((len(state.before) + 1, triangle + rank + 1)) if into is None else into

    def collect(a: FloatArray, y: FloatArray, items: IntArray, solver: BlockSolver) -> FloatArray:
        target, left = y, a
        if theta is not None:
            away = np.abs(y - np.matvec(a, theta[items]))
            root = np.sqrt(loss_alpha / np.maximum(away, loss_alpha))
            target, left = root * y, a * root[..., None]
        gram = group.pool.scratch("gram", (len(items), rank, rank))
        upper_gram(left, gram)
        out[items, :triangle] += gram.reshape(len(items), -1).take(upper, axis=1)
        out[items, triangle:-1] += np.vecmat(target, left)
        out[items, -1] += np.einsum("bn,bn->b", y, y)
        return np.zeros((len(items), rank))

    half_sweep(sides.by_item, users, 1.0, group.pool, update=collect)
    out[-1, 0] += np.vdot(users, users)
    return out


def _losses(group: Group, state: Alternating, loss_alpha: float) -> FloatArray:
    """Σ residual², Σ ρ_α(residual) and Σ ‖u‖² (3,)."""
    ratings, model = group.ratings, state.model(group)
    left = ratings.values - ratings.predicted_by(model)
    loss, users = np.sum(rho(left, loss_alpha)), model.user_factors
    return np.array([np.vdot(left, left), loss, np.vdot(users, users)])


def _solved(
    sums: FloatArray, state: Alternating, noise: FloatArray | None
) -> tuple[FloatArray, float]:
    """Of the items' rows of ``_sums``, every item's θ = (G + λI)⁻¹(b + t) (n_items×r), and all
    items' Σ residual² = Σ x² − 2θ·b + θ·Gθ.
    """
    rank, reg = state.before.shape[1], state.reg
    rows, columns = np.triu_indices(rank)
    out, squares = np.zeros((len(sums), rank)), 0.0
    with single_blas_thread():
        for piece in pieces(len(sums), _AT_ONCE):
            packed, b, of_values = np.split(sums[piece], [len(rows), len(rows) + rank], axis=1)
            gram = np.zeros((len(packed), rank, rank))
            gram[:, rows, columns] = packed
            add_ridge(gram, reg)
            t = 0.0 if noise is None else noise[piece]
            out[piece] = theta = solve_spd(gram, b + t)
            # with (G + λI)θ = b + t, as in ``kernel.solve``
            squares += float(of_values.sum() - np.vdot(theta, b - t + reg * theta))
    return out, squares
