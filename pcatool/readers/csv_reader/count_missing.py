"""Count the spellings of missing cells in some rows, and fetch the text of single cells.

A chunk of text is searched again only for the cells that are asked for, by the cheapest method that can read the
chunk: by separators in the bytes, by Arrow, or cell by cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.readers.arrow_columns import is_null, text_array
from pcatool.readers.csv_reader.chunk_parser import TEXT, ArrowCsv
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.split import Chunk, rows_of

__all__ = ["cells_at", "count_in_numbers", "count_in_text"]

Index = NDArray[np.intp]

NEWLINE = 10
# Share of the rows of a chunk below which only the rows with chosen cells are searched for separators: to copy a byte
# out costs about ten times as much as to compare it.
SHARE_TO_SEARCH = 1 / 8


def count_in_numbers(X: Array, nulls: Iterable[str] = repeat("null")) -> dict[str, int]:
    """Return how often each spelling of a missing cell occurs in X (n, d) of a Parquet file or a table in memory.

    NaN counts as "NaN". Nulls (`NULL` in X) count under the word in `nulls`, which has one word for each column of X.
    """
    missing, null = np.isnan(X).sum(axis=0), is_null(X).sum(axis=0)
    counts = Counter({"NaN": int((missing - null).sum())})
    for word, count in zip(nulls, null.tolist(), strict=False):
        counts[word] += count
    return dict(+counts)


def count_in_text(
    X: Array, columns: Sequence[int], chunk: Chunk, dialect: Dialect, width: int, name: str
) -> Mapping[str, int]:
    """Return how often each spelling of a missing cell occurs in X (n, d), which was read from `chunk`.

    `columns` has, for each column of X, its number in the table, which is called `name` and has `width` columns.
    """
    # Column by column: X is stored that way, and `_by_arrow` needs the cells of a column side by side.
    features, rows = np.nonzero(np.isnan(X).T)
    if not len(rows):
        return {}
    at = np.array(columns, dtype=np.intp)[features]
    return _trimmed(_counted(cells_at(rows, at, chunk, dialect, width, name)))


def cells_at(rows: Index, columns: Index, chunk: Chunk, dialect: Dialect, width: int, name: str) -> pa.Array:
    """Return the text of the cells at (rows[i], columns[i]) of a chunk, both counted from 0.

    `columns` must be grouped: equal column numbers stand side by side. The table is called `name` and has `width`
    columns.
    """
    for read in (_between_separators, _by_arrow):
        cells = read(chunk, dialect, width, rows, columns)
        if cells is not None:
            return cells
    return _exactly(chunk, dialect, name, rows, columns)


def _trimmed(cells: Mapping[str, int]) -> dict[str, int]:
    """Return the counts with blanks around the spellings removed; counts of equal spellings are added up."""
    counts: Counter[str] = Counter()
    for cell, count in cells.items():
        counts[cell.strip()] += count
    return dict(counts)


def _counted(cells: pa.Array) -> dict[str, int]:
    counted = cells.value_counts()
    return dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))


def _between_separators(chunk: Chunk, dialect: Dialect, width: int, rows: Index, columns: Index) -> pa.Array | None:
    """Return the cells at (rows[i], columns[i]), cut out of the bytes between separators: much faster than parsing.

    Return None for text in which a separator or line end may not end a cell: text with quotes, lone carriage returns,
    blank lines or rows of another width.
    """
    data = chunk.data if chunk.plain else chunk.normalized(dialect)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if b'"' in data or b"\r" in data:
        return None
    text = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", dtype=np.uint8)
    row_ends = np.flatnonzero(text == NEWLINE)
    if len(row_ends) != chunk.rows:
        return None
    used, within = np.unique(rows, return_inverse=True)
    if len(used) < SHARE_TO_SEARCH * chunk.rows:
        text = _joined(text, np.where(used > 0, row_ends[used - 1] + 1, 0), row_ends[used] + 1)
        row_ends, rows = np.flatnonzero(text == NEWLINE), within
    marks = np.flatnonzero((text == NEWLINE) | (text == ord(dialect.separator)))
    if len(marks) != len(row_ends) * width or not np.array_equal(marks[width - 1 :: width], row_ends):
        return None
    cell = rows * width + columns
    return _texts(text, np.where(cell > 0, marks[cell - 1] + 1, 0), marks[cell])


def _texts(text: NDArray[np.uint8], starts: Index, stops: Index) -> pa.Array:
    """Return the strings text[starts[i]:stops[i]] as an Arrow array."""
    offsets = np.concatenate([[0], np.cumsum(stops - starts)]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(_joined(text, starts, stops))]
    return pa.Array.from_buffers(TEXT, len(starts), buffers)


def _joined(text: NDArray[np.uint8], starts: Index, stops: Index) -> NDArray[np.uint8]:
    """Return the bytes text[starts[i]:stops[i]] for all i, end to end."""
    lengths = stops - starts
    ends = np.cumsum(lengths)
    return text[np.repeat(stops - ends, lengths) + np.arange(ends[-1])]


def _by_arrow(chunk: Chunk, dialect: Dialect, width: int, rows: Index, columns: Index) -> pa.Array | None:
    """Return the cells at (rows[i], columns[i]), parsed by Arrow; None if Arrow cannot read the chunk.

    Arrow parses only these columns. `columns` must be grouped, as in `cells_at`.
    """
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    arrays = ArrowCsv(dialect, width, dict.fromkeys(columns[starts].tolist(), TEXT)).read(chunk)
    if arrays is None:
        return None
    runs = zip(columns[starts].tolist(), np.split(rows, starts[1:]), strict=True)
    return pa.concat_arrays([arrays[column].take(_indices(within_column)) for column, within_column in runs])


def _indices(rows: Index) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows.astype(np.int64))])


def _exactly(chunk: Chunk, dialect: Dialect, name: str, rows: Index, columns: Index) -> pa.Array:
    """Return the cells at (rows[i], columns[i]), after parsing the whole chunk in plain Python."""
    cells = [cells for _, cells in rows_of(chunk, dialect, name)]
    return text_array([cells[row][column] for row, column in zip(rows.tolist(), columns.tolist(), strict=True)])
