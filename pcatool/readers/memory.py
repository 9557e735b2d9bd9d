"""Tables that are already in memory: numpy arrays, pandas DataFrames, Arrow tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pcatool.blocks import Runner, block_rows, in_turn
from pcatool.errors import DataError, UsageError, show
from pcatool.model import Array
from pcatool.readers.arrow import column_of
from pcatool.readers.arrow_part import ArrowPart
from pcatool.readers.base import Batch, Column, Feature, Part, all_finite
from pcatool.readers.spellings import in_numbers

__all__ = ["ArrayTable", "ArrowTable", "in_memory", "is_pandas"]

# How tables of other libraries give themselves to Arrow.
TO_ARROW = ("__arrow_c_stream__", "__arrow_c_array__")


def in_memory(data: Any) -> ArrayTable | ArrowTable:
    """The table that a Python object is; a DataFrame goes through Arrow, which knows all its types."""
    if isinstance(data, pa.Table):
        return ArrowTable(data)
    if isinstance(data, pa.RecordBatch):
        return ArrowTable(pa.Table.from_batches([data]))
    if is_pandas(data):
        return _from_pandas(data)
    if any(hasattr(data, way) for way in TO_ARROW):
        return ArrowTable(_from_arrow(data))
    if hasattr(data, "__dataframe__"):
        from pyarrow.interchange import from_dataframe

        return ArrowTable(from_dataframe(data))
    if hasattr(data, "collect"):
        raise UsageError(f"a {type(data).__name__} has no rows yet", "call its collect() first")
    return ArrayTable(data)


def is_pandas(data: Any) -> bool:
    """Is it a DataFrame or a Series of pandas, or made from one?"""
    return any(kind.__module__.partition(".")[0] == "pandas" for kind in type(data).__mro__)


def _from_arrow(data: Any) -> pa.Table:
    try:
        return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:  # a single column, or values of several types
        raise UsageError(f"the {type(data).__name__} gives no table: {error}", "give rows by columns") from None


def _from_pandas(data: Any) -> ArrowTable:
    frame = (data if hasattr(data, "columns") else data.to_frame()).rename(columns=str)
    if not frame.columns.is_unique:
        raise DataError(f"two columns of the frame are called {show(frame.columns[frame.columns.duplicated()][0])}")
    nulls = ["NaN" if _writes_nan(frame[name].dtype) else "null" for name in frame.columns]
    return ArrowTable(pa.table({name: _from_series(frame[name]) for name in frame.columns}), nulls)


def _writes_nan(dtype: Any) -> bool:
    """Does pandas keep a hole as NaN, not as NA?"""
    return isinstance(getattr(dtype, "na_value", math.nan), float)


def _from_series(series: Any) -> Any:
    if hasattr(series.dtype, "fill_value"):
        series = series.sparse.to_dense()
    try:
        return pa.array(series, from_pandas=True)
    except pa.ArrowException:  # objects of several types are no numbers
        return pa.array(series.astype(str))


# Kinds of numpy types: floats, integers of either sort, booleans, and objects, each to be a number.
NUMBERS = "fiubO"


class Present:
    """A table that is all there."""

    columns: tuple[Column, ...]
    text = False

    def profile(self) -> tuple[Column, ...]:
        return self.columns

    def ready(self) -> bool:
        return True

    def ended(self) -> bool:
        return False  # nothing can follow

    def share(self) -> float | None:
        return None  # nobody watches


class ArrayTable(Present):
    """A two-dimensional array; its columns are c1, c2, ..."""

    nameless = True

    def __init__(self, data: Any) -> None:
        self.name = "the array"
        try:
            array = np.ma.filled(data.astype(np.float64), np.nan) if np.ma.isMaskedArray(data) else np.asarray(data)
            if array.dtype.kind not in NUMBERS:
                raise TypeError(f"its type is {array.dtype}")
            array = array.astype(np.float64) if array.dtype.kind in "bO" else array
        except (TypeError, ValueError) as error:
            raise DataError(f"the array does not hold numbers: {error}") from None
        if array.ndim != 2:
            raise UsageError(f"an array of {array.ndim} dimensions, not 2", "give rows by columns")
        if array.shape[1] == 0:
            raise DataError("the array has no columns")
        self._array = array
        self.columns = tuple(Column(f"c{i}") for i in range(1, array.shape[1] + 1))

    def expected_rows(self) -> int | None:
        return len(self._array)

    def kept_type(self, column: int) -> pa.DataType:
        return pa.from_numpy_dtype(self._array.dtype)

    def parts(
        self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool = False, run: Runner = in_turn
    ) -> Iterator[Part]:
        height = block_rows(len(features))
        chosen = [f.column for f in features]
        whole = chosen == list(range(self._array.shape[1]))
        for at in range(0, len(self._array), height):
            rows = self._array[at : at + height]
            X = rows if whole else rows[:, chosen]
            yield ArrayPart(np.asfortranarray(X, dtype=np.float64), [pa.array(rows[:, c]) for c in kept], at)


class ArrayPart(NamedTuple):
    """Some rows of an array."""

    X: Array
    kept: list[pa.Array]
    first_row: int

    def batch(self) -> Batch:
        return Batch(self.X, self.kept, self.place, all_finite(self.X), partial(in_numbers, self.X))

    def place(self, row: int) -> str:
        return f"the array, row {self.first_row + row + 1}"


class ArrowTable(Present):
    """An Arrow table."""

    nameless = False

    def __init__(self, table: pa.Table, nulls: Iterable[str] = repeat("null")) -> None:
        self.name = "the table"
        self._table = table
        self.columns = tuple(
            column_of(field.name, field.type, _sample(cells))._replace(null=null)
            for field, cells, null in zip(table.schema, table.columns, nulls, strict=False)
        )

    def expected_rows(self) -> int | None:
        return int(self._table.num_rows)

    def kept_type(self, column: int) -> pa.DataType:
        return self._table.schema.field(column).type

    def parts(
        self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool = False, run: Runner = in_turn
    ) -> Iterator[Part]:
        needed = sorted({f.column for f in features} | set(kept))
        first_row = 0
        for batch in self._table.select(needed).to_batches(max_chunksize=block_rows(len(features))):
            arrays = {column: batch.column(i) for i, column in enumerate(needed)}
            yield ArrowPart(self.name, batch.num_rows, arrays, tuple(features), tuple(kept), self.columns, first_row)
            first_row += batch.num_rows


def _sample(column: pa.ChunkedArray) -> pa.Array | None:
    """The first chunk with a value in it."""
    for chunk in column.chunks:
        if chunk.null_count < len(chunk):
            return chunk
    return None
