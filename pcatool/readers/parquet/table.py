"""Parquet tables: read by batches of rows, whole if the file is small, or transposed if the table is very wide.

A row group stores each column in one piece. Reading it by rows needs all columns open at once, at up to 3 MB of memory
each. Reading it by columns needs all of its rows kept. Wide row groups are therefore transposed: a few columns at a
time are written to blocks of rows, which are kept in memory, or in a temporary file if they are large.
Vector columns and passthrough columns of such a row group are read by rows beside these blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from pcatool.arrays import QUEUED_TASKS, Runner, block_rows, empty_block, run_serially
from pcatool.errors import FileError
from pcatool.options import TableOptions
from pcatool.progress import Reporter
from pcatool.readers.arrow_columns import may_exceed_double
from pcatool.readers.arrow_parts import ArrowPart, ArrowRows, BadValue, by_column, fill
from pcatool.readers.base import CSV_OPTIONS, Batch, Column, Feature, Part, note_without_effect, rows_at_once
from pcatool.readers.opener import OpenedInput
from pcatool.readers.parquet.file import ParquetData, largest_group_bytes, reads_columns_singly
from pcatool.readers.parquet.transposed import TransposedGroup, TransposedInMemory, TransposedPart
from pcatool.resources import release_free_memory

__all__ = ["ParquetTable", "columns_at_once"]

# Most columns that are read together, however few rows they have.
MOST_COLUMNS = 1024


class Portion(NamedTuple):
    """The part of a row group that a thread reads at a time, to transpose the row group."""

    columns: int
    rows: int  # of these columns; a multiple of the height of the blocks, or all rows

    @classmethod
    def of(cls, rows: int, height: int, *, in_memory: bool) -> Portion:
        """Return the portion for row groups of up to `rows` rows, which are transposed to blocks of `height` rows."""
        size = PORTION_IN_MEMORY_BYTES if in_memory else PORTION_BYTES
        columns = columns_at_once(rows, size)
        most = min(size // (8 * columns), MOST_SLAB_ROWS)
        return cls(columns, max(rows, 1) if rows <= most else min(height * max(most // height, 1), rows))

    @property
    def size(self) -> int:
        """Bytes of the numbers of the portion, as float64."""
        return 8 * self.columns * self.rows


def columns_at_once(rows: int, size: int) -> int:
    """Return how many float64 columns of this many rows fit in `size` bytes, from 1 to MOST_COLUMNS."""
    return int(np.clip(size // (8 * max(rows, 1)), 1, MOST_COLUMNS))


# Type of `ParquetData.iter_columns`: yields the number and the data of each of these columns.
ColumnIterator = Callable[[Sequence[int]], Generator[tuple[int, pa.ChunkedArray], None, None]]


class SmallFilePart(NamedTuple):
    """All rows of a small file as one part; `batch` reads the file, in the thread that calls it."""

    height: int  # rows of the file
    rows: ArrowRows
    passthrough: tuple[int, ...]  # numbers of the passthrough columns
    iter_columns: ColumnIterator  # reads the columns, and closes the file

    def batch(self) -> Batch:
        rows, passthrough = self.rows, self.passthrough
        features, declared, places = rows.features, rows.columns, by_column(rows.features)
        X = empty_block(self.height, len(features))
        held: dict[int, pa.Array] = {}
        try:
            with closing(self.iter_columns(list(dict.fromkeys([*places, *passthrough])))) as columns:
                for column, chunks in columns:
                    array = _joined(chunks)
                    if column in places:
                        fill(X, places[column], features, array, declared[column])
                    if column in passthrough or may_exceed_double(array.type):
                        held[column] = array
        except BadValue as error:
            raise error.at(rows.place(error.row)) from None
        return rows.batch(X, held, passthrough)


def _joined(column: pa.ChunkedArray) -> pa.Array:
    """Return the column as one array, copied only if it has several chunks."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


# Bytes that each column takes while the table is read by rows: READER for Arrow's reader, and OPEN_COLUMN for a page,
# a dictionary and one of the two compressed, each of at most 1 MB. Where OPEN_COPIES times the uncompressed size of the
# columns in the file is less than OPEN_COLUMN, that size counts. Whether a row group is transposed depends on
# SAFE_COPIES instead, since pages that were freed may not be reused.
READER, OPEN_COLUMN, OPEN_COPIES, SAFE_COPIES = 10 << 10, 3 << 20, 3, 4
# Bytes of Arrow's functions, which vectors need.
COMPUTE = 10 << 20
# Copies of a column of vectors that Arrow holds while the column is read whole: its pages, its elements, and the place
# of each element in its row; and two of freed memory of the file before, into which the next file's do not fit.
VECTOR_COPIES = 5
# If the open columns together would take more bytes than MOST_OPEN, row groups are transposed. Two cases allow up to
# MOST_OPEN_BY_ROWS bytes instead: a store gives a row group in one piece, and the row group has more than FEW_BYTES of
# numbers; or the temporary file cannot be written.
MOST_OPEN, MOST_OPEN_BY_ROWS = 32 << 20, 160 << 20
# Row groups of up to FEW_BYTES of numbers are transposed in memory, larger ones through a temporary file. Where several
# are read one after the other, up to IN_MEMORY_BYTES are in memory: the second row group reuses the memory of the
# first, which takes a tenth less processor time than a file. The bounds do not depend on the machine, so that a fit
# needs the same memory everywhere.
FEW_BYTES, IN_MEMORY_BYTES = 32 << 20, 128 << 20
# When transposing: bytes of the columns that are read together, through a file and in memory, and of all columns that
# threads hold at once. In memory they are few: the small pieces that a thread frees leave holes between the others.
PORTION_BYTES, PORTION_IN_MEMORY_BYTES = 4 << 20, 2 << 20
MOST_HELD_COLUMNS = 128 << 20
# Most rows of these columns that are read at a time, so that memory does not grow with the rows of a row group.
MOST_SLAB_ROWS = 1 << 17
# Copies of the columns that a thread holds: Arrow's chunks, these joined to one array, and the numbers. Where it reads
# only some of their rows at a time, the open columns count too, and SLAB_HOLES bytes of freed pieces of any size.
PORTION_COPIES, SLAB_HOLES = 3, 5 << 20
# Bytes of the footer in memory, decoded and as read: per column, per column and row group, and per column for each
# further reader of the file.
CONTENTS_COLUMN, CONTENTS_CHUNK, CONTENTS_READER = 2 << 10, 1 << 10, 1 << 8

# A file of at most this many bytes, both compressed and uncompressed, is read whole by the thread that parses it, so
# that several of many small files are read at the same time.
SMALL_FILE = 16 << 20


class ReadMemory(NamedTuple):
    """Estimated memory for reading a file, in bytes: a fixed amount, and amounts for each part of its rows."""

    fixed: int = 0  # independent of the number of parts
    per_parsed: int = 0  # for each part that a thread works on
    per_held: int = 0  # for each part in hand, whether waiting, worked on or done
    portion: int = 0  # for each thread, while a row group is transposed
    portions: int = 0  # most bytes of all portions
    portions_first: bool = False  # all portions are freed before there is a part

    def total(self, parts: int) -> int:
        """Return the bytes for this many parts in memory at once; threads work on all but QUEUED_TASKS of them."""
        busy = max(parts - QUEUED_TASKS, 1)
        held, portions = busy * self.per_parsed + parts * self.per_held, min(busy * self.portion, self.portions)
        return self.fixed + (max(held, portions) if self.portions_first else held + portions)


class ParquetTable:
    """An open Parquet file as a `Table`; by its size and width, `parts` reads it by rows, whole or transposed."""

    nameless = False
    text = False

    def __init__(self, opened: OpenedInput, options: TableOptions, reporter: Reporter) -> None:
        self.name = opened.name
        self._opened = opened
        self._rows_out = 0  # rows handed out
        note_without_effect(options, (*CSV_OPTIONS, "encoding"), f"{opened.name}, which is a Parquet file", reporter)
        self._data = ParquetData(opened)
        self.columns = self._data.columns
        metadata, groups = self._data.metadata, self._data.groups
        self.group_rows: list[int] = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        whole = opened.input.groups is None
        self.contents_bytes = int(metadata.num_columns) * (CONTENTS_COLUMN + CONTENTS_CHUNK * metadata.num_row_groups)
        self._memory = ReadMemory()
        self._rows = int(metadata.num_rows) if whole else sum(self.group_rows[group] for group in groups)

    def profile(self) -> tuple[Column, ...]:
        return self.columns

    def expected_rows(self) -> int | None:
        return self._rows

    def passthrough_type(self, column: int) -> pa.DataType:
        return self._data.schema.field(column).type

    def ready(self) -> bool:
        return True

    def share(self) -> float | None:
        return self._rows_out / max(self._rows, 1)

    def ended(self) -> bool:
        return self._rows_out == self._rows

    def parts(
        self,
        features: Sequence[Feature],
        passthrough: Sequence[int],
        *,
        eager: bool = False,
        run: Runner = run_serially,
    ) -> Iterator[Part]:
        features = tuple(features)
        needed = sorted({*by_column(features), *passthrough})
        if needed and self._opened.one_of_many and self._is_small(len(features)):
            self._opened.hand_over()
            self._rows_out = self._data.metadata.num_rows
            self._memory = self._memory_whole(features, needed)
            rows = ArrowRows(self.name, features, self.columns, 0)
            yield SmallFilePart(self._rows_out, rows, tuple(passthrough), self._data.iter_columns)
            return
        # Vector columns are not transposed: each would be read again for every portion of its elements, while reading
        # by rows needs only one open column for it.
        plain = tuple(feature for feature in features if feature.element is None)
        if plain and self._must_transpose(plain):
            self._memory = self._memory_transposed(features, passthrough)
            yield from self._transposed(features, tuple(passthrough), run)
        else:
            yield from self._by_rows(features, tuple(passthrough), self._data.groups)
        self._data.free_footer()

    def _by_rows(
        self, features: tuple[Feature, ...], passthrough: tuple[int, ...], groups: Sequence[int]
    ) -> Iterator[Part]:
        """Yield the rows of these row groups batch by batch, with all needed columns open at once."""
        needed, height = sorted({*by_column(features), *passthrough}), rows_at_once(len(features))
        self._memory = self._memory_by_rows(features, needed, height)
        first_row = sum(self.group_rows[: groups[0]]) if groups else 0
        for batch in self._data.batches(height, needed, groups):
            arrays = dict(zip(needed, batch.columns, strict=True))
            self._rows_out += batch.num_rows
            yield ArrowPart(self.name, batch.num_rows, arrays, features, passthrough, self.columns, first_row)
            first_row += batch.num_rows

    @property
    def _first_row(self) -> int:
        """Number in the file, from 0, of the first row to read."""
        return sum(self.group_rows[: self._data.groups.start]) if self._data.groups.start else 0

    def _is_small(self, d: int) -> bool:
        """Whether the file is read whole: it is small as stored, uncompressed, and as d features.

        All three sizes are checked, since a few bytes can encode a million equal cells.
        """
        size = self._opened.size
        if self._opened.input.groups is not None:
            return False
        if size is None or size > SMALL_FILE or not 0 < 8 * d * self._data.metadata.num_rows <= SMALL_FILE:
            return False
        return self._unpacked_bytes() <= SMALL_FILE

    def reading_bytes(self, parts: int) -> int:
        total: int = self.contents_bytes + self._memory.total(parts)
        return total

    def _memory_by_rows(self, features: Sequence[Feature], columns: Sequence[int], height: int) -> ReadMemory:
        """Return the memory of reading `height` rows at a time: open columns, a batch, and each part.

        A part counts with its Arrow columns and with its float64 numbers. With vector columns, Arrow columns and open
        pages count double, since Arrow also records the position of each element of a list.
        """
        cells = max(len(features), len(columns)) * min(height, max(self.group_rows, default=0))
        vectors = any(f.element is not None for f in features)
        batch, more = cells * (16 if vectors else 8), 2 * OPEN_COLUMN + COMPUTE if vectors else 0
        return ReadMemory(fixed=self._open_bytes(columns) + more + batch, per_held=batch + 8 * cells)

    def _memory_transposed(self, features: Sequence[Feature], passthrough: Sequence[int]) -> ReadMemory:
        """Return the memory of transposing row groups: columns held by each thread, and blocks of rows.

        The vector and passthrough columns, which are read by rows meanwhile, count too. So do all numbers of a row
        group that is transposed in memory: its blocks are freed before the next group is filled, except blocks in use,
        which count as parts.
        """
        d = sum(feature.element is None for feature in features)
        rows, numbers = max(self.group_rows, default=0), self._group_bytes(d)
        in_memory = self._transposes_in_memory(d)
        at_a_time = Portion.of(rows, block_rows(len(features)), in_memory=in_memory)
        portion = PORTION_COPIES * at_a_time.size
        if at_a_time.rows < rows:
            stored = largest_group_bytes(self._data.metadata) * at_a_time.columns // max(d, 1)
            portion += min(OPEN_COLUMN * at_a_time.columns, stored) + SLAB_HOLES
        at_once = 2 if self._several_groups else 1  # one is filled, one still in use
        reader = CONTENTS_READER * int(self._data.metadata.num_columns)
        vectors = [feature for feature in features if feature.element is not None]
        beside = self._memory_by_rows(vectors, streamed_columns(features, passthrough), block_rows(len(features)))
        return ReadMemory(
            fixed=(numbers if in_memory else 0) + beside.fixed,
            per_held=reader + 8 * d * min(block_rows(len(features)), rows) + beside.per_held,
            portion=at_once * portion,  # while blocks are in use, freed columns leave holes between them
            portions=at_once * PORTION_COPIES * numbers,
            portions_first=not self._several_groups,
        )

    def _memory_whole(self, features: Sequence[Feature], needed: Sequence[int]) -> ReadMemory:
        """Return the memory of reading whole files, each as one part.

        `per_held` is the footer of a file and its numbers as float64. `per_parsed` is the file, a second copy of the
        numbers, and uncompressed data: of the largest row group if columns are read together, several copies of all
        row groups if there are vector columns. `fixed` is Arrow's functions for vectors, without the footer of the open
        file, which `reading_bytes` counts.
        """
        metadata, numbers = self._data.metadata, 8 * len(features) * self._rows
        vectors = any(f.element is not None for f in features)
        unpacked = VECTOR_COPIES * self._unpacked_bytes() if vectors else 0
        if not vectors and not reads_columns_singly(len(self._data.leaves(needed)), metadata):
            unpacked = largest_group_bytes(metadata)
        file = (self._opened.size or 0) + unpacked + numbers
        fixed = (COMPUTE if vectors else 0) - self.contents_bytes
        return ReadMemory(fixed=fixed, per_parsed=file, per_held=self.contents_bytes + numbers)

    def _unpacked_bytes(self) -> int:
        """Return the uncompressed bytes of all row groups."""
        metadata = self._data.metadata
        return sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))

    def _must_transpose(self, features: tuple[Feature, ...]) -> bool:
        """Whether row groups must be transposed: to read by rows, too much memory would go to the open columns.

        These are the columns of the given features.
        """
        most = MOST_OPEN_BY_ROWS if self._data.whole_groups else MOST_OPEN
        if self._group_bytes(len(features)) <= FEW_BYTES:
            most = MOST_OPEN
        return self._open_bytes(list(by_column(features)), SAFE_COPIES) > most

    @property
    def _several_groups(self) -> bool:
        """Whether other row groups are read before or after one, of this file or of other files."""
        return self._opened.one_of_many or len(self.group_rows) > 1

    def _transposes_in_memory(self, d: int) -> bool:
        """Whether row groups of d features are transposed in memory, not through a temporary file."""
        return self._group_bytes(d) <= (IN_MEMORY_BYTES if self._several_groups else FEW_BYTES)

    def _group_bytes(self, d: int) -> int:
        """Return the bytes of d features of the largest row group as float64."""
        return 8 * d * max(self.group_rows, default=0)

    def _open_bytes(self, columns: Sequence[int], copies: int = OPEN_COPIES) -> int:
        """Return an upper bound on the memory, in bytes, of the open columns when reading by rows, without the rows.

        `copies` is how often Arrow holds the data of a column. The stored size of each column is not used, since Arrow
        crashes the process if that field is damaged.
        """
        leaves = len(self._data.leaves(columns))
        return READER * leaves + min(copies * largest_group_bytes(self._data.metadata), OPEN_COLUMN * leaves)

    def _transposed(self, features: tuple[Feature, ...], passthrough: tuple[int, ...], run: Runner) -> Iterator[Part]:
        """Transpose one row group after the other, and yield its rows in blocks.

        Vector columns and passthrough columns are read by rows meanwhile.
        """
        places = [j for j, feature in enumerate(features) if feature.element is None]
        streamed = streamed_columns(features, passthrough)
        first_row, groups = self._first_row, self._data.groups
        for at, group in enumerate(groups):
            try:
                transposed = self._transpose(group, features, places, first_row, run)
            except FileError:  # the temporary file cannot be written
                if self._open_bytes([*by_column(features), *passthrough], SAFE_COPIES) > MOST_OPEN_BY_ROWS:
                    raise
                yield from self._by_rows(features, passthrough, groups[at:])
                return
            beside = self._slabs(group, streamed, transposed.height)
            for start, arrays in zip(transposed.starts, beside, strict=True):
                self._rows_out = first_row - self._first_row + min(start + transposed.height, transposed.rows)
                rows = ArrowRows(self.name, features, self.columns, first_row + start)
                yield TransposedPart(rows, transposed, places, start, arrays, passthrough)
            first_row += transposed.rows

    def _slabs(
        self, group: int, columns: list[int], height: int, file: parquet.ParquetFile | None = None
    ) -> Iterator[dict[int, pa.Array]]:
        """Yield these columns of a row group, by column number, in slabs of `height` rows; the last may be shorter.

        `file` is the reader to use, by default that of the table. Without columns, the slabs are empty.
        """
        rows = self.group_rows[group]
        if not columns:
            yield from ({} for _ in range(0, rows, height))
            return
        waiting: list[pa.RecordBatch] = []
        waiting_rows = done = 0
        for batch in self._data.batches(height, columns, [group], file):
            while len(batch):  # a batch may have fewer rows than were asked for, as where a dictionary changes
                waiting.append(batch.slice(0, height - waiting_rows))
                taken = len(waiting[-1])
                batch, waiting_rows, done = batch.slice(taken), waiting_rows + taken, done + taken
                if waiting_rows == height or done == rows:
                    chunks = zip(columns, zip(*(one.columns for one in waiting), strict=True), strict=True)
                    slab = {column: _joined(pa.chunked_array(arrays)) for column, arrays in chunks}
                    waiting, waiting_rows = [], 0
                    yield slab

    def _transpose(
        self, group: int, features: tuple[Feature, ...], places: Sequence[int], first_row: int, run: Runner
    ) -> TransposedGroup:
        """Return a row group, read and transposed a few columns at a time; each thread has its own reader of the file.

        The columns are the features at `places`. `first_row` is the number in the file of the first row of the group.
        """
        rows, d = self.group_rows[group], len(places)
        in_memory = self._transposes_in_memory(d)
        transposed = (TransposedInMemory if in_memory else TransposedGroup)(rows, d, block_rows(len(features)))
        portion = Portion.of(rows, transposed.height, in_memory=in_memory)
        readers = [self._data.by_columns()]

        def fill(first: int) -> None:
            try:
                reader = readers.pop()
            except IndexError:
                reader = self._data.by_columns(again=True)
            chosen = places[first : first + portion.columns]
            wanted = tuple(features[j] for j in chosen)
            columns = sorted(by_column(wanted))
            starts = range(0, rows, portion.rows)
            for start, arrays in zip(starts, self._slabs(group, columns, portion.rows, reader), strict=True):
                height = min(portion.rows, rows - start)
                part = ArrowPart(self.name, height, arrays, wanted, (), self.columns, first_row + start)
                transposed.add(first, start, part, chosen)
            readers.append(reader)

        most = max(1, MOST_HELD_COLUMNS // max(PORTION_COPIES * portion.size, 1))
        for _ in run(fill, range(0, d, portion.columns), most=most):
            pass
        # The pieces of freed columns are too small for the blocks that follow. In memory, the columns of the next row
        # group take them again.
        if not in_memory or group == self._data.groups[-1]:
            release_free_memory()
        return transposed


def streamed_columns(features: Sequence[Feature], passthrough: Sequence[int]) -> list[int]:
    """Return the sorted numbers of the columns that are read by rows where row groups are transposed.

    These are the passthrough columns and the vector columns of the features.
    """
    return sorted({*passthrough, *(feature.column for feature in features if feature.element is not None)})
