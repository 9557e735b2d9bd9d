"""Very many columns of nothing but numbers: read as one long column, then folded.

For every column of every chunk Arrow sets up a converter of its own, 15 kB each: at 20,000 columns that is 300 MB and
most of the time. One column costs that once.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.readers.arrow_columns import numbers_of
from pcatool.readers.base import all_finite
from pcatool.readers.csv_reader.arrow_parser import MARK, ArrowCsv
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.cutter import Chunk

__all__ = ["WIDE", "holds_nothing", "read_wide"]

# From this many columns on, folding costs less than the converters.
WIDE = 1000

NEWLINE = 10


def read_wide(chunk: Chunk, dialect: Dialect, width: int) -> NDArray[np.float64] | None:
    """All cells as numbers (rows, width), NaN where one is missing; None when it takes a closer look to read them."""
    data = chunk.data.replace(b"\r\n", b"\n") if b"\r" in chunk.data else chunk.data
    if data.startswith(MARK) or b'"' in data or b"\r" in data or dialect.comment is not None or dialect.blanks:
        return None
    if not data.endswith(b"\n"):
        data += b"\n"
    text, separator = np.frombuffer(data, dtype=np.uint8), ord(dialect.separator)
    between = text == separator
    if not _is_even(text, between, chunk.rows, width):
        return None
    # The separators become line ends by arithmetic, six times as fast as by replacing them.
    lines = text - between.view(np.uint8) * np.uint8((separator - NEWLINE) % 256)
    del between
    table = ArrowCsv(dialect, 1, {0: pa.float64()}, empty_lines=True).parse(lines, chunk.rows * width)
    if table is None:
        return None
    array = table.column(0).chunk(0)
    cells = numbers_of(array).astype(np.float64, copy=False)
    if not all_finite(cells) and np.isnan(cells).sum() != array.null_count:
        return None  # Arrow knows more spellings of "not a number" than there are
    return cells.reshape(chunk.rows, width)


def _is_even(text: NDArray[np.uint8], between: NDArray[np.bool_], rows: int, width: int) -> bool:
    """Has every line as many fields as there are columns, and is none empty?"""
    ends = np.flatnonzero(text == NEWLINE)
    if len(ends) != rows:
        return False
    return bool(np.array_equal(np.searchsorted(np.flatnonzero(between), ends), np.arange(1, rows + 1) * (width - 1)))


def holds_nothing(X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which columns have no number at all."""
    return np.asarray(np.isnan(X).all(axis=0))
