"""The two half problems of a factorisation V ≈ WH, dense or sparse.

Coordinate descent, projected gradient, multiplicative updates, the active-set method and ADMM on
one factor while the other stands still, the coefficients that suit a given dictionary best, and the
objective.

Both half problems are min over X ≥ 0 of ½·tr(XᵀGX) − tr(XᵀB): for H with G = WᵀW, B = Wᵀ(V − R);
for Wᵀ with G = A = HHᵀ/N, Bᵀ = (V − R)Hᵀ/N (nmf-paper eqs. 5–11). Columns of X do not touch each
other.
"""

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import nnls

from dpmc_core.arrays import FloatArray, pieces
from dpmc_core.datasets.samples import Matrix

_BLOCK_CELLS = 130_000  # of X at a time: a megabyte stays in the processor's cache
_SINGULAR = 1e-12  # eigenvalues below it, over the largest, are 0
_ITERATIONS = 10  # of ADMM in one step
_MOST_PIVOTS = 30  # of the active-set method, for each number of a column: 3 are scipy's


def coordinate_sweeps(
    gram: FloatArray, target: FloatArray, start: FloatArray, sweeps: int
) -> FloatArray:
    """X (K×n) after ``sweeps`` passes of exact minimisation row by row, from ``start``.

    Cichocki & Phan's HALS, the same steps as scikit-learn's coordinate descent, for all columns at
    once. Rows whose Gram entry is 0 stay as they are.
    """
    out = np.array(start, dtype=np.float64, order="C")
    rows, n = out.shape
    diagonal = np.diag(gram)
    step = max(1, _BLOCK_CELLS // max(rows, 1))
    for part in pieces(n, step):
        block = np.ascontiguousarray(out[:, part])
        aim = target[:, part]
        for _ in range(sweeps):
            for k in range(rows):
                if diagonal[k] > 0:
                    slope = gram[k] @ block
                    slope -= aim[k]
                    slope /= -diagonal[k]
                    slope += block[k]
                    np.maximum(slope, 0.0, out=block[k])
        out[:, part] = block
    return out


def gradient_steps(
    gram: FloatArray, target: FloatArray, start: FloatArray, steps: int
) -> FloatArray:
    """X after ``steps`` projected gradient steps X ← P₊(X − η(GX − B)) (nmf-paper eqs.

    8 and 12); η is 1 over the largest eigenvalue of G, with which no step goes uphill.
    """
    top = float(np.linalg.eigvalsh(gram)[-1])
    eta = 1.0 / top if top > 0 else 0.0
    out = start
    for _ in range(steps):
        out = np.maximum(out - eta * (gram @ out - target), 0.0)
    return out


def multiplicative_steps(
    gram: FloatArray, target: FloatArray, start: FloatArray, steps: int
) -> FloatArray:
    """X after ``steps`` multiplicative updates X ← X ∘ max(B, 0) / (GX) (Lee & Seung 2001, eq. 4).

    For G without negative entries, as Gram matrices of non-negative factors are. With B ≥ 0 it is
    their rule; for any B it minimises, over X ≥ 0, their bound Σ (GX)ᵢX′ᵢ²/2Xᵢ − BᵢX′ᵢ, which is
    equal at X and nowhere lower than ours, so that no step goes uphill. What is 0 stays 0.
    """
    out, least = start, np.finfo(np.float64).tiny
    for _ in range(steps):
        out = out * np.maximum(target, 0.0) / np.maximum(gram @ out, least)
    return out


def active_set(gram: FloatArray, target: FloatArray, start: FloatArray, steps: int) -> FloatArray:
    """X that solves each column's problem to its end, from no ``start`` and in no number of
    ``steps``: Lawson & Hanson's active-set method, by scipy. Block principal pivoting (Kim & Park
    2011) solves the same problem to the same end.

    ½xᵀGx − bᵀx is ½‖Rx − c‖² less a constant, where G = RᵀR and b = Rᵀc: for B in the range of G,
    as that of every half problem is.
    """
    values, vectors = np.linalg.eigh(gram)
    values = np.where(values > _SINGULAR * values[-1], values, 0.0)
    root = np.sqrt(values)[:, None]
    aims = np.divide(vectors.T @ target, root, out=np.zeros_like(target), where=root > 0)
    table, most = root * vectors.T, _MOST_PIVOTS * len(gram)
    return np.stack([nnls(table, aim, maxiter=most)[0] for aim in aims.T], axis=1)


def admm_steps(gram: FloatArray, target: FloatArray, start: FloatArray, steps: int) -> FloatArray:
    """X after ten iterations for each of the ``steps`` of the alternating direction method of
    multipliers (Boyd et al. 2011, section 3.1.1) for X = Z ≥ 0: Z, which may go uphill, as it does
    after one iteration from far away.

    ρ is G's average diagonal entry (Huang, Sidiropoulos & Liavas 2016). The scaled multiplier
    starts from what suits ``start``, (B − GZ)/ρ where Z is 0 and the bound holds it there, so that
    no iteration leaves a solution.
    """
    penalty = max(float(np.trace(gram)) / len(gram), np.finfo(np.float64).tiny)
    factor = cho_factor(gram + penalty * np.eye(len(gram)))
    out = start
    dual = np.where(out > 0, 0.0, np.minimum((target - gram @ out) / penalty, 0.0))
    for _ in range(_ITERATIONS * steps):
        free = cho_solve(factor, target + penalty * (out - dual)) + dual
        out = np.maximum(free, 0.0)
        dual = free - out
    return out


def unit_ball(columns: FloatArray) -> FloatArray:
    """Columns moved into the ℓ2 ball of radius 1: w / max(1, ‖w‖) (nmf-paper, after eq. 12)."""
    return columns / np.maximum(1.0, np.linalg.norm(columns, axis=0))


def cross(values: Matrix, dictionary: FloatArray) -> FloatArray:
    """WᵀV, K×N and dense."""
    if sparse.issparse(values):
        return np.ascontiguousarray((values.T @ dictionary).T)
    return dictionary.T @ values


def gram_and_target(values: Matrix, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
    """HHᵀ (K×K) and VHᵀ (D×K)."""
    return coefficients @ coefficients.T, values @ coefficients.T


def fit_coefficients(
    values: Matrix,
    dictionary: FloatArray,
    sweeps: int = 30,
    start: FloatArray | None = None,
    target: FloatArray | None = None,
) -> FloatArray:
    """H (K×N) that rebuilds ``values`` from ``dictionary`` with non-negative weights.

    Every column is fitted alone.

    From ``start`` (by default a clipped least-squares fit), by coordinate descent. ``target`` is
    WᵀV where it is known already.
    """
    gram = dictionary.T @ dictionary
    target = cross(values, dictionary) if target is None else target
    if start is None and not gram.any():
        start = np.zeros_like(target)  # an empty dictionary rebuilds nothing
    elif start is None:
        ridge = gram + 1e-9 * max(float(np.trace(gram)), 1e-300) * np.eye(len(gram))
        start = np.maximum(np.linalg.solve(ridge, target), 0.0)
    return coordinate_sweeps(gram, target, start, sweeps)


def squared_norm(values: Matrix) -> float:
    """‖V‖²_F."""
    data = values.data if sparse.issparse(values) else values
    flat = np.asarray(data).ravel()
    return float(flat @ flat)


def objective(values: Matrix, dictionary: FloatArray, coefficients: FloatArray) -> float:
    """‖V − WH‖²_F / (2N) (nmf-paper eq. 15), without ever forming WH: sparse data stay sparse."""
    gram = dictionary.T @ dictionary
    inner = float(np.vdot(cross(values, dictionary), coefficients))
    squares = squared_norm(values) - 2 * inner + float(np.vdot(gram @ coefficients, coefficients))
    return max(squares, 0.0) / (2 * values.shape[1])
