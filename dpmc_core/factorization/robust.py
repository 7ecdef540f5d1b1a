"""Non-negative matrix factorisation without privacy: plain, and robust to outliers.

Lives here: the two-block algorithm of nmf-paper section 2.3 (eqs. 1–12) and scikit-learn's NMF as the yardstick. Does not live here: private
forms (``published``, ``sound``, ``moments``).
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpmc_core import limits
from dpmc_core.datasets.samples import Matrix
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.factorization.blocks import (
    coordinate_sweeps,
    cross,
    gradient_steps,
    gram_and_target,
    unit_ball,
)
from dpmc_core.factorization.step import FactorStep, nndsvd

FloatArray = NDArray[np.float64]

__all__ = ["SOLVERS", "RobustConfig", "robust_nmf", "sklearn_nmf", "soft_threshold"]

SOLVERS = ("coordinates", "gradient")


@dataclass(frozen=True, kw_only=True, slots=True)
class RobustConfig:
    """K parts in T rounds. ``outlier_penalty`` λ and ``outlier_bound`` M are in units of 1/√D, the root mean square entry of a column of length 1;
    λ None leaves outliers out. ``inner`` steps on each factor per round, by "coordinates" (exact, row by row) or "gradient" (as published, with
    step 1/‖Gram‖). Raises ``ParameterError``."""

    rank: int = 16
    rounds: int = 50
    outlier_penalty: float | None = None
    outlier_bound: float = 10.0
    inner: int = 1
    solver: str = "coordinates"

    def __post_init__(self) -> None:
        limits.check_int("parts", self.rank)
        limits.check_int("rounds", self.rounds)
        limits.check_int("inner_steps", self.inner)
        if self.outlier_penalty is not None:
            limits.check("outlier_penalty", self.outlier_penalty)
        limits.check("outlier_bound", self.outlier_bound)
        if self.solver not in SOLVERS:
            raise ParameterError("solver", self.solver, "one of " + ", ".join(SOLVERS))


def soft_threshold(left: FloatArray, penalty: float, bound: float) -> FloatArray:
    """S_{λ,M} of nmf-paper eq. 9: what of each entry is above λ, at most M, with its sign."""
    return np.asarray(np.sign(left) * np.clip(np.abs(left) - penalty, 0.0, bound))


def robust_nmf(
    values: Matrix, config: RobustConfig, rng: np.random.Generator
) -> Iterator[FactorStep]:
    """T rounds from the NNDSVD of the data: W given H, then H given W, then R given both (nmf-paper section 2.3, in scikit-learn's order).

    With outliers the data are V − R in both half problems (eqs. 2–12). Columns of W longer than 1 are scaled to 1 and their coefficients up, which
    keeps WH; the gradient solver projects them, as printed. Raises ``DataError`` for outliers in sparse data, whose R would not be sparse.
    """
    del rng  # the start is fixed by the data
    robust = config.outlier_penalty is not None
    if robust and sparse.issparse(values):
        raise DataError(
            "Outliers are for images: for documents the outlier matrix would be dense and as large as documents × words."
        )
    unit = values.shape[0] ** -0.5
    steps = coordinate_sweeps if config.solver == "coordinates" else gradient_steps
    dictionary, coefficients = nndsvd(values, config.rank)
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
        if robust:
            assert config.outlier_penalty is not None
            left = np.asarray(values) - dictionary @ coefficients
            outliers = soft_threshold(
                left, config.outlier_penalty * unit, config.outlier_bound * unit
            )
            clean = np.asarray(values) - outliers
        yield FactorStep(iteration, np.ascontiguousarray(dictionary), coefficients, outliers)


def sklearn_nmf(values: Matrix, rank: int, rounds: int) -> Iterator[FactorStep]:
    """One step: scikit-learn's coordinate descent from the same start, ``rounds`` iterations, no early stop."""
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
    yield FactorStep(rounds, np.asarray(dictionary), np.asarray(coefficients))
