"""Estimate of the passes and the memory of a solver, and the bytes of steps that several solvers share."""

from __future__ import annotations

from typing import NamedTuple

from pcatool.solvers.rows import AT_ONCE

__all__ = ["Estimate", "decomposing_bytes", "directions_bytes", "estimate_in_memory", "factor_bytes"]


class Estimate(NamedTuple):
    """Number of passes over the rows, and most bytes of memory, that a solver needs.

    The bytes of the program, and of the blocks that are read and worked on, are not included.
    """

    passes: str  # for people, such as "1" or "2 and a few more"
    bytes: int  # bytes while rows are read, without the results of blocks
    result: int = 0  # bytes of the result of one block; some results wait to be merged
    again: int = 0  # bytes in further passes over the rows, if more than in the first, without the results of blocks
    solving: int = 0  # bytes after all passes, if more than before
    work: int = 0  # working bytes of a thread for one block, without copies of the block
    copies: int = 1  # copies of its block that a thread makes; one in the first of several passes
    height: int = 0  # smaller blocks are joined until they have this many rows
    merging: int = 0  # bytes to merge two results, while other threads work
    without_blocks: bool = False  # whether no thread works on blocks of rows: they are joined or compressed


def directions_bytes(d: int, k: int) -> int:
    """Bytes of three matrices (d, k) at the end of a fit: directions, their copy in the model, and S times these."""
    return 8 * 3 * d * k


def decomposing_bytes(rows: int, d: int) -> int:
    """Bytes to decompose a factor (rows, d) with rows <= d, in addition to the factor.

    The bytes are for a scaled copy of the factor, LAPACK's copies and workspace, and singular vectors.
    """
    return 8 * (7 * rows * d // 2 + 6 * rows * rows)


def factor_bytes(d: int, rows: int, k: int) -> int:
    """Bytes of a factor (rows, d) with rows <= d, and to decompose the factor or, if more, to keep k directions."""
    factor = 8 * rows * d
    return factor + max(decomposing_bytes(rows, d), factor + directions_bytes(d, min(k, rows)))


def estimate_in_memory(d: int, n: int | None, k: int) -> Estimate:
    """Return passes and memory of solver `svd`, which holds and decomposes all n rows; None counts as no rows."""
    rows = n or 0
    held = 8 * rows * d
    if rows > d:  # LAPACK's two copies of the rows; then their triangle, like `tsqr`
        return Estimate("1", held, solving=max(3 * held, factor_bytes(d, d, k)))
    return Estimate("1", held, solving=max(factor_bytes(d, rows, k), held + min(held, AT_ONCE)))
