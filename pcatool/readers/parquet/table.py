"""Parquet tables, read a batch of rows at a time, whole if small, or column by column if very wide.

A table that lies column by column, turned into blocks of rows through a temporary file or, if small, in memory.
A row group of Parquet keeps each column in one piece. To read it by rows, all columns must be open at once, at up to
4 MB each; to read it by columns, all of its rows must be kept. A file keeps them: a few columns are written at a time,
and blocks of rows are read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import fields
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from pcatool.arrays import AHEAD, Array, Runner, block_rows, empty_block, in_turn
from pcatool.options import TableOptions
from pcatool.progress import Notices
from pcatool.readers.arrow_columns import is_exact
from pcatool.readers.arrow_parts import ArrowPart, ArrowRows, BadValue, by_column, fill
from pcatool.readers.base import Batch, Column, Feature, Part, all_finite, rows_at_once
from pcatool.readers.csv_reader.spellings import in_numbers
from pcatool.readers.opener import Opened
from pcatool.readers.parquet.file import ParquetData, most_bytes, reads_each
from pcatool.resources import Spool

__all__ = ["ParquetTable", "Turned", "columns_at_once"]

# Columns that are read together, however few rows they have.
MOST_COLUMNS = 1024


class Turned:
    """`rows` x `d` numbers in a file, block after block, in each block column after column.

    Threads may write different columns, and read different blocks, at the same time.
    """

    def __init__(self, rows: int, d: int) -> None:
        self.rows, self.d = rows, d
        self.height = block_rows(d)
        self._spool = Spool()

    @property
    def starts(self) -> range:
        """The first row of each block."""
        return range(0, self.rows, self.height)

    def write(self, first: int, X: Array) -> None:
        """Columns from number `first` on: X (rows, g). Of each block they are one piece of the file."""
        for start in self.starts:
            part = X[start : start + self.height]
            self._spool.put([part.ravel(order="F").data.cast("B")], 8 * (start * self.d + first * len(part)))

    def block(self, start: int) -> Array:
        """The rows of a block (h, d)."""
        block = empty_block(min(self.height, self.rows - start), self.d)
        self._spool.get(block.T.data.cast("B"), 8 * start * self.d)
        return block


class HeldTurned(Turned):
    """`rows` x `d` numbers in memory."""

    def __init__(self, rows: int, d: int) -> None:
        self.rows, self.d = rows, d
        self.height = block_rows(d)
        self._X = empty_block(rows, d)

    def write(self, first: int, X: Array) -> None:
        """Columns from number `first` on: X (rows, g)."""
        self._X[:, first : first + X.shape[1]] = X

    def block(self, start: int) -> Array:
        """The rows of a block (h, d)."""
        rows = self._X[start : start + self.height]
        return rows if rows.flags.f_contiguous else np.array(rows, order="F")


def columns_at_once(rows: int, size: int) -> int:
    """As many columns of so many rows as take `size` bytes."""
    return int(np.clip(size // (8 * max(rows, 1)), 1, MOST_COLUMNS))


# Reads these columns, one after the other.
Each = Callable[[Sequence[int]], Generator[tuple[int, pa.ChunkedArray], None, None]]


class WholePart(NamedTuple):
    """Rows not yet read."""

    height: int
    rows: ArrowRows
    kept: tuple[int, ...]
    each: Each

    def batch(self) -> Batch:
        rows, kept = self.rows, self.kept
        features, told, places = rows.features, rows.columns, by_column(rows.features)
        X = empty_block(self.height, len(features))
        held: dict[int, pa.Array] = {}
        try:
            with closing(self.each(list(dict.fromkeys([*places, *kept])))) as columns:
                for column, chunks in columns:
                    array = _joined(chunks)
                    if column in places:
                        fill(X, places[column], features, array, told[column])
                    if column in kept or is_exact(array.type):
                        held[column] = array
        except BadValue as error:
            raise error.at(rows.place(error.row)) from None
        return rows.batch(X, held, kept)


def _joined(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


# What a column takes while it is read by rows: Arrow's reader; a page and a dictionary of 1 MB each at most, packed and
# unpacked, which is four times what the file has of the column, unpacked, if that is less.
READER, OPEN_COLUMN, OPEN_COPIES = 10 << 10, 3 << 20, 4
# Where all columns together would take more than this, row groups are turned through a temporary file. Where a row
# group has few numbers, it is turned in memory, and from less on.
MOST_OPEN = 160 << 20
FEW_NUMBERS, OPEN_OF_FEW = 32 << 20, 32 << 20
# Bytes of the columns that are read together then, and of all that threads have in hand.
AT_ONCE = 8 << 20
IN_HAND = 128 << 20
# A portion in hand is Arrow's columns, the same in one piece, and the numbers.
PORTION_COPIES = 3
# The table of contents: of each column, and of what each row group has of it, in Arrow's form and as it was read; of
# each column again for every further reader of the file.
CONTENTS_COLUMN, CONTENTS_CHUNK, CONTENTS_READER = 9 << 8, 1 << 10, 1 << 8

# A file up to this size, packed and unpacked, is read in one piece by whoever makes numbers of it, so that of many such
# files several are read at once.
SMALL_FILE = 16 << 20


class Reading(NamedTuple):
    """Bytes that reading takes."""

    once: int = 0
    worked_on: int = 0  # for each part that a thread works on
    each: int = 0  # for each part in hand, whether it waits, is worked on, or is done

    def of(self, parts: int) -> int:
        return self.once + max(parts - AHEAD, 1) * self.worked_on + parts * self.each


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
        self._data = ParquetData(opened)
        self.columns = self._data.columns
        metadata, groups = self._data.metadata, self._data.groups
        self.group_rows: list[int] = [
            metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)
        ]  # of each row group
        whole = opened.input.groups is None
        self.contents_bytes = int(metadata.num_columns) * (CONTENTS_COLUMN + CONTENTS_CHUNK * metadata.num_row_groups)
        self._memory = Reading()
        self._rows = int(metadata.num_rows) if whole else sum(self.group_rows[group] for group in groups)

    def profile(self) -> tuple[Column, ...]:
        return self.columns

    def expected_rows(self) -> int | None:
        return self._rows

    def kept_type(self, column: int) -> pa.DataType:
        return self._data.schema.field(column).type

    def ready(self) -> bool:
        return True

    def share(self) -> float | None:
        return self._given / max(self._rows, 1)

    def ended(self) -> bool:
        return self._given == self._rows

    def parts(
        self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool = False, run: Runner = in_turn
    ) -> Iterator[Part]:
        features = tuple(features)
        needed = sorted({*by_column(features), *kept})
        if needed and self._opened.one_of_many and self._is_small(len(features)):
            self._opened.lend()
            self._given = self._data.metadata.num_rows
            self._memory = self._of_whole(len(features), len(self._data.leaves(needed)))
            rows = ArrowRows(self.name, features, self.columns, 0)
            yield WholePart(self._given, rows, tuple(kept), self._data.each)
            return
        # A vector column would be read again for each portion of its elements, and by rows it is one column to open.
        plain = not kept and all(f.element is None for f in features)
        if plain and self._is_turned(needed, len(features)):
            self._memory = self._of_turned(len(features))
            yield from self._turned(features, run)
        else:
            self._memory = self._of_rows(features, needed)
            yield from self._by_rows(features, needed, tuple(kept))
        self._data.let_go()

    def _by_rows(self, features: tuple[Feature, ...], needed: list[int], kept: tuple[int, ...]) -> Iterator[Part]:
        first_row = self._first_row
        for batch in self._data.batches(rows_at_once(len(features)), needed):
            arrays = dict(zip(needed, batch.columns, strict=True))
            self._given += batch.num_rows
            yield ArrowPart(self.name, batch.num_rows, arrays, features, kept, self.columns, first_row)
            first_row += batch.num_rows

    @property
    def _first_row(self) -> int:
        """The number, in the file, of the first row that is read."""
        return sum(self.group_rows[: self._data.groups.start]) if self._data.groups.start else 0

    def _is_small(self, d: int) -> bool:
        """As a file, unpacked, and as numbers: few bytes can say that a million cells are all the same."""
        metadata, size = self._data.metadata, self._opened.size
        if self._opened.input.groups is not None:
            return False
        if size is None or size > SMALL_FILE or not 0 < 8 * d * metadata.num_rows <= SMALL_FILE:
            return False
        unpacked: int = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        return unpacked <= SMALL_FILE

    def reading_bytes(self, parts: int) -> int:
        total: int = self.contents_bytes + self._memory.of(parts)
        return total

    def _of_rows(self, features: Sequence[Feature], needed: Sequence[int]) -> Reading:
        """Bytes of every column that is open and of a batch that is made; of each part as Arrow has it, and as numbers.

        Arrow tells where each element of a list is.
        """
        cells = len(features) * min(rows_at_once(len(features)), max(self.group_rows, default=0))
        batch = cells * (16 if any(f.element is not None for f in features) else 8)
        return Reading(once=self._open_bytes(needed) + batch, each=batch + 8 * cells)

    def _of_turned(self, d: int) -> Reading:
        """Bytes of all numbers, where they are few; of a portion of columns and a block of rows."""
        rows, numbers = max(self.group_rows, default=0), self._numbers_of_group(d)
        portion = PORTION_COPIES * 8 * rows * columns_at_once(rows, AT_ONCE)
        at_once = 2 if self._opened.one_of_many else min(len(self.group_rows), 2)  # one is read while one is left
        held = at_once * numbers if numbers <= FEW_NUMBERS else 0
        reader = CONTENTS_READER * int(self._data.metadata.num_columns)
        return Reading(once=held, each=portion + reader + 8 * d * min(block_rows(d), rows))

    def _of_whole(self, d: int, needed: int) -> Reading:
        """Bytes of each small file: its table of contents and its numbers, and while they are made the file as it is.

        Columns are unpacked one after the other, or together where they are few. The open file is one of the parts.
        """
        numbers = 8 * d * self._rows
        few = 0 if reads_each(needed, self._data.metadata) else most_bytes(self._data.metadata)
        file = (self._opened.size or 0) + few + numbers
        return Reading(once=-self.contents_bytes, worked_on=file, each=self.contents_bytes + numbers)

    def _is_turned(self, columns: Sequence[int], d: int) -> bool:
        """Would reading by rows take too much, or more than the numbers themselves where they are few?"""
        most = min(OPEN_OF_FEW, MOST_OPEN) if self._numbers_of_group(d) <= FEW_NUMBERS else MOST_OPEN
        return self._open_bytes(columns) > most

    def _numbers_of_group(self, d: int) -> int:
        """Bytes of d features of the largest row group."""
        return 8 * d * max(self.group_rows, default=0)

    def _open_bytes(self, columns: Sequence[int]) -> int:
        """Memory that reading by rows needs for every column beside the rows themselves.

        At most so much: the size of each column is not asked for, since Arrow ends the process where that is damaged.
        """
        leaves = len(self._data.leaves(columns))
        return READER * leaves + min(OPEN_COPIES * most_bytes(self._data.metadata), OPEN_COLUMN * leaves)

    def _turned(self, features: tuple[Feature, ...], run: Runner) -> Iterator[Part]:
        """Each row group read by columns, and handed out by rows."""
        first_row = self._first_row
        for group in self._data.groups:
            turned = self._filled(group, features, first_row, run)
            for start in turned.starts:
                self._given = first_row - self._first_row + min(start + turned.height, turned.rows)
                yield TurnedPart(self.name, turned, start, first_row)
            first_row += turned.rows

    def _filled(self, group: int, features: tuple[Feature, ...], first_row: int, run: Runner) -> Turned:
        """A row group turned, a few columns at a time, by as many readers of the file as are at work."""
        metadata = self._data.metadata
        rows = metadata.row_group(group).num_rows
        turned = (HeldTurned if 8 * rows * len(features) <= FEW_NUMBERS else Turned)(rows, len(features))
        step = columns_at_once(turned.rows, AT_ONCE)
        readers = [self._data.file]

        def fill(first: int) -> None:
            try:
                reader = readers.pop()
            except IndexError:
                reader = self._data.another(metadata)
            turned.write(first, self._numbers(reader, group, features[first : first + step], first_row))
            readers.append(reader)

        most = max(1, IN_HAND // (PORTION_COPIES * 8 * max(turned.rows, 1) * step))
        for _ in run(fill, range(0, len(features), step), most=most):
            pass
        return turned

    def _numbers(self, file: parquet.ParquetFile, group: int, features: tuple[Feature, ...], first_row: int) -> Array:
        """Some features of a row group (rows, g)."""
        columns = sorted(by_column(features))
        table = self._data.some(file, group, columns)
        arrays = {column: pa.concat_arrays(table.column(i).chunks) for i, column in enumerate(columns)}
        return ArrowPart(self.name, table.num_rows, arrays, features, (), self.columns, first_row).batch().X


def _of_text(options: TableOptions) -> list[str]:
    """Options given that are about text, by their flags."""
    about = ("delimiter", "header", "row_names", "encoding", "comment", "decimal", "thousands", "strip", "skip_lines")
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
