"""Private Frank–Wolfe (Jain, Thakkar & Thakurta 2018).

The rival that DPALS was measured against.

The solver by noisy principal components, its plan, and its non-private form.

Every round each user sends the square A_iᵀA_i of their residual row A_i, clipped to length L; only
the sum over users leaves, as the upper triangle with the diagonal. With ‖A_i‖₂ ≤ L its ℓ2 norm is
√(Σ a⁴ + Σ_{j<k} a_j²a_k²) ≤ ‖A_i‖₂² ≤ L²; with ‖A_i‖₁ ≤ L (where the noise asks for ℓ1) its ℓ1 norm
is (‖A_i‖₂² + ‖A_i‖₁²)/2 ≤ L².

Where σ is given, it is in units in which a user moves that sum by √k in ℓ2, as a user moves either
sum of a step of DPALS. That is our reading of dpals-paper figure 7, which has one k, one σ and one
ε for both.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.sparse.linalg import eigsh

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.parameters import BudgetConfig, ItemsPerUser, Iterations
from dpmc_core.completion.common.profiles import on_scale, own_means, squares_step
from dpmc_core.completion.common.step import FactorModel, Step
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.errors import ParameterError
from dpmc_core.limits import Limit
from dpmc_core.privacy.algorithm import guaranteed
from dpmc_core.privacy.budget import Curator, Part, plan
from dpmc_core.privacy.ledger import Release
from dpmc_core.privacy.moments import clip_rows, row_norms, symmetric
from dpmc_core.privacy.noise import ReleaseSigma, TotalEpsilon

_MOST_ITEMS = 6000  # the noisy matrix is dense: its square must fit


@dataclass(frozen=True, kw_only=True)
class FrankWolfeConfig(BudgetConfig):
    """``items_per_user`` sets the row bound L = √k · a quarter of the scale's width."""

    iterations: Iterations = 1
    nuclear: Annotated[
        float,
        Limit(
            1e-4,
            1e3,
            "bound on the nuclear norm, in half scale widths times √(users·items)",
            label="Frank–Wolfe's nuclear norm",
            step=0.5,
        ),
    ] = 0.25
    items_per_user: ItemsPerUser = 100


def frank_wolfe_plan(ratings: Ratings, config: FrankWolfeConfig) -> dict[str, Release] | None:
    """The one kind of release, made T times; None without noise."""
    n, bound = ratings.n_items, _row_bound(ratings, config)
    part = Part(
        what="second moment of the users' residual rows",
        l1=bound**2 if config.norm == 1 else (n + 1) / 2 * bound**2,
        l2=bound**2,
        coordinates=n * (n + 1) // 2,
        share=1.0,
        count=config.iterations,
        source="dpmc_core.completion.frank_wolfe: upper triangle of aaᵀ with ‖a‖ ≤ L",
        sigma_unit=bound**2 / math.sqrt(min(config.items_per_user, n)),
    )
    return plan({"squares": part}, config.budget)


def frank_wolfe(
    ratings: Ratings, config: FrankWolfeConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """Yield a ``Step`` per round.

    V ← first eigenvector of Σ A_iᵀA_i + noise, λ² its eigenvalue; every user alone takes u_i =
    A_i·v/λ and moves Y_i ← (1 − 1/T)·Y_i − (κ/T)·u_i·v, then shrinks Y_i so that its observed part
    is at most L long.

    A = P_Ω(Y − X) with X the ratings from their user's own mean (a user's own affair); λ is raised
    by the noise's largest eigenvalue so that ‖u‖ ≤ 1 as the analysis needs. Predictions are the
    user's mean plus Y. The objective is Σ (x − prediction)². Raises ``ParameterError`` above 6,000
    items, whose noisy matrix would not fit.
    """
    if ratings.n_items > _MOST_ITEMS:
        raise ParameterError(
            "n_items",
            ratings.n_items,
            f"at most {_MOST_ITEMS:,} for Frank–Wolfe, which holds a dense matrix of that size",
        )
    ratings = on_scale(ratings)
    norm, bound, rounds = config.norm, _row_bound(ratings, config), config.iterations
    n_users, n_items = ratings.n_users, ratings.n_items
    curator = Curator(frank_wolfe_plan(ratings, config), rng)
    own = own_means(ratings)
    values = clip_rows(ratings.users, ratings.values - own[ratings.users], norm, bound)
    nuclear = config.nuclear * ratings.width / 2 * math.sqrt(n_users * n_items)
    users, items = np.zeros((n_users, rounds)), np.zeros((n_items, rounds))
    fitted = np.zeros(len(ratings))
    upper = np.triu_indices(n_items)
    for k in range(rounds):
        residual = clip_rows(ratings.users, fitted - values, norm, bound)
        table = ratings.table(residual)
        released = curator.release("squares", (table.T @ table).toarray()[upper])
        direction, strength = _leading(symmetric(released, n_items), rng)
        strength = math.sqrt(max(strength, 0.0) + 2 * curator.std("squares") * math.sqrt(n_items))
        step = (table @ direction) / max(strength, 1e-12)
        users[:, :k] *= 1 - 1 / rounds
        users[:, k], items[:, k] = -nuclear / rounds * step, direction
        fitted = (1 - 1 / rounds) * fitted + users[ratings.users, k] * direction[ratings.items]
        shrink = bound / np.maximum(row_norms(ratings.users, fitted, norm, n_users), bound)
        users[:, : k + 1] *= shrink[:, None]
        fitted *= shrink[ratings.users]
        model = FactorModel(
            np.column_stack([users[:, : k + 1], own]),
            np.column_stack([items[:, : k + 1], np.ones(n_items)]),
        )
        yield squares_step(k + 1, ratings, model, curator)


def _leading(matrix: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """The eigenvector of the largest eigenvalue, and that eigenvalue."""
    if len(matrix) < 3:
        values, vectors = np.linalg.eigh(matrix)
    else:
        values, vectors = eigsh(
            matrix,
            k=1,
            which="LA",
            v0=rng.standard_normal(len(matrix)),
            tol=1e-3,
            ncv=min(len(matrix), 40),
        )
    return vectors[:, -1], float(values[-1])


def _row_bound(ratings: Ratings, config: FrankWolfeConfig) -> float:
    k = min(config.items_per_user, ratings.n_items)
    return math.sqrt(k) * max(ratings.width, 1e-12) / 4


ALGORITHMS = (
    guaranteed(
        name="private-fw",
        title="Private Frank–Wolfe",
        summary="Per round one noisy second moment of residuals, one direction, and a step that "
        "every user takes alone.",
        source="Jain, Thakkar & Thakurta 2018",
        tuned="MovieLens 100K, on other splits than the tables'",
        config=FrankWolfeConfig,
        order=9,
        noise=(TotalEpsilon, ReleaseSigma),
        rate=frank_wolfe,
    ),
)
