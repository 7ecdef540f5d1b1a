"""What a factorisation yields, and where it starts from.

``FactorStep``, the starts (from the data's singular vectors, or from nothing but a seed), and the
check of K.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from dpmc_core.arrays import FloatArray
from dpmc_core.config import Choice, Config
from dpmc_core.datasets.samples import Matrix
from dpmc_core.errors import DataError, ParameterError
from dpmc_core.factorization.blocks import squared_norm
from dpmc_core.limits import Limit
from dpmc_core.privacy.ledger import NEIGHBOURS, Release

Parts = Annotated[int, Limit(1, 256, "number of parts or topics K", label="Parts or topics K")]
Rounds = Annotated[
    int,
    Limit(
        1,
        2000,
        "rounds T (one pass over coefficients and one over the dictionary each)",
        label="Rounds",
    ),
]
Refinements = Annotated[
    int,
    Limit(
        0,
        20,
        "rounds of private NMF, corrected, that begin at the parts of the moments, for half of the "
        "budget; 0 for none",
        label="Rounds after the moments",
    ),
]
InnerSteps = Annotated[
    int, Limit(1, 200, "steps on each factor per round", label="Steps per round")
]
OutlierPenalty = Annotated[
    float, Limit(0, 10, "penalty λ: a deviation below it is not an outlier", open_low=True)
]
OutlierBound = Annotated[float, Limit(0, 10, "largest outlier M, per entry", open_low=True)]
NeighbourChoice = Annotated[
    str,
    Choice(
        NEIGHBOURS,
        "what an attacker may not tell: whether one is there at all, or, for noise twice as "
        "large, which of two it is",
        "Neighbours",
        ("one added or removed", "one replaced by another"),
    ),
]


@dataclass(frozen=True, kw_only=True)
class RoundsConfig(Config):
    """K parts (``rank``) in T ``rounds``."""

    rank: Parts = 16
    rounds: Rounds = 50


@dataclass(frozen=True)
class FactorStep:
    """State after a round: the ``dictionary`` W (D×K) that leaves, the curator's ``coefficients`` H
    (K×N, None where the algorithm keeps none) and ``outliers`` R (D×N or None), what was released
    in this round, what the plan still holds (``rest``), and, as published, how far W has ``moved``
    from its start (‖W − W₀‖/‖W₀‖).
    """

    iteration: int
    dictionary: FloatArray
    coefficients: FloatArray | None = None
    outliers: FloatArray | None = None
    releases: tuple[Release, ...] = ()
    moved: float | None = None
    rest: tuple[Release, ...] = ()


def check_parts(shape: tuple[int, ...], parts: int) -> None:
    """Raise ``ParameterError`` unless K is at most min(D, N) of a ``shape`` D×N."""
    most = min(shape)
    if parts > most:
        raise ParameterError(
            "rank",
            parts,
            f"at most {most:,}, the smaller of {shape[0]:,} rows and {shape[1]:,} "
            "columns of this data",
        )


def check_outliers(penalty: float | None, *, dense: bool) -> None:
    """Raise ``DataError`` for outliers in data that are not ``dense``: R would be."""
    if penalty is not None and not dense:
        raise DataError(
            "Outliers are for images: for documents the outlier matrix would be dense and as "
            "large as documents × words."
        )


def nndsvd(values: Matrix, parts: int) -> tuple[FloatArray, FloatArray]:
    """W₀ (D×K) and H₀ (K×N) from the singular vectors of the raw data (Boutsidis & Gallopoulos
    2008), by scikit-learn, with its fixed seed 0.

    Scaled by c, the data have starts scaled by √c: what is cut to 0 is 1e-6 or less for columns of
    length 1 (root mean square), and as much less or more for shorter or longer ones.
    """
    # scikit-learn has no public NNDSVD; a test holds what we use of it
    from sklearn.decomposition._nmf import (
        _initialize_nmf,  # here: it takes a second to load, and few need it
    )

    check_parts(values.shape, parts)
    held = sparse.csr_matrix(values) if sparse.issparse(values) else values
    cut = 1e-6 * (squared_norm(values) / values.shape[1]) ** 0.25
    return _initialize_nmf(held, parts, init="nndsvd", eps=cut, random_state=0)


def random_dictionary(rows: int, parts: int, rng: np.random.Generator) -> FloatArray:
    """K random non-negative columns of length 1: independent of any data."""
    table = rng.random((rows, parts))
    return table / np.linalg.norm(table, axis=0)
