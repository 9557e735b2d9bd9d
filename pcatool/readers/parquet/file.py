"""One Parquet file: its columns and layout, read by number, with clear errors where it is damaged."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from pcatool.errors import DataError, check_memory
from pcatool.readers.arrow_columns import column_of, has_value, needs_sample
from pcatool.readers.base import Column
from pcatool.readers.opener import Opened

__all__ = ["ParquetData", "most_bytes", "reads_each"]


class ParquetLayout(NamedTuple):
    """What the schema of a file tells."""

    leaves: list[list[int]]  # for each column the numbers of what Parquet stores for it
    coded: frozenset[int]  # columns with dictionaries, of which damaged files name entries that there are not
    columns: tuple[Column, ...] | None  # where types tell all


class Alike:
    """A schema that is equal to others with the same columns; Arrow's own hash makes an object of each of these."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return len(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike) and bool(self.schema.equals(other.schema))


def layout_of(schema: pa.Schema) -> ParquetLayout:
    """Of many files that are alike it is worked out once."""
    return _layout_of(Alike(schema))


@lru_cache(maxsize=4)
def _layout_of(alike: Alike) -> ParquetLayout:
    schema = alike.schema
    told = not any(needs_sample(field.type) for field in schema)
    columns = tuple(column_of(field.name, field.type, None) for field in schema) if told else None
    coded = frozenset(i for i, field in enumerate(schema) if _is_coded(field.type))
    return ParquetLayout(list(_leaves(schema)), coded, columns)


def _leaves(fields: Any) -> Iterator[list[int]]:
    """A struct has as many as it has parts."""
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


def _is_coded(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return _is_coded(kind.storage_type)
    return pa.types.is_dictionary(kind) or any(_is_coded(kind.field(i).type) for i in range(kind.num_fields))


# Rows looked at to learn the width of vectors and the first value of texts.
SAMPLE_ROWS = 1024
# Of each column a piece in memory, not a whole group of rows, which may be the whole file. Before Arrow 21 a buffer as
# small as the first look at a page's header (16 KB) fails.
BUFFER = 1 << 16

# From a store, where each request takes as long as reading a MB, the columns of a row group are fetched together where
# they take no more than this; else a piece of each column, so large that all are no more.
MOST_FETCHED = 128 << 20
LARGEST_BUFFER = 8 << 20


class ByNumber(parquet.ParquetFile):  # type: ignore[misc]
    """The file without a table of names, which for a thousand columns takes longer than all else about opening it."""

    def _build_nested_paths(self) -> dict[str, list[int]]:
        return {}


class ParquetData:
    """One Parquet file, opened."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        try:
            self.file = self.another()
            self.schema: pa.Schema = self.file.schema_arrow
            self._layout = layout_of(self.schema)
            self.columns: tuple[Column, ...] = self._layout.columns or tuple(
                column_of(field.name, field.type, self._sample(i)) for i, field in enumerate(self.schema)
            )
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(error) from None

    @property
    def metadata(self) -> parquet.FileMetaData:
        """Its table of contents."""
        return self.file.metadata

    def another(self, metadata: parquet.FileMetaData | None = None) -> parquet.ParquetFile:
        """The file with a place of its own to read at."""
        far = self._opened.remote
        if far and metadata is None:
            metadata = ByNumber(self._opened.seekable(), buffer_size=BUFFER).metadata
        self._at_once = far and most_bytes(metadata) <= MOST_FETCHED
        return ByNumber(
            self._opened.seekable(),
            metadata=metadata,
            pre_buffer=self._at_once,
            buffer_size=_far_buffer(metadata) if far else BUFFER,
            page_checksum_verification=True,
        )

    @property
    def groups(self) -> range:
        """The row groups that are read."""
        groups = range(self.metadata.num_row_groups)
        return groups if self._opened.input.groups is None else groups[slice(*self._opened.input.groups)]

    def let_go(self) -> None:
        """All was read: the table of contents of 60,000 columns takes 200 MB."""
        self.file = None

    def leaves(self, columns: Sequence[int]) -> list[int]:
        """The numbers of what Parquet stores for them."""
        return [leaf for column in columns for leaf in self._layout.leaves[column]]

    def batches(self, rows: int, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Some columns, by number: names may occur twice, or hold the dots that separate names within names."""
        leaves = self.leaves(columns)
        groups = self.groups
        if not groups:
            return
        reader: Any = self.file.reader
        # What a group's columns take in the file is fetched together, and is gone before the next is fetched.
        portions = [[group] for group in groups] if self._at_once else [groups]
        try:
            for portion in portions:
                batches = reader.iter_batches(rows, row_groups=portion, column_indices=leaves, use_threads=False)
                while (batch := self._read(partial(next, batches, None))) is not None:
                    self._check(batch, columns)
                    yield batch
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None

    def each(self, columns: Sequence[int]) -> Generator[tuple[int, pa.ChunkedArray], None, None]:
        """Some columns of a small file, one after the other; it is closed thereafter."""
        leaves = self.leaves(columns)
        metadata = self.metadata
        try:
            if reads_each(len(leaves), metadata):
                data = pa.BufferReader(pa.py_buffer(self._opened.seekable().read()))
                file = ByNumber(data, metadata=metadata, pre_buffer=False, page_checksum_verification=True)
                # Each takes the memory of the one before it, and is still at hand when it is copied.
                arrays: Iterator[Any] = map(file.reader.read_column, columns)
            else:
                reader: Any = self.file.reader
                groups = range(metadata.num_row_groups)
                table = self._read(partial(reader.read_row_groups, groups, column_indices=leaves, use_threads=False))
                arrays = iter(table.columns)
            for column, array in zip(columns, arrays, strict=True):
                if len(array) != metadata.num_rows:
                    raise pa.ArrowInvalid(f"a column of {len(array)} rows among others of {metadata.num_rows}")
                if column in self._layout.coded:
                    array.validate(full=True)
                yield column, array
            self._opened.check_unchanged()
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None
        finally:
            self._opened.close()
            self.let_go()

    def some(self, file: parquet.ParquetFile, group: int, columns: Sequence[int]) -> pa.Table:
        """Some columns of a row group, as one of the readers of this file has them."""
        reader: Any = file.reader
        read = partial(reader.read_row_group, group, column_indices=self.leaves(columns), use_threads=False)
        try:
            table = self._read(read)
            self._check(table, columns)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None
        return table

    def _sample(self, column: int) -> pa.Array | None:
        """The first rows of a column in which there is something, for what its type does not tell."""
        if not needs_sample(self.schema.field(column).type):
            return None
        arrays = (batch.column(0) for batch in self.batches(SAMPLE_ROWS, [column]))
        return next(filter(has_value, arrays), None)

    def _check(self, data: Any, columns: Sequence[int]) -> None:
        """See that no dictionary lacks an entry: Arrow does not look, and ends the process where it copies one."""
        for i, column in enumerate(columns):
            if column in self._layout.coded:
                data.column(i).validate(full=True)

    def _read(self, read: Callable[[], Any]) -> Any:
        """What is read; of a store such that signals are heard, which Arrow does not while it waits."""
        if not self._opened.remote:
            return read()
        from pcatool.stores.calls import patiently

        return patiently(read)

    def _damaged(self, error: Exception) -> Exception:
        check_memory(error)
        if self._opened.failure is not None:
            return self._opened.failure
        self._opened.check_unchanged()  # of an object that was replaced meanwhile the parts do not fit
        reason = str(error).split("\n", 1)[0].rstrip(".")
        return DataError(
            f"{self._opened.name}: the Parquet data are damaged or cut off ({reason})", "make the file again"
        )


def _far_buffer(metadata: parquet.FileMetaData) -> int:
    columns: int = max(metadata.num_columns, 1)
    return max(BUFFER, min(LARGEST_BUFFER, MOST_FETCHED // columns))


def most_bytes(metadata: parquet.FileMetaData) -> int:
    """Of the largest row group, unpacked."""
    return max((metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)), default=0)


def reads_each(count: int, metadata: parquet.FileMetaData) -> bool:
    """Are so many columns of a small file read one after the other, from all of its bytes?"""
    return 2 * count > int(metadata.num_columns)
