"""Convert parts of Arrow columns, vector columns included, to batches of float64."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from pcatool.arrays import Array, empty_block
from pcatool.errors import DataError
from pcatool.readers.arrow_columns import (
    DEFAULT_DIALECT,
    NULL,
    as_text,
    boolean_array,
    fill_from_text,
    has_value,
    list_lengths,
    may_exceed_double,
    numbers_of,
    rows_with_value,
    texts_at,
    valid_rows,
)
from pcatool.readers.base import Batch, Column, Feature, RoundedCell, above_2_53, all_finite, first_rounded
from pcatool.readers.csv_reader.count_missing import count_in_numbers
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.wording import grouped, leave_out, show

__all__ = ["ArrowPart", "ArrowRows", "BadValue", "VectorLength", "by_column", "features_to_block", "fill"]


class BadValue(Exception):
    """Error for a value that cannot be read as a feature; readers catch it and raise the DataError of `at` instead.

    `row` is the row in the batch, from 0; `text` is the message without a place.
    """

    def __init__(self, row: int, text: str, remedy: str) -> None:
        super().__init__(row, text, remedy)
        self.row, self.text, self.remedy = row, text, remedy

    def at(self, place: str) -> DataError:
        """Return the error to raise for the user; `place`, the file and row of the value, begins its message."""
        return DataError(f"{place}, {self.text}", self.remedy)


class VectorLength(BadValue):
    """Error for a vector whose length differs from `width`, the length of the first vector of its column."""

    def __init__(self, row: int, name: str, length: int, width: int) -> None:
        lengths = f"the vector has length {grouped(length)}, but the first vector has length {grouped(width)}"
        text = f"column {show(name)}: {lengths}"
        super().__init__(row, text, "give all vectors of a column the same length")


def features_to_block(
    arrays: dict[int, pa.Array], rows: int, features: tuple[Feature, ...], columns: Sequence[Column]
) -> Array:
    """Return X (rows, d) of the features, from `arrays` (cells by column number); raises BadValue."""
    X = empty_block(rows, len(features))
    for column, chosen in by_column(features).items():
        fill(X, chosen, features, arrays[column], columns[column])
    return X


@lru_cache(maxsize=4)
def by_column(features: tuple[Feature, ...]) -> Mapping[int, list[int]]:
    """Map each table column to the positions in `features` of the features that come from it.

    Cached, since all parts of a table have the same features.
    """
    found: dict[int, list[int]] = {}
    for j, feature in enumerate(features):
        found.setdefault(feature.column, []).append(j)
    return found


def fill(X: Array, chosen: list[int], features: Sequence[Feature], array: pa.Array, column: Column) -> None:
    """Write the features that come from one table column into X (rows, d), in place; raises BadValue.

    `features` are those of all columns of X. `chosen` are the columns of X to write, all of which come from `column`,
    whose cells are `array`.
    """
    if features[chosen[0]].element is None:  # then no feature of this column is an element of a vector
        numbers = _numbers_in(array, column) if column.arrow_type else numbers_of(array)
        for j in chosen:
            X[:, j] = numbers
    elif not has_value(array):
        X[:, chosen] = NULL
    else:
        elements = [e for j in chosen if (e := features[j].element) is not None]
        X[:, _as_slice(chosen)] = _vectors_of(array, column)[:, _as_slice(elements)]


def _numbers_in(array: pa.Array, column: Column) -> Array:
    """Return the numbers in a text column (n,), read as CSV cells are, with NaN for missing cells; raises BadValue."""
    missing = valid_rows(array)
    cells = as_text(array).fill_null("")
    out = np.empty(len(cells))
    if fill_from_text(out, cells, DEFAULT_DIALECT, boolean=False) is None:
        at, cell = next((i, c) for i, c in enumerate(cells.to_pylist()) if not _is_readable(c))
        raise BadValue(
            at,
            f"column {show(column.name)}: {show(cell)} is not a number (the type of the column is {column.arrow_type})",
            f"correct the cell, or {leave_out(column.name)}",
        )
    if missing is not None:
        out[~missing] = NULL
    return out


def _is_readable(cell: str) -> bool:
    """Whether the cell is missing or a finite number."""
    number = DEFAULT_DIALECT.number(cell)
    return DEFAULT_DIALECT.is_missing(cell) or (number is not None and math.isfinite(number))


def _as_slice(numbers: list[int]) -> slice | list[int]:
    """Return consecutive numbers as a slice, with which numpy copies nothing; other numbers unchanged."""
    first, count = numbers[0], len(numbers)
    return slice(first, first + count) if numbers == list(range(first, first + count)) else numbers


def _vectors_of(array: pa.Array, column: Column) -> NDArray[np.generic]:
    """Return the vectors of a column as rows (n, width), NaN where a vector is null or empty; raises VectorLength."""
    valid = rows_with_value(array)
    present = array if valid is None else array.filter(boolean_array(valid))
    _check_lengths(present, valid, column)
    values = numbers_of(present.flatten()).reshape(len(present), column.width)
    if valid is None:
        return values
    every = np.full((len(array), column.width), NULL)
    every[valid] = values
    return every


def _check_lengths(present: pa.Array, valid: NDArray[np.bool_] | None, column: Column) -> None:
    """Raise VectorLength for the first of the vectors `present` whose length is not the width of the column.

    `valid` is the mask (n,) of the rows that `present` come from; None for all rows.
    """
    if pat.is_fixed_size_list(present.type):
        return
    lengths = list_lengths(present)
    wrong = np.flatnonzero(lengths != column.width)
    if len(wrong):
        at = int(wrong[0])
        row = at if valid is None else int(np.flatnonzero(valid)[at])
        raise VectorLength(row, column.name, int(lengths[at]), column.width)


class ArrowPart(NamedTuple):
    """Rows of a table as Arrow columns, not yet converted to float64."""

    name: str  # of the table, for messages
    rows: int
    arrays: dict[int, pa.Array]  # cells by column number
    features: tuple[Feature, ...]
    passthrough: tuple[int, ...]  # numbers of the passthrough columns
    columns: tuple[Column, ...]  # all columns of the table
    first_row: int  # number of the first row of the part, counted from 0 in the table

    def batch(self) -> Batch:
        rows = ArrowRows(self.name, self.features, self.columns, self.first_row)
        try:
            X = features_to_block(self.arrays, self.rows, self.features, self.columns)
        except BadValue as error:
            raise error.at(rows.place(error.row)) from None
        return rows.batch(X, self.arrays, self.passthrough)


class ArrowRows(NamedTuple):
    """Position and features of a part whose cells are Arrow columns; makes the batch of the part."""

    name: str  # of the table, for messages
    features: tuple[Feature, ...]
    columns: tuple[Column, ...]  # all columns of the table
    first_row: int  # number of the first row of the part, counted from 0 in the table

    def batch(
        self, X: Array, arrays: Mapping[int, pa.Array], passthrough: Sequence[int], *, finite: bool = False
    ) -> Batch:
        """Return the batch of X (n, d), which was made from `arrays` (cells by column number).

        `passthrough` are the numbers of the passthrough columns. With `finite`, no cell of X is NaN or infinite;
        otherwise the cells are checked. The batch keeps the passthrough columns, and the columns whose numbers float64
        may round. The thread that allocated the other columns then frees them, which is cheaper than in another thread.
        """
        exact = {column: array for column, array in arrays.items() if may_exceed_double(array.type)}
        passed = [arrays[column] for column in passthrough]
        finite = finite or all_finite(X)
        return Batch(X, passed, self.place, finite, partial(self._spellings, X), partial(self._rounded, X, exact))

    def _spellings(self, X: Array) -> Mapping[str, int]:
        return count_in_numbers(X, (self.columns[f.column].null_word for f in self.features))

    def _rounded(self, X: Array, exact: Mapping[int, pa.Array]) -> RoundedCell | None:
        features, rows = above_2_53(X)
        for j in dict.fromkeys(features.tolist()):
            array = exact.get(self.features[j].column)
            if array is not None:
                at = rows[features == j]
                found = first_rounded(X, np.full(len(at), j), at, texts_at(array, at), Dialect().whole_number)
                if found is not None:
                    return found
        return None

    def place(self, row: int) -> str:
        return f"{self.name}, row {self.first_row + row + 1}"
