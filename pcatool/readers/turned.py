"""A table that lies column by column, turned into blocks of rows through a temporary file or, if small, in memory.

A row group of Parquet keeps each column in one piece. To read it by rows, all columns must be open at once, at up to
4 MB each; to read it by columns, all of its rows must be kept. A file keeps them: a few columns are written at a time,
and blocks of rows are read.
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array, block_rows, empty_block
from pcatool.resources import Spool

__all__ = ["HeldTurned", "Turned", "columns_at_once"]

# Columns that are read together, however few rows they have.
MOST_COLUMNS = 1024


class Turned:
    """`rows` x `d` numbers in a file, block after block, in each block column after column.

    Threads may write different columns, and read different blocks, at the same time.
    """

    def __init__(self, rows: int, d: int) -> None:
        self.rows, self.d = rows, d
        self.height = block_rows(d)
        self._spool = Spool()

    @property
    def starts(self) -> range:
        """The first row of each block."""
        return range(0, self.rows, self.height)

    def write(self, first: int, X: Array) -> None:
        """Columns from number `first` on: X (rows, g). Of each block they are one piece of the file."""
        for start in self.starts:
            part = X[start : start + self.height]
            self._spool.put([part.ravel(order="F").data.cast("B")], 8 * (start * self.d + first * len(part)))

    def block(self, start: int) -> Array:
        """The rows of a block (h, d)."""
        block = empty_block(min(self.height, self.rows - start), self.d)
        self._spool.get(block.T.data.cast("B"), 8 * start * self.d)
        return block


class HeldTurned(Turned):
    """`rows` x `d` numbers in memory."""

    def __init__(self, rows: int, d: int) -> None:
        self.rows, self.d = rows, d
        self.height = block_rows(d)
        self._X = empty_block(rows, d)

    def write(self, first: int, X: Array) -> None:
        """Columns from number `first` on: X (rows, g)."""
        self._X[:, first : first + X.shape[1]] = X

    def block(self, start: int) -> Array:
        """The rows of a block (h, d)."""
        rows = self._X[start : start + self.height]
        return rows if rows.flags.f_contiguous else np.array(rows, order="F")


def columns_at_once(rows: int, size: int) -> int:
    """As many columns of so many rows as take `size` bytes."""
    return int(np.clip(size // (8 * max(rows, 1)), 1, MOST_COLUMNS))
