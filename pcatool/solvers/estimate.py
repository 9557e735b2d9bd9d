"""Estimate of the passes and the memory of a solver, and the bytes of steps and blocks, of which plans are made."""

from __future__ import annotations

from typing import NamedTuple

from pcatool.arrays import QUEUED_TASKS, block_rows
from pcatool.solvers.rows import AT_ONCE, SMALL_BYTES

__all__ = [
    "COLUMN_BYTES",
    "MARGIN",
    "PROGRAM_BYTES",
    "Estimate",
    "blocks_bytes",
    "bytes_with_reading",
    "decomposing_bytes",
    "directions_bytes",
    "estimate_in_memory",
    "factor_bytes",
    "in_flight",
    "joined_rows",
    "left_of_reading",
    "scoring_bytes",
    "total_bytes",
    "with_margin",
    "without_margin",
]

# Bytes of the program before any data: 70 MB with Arrow and numpy, 85 MB with Parquet and the part of scipy that some
# fits load, and 15 MB for pieces of freed memory that are too small for reuse, which small fits have, too.
PROGRAM_BYTES = 95 << 20

# Share added to the computed memory: fragmentation depends on the system. With it, a fit that is admitted under
# --memory stays below the limit.
MARGIN = 0.05

# Bytes per column: its name and its place, in several tables.
COLUMN_BYTES = 1 << 10


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


def total_bytes(d: int, working: int) -> int:
    """Bytes at the peak: the program, its tables for d columns, and `working` bytes of data with a margin."""
    return PROGRAM_BYTES + COLUMN_BYTES * d + with_margin(working)


def with_margin(size: int) -> int:
    """Return a number of bytes of data with MARGIN added."""
    return size + int(MARGIN * size)


def without_margin(size: int) -> int:
    """Return the most bytes of data that take at most `size` bytes with MARGIN added."""
    least = int(size / (1 + MARGIN))
    return least + 1 if with_margin(least + 1) <= size else least


def blocks_bytes(
    d: int,
    rows: int | None,
    threads: int,
    copies: int = 1,
    *,
    height: int = 0,
    most: int = 1 << 30,
    kept: bool = False,
) -> int:
    """Bytes of the block being filled, of the blocks waiting or in work, and of the copies that each thread makes.

    `most` limits the number of blocks waiting or in work, and `copies` is the number of copies that a thread makes of
    its block. Blocks are joined until they have `height` rows. The number of rows, if known, limits every count. With
    `kept`, the blocks are rows that are kept in memory, which do not count here; joining them makes a copy.
    """

    def bytes_of(blocks: int, height: int) -> int:
        return 8 * d * (blocks * height if rows is None else min(blocks * height, rows))

    tall = joined_rows(d, height)
    joined = tall > block_rows(d)
    made = (copies + (kept and joined)) * bytes_of(min(threads, most), tall)
    return made if kept else bytes_of(1, block_rows(d)) + bytes_of(min(in_flight(threads), most), tall) + made


def joined_rows(d: int, height: int) -> int:
    """Return `height`, at least 1, rounded up to a multiple of the rows of one block of d columns."""
    one = block_rows(d)
    return max(-(-height // one), 1) * one


def scoring_bytes(d: int, k: int, rows: int, threads: int, held: int) -> int:
    """Return the bytes at the peak while parts of `rows` rows of d columns are scored to k columns and written.

    `held` includes the bytes for reading the rows. A finished part is text. A part in work takes memory for one block
    of its rows at a time, as read (if the part is not cut like blocks), centred and scaled; for the scores with two
    copies; and for their text with room to grow.
    """
    number, text = 8, 24
    height = block_rows(d)
    each = rows * text * k
    worked_on = (2 + (rows % height > 0)) * height * number * d + rows * (3 * number + 2 * text) * k
    parts = in_flight(threads)
    return total_bytes(d, held + parts * each + max(parts - QUEUED_TASKS, 1) * worked_on)


def in_flight(threads: int) -> int:
    """Return how many blocks or parts are in work, waiting or finished at the same time, for a number of threads."""
    return threads + QUEUED_TASKS if threads > 1 else 1


def bytes_with_reading(working: int, reading: int, d: int, held: int | None) -> int:
    """Return the bytes at the peak of reading rows of d columns and of a pass over these rows.

    Reading takes `reading` bytes, the pass `working` bytes. If all rows are read before the pass, `held` is their
    number: few rows are then in a file, more rows in memory. None means that rows are read during the pass.
    """
    if held is None:
        return working + reading
    numbers = 8 * held * d
    cutting = blocks_bytes(d, held, 1)
    return max(working + left_of_reading(reading), reading + cutting + (numbers if numbers > SMALL_BYTES else 0))


def left_of_reading(reading: int) -> int:
    """Bytes of the freed memory of reading that is too fragmented for reuse."""
    return reading // 4
