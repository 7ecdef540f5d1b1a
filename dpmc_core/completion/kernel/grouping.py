"""Ratings grouped by row into padded blocks."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpmc_core.arrays import FloatArray

IntArray = NDArray[np.int32]

_MAX_PADDING = 1.12
# Bytes of gathered factors per block: enough to amortise numpy's calls, few enough for the cache.
# Small ranks do little arithmetic per call and want larger blocks.
_BLOCK_BYTES, _BLOCK_BYTES_SMALL_RANK, _SMALL_RANK = 3_000_000, 12_000_000, 40


@dataclass(frozen=True)
class Block:
    """Rows of nearly equal length.

    ``rows`` (B,), ``columns`` (B×n, padded with n_columns), ``values`` (B×n, padded with 0); in
    any whole and floating numbers that hold them exactly.
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.integer]
    values: NDArray[np.floating]

    def short(self, n_columns: int) -> "Block":
        """The same in as few bytes as lose nothing."""
        with np.errstate(over="ignore"):
            values = self.values.astype(np.float32)
        exact = bool(np.array_equal(values.astype(np.float64), self.values))
        small = n_columns < 2**16
        columns = self.columns.astype(np.uint16) if small else self.columns
        return Block(self.rows, columns, values if exact else self.values)


@dataclass(frozen=True)
class Side:
    """One side of the ratings, grouped.

    The rows to solve for, given factors of the ``n_columns`` columns.
    """

    n_rows: int
    n_columns: int
    n_ratings: int
    blocks: tuple[Block, ...]
    empty_rows: NDArray[np.intp]

    def short(self) -> "Side":
        """The same in as few bytes as lose nothing."""
        return replace(self, blocks=tuple(block.short(self.n_columns) for block in self.blocks))


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
    starts = np.concatenate([[0], np.cumsum(lengths)])
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
    return Side(n_rows, n_columns, int(values.size), tuple(blocks), np.flatnonzero(lengths == 0))
