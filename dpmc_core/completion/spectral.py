"""Non-private baselines by singular values: truncated SVD, SVT and fast tri-factorisation.

Three solvers that have no private form here; they show what completion can do when nobody is
protected. All three complete what the mean of each user and item (the "user + item" predictor)
leaves of the ratings, so that zero means "as usual".
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.baselines import fit_baselines
from dpmc_core.completion.common.parameters import PENALTY, Iterations, Rank
from dpmc_core.completion.common.step import FactorModel, Step, check_rank
from dpmc_core.config import Config
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.privacy.algorithm import Algorithm


@dataclass(frozen=True, kw_only=True)
class UserItemConfig(Config):
    """Nothing to set."""


@dataclass(frozen=True, kw_only=True)
class TruncatedSVDConfig(Config):
    """``rank`` r: how many singular values are kept."""

    rank: Rank = 16


@dataclass(frozen=True, kw_only=True)
class TrifactorConfig(TruncatedSVDConfig):
    """``reg`` is how much singular values are shrunk."""

    iterations: Iterations = 20
    reg: Annotated[
        float,
        replace(
            PENALTY, meaning="how much tri-factorisation shrinks singular values, in rating units"
        ),
    ] = 10.0


@dataclass(frozen=True, kw_only=True)
class SVTConfig(TrifactorConfig):
    """``reg`` is the threshold τ in root-mean-square singular values of the residuals.

    Noisy ratings want few iterations: the limit fits every one of them exactly.
    """

    iterations: Iterations = 5
    reg: Annotated[
        float,
        replace(
            PENALTY,
            meaning="threshold τ of SVT, in multiples of the root mean square of the singular "
            "values of what the user + item predictor leaves",
            label="Threshold τ of SVT",
        ),
    ] = 20.0


class _Residuals:
    """What the "user + item" predictor leaves, as a sparse table; from factors back to a model."""

    def __init__(self, ratings: Ratings, rank: int) -> None:
        check_rank(ratings, rank)
        self._ratings, self.table = ratings, ratings.table
        self._base = next(b for b in fit_baselines(ratings) if b.name == "user + item")
        self.values = ratings.values - ratings.predicted_by(self._base)
        self.rank = min(rank, ratings.n_users - 1, ratings.n_items - 1)

    def at_ratings(self, left: FloatArray, right: FloatArray) -> FloatArray:
        return self._ratings.predicted_by(FactorModel(left, right))

    def step(self, iteration: int, left: FloatArray, right: FloatArray, penalty: float) -> Step:
        """A step whose objective is ½Σ (x − prediction)² + penalty."""
        base, n, m = self._base, self._ratings.n_users, self._ratings.n_items
        model = FactorModel(
            np.column_stack([left, base.user_part, np.ones(n)]),
            np.column_stack([right, np.ones(m), base.item_part]),
        )
        error = self.values - self.at_ratings(left, right)
        squares = float(np.vdot(error, error))
        return Step(iteration, model, squares, squares / 2 + penalty, ())


def user_item(
    ratings: Ratings, config: UserItemConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """The "user + item" baseline as a model of its own, for comparison; one step."""
    left, right = (np.zeros((n, 0)) for n in (ratings.n_users, ratings.n_items))
    yield _Residuals(ratings, 1).step(1, left, right, 0.0)


def truncated_svd(
    ratings: Ratings,
    config: TruncatedSVDConfig,
    rng: np.random.Generator,
    workers: int | None = None,
) -> Iterator[Step]:
    """One step: the best rank-r approximation of the residuals, zeros where nothing is known."""
    data = _Residuals(ratings, config.rank)
    left, values, right = _top(data.table(data.values), data.rank, rng)
    yield data.step(1, left * values, right, 0.0)


def svt(
    ratings: Ratings, config: SVTConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """Singular value thresholding (Cai, Candès & Shen 2010).

    X ← D_τ(Y), Y ← Y + δ·P_Ω(M − X), Y sparse throughout.

    τ = ``reg`` times the root mean square of the residuals' singular values, δ = min(1.9,
    1.2·nm/|Ω|) as in the paper but below its bound for convergence, 2; at most r singular values
    are computed.
    The objective is ½Σ (x − prediction)² + τ‖X‖_*.
    """
    data = _Residuals(ratings, config.rank)
    threshold = config.reg * float(
        np.sqrt(np.vdot(data.values, data.values) / min(ratings.n_users, ratings.n_items))
    )
    dual = data.values
    step = min(1.9, 1.2 / ratings.density)
    for iteration in range(1, config.iterations + 1):
        left, values, right = _top(data.table(dual), data.rank, rng)
        shrunk = np.maximum(values - threshold, 0.0)
        left = left * shrunk
        yield data.step(iteration, left, right, threshold * float(shrunk.sum()))
        dual = dual + step * (data.values - data.at_ratings(left, right))


def trifactor(
    ratings: Ratings, config: TrifactorConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """Fast tri-factorisation after Liu, Jiao & Shang 2013.

    X ≈ L D Rᵀ, L and R orthonormal with r columns, ‖D‖_* small.

    Per iteration, with Z = X on the unknown and the data on the known entries: L ← orth(Z R), R ←
    orth(Zᵀ L), D ← soft threshold of LᵀZR's singular values by ``reg``. Only r×r singular values
    are ever computed. The paper keeps Z = LDRᵀ by multipliers; here known entries are fitted by the
    quadratic term alone, which noisy ratings want. The objective is ½Σ (x − prediction)² +
    reg·‖D‖_*.
    """
    data = _Residuals(ratings, config.rank)
    n, m = ratings.n_users, ratings.n_items
    rank = max(data.rank, 1)
    users, items = (
        np.zeros((n, rank)),
        np.linalg.qr(rng.standard_normal((m, rank)))[0],
    )  # X = users·itemsᵀ so far
    for iteration in range(1, config.iterations + 1):
        misfit = data.table(
            data.values - data.at_ratings(users, items)
        )  # Z − X, zero where nothing is known
        left, _ = np.linalg.qr(users + misfit @ items)  # Z·R, as itemsᵀ·items = 1
        right, across = np.linalg.qr(items @ (users.T @ left) + misfit.T @ left)  # Zᵀ·L = R·across
        a, values, b = np.linalg.svd(across.T)  # LᵀZR
        core = (a * np.maximum(values - config.reg, 0.0)) @ b
        users, items = left @ core, right
        yield data.step(iteration, users, items, config.reg * float(np.linalg.norm(core, "nuc")))


def _top(
    table: sparse.csr_array, rank: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The ``rank`` largest singular triples, largest first: (n×r, r, m×r); r may be 0."""
    if rank < 1:
        n, m = table.shape
        return np.zeros((n, 0)), np.zeros(0), np.zeros((m, 0))
    left, values, right = svds(table, k=rank, v0=rng.standard_normal(min(table.shape)))
    return left[:, ::-1], np.asarray(values[::-1], dtype=np.float64), right[::-1].T


ALGORITHMS = (
    Algorithm(
        name="svt",
        title="SVT",
        summary="Singular value thresholding: fills the matrix by repeatedly shrinking singular "
        "values. Not private.",
        source="Cai, Candès & Shen 2010",
        tuned="MovieLens 100K, on other splits than the tables'",
        config=SVTConfig,
        order=11,
        rate=svt,
    ),
    Algorithm(
        name="trifactor",
        title="Tri-factorisation",
        summary="Two orthonormal factors around a small core whose singular values are shrunk. "
        "Not private.",
        source="after Liu, Jiao & Shang 2013",
        config=TrifactorConfig,
        order=12,
        rate=trifactor,
    ),
    Algorithm(
        name="truncated-svd",
        title="Truncated SVD",
        summary="The best low-rank fit with zeros (user and item means) where nothing is known. "
        "Not private.",
        source="Eckart & Young 1936",
        config=TruncatedSVDConfig,
        order=13,
        rate=truncated_svd,
        steps=1,
    ),
    Algorithm(
        name="user-item",
        title="User + item means",
        summary="The strongest baseline, as a model of its own. Not private.",
        source="baseline",
        config=UserItemConfig,
        order=14,
        rate=user_item,
        steps=1,
    ),
)
