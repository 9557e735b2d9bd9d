"""Parse CSV cell by cell in plain Python: slow, but the definition of the correct result.

The fast parsers leave a chunk to this module when they meet something that they cannot read. The chunk is then either
parsed here, or refused with the line, the column and the value of the bad cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pcatool.arrays import Array, empty_block
from pcatool.errors import BadCell
from pcatool.readers.base import Feature, bad_cell_remedy
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.hints import ReadAgain, ragged_row_error, remedy_for_cell
from pcatool.readers.csv_reader.normalize import has_text_after_quote, requoted
from pcatool.readers.csv_reader.split import Chunk, Row, rows_of

__all__ = ["BOOLEANS", "parse"]

BOOLEANS = {"true": 1.0, "false": 0.0}


def _read_and_written(chunk: Chunk, dialect: Dialect, name: str) -> Iterator[tuple[Row, Row]]:
    """Yield each row twice, as a pair: with cells as CSV defines them, and with the quotes of fields like "a"b kept.

    Each of the two is a line number and its cells.
    """
    data = chunk.normalized(dialect)
    if not has_text_after_quote(data, dialect):
        return ((row, row) for row in rows_of(chunk, dialect, name))
    written = Chunk(requoted(data, dialect), chunk.rows, chunk.first_line)
    return zip(rows_of(chunk, dialect, name), rows_of(written, dialect.normalized, name), strict=True)


def parse(
    chunk: Chunk,
    dialect: Dialect,
    width: int,
    features: Sequence[Feature],
    passthrough: Sequence[int],
    name: str,
    line_below_header: int | None,
) -> tuple[Array, list[list[str]]]:
    """Return X (n, d) of a chunk, NaN where a cell is missing, and the cells of each passthrough column as text.

    `line_below_header` is the number of the line below the header, None where there is no header. Raise `BadCell` for
    a feature cell that is not a finite number (or, in a boolean column, neither true nor false), and `DataError` for a
    row with another number of fields than `width` and for text that is not UTF-8.
    """
    values: list[list[float | None]] = []
    texts: list[list[str]] = [[] for _ in passthrough]

    def rows() -> list[list[str]]:
        return [cells for _, cells in rows_of(chunk, dialect, name)]

    for (line, cells), (_, written) in _read_and_written(chunk, dialect, name):
        place = f"{name}, line {line}"
        if len(cells) != width:
            first = None if line_below_header is None else chunk.first_line == line_below_header
            last = len(values) + 1 == chunk.rows and not chunk.data.endswith((b"\n", b"\r"))
            raise ragged_row_error(place, cells, width, rows, dialect, first, without_end=last)
        row = [_value(written[f.column], f, dialect) for f in features]
        if None in row:
            feature = features[row.index(None)]
            raise _bad_cell(place, written[feature.column], feature, features, dialect, rows)
        values.append(row)
        for text, column in zip(texts, passthrough, strict=True):
            text.append(cells[column])
    X = empty_block(len(values), len(features))
    X[:] = np.array(values, dtype=np.float64).reshape(X.shape)
    return X, texts


def _value(cell: str, feature: Feature, dialect: Dialect) -> float | None:
    """Return the cell as a finite number, 1 or 0 in a boolean column, NaN if missing; None for any other cell."""
    if dialect.is_missing(cell):
        return math.nan
    value = BOOLEANS.get(cell.strip().lower()) if feature.boolean else dialect.number(cell)
    return value if value is not None and math.isfinite(value) else None


def _bad_cell(
    place: str, cell: str, feature: Feature, features: Sequence[Feature], dialect: Dialect, rows: ReadAgain
) -> BadCell:
    """Return the error for a cell that is no finite number, or neither true nor false, with a remedy for its column.

    `place` names file and line; `rows` reads the rows of the chunk again.
    """
    if feature.boolean or dialect.number(cell) is not None:
        why = "is neither true nor false" if feature.boolean else "is not finite"
        return BadCell(place, feature.name, cell, why, bad_cell_remedy(cell, feature.name, feature.column))
    remedy = remedy_for_cell(cell, feature, features, dialect, rows)
    return BadCell(place, feature.name, cell, "is not a number", remedy)
