"""DPNMF: a non-negative factorisation of ratings whose item objectives leave with noise, the rival
of the private NMF paper.

The solver as a generator of steps.

After Ran, Wang, Li & Yang 2022, of whom we had the abstract and what the nmf-paper (section 4.4)
says of it: alternating non-negative least squares, privacy by Laplace noise on the coefficients of
the polynomial that each item's objective is (the functional mechanism, Zhang et al. 2012). What
neither text says is ours: user vectors are cut to length 1, ratings are used as they are, noise
that makes a quadratic form indefinite is met by setting negative eigenvalues to 0 and pulling items
to the average one, and each iteration draws afresh.

Item j's objective is Σ_i (x_ij − u_i·v)² = Σ x² − 2v·Σ x u + vᵀ(Σ u uᵀ)v: r linear and r(r+1)/2
quadratic coefficients. With ‖u‖₂ ≤ 1, so ‖u‖₁ ≤ √r, and |x| ≤ X, one rating's term has coefficients
that add up to at most 2X√r + r, and replacing it moves them by at most twice that in ℓ1: the
functional mechanism's Δ. The count is nominal: the users' vectors are computed from their ratings
without noise, so changing one rating changes that user's vector and with it the terms of every item
the user rated.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy import sparse

from dpmc_core.arrays import FloatArray
from dpmc_core.completion.common.parameters import Iterations, Penalty
from dpmc_core.completion.common.profiles import squared_residuals
from dpmc_core.completion.common.step import FactorModel, Step, check_rank
from dpmc_core.config import Config
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.limits import Limit
from dpmc_core.mechanisms import Mechanism
from dpmc_core.privacy.algorithm import Algorithm
from dpmc_core.privacy.ledger import Release, draw
from dpmc_core.privacy.moments import symmetric
from dpmc_core.privacy.noise import Noise, NominalEpsilon, ReleaseVariance

MOST_RANK = 32
_SWEEPS = 10  # passes of coordinate descent for one factor


@dataclass(frozen=True, kw_only=True)
class DPNMFConfig(Config):
    """``mechanism`` is the noise that every coefficient gets, None for none."""

    rank: Annotated[
        int, Limit(1, MOST_RANK, "number of latent factors r (rank × rank numbers for every user)")
    ] = 3
    reg: Penalty = 1.0
    iterations: Iterations = 20
    mechanism: Mechanism | None = None


def functional_sensitivity(rank: int, largest: float) -> float:
    """Δ₁ of one item's coefficients, one rating of size at most ``largest`` replaced.

    2·(2X√r + r).
    """
    return float(2 * (2 * largest * np.sqrt(rank) + rank))


def dpnmf(
    ratings: Ratings, config: DPNMFConfig, rng: np.random.Generator, workers: int | None = None
) -> Iterator[Step]:
    """Yield a ``Step`` after each iteration.

    All users, then all items with noise; both factors non-negative.

    The objective is Σ (x − u·v)² + λ(‖U‖² + ‖V‖²). ``workers`` is taken for the interface and not
    used. Raises ``ParameterError`` for a rank above the matrix's smaller side.
    """
    check_rank(ratings, config.rank)
    rank = config.rank
    table, there = (ratings.table(one) for one in (ratings.values, np.ones(len(ratings))))
    shift = functional_sensitivity(rank, max(abs(ratings.low), abs(ratings.high)))
    items = rng.random((ratings.n_items, rank))
    users = rng.random((ratings.n_users, rank))
    for iteration in range(1, config.iterations + 1):
        users = _fit(*_coefficients(there, table, items), config.reg, users)
        users = users / np.maximum(1.0, np.linalg.norm(users, axis=1, keepdims=True))
        quadratic, linear = _coefficients(there.T.tocsr(), table.T.tocsr(), users)
        releases: tuple[Release, ...] = ()
        if config.mechanism is not None:
            noise, release = draw(
                config.mechanism,
                (ratings.n_items, rank + rank * (rank + 1) // 2),
                rng,
                what="coefficients of all items' objectives",
                l1_sensitivity=shift,
                l2_sensitivity=shift,
                unit="rating",
                neighbours="replace-one",
                sound=False,
                source=(
                    "Ran et al. 2022 (abstract) with the functional mechanism's Δ (Zhang et al. "
                    "2012)"
                ),
                kind="dpnmf",
            )
            # the polynomial's linear coefficient is −2 Σ x u, its mixed ones twice the matrix entry
            linear = linear + noise[:, :rank] / 2
            entries = symmetric(noise[:, rank:], rank)
            quadratic = quadratic + entries * (1 + np.eye(rank)) / 2
            quadratic, linear = _towards_the_average(quadratic, linear, config.mechanism.std)
            releases = (release,)
        items = _fit(quadratic, linear, config.reg, items)
        model = FactorModel(users, items)
        squares = squared_residuals(ratings, model)
        penalty = config.reg * float(np.vdot(users, users) + np.vdot(items, items))
        yield Step(iteration, model, squares, squares + penalty, releases)


def _coefficients(
    there: sparse.csr_array, table: sparse.csr_array, factors: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Σ f fᵀ (n×r×r) and Σ x f (n×r) for every row of ``table``.

    The first row by row of f fᵀ, so that no product of all of them is held at once.
    """
    rank = factors.shape[1]
    forms = np.empty((table.shape[0], rank, rank))
    for k in range(rank):
        forms[:, k, :] = there @ (factors[:, k : k + 1] * factors)
    return forms, table @ factors


def _towards_the_average(
    quadratic: FloatArray, linear: FloatArray, std: float
) -> tuple[FloatArray, FloatArray]:
    """Noisy forms with a pull towards what fits the average item, as strong as the noise's largest
    eigenvalue: rarely rated items have nothing else. Reads only what was released.
    """
    rank = quadratic.shape[1]
    pull = (
        std * np.sqrt(2 * rank) * np.eye(rank)
    )  # entries off the diagonal have standard deviation std/2, the edge of n such is below this
    average = np.maximum(
        np.linalg.solve(
            quadratic.mean(axis=0) + pull / np.sqrt(len(quadratic)), linear.mean(axis=0)
        ),
        0.0,
    )
    values, vectors = np.linalg.eigh(quadratic)
    whole = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return whole + pull, linear + pull @ average


def _fit(quadratic: FloatArray, linear: FloatArray, reg: float, start: FloatArray) -> FloatArray:
    """min over x ≥ 0 of xᵀQx − 2bᵀx + λ‖x‖² for every row, by coordinate descent from ``start``."""
    out = np.array(start)
    for _ in range(_SWEEPS):
        for k in range(out.shape[1]):
            slope = linear[:, k] - np.einsum("nr,nr->n", quadratic[:, k, :], out) - reg * out[:, k]
            out[:, k] = np.maximum(out[:, k] + slope / (quadratic[:, k, k] + reg), 0.0)
    return out


def _prepared(config: DPNMFConfig, noise: Noise, ratings: Ratings) -> DPNMFConfig:
    """The noise at the algorithm's own sensitivity."""
    largest = max(abs(ratings.low), abs(ratings.high))
    shift = functional_sensitivity(config.rank, largest)
    return replace(config, mechanism=noise.of_release(shift))


ALGORITHMS = (
    Algorithm(
        name="dpnmf",
        title="DPNMF",
        summary="Non-negative factors; the coefficients of every item's objective get noise in "
        "each iteration. Nominal: users' vectors are not protected.",
        source="after Ran et al. 2022 (abstract); private-NMF paper, section 4.4",
        tuned="MovieLens 100K, on other splits than the tables'",
        config=DPNMFConfig,
        order=4,
        noise=(ReleaseVariance, NominalEpsilon),
        unit="rating",
        prepare=_prepared,
        rate=dpnmf,
    ),
)
