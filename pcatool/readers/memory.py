"""Tables that are already in memory: numpy arrays, pandas DataFrames, Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pcatool.blocks import block_rows
from pcatool.errors import DataError, UsageError
from pcatool.model import Array
from pcatool.readers.arrow import column_of
from pcatool.readers.base import Batch, Column, Feature, Part
from pcatool.readers.parquet import ArrowPart

__all__ = ["ArrayTable", "ArrowTable", "in_memory"]


def in_memory(data: Any) -> ArrayTable | ArrowTable:
    """The table that a Python object is; a DataFrame goes through Arrow, which knows all its types."""
    if isinstance(data, pa.Table):
        return ArrowTable(data)
    if isinstance(data, np.ndarray) or not hasattr(data, "columns"):
        return ArrayTable(data)
    frame = data.rename(columns=str)
    return ArrowTable(pa.Table.from_pandas(frame, preserve_index=False))


class ArrayTable:
    """A two-dimensional array; its columns are c1, c2, ..."""

    def __init__(self, data: Any) -> None:
        self.name = "the array"
        try:
            array = np.asarray(data)
            array = array if array.dtype.kind in "fiu" else array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the array does not hold numbers: {error}") from None
        if array.ndim != 2:
            raise UsageError(f"the array has {array.ndim} dimensions, not 2", "give rows by columns")
        if array.shape[1] == 0:
            raise DataError("the array has no columns")
        self._array = array
        self.columns = tuple(Column(f"c{i}") for i in range(1, array.shape[1] + 1))

    def profile(self) -> tuple[Column, ...]:
        return self.columns

    def kept_type(self, column: int) -> pa.DataType:
        return pa.from_numpy_dtype(self._array.dtype)

    def parts(self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool) -> Iterator[Part]:
        height = block_rows(len(features))
        chosen = [f.column for f in features]
        whole = chosen == list(range(self._array.shape[1]))
        for at in range(0, len(self._array), height):
            rows = self._array[at : at + height]
            X = rows if whole else rows[:, chosen]
            yield ArrayPart(np.asfortranarray(X, dtype=np.float64), [pa.array(rows[:, c]) for c in kept], at)


@dataclass(frozen=True)
class ArrayPart:
    """Some rows of an array."""

    X: Array
    kept: list[pa.Array]
    first_row: int

    def batch(self) -> Batch:
        return Batch(self.X, self.kept, lambda row: f"the array, row {self.first_row + row + 1}")


class ArrowTable:
    """An Arrow table."""

    def __init__(self, table: pa.Table) -> None:
        self.name = "the table"
        self._table = table
        self.columns = tuple(
            column_of(field.name, field.type, _sample(table.column(i))) for i, field in enumerate(table.schema)
        )

    def profile(self) -> tuple[Column, ...]:
        return self.columns

    def kept_type(self, column: int) -> pa.DataType:
        return self._table.schema.field(column).type

    def parts(self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool) -> Iterator[Part]:
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
