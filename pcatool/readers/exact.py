"""Cell by cell, in plain Python: slow, and the definition of what a text table says.

The fast parsers hand a chunk over to this one when they meet something they cannot read; it either reads it, or names
the line, the column and the value that nobody can.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

import numpy as np

from pcatool.blocks import empty_block
from pcatool.errors import BadCell, DataError
from pcatool.model import Array
from pcatool.readers.base import Feature
from pcatool.readers.cutter import Chunk
from pcatool.readers.dialect import Dialect

__all__ = ["parse", "rows_of"]

csv.field_size_limit(1 << 30)

BOOLEANS = {"true": 1.0, "false": 0.0}


def rows_of(chunk: Chunk, dialect: Dialect, name: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row."""
    try:
        text = chunk.data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = chunk.first_line + chunk.data[: error.start].count(b"\n")
        raise DataError(
            f"{name}, line {line}: not valid UTF-8", "name the encoding, such as --encoding latin-1"
        ) from None
    if dialect.comment is not None:
        text = _without_comments(text, dialect)
    if dialect.blanks:
        for number, row in enumerate(io.StringIO(text, newline=None), chunk.first_line):
            if cells := dialect.fields(row):
                yield number, cells
        return
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=dialect.delimiter)
    before = 0
    for cells in reader:
        if cells and not (dialect.comment is not None and len(cells) == 1 and not cells[0].strip()):
            yield chunk.first_line + before, cells
        before = reader.line_num


def _without_comments(text: str, dialect: Dialect) -> str:
    separator = "[ \\t]" if dialect.blanks else re.escape(dialect.delimiter)
    quoted = rf'(?:(?<={separator})|(?<=[\r\n])|\A)"(?:[^"]|"")*"'
    mark = re.escape(dialect.comment or "")
    return re.sub(rf"({quoted})|{mark}[^\r\n]*", lambda found: found.group(1) or "", text)


def parse(
    chunk: Chunk,
    dialect: Dialect,
    width: int,
    features: Sequence[Feature],
    kept: Sequence[int],
    name: str,
    first_is_header: bool,
) -> tuple[Array, list[list[str]]]:
    """X (n, d) with NaN where a cell is missing, and the cells of the kept columns."""
    values: list[list[float]] = []
    texts: list[list[str]] = [[] for _ in kept]
    for line, cells in rows_of(chunk, dialect, name):
        if len(cells) != width:
            raise _ragged(f"{name}, line {line}", cells, width, first_is_header)
        values.append([_value(cells[f.column], f, dialect, name, line) for f in features])
        for text, column in zip(texts, kept, strict=True):
            text.append(cells[column])
    X = empty_block(len(values), len(features))
    X[:] = np.array(values, dtype=np.float64).reshape(X.shape)
    return X, texts


def _value(cell: str, feature: Feature, dialect: Dialect, name: str, line: int) -> float:
    if dialect.is_missing(cell):
        return float("nan")
    value = BOOLEANS.get(cell.strip().lower()) if feature.boolean else dialect.number(cell)
    if value is None:
        why = "is neither true nor false" if feature.boolean else "is not a number"
        raise BadCell(f"{name}, line {line}", feature.name, cell, why, _remedy(cell, feature, dialect))
    return value


def _remedy(cell: str, feature: Feature, dialect: Dialect) -> str:
    options = dialect.dressing(cell)
    if options is not None and not feature.boolean:
        return f"read it with {options}"
    return "mend the cell, leave the column out with -x, or name the value with --null-value if it means missing"


def _ragged(place: str, cells: list[str], width: int, first_is_header: bool) -> DataError:
    there = f"{len(cells)} field" + ("s" if len(cells) != 1 else "")
    expected = f"the {'header' if first_is_header else 'first row'} has {width}"
    if any("\n" in cell for cell in cells):
        return DataError(f"{place}: {there}, {expected}", "is a quote left open there?")
    return DataError(f"{place}: {there}, {expected}", "mend the row, or name another separator with -d")
