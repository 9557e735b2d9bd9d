"""Parquet, a batch of rows at a time; from a pipe through a file, since its table of contents is at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet

from pcatool.blocks import Runner, in_turn
from pcatool.model import Array
from pcatool.notices import Notices
from pcatool.options import TableOptions
from pcatool.readers.arrow_part import ArrowPart, Rows
from pcatool.readers.base import Batch, Column, Feature, Part, all_finite, rows_at_once
from pcatool.readers.parquet_file import ParquetData, most_bytes
from pcatool.readers.parquet_whole import WholePart
from pcatool.readers.source import Opened
from pcatool.readers.spellings import in_numbers
from pcatool.readers.turned import Turned, columns_at_once
from pcatool.readers.vectors import by_column

__all__ = ["ParquetTable"]

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

    def profile(self) -> tuple[Column, ...]:
        return self.columns

    @property
    def group_rows(self) -> list[int]:
        """Rows of each row group."""
        return self._data.group_rows

    def expected_rows(self) -> int | None:
        if self._opened.input.groups is None:
            return int(self._data.metadata.num_rows)
        return sum(self.group_rows[group] for group in self._data.groups)

    def kept_type(self, column: int) -> pa.DataType:
        return self._data.schema.field(column).type

    def ready(self) -> bool:
        return True

    def share(self) -> float | None:
        return self._given / max(self.expected_rows() or 0, 1)

    def ended(self) -> bool:
        return self._given == self.expected_rows()

    def parts(
        self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool = False, run: Runner = in_turn
    ) -> Iterator[Part]:
        features = tuple(features)
        needed = sorted({*by_column(features), *kept})
        if needed and self._opened.one_of_many and self._is_small(len(features)):
            self._opened.lend()
            self._given = self._data.metadata.num_rows
            rows = Rows(self.name, features, self.columns, 0)
            yield WholePart(self._given, rows, tuple(kept), self._data.each)
            return
        # A vector column would be read again for each portion of its elements, and by rows it is one column to open.
        plain = not kept and all(f.element is None for f in features)
        if plain and self._open_bytes(needed) > MOST_OPEN:
            yield from self._turned(features, run)
            return
        first_row = self._first_row
        for batch in self._data.batches(rows_at_once(len(features)), needed):
            arrays = dict(zip(needed, batch.columns, strict=True))
            self._given += batch.num_rows
            yield ArrowPart(self.name, batch.num_rows, arrays, features, tuple(kept), self.columns, first_row)
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

    def _open_bytes(self, columns: Sequence[int]) -> int:
        """Memory for a page and a dictionary of every column, packed and unpacked, which reading by rows needs.

        At most so much: the size of each column is not asked for, since Arrow ends the process where that is damaged.
        """
        leaves = len(self._data.leaves(columns))
        return min(2 * most_bytes(self._data.metadata), OPEN_COLUMN * leaves)

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
        turned = Turned(metadata.row_group(group).num_rows, len(features))
        step = columns_at_once(turned.rows, AT_ONCE)
        readers = [self._data.file]

        def fill(first: int) -> None:
            try:
                reader = readers.pop()
            except IndexError:
                reader = self._data.another(metadata)
            turned.write(first, self._numbers(reader, group, features[first : first + step], first_row))
            readers.append(reader)

        # A portion in hand is Arrow's columns, the same in one piece, and the numbers.
        most = max(1, IN_HAND // (3 * 8 * max(turned.rows, 1) * step))
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
