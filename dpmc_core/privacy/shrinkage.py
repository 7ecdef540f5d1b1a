"""What is above the noise in a released second moment.

Provides ``shrink`` and ``shrink_off_diagonal``.
"""

import math
from contextlib import suppress

import numpy as np
from scipy.linalg import eigh_tridiagonal, lapack

from dpmc_core.arrays import FloatArray

_FILLINGS = 4
_SMALL = 100  # size below which all eigenvectors are no slower
_EQUAL = 1e-6  # relative: entries of a vector that count as equally large
_LWORK = 64  # columns that LAPACK works on at a time


def shrink(matrix: FloatArray, std: float, rank: int) -> tuple[FloatArray, FloatArray]:
    """Eigenvectors (size×r) and shrunken eigenvalues (r,) of a symmetric noisy ``matrix``, at most
    ``rank`` of them, largest first.

    In symmetric noise of standard deviation σ per entry, with e = 2σ√size, eigenvalues of the noise
    alone end at ±e (Wigner's semicircle). A planted θ > e/2 shows at λ = θ + e²/4θ, its vector at
    an angle with cos² = 1 − e²/4θ², so the multiple of the seen vector nearest to the planted part
    is θ·cos² = √(λ² − e²); what is not above e is dropped. Which users happen to be there spreads
    the eigenvalues too, so e is taken no smaller than the most negative one. This reads nothing but
    the released matrix and the known σ. None may be left (r = 0).
    """
    values, vectors = np.linalg.eigh(matrix)
    edge = max(2 * std * math.sqrt(len(matrix)), -float(values[0]))
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    kept = values > edge
    return vectors[:, kept], np.sqrt(values[kept] ** 2 - edge**2)


def shrink_off_diagonal(matrix: FloatArray, std: float, rank: int) -> tuple[FloatArray, FloatArray]:
    """As ``shrink``, for a ``matrix`` whose diagonal was not released: what stands there is
    ignored.

    The diagonal is filled with that of the part found, a few times over (principal axis factoring,
    Thurstone 1947): zeros would take r/size of every eigenvalue and count as noise. Who happens to
    be there counts as noise too, and more of it where many units meet: eigenvalues of entries with
    variances σ²_jk end at 2·√max_j Σ_k σ²_jk at most (Bandeira & van Handel 2016), which takes the
    place of e. What the part leaves off the diagonal estimates these sums: its squares, summed by
    row. Of equal noise the largest such sum is above the mean by a factor of up to 1 + 2√t + 2t, t
    = log(size)/size (Laurent & Massart 2000, Lemma 1), and is divided by it. The part has one
    negative direction besides, which is not returned: numbers centred by few of their own go
    together negatively.
    """
    size = len(matrix)
    off = matrix - np.diag(np.diag(matrix))
    diagonal, of_row = np.zeros(size), std**2 * size
    tail = math.log(size) / size
    for _ in range(_FILLINGS):
        edge = 2 * math.sqrt(of_row)
        values, vectors = _ends(off + np.diag(diagonal), min(rank, size - 1))
        seen = np.abs(values) > edge
        values, vectors = values[seen], vectors[:, seen]
        strengths = np.sign(values) * np.sqrt(values**2 - edge**2)
        part = (vectors * strengths) @ vectors.T
        diagonal = part.diagonal().copy()
        left = off - part
        np.fill_diagonal(left, 0.0)
        rows = np.sum(left**2, axis=1)
        largest = float(rows.max()) / (1 + 2 * math.sqrt(tail) + 2 * tail)
        of_row = max(std**2 * size, float(rows.mean()), largest)
    kept = strengths > 0
    return vectors[:, kept], strengths[kept]


def _ends(matrix: FloatArray, largest: int) -> tuple[FloatArray, FloatArray]:
    """The ``largest`` eigenvalues of a symmetric ``matrix`` from the largest down, then the lowest
    (largest + 1,), and their vectors (size×(largest + 1)).
    """
    size = len(matrix)
    if size >= _SMALL:
        # of many equal values it may find none; what is not finite has no vectors
        with suppress(np.linalg.LinAlgError, ValueError):
            return _some_ends(matrix, largest)
    values, vectors = np.linalg.eigh(matrix)
    order = [*range(size - 1, size - 1 - largest, -1), 0]
    return values[order], _signed(vectors[:, order])


def _some_ends(matrix: FloatArray, largest: int) -> tuple[FloatArray, FloatArray]:
    """The same in a third of the time: the matrix is made tridiagonal once (``sytrd``), and
    only the vectors that are asked for are turned back.
    """
    size = len(matrix)
    reflectors, d, e, tau, _ = lapack.dsytrd(matrix, lower=1, lwork=_LWORK * size)
    (most, their), (least, its) = (
        eigh_tridiagonal(d, e, select="i", select_range=part, lapack_driver="stemr")
        for part in ((size - largest, size - 1), (0, 0))
    )
    vectors = np.asfortranarray(np.hstack([their[:, ::-1], its]))
    # Q = diag(1, H), and the reflectors of H stand below the first subdiagonal as those of a QR do
    vectors[1:], _, _ = lapack.dormqr(
        "L", "N", reflectors[1:, :-1], tau, vectors[1:], _LWORK * (largest + 1)
    )
    return np.concatenate([most[::-1], least]), _signed(vectors)


def _signed(vectors: FloatArray) -> FloatArray:
    """Each with its largest entry positive, of equal ones the first: otherwise the last bits of a
    matrix choose a sign.
    """
    sizes = np.abs(vectors)
    first = (sizes >= (1 - _EQUAL) * sizes.max(axis=0)).argmax(axis=0)
    signs = np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return np.asarray(vectors * signs)
