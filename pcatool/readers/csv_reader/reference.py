"""Parse CSV cell by cell in plain Python: slow, and the definition of what a text table says.

The fast parser hands a chunk over to this one when it meets something it cannot read; it either reads it, or names
the line, the column and the value that nobody can.
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
from pcatool.readers.base import MEND, Feature
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.hints import Rereads, ragged, remedy_for
from pcatool.readers.csv_reader.normalize import plain, runs_on, with_quotes
from pcatool.readers.csv_reader.split import Chunk, count_lines

__all__ = ["BOOLEANS", "check_nul", "check_utf8", "parse", "rows_of"]

# Rows are bounded by the cutter; Python's own bound on a field is lower.
csv.field_size_limit(1 << 30)

Row: TypeAlias = tuple[int, list[str]]  # line, cells

BOOLEANS = {"true": 1.0, "false": 0.0}


def check_utf8(chunk: Chunk, name: str) -> None:
    """Refuse text in another encoding, in columns that are left out, too: where it stands must not matter."""
    if chunk.data.isascii():
        return
    try:
        chunk.data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"{name}, line {chunk.first_line + count_lines(chunk.data[: error.start])}"
        raise DataError(f"{place}: not valid UTF-8", "name the encoding, such as --encoding latin-1") from None


def check_nul(chunk: Chunk, name: str) -> None:
    """Refuse bytes that no text has, in columns that are left out, too."""
    at = chunk.data.find(b"\0")
    if at >= 0:
        place = f"{name}, line {chunk.first_line + count_lines(chunk.data[:at])}"
        raise DataError(f"{place}: a NUL byte", "is the file damaged, or not written to its end?")


def rows_of(chunk: Chunk, dialect: Dialect, name: str) -> Iterator[Row]:
    """Line number and cells of every row."""
    check_utf8(chunk, name)
    text = io.StringIO(plain(chunk.data, dialect).decode("utf-8"), newline="")
    reader = csv.reader(text, delimiter=dialect.separator)
    before = 0
    for cells in reader:
        if cells:
            yield chunk.first_line + before, cells
        before = reader.line_num


def _read_and_written(chunk: Chunk, dialect: Dialect, name: str) -> Iterator[tuple[Row, Row]]:
    """Every row as CSV has it, and with the quotes that stand within a field."""
    data = plain(chunk.data, dialect)
    if not runs_on(data, dialect):
        return ((row, row) for row in rows_of(chunk, dialect, name))
    written = Chunk(with_quotes(data, dialect), chunk.rows, chunk.first_line)
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
    """X (n, d) with NaN where a cell is missing, and the cells of the kept columns.

    `begins`: the line below the header; None where there is no header.
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
    """The cell as a number, NaN where it is missing; None where nothing can be made of it."""
    if dialect.is_missing(cell):
        return math.nan
    value = BOOLEANS.get(cell.strip().lower()) if feature.boolean else dialect.number(cell)
    return value if value is not None and math.isfinite(value) else None


def _bad_cell(
    place: str, cell: str, feature: Feature, features: Sequence[Feature], dialect: Dialect, rows: Rereads
) -> BadCell:
    if feature.boolean:
        return BadCell(place, feature.name, cell, "is neither true nor false", MEND)
    if dialect.number(cell) is not None:
        return BadCell(place, feature.name, cell, "is not finite", MEND)
    remedy = remedy_for(cell, feature, features, dialect, rows)
    return BadCell(place, feature.name, cell, "is not a number", remedy)
