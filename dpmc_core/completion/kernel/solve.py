"""The batched least-squares kernel that every alternating solver shares.

Grouping of a sparse side into padded blocks, and one half-sweep over them: for every row i with
ratings y_i of columns Ω_i, solve (AᵀWA + λI)θ = AᵀWy + t, where A is the other side's factors
restricted to Ω_i.

How it is fast: rows are sorted by their number of ratings and gathered into blocks of nearly equal
length (≤ 12 % padding), so that one batched GEMM and one run of small Cholesky solves serve a whole
block. Rows with fewer ratings than factors are solved in their own (dual) dimension: θ = Aᵀ(AAᵀ +
λI)⁻¹y costs n² r instead of n r². Blocks are shared by a few threads with BLAS at one thread each;
memory beyond data and factors is bounded by the block size.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray, IntArray
from dpmc_core.completion.kernel.lapack import add_ridge, scale_rows, solve_spd
from dpmc_core.completion.kernel.threads import Workers, single_blas_thread

_MAX_PADDING = 1.12
# Bytes of gathered factors per block: enough to amortise numpy's calls, few enough for the cache.
# Small ranks do little arithmetic per call and want larger blocks.
_BLOCK_BYTES, _BLOCK_BYTES_SMALL_RANK = 3_000_000, 12_000_000


@dataclass(frozen=True)
class Block:
    """Rows of nearly equal length.

    ``rows`` (B,), ``columns`` (B×n, padded with n_columns), ``values`` (B×n, padded with 0); in
    any whole and floating numbers that hold them exactly.
    """

    rows: IntArray
    columns: IntArray
    values: NDArray[np.floating]


def short(values: NDArray[np.floating]) -> NDArray[np.floating]:
    """The ``values`` in four bytes each where that loses nothing."""
    with np.errstate(over="ignore"):
        halved = values.astype(np.float32)
    return halved if np.array_equal(halved.astype(np.float64), values) else values


@dataclass(frozen=True)
class Side:
    """One side of the ratings, grouped.

    The rows to solve for, given factors of the ``n_columns`` columns.
    """

    n_rows: int
    n_columns: int
    blocks: tuple[Block, ...]
    empty_rows: IntArray

    def short(self) -> "Side":
        """The same in as few bytes as lose nothing."""
        kind = np.uint16 if self.n_columns < 2**16 else np.int32
        blocks = (
            Block(block.rows, block.columns.astype(kind, copy=False), short(block.values))
            for block in self.blocks
        )
        return replace(self, blocks=tuple(blocks))


def group_rows(
    rows: IntArray, columns: IntArray, values: FloatArray, n_rows: int, n_columns: int, rank: int
) -> Side:
    """Group coordinate-format ratings by row into padded blocks, longest rows first.

    ``rank`` only sets the block size. Cost: one stable sort of the ratings. Rows without ratings
    are in ``empty_rows``.
    """
    target = max(
        256, (_BLOCK_BYTES_SMALL_RANK if rank <= _SMALL_RANK else _BLOCK_BYTES) // (8 * rank)
    )
    order = np.argsort(rows, kind="stable")
    columns, values = columns[order], values[order]
    lengths = np.bincount(rows, minlength=n_rows)
    starts = np.cumsum(lengths) - lengths
    by_length = np.argsort(-lengths, kind="stable")
    by_length = by_length[lengths[by_length] > 0]
    blocks, at = [], 0
    while at < by_length.size:
        longest = int(lengths[by_length[at]])
        candidates = by_length[at : at + max(1, target // longest)]
        filled = np.cumsum(lengths[candidates])
        padded = longest * np.arange(1, candidates.size + 1)
        fits = (padded <= _MAX_PADDING * filled) | (padded - filled < 64)
        taken = candidates if fits.all() else candidates[: max(1, int(np.argmin(fits)))]
        inside = np.arange(longest) < lengths[taken][:, None]
        position = np.where(inside, starts[taken][:, None] + np.arange(longest), 0)
        blocks.append(
            Block(
                rows=taken,
                columns=np.where(inside, columns[position], n_columns).astype(np.int32),
                values=np.where(inside, values[position], 0.0),
            )
        )
        at += taken.size
    return Side(n_rows, n_columns, tuple(blocks), np.flatnonzero(lengths == 0))


_GATHER_BYTES = 3_000_000  # of one gather, so that it stays in the cache
# Where column panels beat one product, and how wide they are best (measured with OpenBLAS on
# AVX-512).
_SMALL_RANK, _SMALL_PANEL = 40, 8
_PANEL, _PANELS_BELOW = 16, 300
_MOST_ROWS = 2048  # of one small product: OpenBLAS packs larger ones first, at 4 × the time


Update = Callable[[FloatArray, FloatArray, IntArray, "BlockSolver"], FloatArray]


def half_sweep(
    side: Side,
    factors: FloatArray,
    reg: float | FloatArray,
    workers: Workers,
    *,
    noise: FloatArray | None = None,
    update: Update | None = None,
    measure: bool = False,
) -> tuple[FloatArray, float]:
    """New factors (n_rows×r) for every row of ``side``, given the other side's ``factors``
    (n_columns×r).

    Solves (AᵀA + λI)θ = Aᵀy + t per row, λ = ``reg`` > 0 (one number, or one per row) and t the row
    of ``noise`` (n_rows×r, or None for 0); or, with ``update(A, y, rows, solver)`` (A is B×n×r with
    zero rows as padding), whatever it returns (B×r); a row without ratings has A = 0, and t/λ.
    Returns the new factors and, if asked to ``measure``, the sum of squared residuals over all
    ratings (else 0). Raises ``numpy.linalg.LinAlgError`` if a system is singular to rounding.
    """
    rank = factors.shape[1]
    each = np.broadcast_to(np.reshape(reg, (-1, 1)), (side.n_rows, 1))
    padded = np.vstack([factors, np.zeros(rank)])  # the padding's column gathers a zero row
    out = np.zeros((side.n_rows, rank))
    if noise is not None:
        out[side.empty_rows] = noise[side.empty_rows] / each[side.empty_rows]

    def work(block: Block) -> float:
        if update is None and block.columns.shape[1] >= rank:
            given = None if noise is None else noise[block.rows]
            theta, squares = _plain_primal(block, padded, each[block.rows], given, workers)
            out[block.rows] = theta
            return squares
        squares = 0.0
        for piece, gathered in _gathered(block, padded, workers):
            rows, values = block.rows[piece], block.values[piece].astype(np.float64, copy=False)
            solver = BlockSolver(gathered, each[rows], workers)
            if update is None:
                theta = solver.solve(values, None, None if noise is None else noise[rows])
            else:
                theta = update(gathered, values, rows, solver)
            out[rows] = theta
            if measure:
                residual = values - np.matvec(gathered, theta)
                squares += np.vdot(residual, residual)
        return squares

    with single_blas_thread():
        squares = workers.map(work, side.blocks)
    return out, squares


def _gathered(
    block: Block, padded: FloatArray, workers: Workers
) -> Iterator[tuple[slice, FloatArray]]:
    """Which rows of ``block``, and the factors of their columns: a piece at a time, so that what is
    gathered stays in the cache for every use that is made of it.
    """
    (count, length), rank = block.columns.shape, padded.shape[1]
    step = max(1, _GATHER_BYTES // (8 * rank * length))
    buffer = workers.scratch("gathered", (min(step, count), length, rank))
    for at in range(0, count, step):
        piece, out = slice(at, at + step), buffer[: min(step, count - at)]
        np.take(padded, block.columns[piece], axis=0, out=out, mode="clip")
        yield piece, out


def _plain_primal(
    block: Block, padded: FloatArray, reg: FloatArray, noise: FloatArray | None, workers: Workers
) -> tuple[FloatArray, float]:
    """Ridge solutions of a block without weights, and Σ residual².

    With (G + λI)θ = b + t the residuals' squares are Σy² − 2θ·b + θ·Gθ = Σy² − θ·b + θ·t − λ‖θ‖²,
    no second pass.
    """
    whole = block.values.astype(np.float64, copy=False)
    count, rank = len(whole), padded.shape[1]
    gram = workers.scratch("gram", (count, rank, rank))
    b = workers.scratch("right", (count, rank))
    for piece, a in _gathered(block, padded, workers):
        upper_gram(a, gram[piece])
        np.vecmat(whole[piece], a, out=b[piece])
    add_ridge(gram, reg)
    theta = solve_spd(gram, b if noise is None else b + noise)
    moved = b if noise is None else b - noise
    squares = np.vdot(whole, whole) - np.vdot(theta, moved) - np.sum(reg * theta**2)
    return theta, squares


def upper_gram(a: FloatArray, out: FloatArray) -> None:
    """The upper triangle of AᵀA for each of a batch; the rest of ``out`` is arbitrary.

    Small products by column panels: they skip most of the lower triangle and keep to the sizes that
    GEMM does best. Large ones are left whole, which numpy sends to SYRK.
    """
    length, rank = a.shape[1:]
    if rank <= _SMALL_RANK and length > _MOST_ROWS:
        upper_gram(a[:, :_MOST_ROWS], out)
        piece = np.zeros_like(out)
        for start in range(_MOST_ROWS, length, _MOST_ROWS):
            upper_gram(a[:, start : start + _MOST_ROWS], piece)
            with np.errstate(invalid="ignore"):  # what is below the diagonal may be anything
                out += piece
        return
    transposed = a.transpose(0, 2, 1)
    if rank > _SMALL_RANK:
        panel = _PANEL if length < _PANELS_BELOW else rank
        for k in range(0, rank, panel):
            np.matmul(transposed[:, k : k + panel], a[:, :, k:], out=out[:, k : k + panel, k:])
        return
    half = rank // 2
    for k in range(0, half, _SMALL_PANEL):
        end = min(k + _SMALL_PANEL, half)
        np.matmul(transposed[:, k:end], a[:, :, k:], out=out[:, k:end, k:])
    for k in range(half, rank, _SMALL_PANEL):
        end = k + _SMALL_PANEL
        np.matmul(transposed[:, half:], a[:, :, k:end], out=out[:, half:, k:end])


class BlockSolver:
    """Ridge solutions for one gathered block A (B×n×r), with any weights and noise.

    Keeps AAᵀ between calls.
    """

    def __init__(self, gathered: FloatArray, reg: FloatArray, workers: Workers) -> None:
        self._a, self._reg, self._workers = gathered, reg, workers
        self._dual = gathered.shape[1] < gathered.shape[2]
        self._outer: FloatArray | None = None

    def solve(
        self, values: FloatArray, weights: FloatArray | None, noise: FloatArray | None
    ) -> FloatArray:
        """θ (B×r) with (AᵀWA + λI)θ = AᵀW·values + noise, W = diag(``weights``) (B×n, in (0, 1];
        None for 1).
        """
        if self._dual or weights is None:
            return self._solve_dual(values, weights, noise)
        root = np.sqrt(weights)
        a, scratch = self._a, self._workers.scratch
        count, _, rank = a.shape
        gram = scratch("gram", (count, rank, rank))
        # √W on both sides: one array to read, and a symmetric product
        left = scale_rows(a, root, out=scratch("weighted", a.shape))
        upper_gram(left, gram)
        add_ridge(gram, self._reg)
        right = np.vecmat(root * values, left)
        if noise is not None:
            right += noise
        return solve_spd(gram, right)

    def _solve_dual(
        self, values: FloatArray, weights: FloatArray | None, noise: FloatArray | None
    ) -> FloatArray:
        """With B = √W·A: θ = Bᵀ(BBᵀ + λI)⁻¹√W·y + (t − Bᵀ(BBᵀ + λI)⁻¹Bt)/λ (Woodbury)."""
        a, scratch = self._a, self._workers.scratch
        count, length, _ = a.shape
        if self._outer is None:
            self._outer = np.matmul(
                a, a.transpose(0, 2, 1), out=scratch("outer", (count, length, length))
            )
        kernel = scratch("kernel", (count, length, length))
        root: Any = 1.0
        if weights is None:
            np.copyto(kernel, self._outer)
        else:
            root = np.sqrt(weights)
            np.multiply(self._outer, root[:, :, None], out=kernel)
            kernel *= root[:, None, :]
        add_ridge(kernel, self._reg)
        if noise is None:
            z = solve_spd(kernel, root * values)
            return np.vecmat(root * z, a)
        moved = np.matvec(a, noise)
        z = solve_spd(kernel, np.stack([root * values, root * moved], axis=1))
        back = np.matmul((1.0 if weights is None else root[:, None]) * z, a)
        return back[:, 0] + (noise - back[:, 1]) / self._reg
