"""Non-negative matrix factorisation without privacy: plain, and robust to outliers.

The two-block algorithm of nmf-paper section 2.3 (eqs. 1–12) and scikit-learn's NMF as the
reference.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy import sparse

from dpmc_core.arrays import FloatArray
from dpmc_core.config import Choice
from dpmc_core.datasets.samples import Matrix, Samples
from dpmc_core.factorization.blocks import (
    active_set,
    admm_steps,
    coordinate_sweeps,
    cross,
    gradient_steps,
    gram_and_target,
    multiplicative_steps,
    unit_ball,
)
from dpmc_core.factorization.step import (
    FactorStep,
    InnerSteps,
    OutlierBound,
    OutlierPenalty,
    RoundsConfig,
    check_outliers,
    nndsvd,
)
from dpmc_core.privacy.algorithm import Algorithm

SOLVERS = {
    "coordinates": coordinate_sweeps,
    "gradient": gradient_steps,
    "multiplicative": multiplicative_steps,
    "active-set": active_set,
    "admm": admm_steps,
}
Solver = Annotated[
    str,
    Choice(
        tuple(SOLVERS),
        "how each factor is fitted: exactly row by row, by projected gradient (as the paper does), "
        "by multiplicative updates (Lee & Seung 2001), to its end by active sets (block principal "
        "pivoting ends there too), or by ADMM, ten iterations a step",
        "Solver",
        (
            "coordinate descent",
            "projected gradient",
            "multiplicative updates",
            "active set (slow)",
            "ADMM",
        ),
    ),
]


@dataclass(frozen=True, kw_only=True)
class NMFConfig(RoundsConfig):
    """K parts in T rounds, ``inner`` steps on each factor per round.

    Steps are by "coordinates" (exact, row by row), "gradient" (as published, 1/‖Gram‖),
    "multiplicative", whose start has the average entry in place of zeros, which would stay,
    "active-set" (each factor to its end, whatever ``inner``) or "admm".
    """

    inner: InnerSteps = 1
    solver: Solver = "coordinates"
    outlier_penalty: ClassVar[float | None] = None
    outlier_bound: ClassVar[float] = 10.0


@dataclass(frozen=True, kw_only=True)
class RobustConfig(RoundsConfig):
    """As ``NMFConfig``, with outliers.

    ``outlier_penalty`` λ and ``outlier_bound`` M are in units of 1/√D, the root mean square entry
    of a column of length 1; λ None leaves outliers out.
    """

    inner: InnerSteps = 3
    solver: Solver = "coordinates"
    # chosen on contaminated Yale B
    outlier_penalty: OutlierPenalty | None = 0.5
    outlier_bound: OutlierBound = 10.0


@dataclass(frozen=True, kw_only=True)
class SklearnConfig(RoundsConfig):
    """K parts, T iterations of coordinate descent."""


def soft_threshold(left: FloatArray, penalty: float, bound: float) -> FloatArray:
    """S_{λ,M} of nmf-paper eq. 9: what of each entry of ``left`` (D×N) is above λ, at most M, with
    its sign; ``penalty`` and ``bound`` are λ and M in units of 1/√D.
    """
    unit = len(left) ** -0.5
    return np.sign(left) * np.clip(np.abs(left) - penalty * unit, 0.0, bound * unit)


def robust_nmf(
    values: Matrix, config: RobustConfig | NMFConfig, rng: np.random.Generator
) -> Iterator[FactorStep]:
    """T rounds from the NNDSVD of the data.

    W given H, then H given W, then R given both (nmf-paper section 2.3, in scikit-learn's order).

    With outliers the data are V − R in both half problems (eqs. 2–12). Columns of W longer than 1
    are scaled to 1 and their coefficients up, which keeps WH; the gradient solver projects them, as
    printed. Raises ``DataError`` for outliers in sparse data, whose R would not be sparse.
    """
    penalty = config.outlier_penalty
    check_outliers(penalty, dense=not sparse.issparse(values))
    steps = SOLVERS[config.solver]
    dictionary, coefficients = nndsvd(values, config.rank)
    if config.solver == "multiplicative":  # NNDSVDa of Boutsidis & Gallopoulos 2008
        average = values.mean()
        dictionary, coefficients = (
            np.where(factor > 0, factor, average) for factor in (dictionary, coefficients)
        )
    clean, outliers = values, None
    for iteration in range(1, config.rounds + 1):
        gram, target = gram_and_target(clean, coefficients)
        dictionary = steps(
            gram, np.ascontiguousarray(target.T), np.ascontiguousarray(dictionary.T), config.inner
        ).T
        if config.solver == "gradient":
            dictionary = unit_ball(dictionary)
        else:
            length = np.maximum(1.0, np.linalg.norm(dictionary, axis=0))
            dictionary, coefficients = dictionary / length, coefficients * length[:, None]
        coefficients = steps(
            dictionary.T @ dictionary, cross(clean, dictionary), coefficients, config.inner
        )
        if penalty is not None:
            left = values - dictionary @ coefficients
            outliers = soft_threshold(left, penalty, config.outlier_bound)
            clean = values - outliers
        yield FactorStep(iteration, np.ascontiguousarray(dictionary), coefficients, outliers)


def sklearn_nmf(values: Matrix, rank: int, rounds: int) -> Iterator[FactorStep]:
    """One step: scikit-learn's coordinate descent from the same start, ``rounds`` iterations, no
    early stop.
    """
    from sklearn.decomposition import (
        non_negative_factorization,  # here: it takes a second to load, and few need it
    )
    from sklearn.exceptions import ConvergenceWarning

    left, right = nndsvd(values, rank)
    held = sparse.csr_matrix(values) if sparse.issparse(values) else values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of rounds is the visitor's
        dictionary, coefficients, _ = non_negative_factorization(
            held, W=left, H=right, n_components=rank, init="custom", max_iter=rounds, tol=0
        )
    yield FactorStep(rounds, dictionary, coefficients)


def _fitted(
    samples: Samples, config: NMFConfig | RobustConfig, rng: np.random.Generator
) -> Iterator[FactorStep]:
    return robust_nmf(samples.values, config, rng)


def _by_sklearn(
    samples: Samples, config: SklearnConfig, rng: np.random.Generator
) -> Iterator[FactorStep]:
    return sklearn_nmf(samples.values, config.rank, config.rounds)


ALGORITHMS = (
    Algorithm(
        name="nmf",
        title="NMF",
        summary="Parts and how much of each, fitted in turns. Not private.",
        source="private-NMF paper, Algorithm 1 and eqs. 5–12 without outliers",
        config=NMFConfig,
        order=20,
        factorize=_fitted,
    ),
    Algorithm(
        name="robust-nmf",
        title="Robust NMF",
        summary="The same, with a third matrix that takes up pixels which fit nothing. Not "
        "private.",
        source="private-NMF paper, eqs. 1–12",
        config=RobustConfig,
        order=21,
        factorize=_fitted,
        images_only=True,
    ),
    Algorithm(
        name="sklearn-nmf",
        title="scikit-learn's NMF",
        summary="The yardstick: coordinate descent from the same start. Not private.",
        source="scikit-learn",
        config=SklearnConfig,
        order=22,
        factorize=_by_sklearn,
        steps=1,
    ),
)
