"""What tests of several solvers compare with, and vary from."""

from typing import Any

import numpy as np

from dpmc_core.completion.dpals.plan import DPALSConfig
from dpmc_core.datasets.ratings import Ratings
from dpmc_core.metrics.ratings import rmse

_PAPER: dict[str, Any] = {
    "rank": 32,
    "reg": 70.0,
    "iterations": 2,
    "items_per_user": 50,
    "sampling": "adaptive",
    "gram_ratio": 2.0,
    "item_share": 1.0,
    "clip_norm": 1.0,
    "centring": "mean",
    "projection": "printed",
}


def papers_dpals(**knobs: Any) -> DPALSConfig:
    """DPALS as its paper has it, with some settings changed: what tests vary, they vary from here,
    whatever the usual settings are.
    """
    return DPALSConfig(**(_PAPER | knobs))


def ratings_in(table: Any, **more: Any) -> Ratings:
    """Of 1 to 5: whatever is not 0 in ``table`` (users×items)."""
    table = np.asarray(table, dtype=float)
    users, items = (ids.astype(np.int32) for ids in np.nonzero(table))
    return Ratings(users, items, table[users, items], *table.shape, 1.0, 5.0, **more)


def error(predictor: Any, test: Ratings) -> float:
    """The RMSE on ``test``."""
    return rmse(predictor.predict(test.users, test.items), test.values)


def solved_rows(
    rows: Any,
    columns: Any,
    values: Any,
    factors: np.ndarray,
    ridge: Any,
    n_rows: int,
    noise: Any = 0.0,
    weights: Any = 1.0,
) -> np.ndarray:
    """θ_i = (Σ w v vᵀ + R)⁻¹(Σ w y v + t), one row at a time, from the definition.

    ``ridge`` R is λ, or a matrix, or one for each row; ``noise`` t has a vector for each row.
    """
    rank = factors.shape[1]
    if np.ndim(ridge) == 0:
        ridge = ridge * np.eye(rank)
    ridges, added = (
        np.broadcast_to(ridge, (n_rows, rank, rank)),
        np.broadcast_to(noise, (n_rows, rank)),
    )
    weights = np.broadcast_to(weights, len(values))
    out = np.zeros((n_rows, rank))
    for i in range(n_rows):
        own = rows == i
        a, w = factors[columns[own]], weights[own]
        out[i] = np.linalg.solve(
            (a * w[:, None]).T @ a + ridges[i], a.T @ (w * values[own]) + added[i]
        )
    return out
