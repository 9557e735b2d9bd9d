"""Parquet, a batch of rows at a time; from a pipe through a temporary file, since its table of contents is at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import parquet

from pcatool.blocks import block_rows
from pcatool.errors import DataError
from pcatool.notices import Notices
from pcatool.options import TableOptions
from pcatool.readers.arrow import VectorLength, column_of, features_to_block
from pcatool.readers.base import Batch, Column, Feature, Part
from pcatool.readers.source import Opened, spooled

__all__ = ["ArrowPart", "ParquetTable"]

# Rows looked at to learn the width of vectors and the first value of texts.
SAMPLE_ROWS = 64


class ParquetTable:
    """One Parquet file, opened."""

    def __init__(self, opened: Opened, options: TableOptions, notices: Notices) -> None:
        self.name = opened.name
        try:
            self._file = parquet.ParquetFile(spooled(opened))
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None
        self._schema = self._file.schema_arrow
        self.columns = tuple(
            column_of(field.name, field.type, self._sample(i)) for i, field in enumerate(self._schema)
        )

    def _damaged(self, error: Exception) -> DataError:
        return DataError(f"{self.name}: the Parquet data are damaged or cut off ({first_line(error)})", "make the file again")

    def _sample(self, column: int) -> pa.Array | None:
        """The first rows of a column, for what its type does not tell."""
        kind = self._schema.field(column).type
        if not (pa.types.is_nested(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return None
        try:
            path = self._schema.field(column).name
            for batch in self._file.iter_batches(SAMPLE_ROWS, columns=[path], use_threads=False):
                if batch.num_columns == 1 and batch.column(0).null_count < len(batch):
                    return batch.column(0)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None
        return None

    def profile(self) -> tuple[Column, ...]:
        return self.columns

    def kept_type(self, column: int) -> pa.DataType:
        return self._schema.field(column).type

    def parts(self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool) -> Iterator[Part]:
        needed = sorted({f.column for f in features} | set(kept))
        names = [self._schema.field(i).name for i in needed]
        batches = self._file.iter_batches(block_rows(len(features)), columns=names, use_threads=False)
        first_row = 0
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                raise self._damaged(error) from None
            if batch is None:
                return
            arrays = {column: batch.column(batch.schema.get_field_index(self._schema.field(column).name)) for column in needed}
            yield ArrowPart(self.name, batch.num_rows, arrays, tuple(features), tuple(kept), self.columns, first_row)
            first_row += batch.num_rows


@dataclass(frozen=True)
class ArrowPart:
    """Some rows as Arrow columns."""

    name: str
    rows: int
    arrays: dict[int, pa.Array]
    features: tuple[Feature, ...]
    kept: tuple[int, ...]
    columns: tuple[Column, ...]
    first_row: int

    def batch(self) -> Batch:
        try:
            X = features_to_block(self.arrays, self.rows, self.features, self.columns)
        except VectorLength as error:
            raise error.at(self.place(error.row)) from None
        return Batch(X, [self.arrays[column] for column in self.kept], self.place)

    def place(self, row: int) -> str:
        return f"{self.name}, row {self.first_row + row + 1}"


def first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].rstrip(".")
