"""Parse CSV cell by cell in plain Python: slow, but the definition of the correct result.

The fast parsers leave a chunk to this module when they meet something that they cannot read. The chunk is then either
parsed here, or refused with the line, the column and the value of the bad cell.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from pcatool.arrays import Array, empty_block
from pcatool.errors import BadCell, DataError
from pcatool.readers.base import BAD_CELL_REMEDY, Feature
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.hints import Rereads, ragged, remedy_for
from pcatool.readers.csv_reader.normalize import has_text_after_quote, plain, requoted
from pcatool.readers.csv_reader.split import Chunk, count_lines

__all__ = ["BOOLEANS", "check_nul", "check_utf8", "parse", "rows_of"]

# Characters of a field: more than any row may have. The cutter bounds rows, and Python's default of 131,072 is lower.
csv.field_size_limit(1 << 30)

Row: TypeAlias = tuple[int, list[str]]  # line number, cells

BOOLEANS = {"true": 1.0, "false": 0.0}


def check_utf8(chunk: Chunk, name: str) -> None:
    """Refuse bytes that are not UTF-8, also in columns that are left out, so that all columns are treated alike."""
    if chunk.data.isascii():
        return
    try:
        chunk.data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"{name}, line {chunk.first_line + count_lines(chunk.data[: error.start])}"
        raise DataError(f"{place}: not valid UTF-8", "name the encoding, such as --encoding latin-1") from None


def check_nul(chunk: Chunk, name: str) -> None:
    """Refuse NUL bytes, also in columns that are left out."""
    at = chunk.data.find(b"\0")
    if at >= 0:
        place = f"{name}, line {chunk.first_line + count_lines(chunk.data[:at])}"
        raise DataError(f"{place}: a NUL byte", "is the file damaged, or not written to its end?")


def rows_of(chunk: Chunk, dialect: Dialect, name: str) -> Iterator[Row]:
    """Yield line number and cells of every row; refuse text that is not UTF-8."""
    check_utf8(chunk, name)
    text = io.StringIO(plain(chunk.data, dialect).decode("utf-8"), newline="")
    reader = csv.reader(text, delimiter=dialect.separator)
    before = 0
    for cells in reader:
        if cells:
            yield chunk.first_line + before, cells
        before = reader.line_num


def _read_and_written(chunk: Chunk, dialect: Dialect, name: str) -> Iterator[tuple[Row, Row]]:
    """Yield every row twice: as CSV defines the cells, and with the quotes kept in fields like "a"b."""
    data = plain(chunk.data, dialect)
    if not has_text_after_quote(data, dialect):
        return ((row, row) for row in rows_of(chunk, dialect, name))
    written = Chunk(requoted(data, dialect), chunk.rows, chunk.first_line)
    return zip(rows_of(chunk, dialect, name), rows_of(written, dialect.settled, name), strict=True)


def parse(
    chunk: Chunk,
    dialect: Dialect,
    width: int,
    features: Sequence[Feature],
    kept: Sequence[int],
    name: str,
    begins: int | None,
) -> tuple[Array, list[list[str]]]:
    """Parse a chunk; return X (n, d), NaN where a cell is missing, and the cells of the kept columns as text.

    `begins` is the line below the header, None where there is no header. Raise `BadCell` for a cell that is not a
    finite number, and `DataError` for a row with another number of fields than `width`.
    """
    values: list[list[float | None]] = []
    texts: list[list[str]] = [[] for _ in kept]

    def rows() -> list[list[str]]:
        return [cells for _, cells in rows_of(chunk, dialect, name)]

    for (line, cells), (_, written) in _read_and_written(chunk, dialect, name):
        place = f"{name}, line {line}"
        if len(cells) != width:
            first = None if begins is None else chunk.first_line == begins
            raise ragged(place, cells, width, rows, dialect, first)
        row = [_value(written[f.column], f, dialect) for f in features]
        if None in row:
            feature = features[row.index(None)]
            raise _bad_cell(place, written[feature.column], feature, features, dialect, rows)
        values.append(row)
        for text, column in zip(texts, kept, strict=True):
            text.append(cells[column])
    X = empty_block(len(values), len(features))
    X[:] = np.array(values, dtype=np.float64).reshape(X.shape)
    return X, texts


def _value(cell: str, feature: Feature, dialect: Dialect) -> float | None:
    """Return the cell as a finite number, NaN where it is missing; None where it is neither."""
    if dialect.is_missing(cell):
        return math.nan
    value = BOOLEANS.get(cell.strip().lower()) if feature.boolean else dialect.number(cell)
    return value if value is not None and math.isfinite(value) else None


def _bad_cell(
    place: str, cell: str, feature: Feature, features: Sequence[Feature], dialect: Dialect, rows: Rereads
) -> BadCell:
    """Return the error for a cell that `_value` cannot read, with the remedy that fits the column."""
    if feature.boolean:
        return BadCell(place, feature.name, cell, "is neither true nor false", BAD_CELL_REMEDY)
    if dialect.number(cell) is not None:
        return BadCell(place, feature.name, cell, "is not finite", BAD_CELL_REMEDY)
    remedy = remedy_for(cell, feature, features, dialect, rows)
    return BadCell(place, feature.name, cell, "is not a number", remedy)
