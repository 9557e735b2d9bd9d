"""Cell by cell, in plain Python: slow, and the definition of what a text table says.

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

from pcatool.blocks import empty_block
from pcatool.errors import BadCell, DataError
from pcatool.model import Array
from pcatool.readers.base import MEND, Feature
from pcatool.readers.cutter import Chunk
from pcatool.readers.dialect import Dialect
from pcatool.readers.dressing import dressing
from pcatool.readers.foreign import PLAINLY, is_foreign
from pcatool.readers.plain import plain
from pcatool.readers.quoting import runs_on, with_quotes
from pcatool.readers.rowends import count_lines

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
    has_header: bool,
) -> tuple[Array, list[list[str]]]:
    """X (n, d) with NaN where a cell is missing, and the cells of the kept columns."""
    values: list[list[float]] = []
    texts: list[list[str]] = [[] for _ in kept]
    for (line, cells), (_, written) in _read_and_written(chunk, dialect, name):
        if len(cells) != width:
            raise _ragged(f"{name}, line {line}", cells, width, has_header)
        values.append([_value(written[f.column], f, dialect, name, line) for f in features])
        for text, column in zip(texts, kept, strict=True):
            text.append(cells[column])
    X = empty_block(len(values), len(features))
    X[:] = np.array(values, dtype=np.float64).reshape(X.shape)
    return X, texts


def _value(cell: str, feature: Feature, dialect: Dialect, name: str, line: int) -> float:
    if dialect.is_missing(cell):
        return math.nan
    value = BOOLEANS.get(cell.strip().lower()) if feature.boolean else dialect.number(cell)
    if value is not None and math.isfinite(value):
        return value
    remedy = MEND
    if value is not None:
        why = "is not finite"
    elif feature.boolean:
        why = "is neither true nor false"
    else:
        why = "is not a number"
        remedy = _remedy(cell, feature, dialect)
    raise BadCell(f"{name}, line {line}", feature.name, cell, why, remedy)


def _remedy(cell: str, feature: Feature, dialect: Dialect) -> str:
    options = dressing([cell], dialect)
    if options:
        return f"read it with {options}"
    if is_foreign(cell, dialect):
        return PLAINLY
    if cell.strip("\ufeff").strip() == feature.name.strip():
        return "is the line of names repeated there? give files one by one, not joined"
    return MEND


def _ragged(place: str, cells: list[str], width: int, has_header: bool) -> DataError:
    there = f"{len(cells)} field" + ("s" if len(cells) != 1 else "")
    expected = f"the {'header' if has_header else 'first row'} has {width}"
    if any("\n" in cell or "\r" in cell for cell in cells):
        return DataError(f"{place}: {there}, {expected}", "is a quote left open there?")
    remedy = "mend the row, or name another separator with -d"
    if cells[0].lstrip().startswith("#"):
        remedy = "if it is a comment, read it with --comment '#'"
    elif width == 1 and has_header:
        remedy = "is the header a title or a comment? pass over it with --skip-lines or --comment"
    return DataError(f"{place}: {there}, {expected}", remedy)
