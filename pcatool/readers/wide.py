"""Very many columns of nothing but numbers: read as one long column, then folded.

For every column of every chunk Arrow sets up a converter of its own, 15 kB each: at 20,000 columns that is 300 MB and
most of the time. One column costs that once.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.readers.arrow import numbers_of
from pcatool.readers.arrow_csv import ArrowCsv
from pcatool.readers.cutter import Chunk
from pcatool.readers.dialect import Dialect

__all__ = ["WIDE", "holds_nothing", "read_wide"]

# From this many columns on, folding costs less than the converters.
WIDE = 1000

NEWLINE = 10


def read_wide(chunk: Chunk, dialect: Dialect, width: int) -> NDArray[np.float64] | None:
    """All cells as numbers (rows, width), NaN where one is missing; None when it takes a closer look to read them."""
    data = chunk.data.replace(b"\r\n", b"\n")
    if b'"' in data or b"\r" in data or dialect.comment is not None or dialect.blanks:
        return None
    if not data.endswith(b"\n"):
        data += b"\n"
    separator = dialect.separator.encode()
    if not _is_even(data, separator, chunk.rows, width):
        return None
    column = ArrowCsv(dialect, 1, {0: pa.float64()}, empty_lines=True)
    array = column.read(Chunk(data.replace(separator, b"\n"), chunk.rows * width, chunk.first_line))
    return None if array is None else numbers_of(array[0]).astype(np.float64).reshape(chunk.rows, width)


def _is_even(data: bytes, separator: bytes, rows: int, width: int) -> bool:
    """Has every line as many fields as there are columns, and is none empty?"""
    bytes_ = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(bytes_ == NEWLINE)
    if len(ends) != rows:
        return False
    fields = np.flatnonzero(bytes_ == separator[0])
    return bool(np.array_equal(np.searchsorted(fields, ends), np.arange(1, rows + 1) * (width - 1)))


def holds_nothing(X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which columns have no number at all."""
    return np.asarray(np.isnan(X).all(axis=0))
