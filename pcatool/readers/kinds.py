"""What the columns of a text table hold, judged by its first rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from pcatool.readers.base import Column
from pcatool.readers.csv_reader.arrow_parser import TEXT, ArrowCsv
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.hints import LOOKED_AT, Others, dressing
from pcatool.readers.csv_reader.reference import BOOLEANS, check_utf8, parse, rows_of
from pcatool.readers.cutter import Chunk
from pcatool.readers.foreign import PLAINLY, is_foreign
from pcatool.readers.wide import WIDE, holds_nothing, read_wide

__all__ = ["all_numbers", "column_of_cells", "profile"]


def all_numbers(first: Chunk, width: int, dialect: Dialect, name: str) -> bool:
    """Does the first row alone tell that every column holds numbers? It does in most tables."""
    if width >= WIDE and not (dialect.dressed or dialect.numeric_null):
        row = read_wide(first, dialect, width)
        return row is not None and bool(np.isfinite(row).all())
    _, cells = next(rows_of(first, dialect, name))
    return len(cells) == width and all(_is_number(cell, dialect) for cell in cells)


def profile(chunk: Chunk, names: Sequence[str], dialect: Dialect, name: str, begins: int | None) -> tuple[Column, ...]:
    """The columns with their kinds; `begins` is the line below the header, None where there is none."""
    check_utf8(chunk, name)
    if len(names) >= WIDE and not (dialect.dressed or dialect.numeric_null):
        cells = read_wide(chunk, dialect, len(names))
        if cells is not None:
            kinds = ("empty" if nothing else "number" for nothing in holds_nothing(cells))
            return tuple(Column(*column) for column in zip(names, kinds, strict=True))
    every = range(len(names))
    arrays = ArrowCsv(dialect, len(names), dict.fromkeys(every, TEXT)).read(chunk)
    if arrays is None:
        _, texts = parse(chunk, dialect, len(names), (), every, name, begins)
        parsed = dict(enumerate(texts))
        return tuple(column_of_cells(names[i], texts[i], dialect, _without(i, parsed)) for i in every)
    others = _Texts(arrays)
    return tuple(_column(names[i], array, dialect, _without(i, others)) for i, array in arrays.items())


class _Texts(Mapping[int, Sequence[str]]):
    """The first cells of each column, as texts once they are asked for: few tables need them."""

    def __init__(self, arrays: Mapping[int, pa.Array]) -> None:
        self._arrays = arrays
        self._texts: dict[int, Sequence[str]] = {}

    def __getitem__(self, column: int) -> Sequence[str]:
        if column not in self._texts:
            most = LOOKED_AT // len(self._arrays) + 1
            self._texts[column] = self._arrays[column].slice(0, most).to_pylist()
        return self._texts[column]

    def __iter__(self) -> Iterator[int]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def _without(column: int, every: Mapping[int, Sequence[str]]) -> Callable[[], dict[int, Sequence[str]]]:
    """The cells of all columns but one."""
    return lambda: {other: cells for other, cells in every.items() if other != column}


def _column(name: str, cells: pa.Array, dialect: Dialect, others: Others) -> Column:
    """Most columns are numbers, and their first cells tell."""
    begins_with_number = _is_number(cells[0].as_py(), dialect)
    return Column(name) if begins_with_number else column_of_cells(name, cells.to_pylist(), dialect, others)


def _is_number(cell: str, dialect: Dialect) -> bool:
    return not dialect.is_missing(cell) and dialect.number(cell) is not None


def column_of_cells(name: str, cells: Sequence[str], dialect: Dialect, others: Others = dict) -> Column:
    """What these cells are. One number makes them a column of numbers; a text among them is then a bad cell.

    `others` gives the cells of the other columns, by their place.
    """
    if any(_is_number(c, dialect) for c in cells):
        return Column(name)
    filled = [c for c in dict.fromkeys(cells) if not dialect.is_missing(c)]
    if not filled:
        return Column(name, "empty")
    if all(c.strip().lower() in BOOLEANS for c in filled):
        return Column(name, "boolean", filled[0])
    dressed = dressing(filled, dialect, others)
    if dressed is not None:
        return Column(name, "dressed", dressed.example, remedy=dressed.remedy)
    if all(is_foreign(c, dialect) for c in filled):
        return Column(name, "dressed", filled[0], remedy=PLAINLY)
    return Column(name, "text", filled[0])
