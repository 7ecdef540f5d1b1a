"""Moments released once.

Sums and second moments of what each user contributes: the parts of a plan with their sensitivities
derived, clipping, the exact sums, and what of a released second moment is above its noise
(``shrink`` and ``shrink_off_diagonal``).

Each user i contributes one sparse vector z_i. Users are added or removed, so a sum Σ_i f(z_i) moves
by one term f(z), and its sensitivity is the largest norm f can have once z is clipped:

* sums Σ z: at most c in the norm that is clipped to c. Clipped in ℓ1, ‖z‖₂ ≤ ‖z‖₁ ≤ c; clipped in
  ℓ2, ‖z‖₁ ≤ √d·c by Cauchy–Schwarz.
* second moments: what leaves is the strict upper triangle of Σ z zᵀ, the products z_j·z_k with j <
  k, each once. Of one user, ℓ2² = Σ_{j<k} z_j²z_k² = (‖z‖₂⁴ − Σz⁴)/2 ≤ (1 − 1/d)·c⁴/2 if ‖z‖₂ ≤ c,
  as Σz⁴ ≥ ‖z‖₂⁴/d, and ℓ1 = (‖z‖₁² − ‖z‖₂²)/2 ≤ c²/2 if ‖z‖₁ ≤ c. In the other norm: ℓ1 ≤
  (d − 1)·c²/2 if ‖z‖₂ ≤ c, as ‖z‖₁² ≤ d‖z‖₂²; and ℓ2 ≤ c²/4 if ‖z‖₁ ≤ c: with |z_j| + |z_k| and all
  others fixed, ℓ2² is convex in |z_j z_k|, so it is largest where one of the two is 0 or both are
  equal; at a maximum all n that are not 0 are equal then, and (n − 1)/(2n³) ≤ 1/16.

The diagonal Σ z² is not released there: it says how large contributions are, not how they go
together.

* whole second moments: where sizes matter too, the upper triangle with its diagonal leaves,
  products off the diagonal times √2. Then ℓ2 is the Frobenius norm of z zᵀ, ‖z‖₂² ≤ c², and ℓ1 =
  ‖z‖₂² + (‖z‖₁² − ‖z‖₂²)/√2 ≤ c²·(1 + (d − 1)/√2), as ‖z‖₁² ≤ d‖z‖₂² and ‖z‖₂ ≤ c.
* products: Σ x yᵀ with ‖x‖₂ ≤ b and ‖y‖₂ ≤ c moves by ‖x yᵀ‖_F = ‖x‖₂‖y‖₂ ≤ b·c in ℓ2 and by
  ‖x‖₁‖y‖₁ ≤ √(d_x·d_y)·b·c in ℓ1.

Where one user (image, document) is replaced by another, a sum moves by f(z) − f(y): by at most
twice as much, and in ℓ2 by √2 times as much where ⟨f(z), f(y)⟩ ≥ 0, as ‖f(z) − f(y)‖₂² =
‖f(z)‖₂² + ‖f(y)‖₂² − 2⟨f(z), f(y)⟩. That is so for z zᵀ, whose inner products are (zᵀy)², and for
sums and products of vectors without negative entries.
"""

import math
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from scipy import sparse
from scipy.linalg import eigh_tridiagonal, lapack

from dpmc_core.arrays import FloatArray, IntArray, pieces
from dpmc_core.privacy.budget import Part
from dpmc_core.privacy.ledger import Unit

_SPARSE_PAIR = 200.0  # products of a dense piece in the time of one pair of a sparse one
_SPARSE_CELLS = 100_000_000
_OFTEN = 0.03  # share of users who have a column from which on it is worked on as a dense one
_CHUNK_CELLS = 8_000_000  # cells of the dense piece that a second moment is added up from


def sum_part(
    what: str,
    *,
    clip: float,
    norm: int,
    coordinates: int,
    share: float,
    unit: Unit = "user",
    non_negative: bool = False,
) -> Part:
    """The plan of Σ z, each user's z clipped to ``clip`` in the ℓ1 or ℓ2 ``norm`` (sensitivities as
    the module derives). ``non_negative``: no z has negative entries.
    """
    l1 = clip if norm == 1 else math.sqrt(coordinates) * clip
    text = (
        f"dpmc_core.privacy.moments: one {unit} moves the sum by at most {clip:g} in the "
        f"ℓ{norm} norm"
    )
    return Part(
        what=what,
        l1=l1,
        l2=clip,
        coordinates=coordinates,
        share=share,
        source=text,
        unit=unit,
        apart=non_negative,
        bounded_in=norm,
    )


def second_moment_part(what: str, *, clip: float, norm: int, size: int, share: float) -> Part:
    """The plan of the strict upper triangle of Σ z zᵀ for z of ``size`` ≥ 2 numbers, clipped to
    ``clip`` in ``norm``.
    """
    if norm == 1:
        l1, l2 = clip**2 / 2, clip**2 / 4
    else:
        l1, l2 = (size - 1) * clip**2 / 2, clip**2 * math.sqrt((1 - 1 / size) / 2)
    triangle = size * (size - 1) // 2
    l1 = min(l1, math.sqrt(triangle) * l2)
    l2 = min(l2, l1)
    source = (
        "dpmc_core.privacy.moments: strict upper triangle of z zᵀ with "
        f"‖z‖{'₁' if norm == 1 else '₂'} ≤ {clip:g}"
    )
    return Part(
        what=what, l1=l1, l2=l2, coordinates=triangle, share=share, source=source, bounded_in=norm
    )


def whole_moment_part(
    what: str, *, clip: float, size: int, share: float, unit: Unit, count: int = 1
) -> Part:
    """The plan of the upper triangle of Σ z zᵀ with its diagonal, products off it times √2, for z
    of ``size`` numbers with ‖z‖₂ ≤ ``clip``.
    """
    return Part(
        what=what,
        l1=clip**2 * (1 + (size - 1) / math.sqrt(2)),
        l2=clip**2,
        coordinates=size * (size + 1) // 2,
        share=share,
        source=(
            "dpmc_core.privacy.moments: triangle of z zᵀ with its diagonal, off it times √2, "
            f"‖z‖₂ ≤ {clip:g}"
        ),
        count=count,
        unit=unit,
        apart=True,
        bounded_in=2,
    )


def product_part(
    what: str,
    *,
    clip: float,
    rows: int,
    columns: int,
    share: float,
    unit: Unit,
    count: int,
    non_negative: bool,
) -> Part:
    """The plan of Σ x yᵀ, ``rows``×``columns``, with ‖x‖₂‖y‖₂ ≤ ``clip``.

    ``non_negative``: neither x nor y has negative entries.
    """
    return Part(
        what=what,
        l1=math.sqrt(rows * columns) * clip,
        l2=clip,
        coordinates=rows * columns,
        share=share,
        source=f"dpmc_core.privacy.moments: one {unit} adds x yᵀ with ‖x‖₂‖y‖₂ ≤ {clip:g}",
        count=count,
        unit=unit,
        apart=non_negative,
        bounded_in=2,
    )


def packed(moment: FloatArray) -> FloatArray:
    """The upper triangle of a symmetric matrix with its diagonal, row by row, entries off it times
    √2.
    """
    size = len(moment)
    rows, columns = np.triu_indices(size)
    return moment[rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2))


def unpacked(vector: FloatArray, size: int) -> FloatArray:
    """The symmetric matrix that ``packed`` made ``vector`` of.

    >>> unpacked(packed(np.array([[1.0, 2.0], [2.0, 3.0]])), 2).round(12).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    rows, columns = np.triu_indices(size)
    return symmetric(vector / np.where(rows == columns, 1.0, math.sqrt(2)), size)


def row_norms(users: IntArray, values: FloatArray, norm: int, n_users: int = 0) -> FloatArray:
    """‖z_i‖ of every user up to the last one who has any (``n_users`` at least), z given in
    coordinate form by its ``users`` and ``values``.

    0 without any.
    """
    sizes = np.abs(values) if norm == 1 else values**2
    summed = np.bincount(users, sizes, n_users).astype(np.float64)
    return summed if norm == 1 else np.sqrt(summed)


def clip_rows(users: IntArray, values: FloatArray, norm: int, clip: float) -> FloatArray:
    """``values`` with every user's vector moved onto the ball of radius ``clip``.

    Z·min(1, c/‖z‖).
    """
    size = row_norms(users, values, norm)
    factor = clip / np.maximum(size, clip)
    return values * factor[users]


def second_moment(
    users: IntArray, columns: IntArray, values: FloatArray, n_users: int, size: int
) -> FloatArray:
    """The strict upper triangle of Σ_i z_i z_iᵀ as a vector, row by row.

    Z_i in coordinate form, ``columns`` < ``size``.

    Adds up pieces of users, so memory stays at the size² of the result and one piece. Pieces are
    dense; or, where users have so few of the numbers that going through their pairs is less work
    than through all products, dense in the columns that many users have and sparse in the others.
    """
    table = sparse.csr_array((values, (users, columns)), shape=(n_users, size))
    pairs = float(np.sum(np.diff(table.indptr).astype(np.float64) ** 2))
    is_dense = np.ones(size, dtype=np.bool_)
    if _SPARSE_PAIR * pairs < n_users * size**2:
        is_dense = np.bincount(columns, minlength=size) / n_users > _OFTEN
    many, few = np.flatnonzero(is_dense), np.flatnonzero(~is_dense)
    total = np.zeros((size, size))
    often, rest = table[:, many], table[:, few]
    within, across = np.zeros((len(many), len(many))), np.zeros((len(few), len(many)))
    for rows in _pieces(n_users, _CHUNK_CELLS, len(many)):
        dense = often[rows].toarray()
        within += dense.T @ dense
        if len(few):
            across += np.asarray(rest[rows].T @ dense)
    total[np.ix_(many, many)] = within
    if len(few):
        total[np.ix_(few, many)], total[np.ix_(many, few)] = across, across.T
        others = np.zeros((len(few), len(few)))
        for rows in _pieces(n_users, _SPARSE_CELLS, size):
            others += sparse.csr_array(rest[rows].T @ rest[rows]).toarray()
        total[np.ix_(few, few)] = others
    return total[np.triu_indices(size, 1)]


def _pieces(n_users: int, cells: int, columns: int) -> Iterator[slice]:
    """All users by pieces of so many ``cells`` of ``columns`` each; none without columns."""
    return pieces(n_users if columns else 0, max(1, cells // max(columns, 1)))


def symmetric(triangles: FloatArray, size: int, first: int = 0) -> FloatArray:
    """Symmetric matrices (…×size×size) from their upper triangles (…×size(size+1)/2), row by row.

    ``first`` 1: from strict ones (…×size(size−1)/2), their diagonals zero.
    """
    rows, columns = np.triu_indices(size, first)
    out = np.zeros((*triangles.shape[:-1], size, size))
    out[..., rows, columns] = triangles
    out[..., columns, rows] = triangles
    return out


def most_popular_columns(popularity: FloatArray, most: int) -> tuple[IntArray, IntArray]:
    """The ``most`` columns of largest ``popularity``, and the place of each column among them, −1
    for the others.
    """
    best = np.argsort(-popularity, kind="stable")[:most]
    place = np.full(len(popularity), -1)
    place[best] = np.arange(len(best))
    return best, place


# how often an unknown diagonal is filled: eight times give no other error than four
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
    mask = values > edge
    return vectors[:, mask], np.sqrt(values[mask] ** 2 - edge**2)


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
    mask = strengths > 0
    return vectors[:, mask], strengths[mask]


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
    return vectors * signs
