"""Text tables: bytes are cut at row ends, and each chunk is parsed on its own, anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from pcatool.arrays import Runner, block_rows, in_turn
from pcatool.errors import DataError, show
from pcatool.options import TableOptions
from pcatool.progress import Notices
from pcatool.readers import kinds
from pcatool.readers.base import Column, Feature, Part
from pcatool.readers.csv_reader.arrow_parser import TEXT
from pcatool.readers.csv_reader.chunk_parser import ChunkParser, CsvPart
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.reference import rows_of
from pcatool.readers.cutter import Chunk, Cutter
from pcatool.readers.header import (
    LOOKED_AT,
    by_blanks,
    check_comment,
    check_kind,
    check_names,
    check_separator,
    check_text,
    with_row_name,
)
from pcatool.readers.opener import Opened

__all__ = ["CsvTable"]


class CsvTable:
    """One text table, opened: its names are known, its rows are still to come."""

    def __init__(self, opened: Opened, options: TableOptions, notices: Notices) -> None:
        self.name = opened.name
        self.dialect = Dialect.of(options, "\t" if opened.format == "tsv" else ",")
        options.check_separator(self.dialect.separator)
        self._options = options
        self._size = opened.size
        self._share = opened.share
        self._parser: ChunkParser | None = None
        self._bytes_a_row = 0.0  # of the first part
        self.nameless = options.header is False
        self.text = True
        self._first_line: Chunk | None = None
        self._cutter = Cutter(opened.stream, self.dialect, self.name, options.skip_lines)
        names = self._names(notices)
        self._begins = None if self.nameless else self._cutter.line
        if options.row_names:
            names = with_row_name(names, self._first_row())
        self.columns = tuple(
            Column(name, kind="", row_name=options.row_names and i == 0) for i, name in enumerate(names)
        )
        if len(self.columns) == 1 and not self.dialect.blanks:
            self.dialect = replace(self.dialect, lone=True)
            self._cutter.read_as(self.dialect)

    def _names(self, notices: Notices) -> list[str]:
        # Eager: the rows that follow may be a long time in coming.
        first = self._cutter.rows(1, eager=True) if not self.nameless else self._cutter.peek(1, eager=True)
        if first is None:
            raise DataError(f"{self.name} is empty", "a table begins with a line of column names")
        if not self.nameless:
            self._first_line = first
        line, cells = next(rows_of(first, self.dialect, self.name))
        place = f"{self.name}, line {line}"
        check_text(cells, place)
        if not self._options.header:  # insisted on, the names may be any
            check_kind(cells, place)
        if self._options.delimiter is None:
            check_separator(cells, self.dialect, place)
            if len(cells) == 1:
                check_comment(first, self.dialect, place)
        if self.nameless:
            return [f"c{i}" for i in range(1, len(cells) + 1 - self._options.row_names)]
        if self._options.header is None:
            check_names(cells, self.dialect, place, notices)
        return cells

    def _first_row(self) -> list[str] | None:
        """The cells of the first row, which is still to be read; None where there is none."""
        first = self._cutter.peek(1, eager=True)
        return None if first is None else next(rows_of(first, self.dialect, self.name))[1]

    def profile(self) -> tuple[Column, ...]:
        """Kinds of the columns, judged by the first block of rows; that block is still to be read."""
        return tuple(
            column._replace(kind="text", row_name=True) if named.row_name else column
            for named, column in zip(self.columns, self._profile(), strict=True)
        )

    def _profile(self) -> tuple[Column, ...]:
        first = self._cutter.peek(1)
        names = [c.name for c in self.columns]
        if first is None:
            return tuple(Column(name, "empty") for name in names)
        if kinds.all_numbers(first, len(names), self.dialect, self.name):
            return tuple(Column(name) for name in names)
        chunk = self._cutter.peek(block_rows(len(names)))
        assert chunk is not None
        try:
            columns = kinds.profile(chunk, names, self.dialect, self.name, self._begins)
        except DataError:
            self._check_blanks()
            raise
        if columns[0].kind == "text":
            self._check_blanks()
        return columns

    def _check_blanks(self) -> None:
        """Refuse a table of one column that blanks would cut into columns."""
        rows = self._cutter.peek(LOOKED_AT)
        if self.dialect.lone and rows is not None and (remedy := by_blanks(self._first_line, rows, self.dialect)):
            name = show(self.columns[0].name)
            raise DataError(f"{self.name}: one column, {name}, whose blanks separate numbers", remedy)

    def expected_rows(self) -> int | None:
        if self._size is None:
            return None
        chunk = self._cutter.peek(block_rows(len(self.columns)))
        row = self._cutter.bytes_a_row if chunk is None else len(chunk.view) / chunk.rows
        return int(self._size / row) if row else None

    def kept_type(self, column: int) -> pa.DataType:
        return TEXT

    def ready(self) -> bool:
        return self._cutter.ready()

    def ended(self) -> bool:
        return self._cutter.ended()

    def share(self) -> float | None:
        return self._share()

    @property
    def contents_bytes(self) -> int:
        return 0

    def reading_bytes(self, parts: int) -> int:
        return 0 if self._parser is None else self._parser.bytes_at_once(self._bytes_a_row, self._size, parts)

    def parts(
        self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool = False, run: Runner = in_turn
    ) -> Iterator[Part]:
        parser = ChunkParser(self.name, self.dialect, len(self.columns), tuple(features), tuple(kept), self._begins)
        height = parser.rows_at_once
        self._parser = parser
        while (chunk := self._cutter.rows(height, eager=eager)) is not None:
            self._bytes_a_row = self._bytes_a_row or self._cutter.bytes_a_row
            yield CsvPart(chunk, parser)
