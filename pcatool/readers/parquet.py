"""Parquet, a batch of rows at a time; from a pipe through a file, since its table of contents is at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from pcatool.errors import DataError
from pcatool.notices import Notices
from pcatool.options import TableOptions
from pcatool.readers.arrow import column_of, needs_sample
from pcatool.readers.base import Batch, Column, Feature, Part, all_finite, rows_at_once
from pcatool.readers.source import Opened
from pcatool.readers.vectors import VectorLength, features_to_block

__all__ = ["ArrowPart", "ParquetTable"]

# Rows looked at to learn the width of vectors and the first value of texts.
SAMPLE_ROWS = 1024
# Of each column a piece in memory, not a whole group of rows, which may be the whole file. Before Arrow 21 a buffer as
# small as the first look at a page's header (16 KB) fails.
BUFFER = 1 << 16


class ParquetTable:
    """One Parquet file, opened."""

    nameless = False

    def __init__(self, opened: Opened, options: TableOptions, notices: Notices) -> None:
        self.name = opened.name
        try:
            self._file = parquet.ParquetFile(
                opened.seekable(), pre_buffer=False, buffer_size=BUFFER, page_checksum_verification=True
            )
            self._schema = self._file.schema_arrow
            self._leaves = list(_leaves(self._schema))
            self.columns = tuple(
                column_of(field.name, field.type, self._sample(i)) for i, field in enumerate(self._schema)
            )
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> DataError:
        reason = str(error).split("\n", 1)[0].rstrip(".")
        return DataError(f"{self.name}: the Parquet data are damaged or cut off ({reason})", "make the file again")

    def _batches(self, rows: int, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Some columns, by number: names may occur twice, or hold the dots that separate names within names."""
        leaves = [leaf for column in columns for leaf in self._leaves[column]]
        groups = range(self._file.metadata.num_row_groups)
        if not groups:
            return
        reader: Any = self._file.reader
        try:
            yield from reader.iter_batches(rows, row_groups=groups, column_indices=leaves, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def _sample(self, column: int) -> pa.Array | None:
        """The first rows of a column in which there is something, for what its type does not tell."""
        if not needs_sample(self._schema.field(column).type):
            return None
        arrays = (batch.column(0) for batch in self._batches(SAMPLE_ROWS, [column]))
        return next((array for array in arrays if array.null_count < len(array)), None)

    def profile(self) -> tuple[Column, ...]:
        return self.columns

    def expected_rows(self) -> int | None:
        return int(self._file.metadata.num_rows)

    def kept_type(self, column: int) -> pa.DataType:
        return self._schema.field(column).type

    def ready(self) -> bool:
        return True

    def parts(self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool) -> Iterator[Part]:
        needed = sorted({f.column for f in features} | set(kept))
        first_row = 0
        for batch in self._batches(rows_at_once(len(features)), needed):
            arrays = dict(zip(needed, batch.columns, strict=True))
            yield ArrowPart(self.name, batch.num_rows, arrays, tuple(features), tuple(kept), self.columns, first_row)
            first_row += batch.num_rows


def _leaves(fields: Any) -> Iterator[list[int]]:
    """For each column the numbers of what Parquet stores for it: a struct has as many as it has parts."""
    first = 0
    for field in fields:
        count = _count_leaves(field.type)
        yield list(range(first, first + count))
        first += count


def _count_leaves(kind: pa.DataType) -> int:
    if isinstance(kind, pa.BaseExtensionType):
        return _count_leaves(kind.storage_type)
    if pa.types.is_dictionary(kind) or kind.num_fields == 0:
        return 1
    return sum(_count_leaves(kind.field(i).type) for i in range(kind.num_fields))


class ArrowPart(NamedTuple):
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
        return Batch(X, [self.arrays[column] for column in self.kept], self.place, all_finite(X))

    def place(self, row: int) -> str:
        return f"{self.name}, row {self.first_row + row + 1}"
