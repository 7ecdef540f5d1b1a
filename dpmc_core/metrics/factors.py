"""How good a dictionary is.

The baseline, the error of each image, and the share of true parts that were found.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from dpmc_core.arrays import FloatArray
from dpmc_core.datasets.samples import Matrix

FOUND = 0.9  # a true part counts as found if a learned one has at least this cosine with it


def mean_columns(values: Matrix) -> FloatArray:
    """The direction of the average column (D,), of length 1.

    What the baseline rebuilds every column from.
    """
    mean = np.asarray(values.sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-300))


def column_errors(
    values: Matrix,
    dictionary: FloatArray,
    coefficients: FloatArray,
    target: FloatArray | None = None,
) -> FloatArray:
    """‖v − Wh‖ of every column (N,).

    How far each image is from its rebuilt self, of a length of 1. ``target`` is WᵀV where it is
    known already.
    """
    gram = dictionary.T @ dictionary
    if target is None:
        target = np.asarray(values.T @ dictionary).T
    if sparse.issparse(values):
        squares = np.asarray(values.multiply(values).sum(axis=0)).ravel()
    else:
        squares = np.einsum("dn,dn->n", values, values)
    left = (
        squares
        - 2 * np.einsum("kn,kn->n", target, coefficients)
        + np.einsum("kn,kn->n", gram @ coefficients, coefficients)
    )
    return np.sqrt(np.maximum(left, 0.0))


def likeness(first: FloatArray, second: FloatArray) -> FloatArray:
    """Cosines between the columns of two dictionaries (K₁×K₂); 0 for empty columns."""

    def unit(table: FloatArray) -> FloatArray:
        lengths = np.linalg.norm(table, axis=0)
        return np.asarray(table / np.where(lengths > 0, lengths, 1.0))

    return np.asarray(unit(first).T @ unit(second))


def match_parts(reference: FloatArray, other: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """For each column of ``reference`` its partner in ``other`` and their cosine, one to one, the
    sum of cosines largest (Hungarian method).

    Where ``other`` has fewer columns, those left over have partner −1 and cosine 0.
    """
    table = likeness(reference, other)
    rows, columns = linear_sum_assignment(-table)
    partner = np.full(reference.shape[1], -1, dtype=np.intp)
    cosine = np.zeros(reference.shape[1])
    partner[rows], cosine[rows] = columns, table[rows, columns]
    return partner, cosine


def share_found(truth: FloatArray, dictionary: FloatArray) -> float:
    """The share of true parts that have a learned partner of their own with a cosine of at least
    0.9.
    """
    return float(np.mean(match_parts(truth, dictionary)[1] >= FOUND))
