"""Parquet, a batch of rows at a time; from a pipe through a file, since its table of contents is at the end."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from pcatool.blocks import Runner, in_turn
from pcatool.errors import DataError
from pcatool.model import Array
from pcatool.notices import Notices
from pcatool.options import TableOptions
from pcatool.readers.arrow import column_of, needs_sample
from pcatool.readers.arrow_part import ArrowPart, Rows
from pcatool.readers.base import Batch, Column, Feature, Part, all_finite, rows_at_once
from pcatool.readers.parquet_file import ByNumber
from pcatool.readers.parquet_layout import layout_of
from pcatool.readers.parquet_whole import WholePart
from pcatool.readers.source import Opened
from pcatool.readers.spellings import in_numbers
from pcatool.readers.turned import Turned, columns_at_once
from pcatool.readers.vectors import by_column

__all__ = ["ParquetTable"]

# Rows looked at to learn the width of vectors and the first value of texts.
SAMPLE_ROWS = 1024
# Of each column a piece in memory, not a whole group of rows, which may be the whole file. Before Arrow 21 a buffer as
# small as the first look at a page's header (16 KB) fails.
BUFFER = 1 << 16

# What a column takes while it is read by rows: a page and a dictionary of 1 MB each, packed and unpacked.
OPEN_COLUMN = 3 << 20
# Where all columns together would take more than this, row groups are turned through a temporary file.
MOST_OPEN = 384 << 20
# Bytes of the columns that are read together then, and of all that threads have in hand.
AT_ONCE = 8 << 20
IN_HAND = 128 << 20


# A file up to this size, packed and unpacked, is read in one piece by whoever makes numbers of it, so that of many such
# files several are read at once.
SMALL_FILE = 16 << 20

# From a store, where each request takes as long as reading a MB, the columns of a row group are fetched together where
# they take no more than this; else a piece of each column, so large that all are no more.
MOST_FETCHED = 128 << 20
LARGEST_BUFFER = 8 << 20


class ParquetTable:
    """One Parquet file, opened."""

    nameless = False
    text = False

    def __init__(self, opened: Opened, options: TableOptions, notices: Notices) -> None:
        self.name = opened.name
        self._opened = opened
        self._given = 0  # rows handed out
        if ignored := _of_text(options):
            notices.note(f"{opened.name} is Parquet: {', '.join(ignored)} change nothing there")
        try:
            self._file = self._another()
            self._schema = self._file.schema_arrow
            self._layout = layout_of(self._schema)
            self.columns = self._layout.columns or tuple(
                column_of(field.name, field.type, self._sample(i)) for i, field in enumerate(self._schema)
            )
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(error) from None

    def _another(self, metadata: parquet.FileMetaData | None = None) -> parquet.ParquetFile:
        """The file with a place of its own to read at."""
        far = self._opened.remote
        if far and metadata is None:
            metadata = ByNumber(self._opened.seekable(), buffer_size=BUFFER).metadata
        self._at_once = far and _most_bytes(metadata) <= MOST_FETCHED
        return ByNumber(
            self._opened.seekable(),
            metadata=metadata,
            pre_buffer=self._at_once,
            buffer_size=_far_buffer(metadata) if far else BUFFER,
            page_checksum_verification=True,
        )

    def _read(self, read: Callable[[], Any]) -> Any:
        """What is read; of a store such that signals are heard, which Arrow does not while it waits."""
        if not self._opened.remote:
            return read()
        from pcatool.stores.waiting import patiently

        return patiently(read)

    def _damaged(self, error: Exception) -> Exception:
        if isinstance(error, MemoryError):  # Arrow's is an error of its own, too
            return error
        if self._opened.failure is not None:
            return self._opened.failure
        reason = str(error).split("\n", 1)[0].rstrip(".")
        return DataError(f"{self.name}: the Parquet data are damaged or cut off ({reason})", "make the file again")

    def _batches(self, rows: int, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Some columns, by number: names may occur twice, or hold the dots that separate names within names."""
        leaves = [leaf for column in columns for leaf in self._layout.leaves[column]]
        groups = self._groups
        if not groups:
            return
        reader: Any = self._file.reader
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

    def _check(self, data: Any, columns: Sequence[int]) -> None:
        """See that no dictionary lacks an entry: Arrow does not look, and ends the process where it copies one."""
        for i, column in enumerate(columns):
            if column in self._layout.coded:
                data.column(i).validate(full=True)

    def _sample(self, column: int) -> pa.Array | None:
        """The first rows of a column in which there is something, for what its type does not tell."""
        if not needs_sample(self._schema.field(column).type):
            return None
        arrays = (batch.column(0) for batch in self._batches(SAMPLE_ROWS, [column]))
        return next((array for array in arrays if array.null_count < len(array)), None)

    def profile(self) -> tuple[Column, ...]:
        return self.columns

    @property
    def group_rows(self) -> list[int]:
        """Rows of each row group."""
        metadata = self._file.metadata
        return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    @property
    def _groups(self) -> range:
        """The row groups that are read."""
        groups = range(self._file.metadata.num_row_groups)
        return groups if self._opened.input.groups is None else groups[slice(*self._opened.input.groups)]

    def expected_rows(self) -> int | None:
        if self._opened.input.groups is None:
            return int(self._file.metadata.num_rows)
        return sum(self.group_rows[group] for group in self._groups)

    def kept_type(self, column: int) -> pa.DataType:
        return self._schema.field(column).type

    def ready(self) -> bool:
        return True

    def ended(self) -> bool:
        return self._given == self.expected_rows()

    def parts(
        self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool = False, run: Runner = in_turn
    ) -> Iterator[Part]:
        features = tuple(features)
        needed = sorted({*by_column(features), *kept})
        if needed and self._opened.one_of_many and self._is_small(len(features)):
            self._opened.lend()
            self._given = self._file.metadata.num_rows
            rows = Rows(self.name, features, self.columns, 0)
            yield WholePart(self._given, rows, tuple(kept), self._each)
            return
        # A vector column would be read again for each portion of its elements, and by rows it is one column to open.
        plain = not kept and all(f.element is None for f in features)
        if plain and self._open_bytes(needed) > MOST_OPEN:
            yield from self._turned(features, run)
            return
        first_row = self._first_row
        for batch in self._batches(rows_at_once(len(features)), needed):
            arrays = dict(zip(needed, batch.columns, strict=True))
            self._given += batch.num_rows
            yield ArrowPart(self.name, batch.num_rows, arrays, features, tuple(kept), self.columns, first_row)
            first_row += batch.num_rows

    @property
    def _first_row(self) -> int:
        """The number, in the file, of the first row that is read."""
        return sum(self.group_rows[: self._groups.start]) if self._groups.start else 0

    def _is_small(self, d: int) -> bool:
        """As a file, unpacked, and as numbers: few bytes can say that a million cells are all the same."""
        metadata, size = self._file.metadata, self._opened.size
        if self._opened.input.groups is not None:
            return False
        if size is None or size > SMALL_FILE or not 0 < 8 * d * metadata.num_rows <= SMALL_FILE:
            return False
        unpacked: int = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        return unpacked <= SMALL_FILE

    def _each(self, columns: Sequence[int]) -> Generator[tuple[int, pa.ChunkedArray], None, None]:
        """Some columns of a small file, one after the other; it is closed thereafter."""
        leaves = [leaf for column in columns for leaf in self._layout.leaves[column]]
        metadata = self._file.metadata
        try:
            if 2 * len(leaves) > metadata.num_columns:
                data = pa.BufferReader(pa.py_buffer(self._opened.seekable().read()))
                file = ByNumber(data, metadata=metadata, pre_buffer=False, page_checksum_verification=True)
                # Each takes the memory of the one before it, and is still at hand when it is copied.
                arrays: Iterator[Any] = map(file.reader.read_column, columns)
            else:
                reader: Any = self._file.reader
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

    def _open_bytes(self, columns: Sequence[int]) -> int:
        """Memory for a page and a dictionary of every column, packed and unpacked, which reading by rows needs.

        At most so much: the size of each column is not asked for, since Arrow ends the process where that is damaged.
        """
        leaves = sum(len(self._layout.leaves[column]) for column in columns)
        return min(2 * _most_bytes(self._file.metadata), OPEN_COLUMN * leaves)

    def _turned(self, features: tuple[Feature, ...], run: Runner) -> Iterator[Part]:
        """Each row group read by columns, and handed out by rows."""
        first_row = self._first_row
        for group in self._groups:
            turned = self._filled(group, features, first_row, run)
            for start in turned.starts:
                self._given = first_row - self._first_row + min(start + turned.height, turned.rows)
                yield TurnedPart(self.name, turned, start, first_row)
            first_row += turned.rows

    def _filled(self, group: int, features: tuple[Feature, ...], first_row: int, run: Runner) -> Turned:
        """A row group turned, a few columns at a time, by as many readers of the file as are at work."""
        metadata = self._file.metadata
        turned = Turned(metadata.row_group(group).num_rows, len(features))
        step = columns_at_once(turned.rows, AT_ONCE)
        readers = [self._file]

        def fill(first: int) -> None:
            try:
                reader = readers.pop()
            except IndexError:
                reader = self._another(metadata)
            turned.write(first, self._some(reader, group, features[first : first + step], first_row))
            readers.append(reader)

        # A portion in hand is Arrow's columns, the same in one piece, and the numbers.
        most = max(1, IN_HAND // (3 * 8 * max(turned.rows, 1) * step))
        for _ in run(fill, range(0, len(features), step), most=most):
            pass
        return turned

    def _some(self, file: parquet.ParquetFile, group: int, features: tuple[Feature, ...], first_row: int) -> Array:
        """Some features of a row group (rows, g)."""
        columns = sorted({f.column for f in features})
        leaves = [leaf for column in columns for leaf in self._layout.leaves[column]]
        reader: Any = file.reader
        try:
            table = self._read(partial(reader.read_row_group, group, column_indices=leaves, use_threads=False))
            self._check(table, columns)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None
        arrays = {column: pa.concat_arrays(table.column(i).chunks) for i, column in enumerate(columns)}
        return ArrowPart(self.name, table.num_rows, arrays, features, (), self.columns, first_row).batch().X


def _far_buffer(metadata: parquet.FileMetaData) -> int:
    columns: int = max(metadata.num_columns, 1)
    return max(BUFFER, min(LARGEST_BUFFER, MOST_FETCHED // columns))


def _most_bytes(metadata: parquet.FileMetaData) -> int:
    """Of the largest row group, unpacked."""
    return max((metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)), default=0)


def _of_text(options: TableOptions) -> list[str]:
    """Options given that are about text, by their flags."""
    about = ("delimiter", "header", "encoding", "comment", "decimal", "thousands", "strip", "skip_lines")
    given = (f for f in fields(options) if f.name in about and getattr(options, f.name) != f.default)
    return ["--no-header" if f.name == "header" else f.metadata["flag"].names[-1] for f in given]


class TurnedPart(NamedTuple):
    """A block of rows in a temporary file."""

    name: str
    turned: Turned
    start: int
    first_row: int  # of the row group

    def batch(self) -> Batch:
        X = self.turned.block(self.start)
        return Batch(X, (), self.place, all_finite(X), partial(in_numbers, X))

    def place(self, row: int) -> str:
        return f"{self.name}, row {self.first_row + self.start + row + 1}"
