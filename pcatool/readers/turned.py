"""A table that lies column by column, turned into blocks of rows through a temporary file.

A row group of Parquet keeps each column in one piece. To read it by rows, all columns must be open at once, at up to
4 MB each; to read it by columns, all of its rows must be kept. A file keeps them: a few columns are written at a time,
and blocks of rows are read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from tempfile import TemporaryFile, gettempdir

import numpy as np

from pcatool.blocks import block_rows, empty_block
from pcatool.errors import FileError
from pcatool.model import Array

__all__ = ["Turned", "columns_at_once"]

# Pieces that the system writes in one call (IOV_MAX).
MOST_COLUMNS = 1024


class Turned:
    """`rows` x `d` numbers in a nameless file, block after block, in each block column after column.

    Threads may write different columns, and read different blocks, at the same time.
    """

    def __init__(self, rows: int, d: int) -> None:
        self.rows, self.d = rows, d
        self.height = block_rows(d)
        try:
            self._file = TemporaryFile(buffering=0)
        except OSError as error:
            raise _no_spool(error) from None

    @property
    def starts(self) -> range:
        """The first row of each block."""
        return range(0, self.rows, self.height)

    def write(self, first: int, X: Array) -> None:
        """Columns from number `first` on: X (rows, at most MOST_COLUMNS), each column in one piece."""
        try:
            for start in self.starts:
                part = X[start : start + self.height]
                self._put([column.data for column in part.T], 8 * (start * self.d + first * len(part)))
        except OSError as error:
            raise _no_spool(error) from None

    def _put(self, pieces: Sequence[memoryview], offset: int) -> None:
        done = os.pwritev(self._file.fileno(), pieces, offset)
        total = sum(piece.nbytes for piece in pieces)
        if done < total:  # a disk that is full takes a part, and says so at the next
            rest = memoryview(b"".join(pieces))[done:]
            while rest:
                offset += done
                done = os.pwrite(self._file.fileno(), rest, offset)
                rest = rest[done:]

    def block(self, start: int) -> Array:
        """The rows of a block (h, d)."""
        block = empty_block(min(self.height, self.rows - start), self.d)
        wanted, offset = block.T.data.cast("B"), 8 * start * self.d
        while wanted:
            count = os.preadv(self._file.fileno(), [wanted], offset)
            assert count > 0, "a block is read after all of its columns were written"
            wanted, offset = wanted[count:], offset + count
        return block


def _no_spool(error: OSError) -> FileError:
    return FileError.from_os(gettempdir(), "spool rows to", error)


def columns_at_once(rows: int, size: int) -> int:
    """As many columns of so many rows as take `size` bytes."""
    return int(np.clip(size // (8 * max(rows, 1)), 1, MOST_COLUMNS))
