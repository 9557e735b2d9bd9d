"""One Parquet file: its columns and layout, its data read by column number, and clear errors if it is damaged."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from pcatool.errors import DataError, check_memory
from pcatool.readers.arrow_columns import column_of, has_value, needs_sample
from pcatool.readers.base import Column
from pcatool.readers.opener import OpenedInput

__all__ = ["ParquetData", "largest_group_bytes", "reads_columns_singly"]


class ParquetLayout(NamedTuple):
    """Numbers of leaf columns, dictionary columns and column kinds of a file, derived from its schema alone."""

    leaves: list[list[int]]  # numbers of the Parquet leaf columns of each column
    dictionaries: frozenset[int]  # dictionary-encoded columns, whose indices may be out of range in damaged files
    columns: tuple[Column, ...] | None  # None if the kind of some column depends on its values


class SchemaKey:
    """Cache key that holds a schema; two keys are equal if their schemas are.

    The hash is the number of columns; Arrow's own hash creates an object for each column.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return len(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaKey) and bool(self.schema.equals(other.schema))


def layout_of(schema: pa.Schema) -> ParquetLayout:
    """Return the layout of a schema; cached, since the files of a run mostly have the same schema."""
    return _layout_of(SchemaKey(schema))


@lru_cache(maxsize=4)
def _layout_of(key: SchemaKey) -> ParquetLayout:
    schema = key.schema
    by_type = not any(needs_sample(field.type) for field in schema)
    columns = tuple(column_of(field.name, field.type, None) for field in schema) if by_type else None
    dictionaries = frozenset(i for i, field in enumerate(schema) if _has_dictionary(field.type))
    return ParquetLayout(list(_leaves(schema)), dictionaries, columns)


def _leaves(fields: Any) -> Iterator[list[int]]:
    """Yield, for each field, the numbers of its Parquet leaf columns; nested fields have several."""
    first = 0
    for field in fields:
        count = _count_leaves(field.type)
        yield list(range(first, first + count))
        first += count


def _count_leaves(kind: pa.DataType) -> int:
    """Return the number of Parquet leaf columns of a type."""
    if isinstance(kind, pa.BaseExtensionType):
        return _count_leaves(kind.storage_type)
    if pa.types.is_dictionary(kind) or kind.num_fields == 0:
        return 1
    return sum(_count_leaves(kind.field(i).type) for i in range(kind.num_fields))


def _has_dictionary(kind: pa.DataType) -> bool:
    """Whether the type is a dictionary or contains one."""
    if isinstance(kind, pa.BaseExtensionType):
        return _has_dictionary(kind.storage_type)
    return pa.types.is_dictionary(kind) or any(_has_dictionary(kind.field(i).type) for i in range(kind.num_fields))


# Rows per batch when looking for the width of vectors and the first value of texts.
SAMPLE_ROWS = 1024
# Bytes of each column that are buffered, instead of its whole row group, which may be the whole file. Before Arrow 21,
# buffers as small as the first read of a page header (16 KB) fail.
BUFFER = 1 << 16

# From a store, a request takes as long as reading a MB. Row groups of up to MOST_FETCHED bytes, uncompressed, are
# therefore fetched with all their columns together. In larger ones each column has a buffer of at most LARGEST_BUFFER
# bytes (and at least BUFFER), sized so that all buffers together take no more than MOST_FETCHED.
MOST_FETCHED = 128 << 20
LARGEST_BUFFER = 8 << 20


class FileWithoutNames(parquet.ParquetFile):  # type: ignore[misc]
    """A Parquet file without Arrow's table of column names.

    For a thousand columns, building that table takes longer than the rest of opening the file.
    """

    def _build_nested_paths(self) -> dict[str, list[int]]:
        return {}


class ParquetData:
    """An open Parquet file: its schema, and readers of its columns by number; used by `ParquetTable`.

    Raises DataError, from every method that reads, if the file is damaged or truncated.
    """

    def __init__(self, opened: OpenedInput) -> None:
        self._opened = opened
        try:
            remote = opened.remote
            metadata = FileWithoutNames(opened.seekable(), buffer_size=BUFFER).metadata if remote else None
            # Whether a row group is fetched from a store as a whole, with all columns that are read.
            self.whole_groups = remote and largest_group_bytes(metadata) <= MOST_FETCHED
            self._buffer = _remote_buffer(metadata) if remote else BUFFER
            self.file = self.open_again(metadata)
            self.schema: pa.Schema = self.file.schema_arrow
            self._layout = layout_of(self.schema)
            self.columns: tuple[Column, ...] = self._layout.columns or tuple(
                column_of(field.name, field.type, self._sample(i)) for i, field in enumerate(self.schema)
            )
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged_error(error) from None

    @property
    def metadata(self) -> parquet.FileMetaData:
        """The footer of the file."""
        return self.file.metadata

    def open_again(
        self, metadata: parquet.FileMetaData | None = None, *, together: bool = False
    ) -> parquet.ParquetFile:
        """Open the file once more, with its own read position; `metadata` saves reading the footer again.

        With `together`, the columns of a call are fetched from a store in one piece. Safe to call from any thread.
        """
        return FileWithoutNames(
            self._opened.seekable(),
            metadata=metadata,
            pre_buffer=self.whole_groups or (together and self._opened.remote),
            buffer_size=self._buffer,
            page_checksum_verification=True,
        )

    def by_columns(self, *, again: bool = False) -> parquet.ParquetFile:
        """Return the open file, for reading a few columns of a row group; with `again`, open it anew, for a thread.

        A file in a store is always opened anew, so that the columns of a call are fetched together.
        """
        return self.open_again(self.metadata, together=True) if again or self._opened.remote else self.file

    @property
    def groups(self) -> range:
        """Numbers of the row groups to read."""
        groups = range(self.metadata.num_row_groups)
        return groups if self._opened.input.groups is None else groups[slice(*self._opened.input.groups)]

    def free_footer(self) -> None:
        """Free the footer, 200 MB for 60,000 columns; afterwards the file cannot be read."""
        self.file = None

    def leaves(self, columns: Sequence[int]) -> list[int]:
        """Return the numbers of the Parquet leaf columns that store these columns, in order."""
        return [leaf for column in columns for leaf in self._layout.leaves[column]]

    def batches(
        self, rows: int, columns: Sequence[int], groups: Sequence[int], file: parquet.ParquetFile | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield these columns of some row groups, as record batches of up to `rows` rows.

        `file` is the reader to use, from `by_columns`, or None for `self.file`. Columns are given by number, since
        names may occur twice or contain the dots that separate nested names.
        """
        leaves = self.leaves(columns)
        if not groups:
            return
        reader: Any = (file or self.file).reader
        # Prefetched row groups are read one at a time, so that the bytes of one are freed before the next is fetched.
        portions = [[group] for group in groups] if self.whole_groups else [groups]
        try:
            for portion in portions:
                batches = reader.iter_batches(rows, row_groups=portion, column_indices=leaves, use_threads=False)
                rows_read, expected = 0, sum(self.metadata.row_group(group).num_rows for group in portion)
                while (batch := self._read(partial(next, batches, None))) is not None:
                    self._check(batch, columns)
                    rows_read += len(batch)
                    if rows_read <= expected:
                        yield batch
                if rows_read != expected:
                    raise _wrong_rows(rows_read, expected)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged_error(error) from None

    def iter_columns(self, columns: Sequence[int]) -> Generator[tuple[int, pa.ChunkedArray], None, None]:
        """Yield the number and all data of each of these columns of a small file; then close the file."""
        leaves = self.leaves(columns)
        metadata = self.metadata
        try:
            if reads_columns_singly(len(leaves), metadata):
                data = pa.BufferReader(pa.py_buffer(self._opened.seekable().read()))
                file = FileWithoutNames(data, metadata=metadata, pre_buffer=False, page_checksum_verification=True)
                # Each column reuses the memory of the one before, and is still in the cache when it is copied.
                arrays: Iterator[Any] = map(file.reader.read_column, columns)
            else:
                reader: Any = self.file.reader
                groups = range(metadata.num_row_groups)
                table = self._read(partial(reader.read_row_groups, groups, column_indices=leaves, use_threads=False))
                arrays = iter(table.columns)
            for column, array in zip(columns, arrays, strict=True):
                if len(array) != metadata.num_rows:
                    raise _wrong_rows(len(array), metadata.num_rows)
                if column in self._layout.dictionaries:
                    array.validate(full=True)
                yield column, array
            self._opened.check_unchanged()
        except (pa.ArrowException, OSError) as error:
            raise self._damaged_error(error) from None
        finally:
            self._opened.close()
            self.free_footer()

    def _sample(self, column: int) -> pa.Array | None:
        """Return the first batch of a column with a value in it; None if all cells are missing.

        Return None also, without reading, if the type alone determines the kind of the column.
        """
        if not needs_sample(self.schema.field(column).type):
            return None
        arrays = (batch.column(0) for batch in self.batches(SAMPLE_ROWS, [column], self.groups))
        return next(filter(has_value, arrays), None)

    def _check(self, data: Any, columns: Sequence[int]) -> None:
        """Raise ArrowInvalid if a dictionary index is out of range.

        Arrow does not check this itself, and crashes the process when it copies such a value.
        """
        for i, column in enumerate(columns):
            if column in self._layout.dictionaries:
                data.column(i).validate(full=True)

    def _read(self, read: Callable[[], Any]) -> Any:
        """Return `read()`; for a file in a store, let signals such as Ctrl-C interrupt the call, as Arrow does not."""
        if not self._opened.remote:
            return read()
        from pcatool.stores.interruptible_calls import interruptible

        return interruptible(read)

    def _damaged_error(self, error: Exception) -> Exception:
        """Return the error for the user: the error of the store, if there was one, else that the data are damaged.

        Raise `FileError` if the file changed while it was read, and `MemoryError` if memory was lacking.
        """
        check_memory(error)
        if self._opened.failure is not None:
            return self._opened.failure
        self._opened.check_unchanged()  # parts of an object replaced while it was read do not fit together
        reason = str(error).split("\n", 1)[0].rstrip(".")
        return DataError(
            f"{self._opened.name}: the Parquet data are damaged or cut off ({reason})", "create the file again"
        )


def _wrong_rows(rows: int, expected: int) -> pa.ArrowInvalid:
    """Return the error for a column with another number of rows than the footer says."""
    return pa.ArrowInvalid(f"a column has {rows} rows instead of {expected}")


def _remote_buffer(metadata: parquet.FileMetaData) -> int:
    """Return the size of the read buffer of each column, in bytes, for a file in a store."""
    columns: int = max(metadata.num_columns, 1)
    return max(BUFFER, min(LARGEST_BUFFER, MOST_FETCHED // columns))


def largest_group_bytes(metadata: parquet.FileMetaData) -> int:
    """Return the uncompressed bytes of the largest row group."""
    return max((metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)), default=0)


def reads_columns_singly(count: int, metadata: parquet.FileMetaData) -> bool:
    """Whether this many leaf columns of a small file are read one by one, after all of its bytes were read.

    This is the case for more than half of the columns; otherwise only the bytes of the chosen columns are read.
    """
    return 2 * count > int(metadata.num_columns)
