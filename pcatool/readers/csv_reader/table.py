"""CSV tables: check the header, find the kinds of the columns, and yield chunks that any worker can parse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from pcatool.arrays import Array, Runner, block_rows, run_serially
from pcatool.errors import DataError
from pcatool.options import BLANKS, TableOptions
from pcatool.progress import Reporter
from pcatool.readers.base import SEPARATORS, Batch, Column, Feature, Part, RoundedCell, above_2_53, first_rounded
from pcatool.readers.csv_reader.chunk_parser import TEXT, WIDE, ArrowCsv, ChunkParser, empty_columns, read_wide
from pcatool.readers.csv_reader.count_missing import cells_at, count_in_text
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.hints import (
    MOST_CELLS_EXAMINED,
    NOT_A_TABLE,
    PLAIN_NUMBERS_REMEDY,
    READ_WITH,
    OtherCells,
    empty_table_error,
    is_in_other_script,
    not_a_table_error,
    nul_bytes_error,
    other_text_formats,
    remedy_for_column,
    with_lines,
)
from pcatool.readers.csv_reader.reference import BOOLEANS, parse
from pcatool.readers.csv_reader.split import Chunk, RowCutter, check_utf8, rows_of
from pcatool.readers.opener import OpenedInput
from pcatool.resources import release_free_memory
from pcatool.wording import show

__all__ = ["CsvTable", "TsvTable", "all_numbers", "profile"]


def all_numbers(first: Chunk, width: int, dialect: Dialect, name: str) -> bool:
    """Return whether every cell of the first row is a number; then all columns are columns of numbers."""
    if width >= WIDE and not (dialect.has_marks or dialect.has_numeric_null):
        row = read_wide(first, dialect, width)
        return row is not None and bool(np.isfinite(row).all())
    _, cells = next(rows_of(first, dialect, name))
    return len(cells) == width and all(_is_number(cell, dialect) for cell in cells)


def profile(
    chunk: Chunk, names: Sequence[str], dialect: Dialect, name: str, line_below_header: int | None
) -> tuple[Column, ...]:
    """Return the columns with their kinds (number, text, boolean, marked number, empty), judged by the rows of a chunk.

    `line_below_header` is the number of the line below the header, None where there is no header. Raise `DataError` for
    rows with another number of fields than `names`.
    """
    check_utf8(chunk, name)
    if len(names) >= WIDE and not (dialect.has_marks or dialect.has_numeric_null):
        cells = read_wide(chunk, dialect, len(names))
        if cells is not None:
            kinds = ("empty" if nothing else "number" for nothing in empty_columns(cells))
            return tuple(Column(*column) for column in zip(names, kinds, strict=True))
    all_columns = range(len(names))
    unclear = _unclear(chunk, dialect, name, len(names)) if len(names) >= WIDE else all_columns
    arrays = ArrowCsv(dialect, len(names), dict.fromkeys(unclear, TEXT)).read(chunk)
    if arrays is None:
        _, texts = parse(chunk, dialect, len(names), (), all_columns, name, line_below_header)
        parsed = dict(enumerate(texts))
        return tuple(column_of_cells(names[i], texts[i], dialect, _others_than(i, names, parsed)) for i in all_columns)
    others = _Texts(chunk, dialect, len(names))
    columns = [Column(name) for name in names]
    for i, array in arrays.items():
        columns[i] = _column(names[i], array, dialect, _others_than(i, names, others))
    return tuple(columns)


def _unclear(chunk: Chunk, dialect: Dialect, name: str, width: int) -> Sequence[int]:
    """Return the numbers of the columns whose first cell is not a number.

    All `width` columns are returned if every first cell is a number, or if the first row has another width.
    """
    _, cells = next(rows_of(chunk, dialect, name))
    unclear = [i for i, cell in enumerate(cells) if not _is_number(cell, dialect)]
    return unclear if unclear and len(cells) == width else range(width)


class _Texts(Mapping[int, Sequence[str]]):
    """Mapping from the number of a column to its first cells as text, read by Arrow on first use."""

    def __init__(self, chunk: Chunk, dialect: Dialect, width: int) -> None:
        self._read = chunk, dialect, width
        self._texts: dict[int, Sequence[str]] = {}

    @cached_property
    def _arrays(self) -> Mapping[int, pa.Array]:
        chunk, dialect, width = self._read
        return ArrowCsv(dialect, width, dict.fromkeys(range(width), TEXT)).read(chunk) or {}

    def __getitem__(self, column: int) -> Sequence[str]:
        if column not in self._texts:
            most = MOST_CELLS_EXAMINED // len(self._arrays) + 1
            self._texts[column] = self._arrays[column].slice(0, most).to_pylist()
        return self._texts[column]

    def __iter__(self) -> Iterator[int]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def _others_than(column: int, names: Sequence[str], all_columns: Mapping[int, Sequence[str]]) -> OtherCells:
    """Return a function that returns the cells of each column except `column`, by name and number of the column."""
    return lambda: {(names[other], other): cells for other, cells in all_columns.items() if other != column}


def _column(name: str, cells: pa.Array, dialect: Dialect, others: OtherCells) -> Column:
    """Return a column with its kind, judged by its cells; if the first cell is a number, only by this cell."""
    begins_with_number = _is_number(cells[0].as_py(), dialect)
    return Column(name) if begins_with_number else column_of_cells(name, cells.to_pylist(), dialect, others)


def _is_number(cell: str, dialect: Dialect) -> bool:
    return not dialect.is_missing(cell) and dialect.number(cell) is not None


def column_of_cells(name: str, cells: Sequence[str], dialect: Dialect, others: OtherCells = dict) -> Column:
    """Return a column with its kind, judged by its cells.

    A single number makes the column a number column, in which a text is a bad cell. `others` returns the cells of the
    other columns, by name and number.
    """
    if any(_is_number(c, dialect) for c in cells):
        return Column(name)
    filled = [c for c in dict.fromkeys(cells) if not dialect.is_missing(c)]
    if not filled:
        return Column(name, "empty")
    if all(c.strip().lower() in BOOLEANS for c in filled):
        return Column(name, "boolean", filled[0])
    marked = remedy_for_column(filled, dialect, others)
    if marked is not None:
        return Column(name, "marked number", marked.example, remedy=marked.remedy)
    if all(is_in_other_script(c, dialect) for c in filled):
        return Column(name, "marked number", filled[0], remedy=PLAIN_NUMBERS_REMEDY)
    return Column(name, "text", filled[0])


# Name for the column of row names where the header does not name that column.
ROW_NAME = "row_name"

# Rows examined for blanks as separators.
FIRST_ROWS = 100
WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)


def check_separator(first: Chunk, rows: Callable[[], Chunk | None], dialect: Dialect, name: str) -> None:
    """Raise `DataError` for a header of one field that another usual separator would split.

    `first` holds the header; `rows` returns the first rows below, from which the remedy takes options for numbers.
    """
    line, cells = next(rows_of(first, dialect, name))
    if len(cells) != 1:
        return
    for separator, spelled in SEPARATORS.items():
        if separator != dialect.delimiter and separator in cells[0]:
            more = options_for_marks(first, rows(), replace(dialect, delimiter=separator), name)
            raise DataError(
                f"{name}, line {line}: the only field, {show(cells[0])}, contains {'a ' * (spelled == 'tab')}{spelled}",
                f"{READ_WITH}-d {spelled}{more}{other_text_formats()}",
            )


def options_for_marks(header: Chunk, rows: Chunk | None, dialect: Dialect, name: str) -> str:
    """Return the options, such as " --decimal ','", that read the numbers in `rows`; "" if none are needed or clear."""
    _, names = next(rows_of(header, dialect, name))
    remedies: set[str] = set()
    try:
        columns = () if rows is None else profile(rows, names, dialect, name, None)
        remedies = {column.remedy for column in columns if column.remedy}
        features = [Feature(column.name, i) for i, column in enumerate(columns) if column.kind == "number"]
        if rows is not None:
            parse(rows, dialect, len(names), features, (), name, None)
    except DataError as error:
        remedies.add(error.remedy)
    options = [remedy.removeprefix(READ_WITH) for remedy in remedies if remedy.startswith(READ_WITH)]
    clear = len(remedies) == len(options) == 1 and " if " not in options[0] and " -x " not in options[0]
    return f" {options[0]}" if clear else ""


def check_comment(first: Chunk, dialect: Dialect, place: str) -> None:
    """Raise `DataError` for a comment mark that is a usual separator and cuts off all fields but one of the header."""
    mark = dialect.comment
    if mark not in SEPARATORS:
        return
    *_, (_, cells) = rows_of(first, replace(dialect, comment=None), place)
    if mark in cells[0]:
        raise DataError(
            f"{place}: --comment {show(mark)} cuts off everything after {show(cells[0].partition(mark)[0])}",
            f"if {show(mark)} separates the fields, give -d {SEPARATORS[mark]} instead of --comment; "
            f"if {show(mark)} begins a comment, add -d ','",
        )


def blanks_remedy(names: Chunk | None, rows: Chunk, dialect: Dialect) -> str:
    """Return the remedy for a table of one column if blanks separate several columns, some of numbers; else "".

    `names` is the header line, None where there is no header. R's write.table separates by blanks, quotes texts, and
    writes a name before each row.
    """
    by_blanks = replace(dialect, delimiter=BLANKS, single_column=False)
    first = [cells for _, cells in rows_of(rows, by_blanks, "")]
    width = len(first[0]) if first else 0
    header = width if names is None else len(next(iter(rows_of(names, by_blanks, "")), (0, [""]))[1])
    if width < 2 or header not in (width, width - 1) or any(len(cells) != width for cells in first):
        return ""
    # A decimal comma counts as a number here; its own error follows once the columns are split.
    numbers = [replace(by_blanks, decimal=decimal) for decimal in ".,"]
    columns = list(zip(*first, strict=True))[width - header :]
    for column in columns:
        filled = [cell for cell in column if not by_blanks.is_missing(cell)]
        if filled and any(all(each.number(cell) is not None for cell in filled) for each in numbers):
            return f"{READ_WITH}-d blanks" + (" --row-names" if header < width else "")
    return ""


def check_names(cells: list[str], dialect: Dialect, place: str, reporter: Reporter) -> None:
    """Check for a header that may be a row of data: note a header of whole numbers only.

    Raise `DataError` if at least half of the names are numbers and one of these has a fraction.
    """
    filled = [c for c in cells if c.strip()]
    numbers = [c for c in filled if dialect.number(c) is not None]
    fractions = [c for c in numbers if not WHOLE.fullmatch(c)]
    # Where more than half of the names are text, a number may be a name.
    if fractions and 2 * len(numbers) >= len(filled):
        raise DataError(
            f"{place}: the first line looks like data ({show(fractions[0])}), not like names",
            f"{READ_WITH}--no-header, or with --header if the line holds names",
        )
    if numbers and len(numbers) == len(filled):
        reporter.note(f"{place}: the whole numbers are read as column names; --no-header reads them as data")


def with_row_name(names: list[str], first: list[str] | None) -> list[str]:
    """Return the header `names`, with a name for the column of row names added if the header has none.

    R's write.table writes no name for that column; R's write.csv and pandas write an empty name. `first` holds the
    cells of the first row, None for a table without rows.
    """
    made_up = ROW_NAME
    while made_up in names:
        made_up += "_"
    named = bool(names) and (not names[0].strip() or (first is not None and len(first) == len(names)))
    if first is not None and len(first) not in (len(names), len(names) + 1):
        return names  # reading the row raises the error
    if not named:
        return [made_up, *names]
    return [names[0] if names[0].strip() else made_up, *names[1:]]


class CsvTable:
    """An open text table: its column names are known, its rows are not yet read.

    Follows the protocol `Table` of `readers.base`. Opening raises `DataError` for an empty file, and for a header that
    shows that the file is not a table or that an option is wrong.
    """

    default_delimiter = ","  # separates the fields unless -d is given

    def __init__(self, opened: OpenedInput, options: TableOptions, reporter: Reporter) -> None:
        self.name = opened.name
        self.dialect = Dialect.of(options, self.default_delimiter)
        options.check_separator(self.dialect.separator)
        self._options = options
        self._size = opened.size
        self._share = opened.share
        self._parser: ChunkParser | None = None
        self._one_of_many = opened.one_of_many
        self._bytes_a_row = 0.0  # mean of the first part
        self._most_parts: int | None = None  # about how many parts there are; None where unknown
        self.nameless = options.header is False
        self.text = True
        self._first_line: Chunk | None = None
        self._cutter = RowCutter(opened.stream, self.dialect, self.name, options.skip_lines)
        names = self._names(reporter)
        self._line_below_header = None if self.nameless else self._cutter.line
        if options.row_names:
            names = with_row_name(names, self._first_row())
        self.columns = tuple(
            Column(name, kind="", row_name=options.row_names and i == 0) for i, name in enumerate(names)
        )
        if len(self.columns) == 1 and not self.dialect.blanks:
            self.dialect = replace(self.dialect, single_column=True)
            self._cutter.use_dialect(self.dialect)

    def _names(self, reporter: Reporter) -> list[str]:
        """Return the checked names in the header; without a header, c1, c2, ... for the fields that are no row name."""
        # Eager: on a pipe, the rows after the header may arrive much later.
        first = self._cutter.rows(1, eager=True) if not self.nameless else self._cutter.peek(1, eager=True)
        if first is None:
            raise empty_table_error(self.name, self._options)
        if not self.nameless:
            self._first_line = first
        line, cells = next(rows_of(first, self.dialect, self.name))
        place = f"{self.name}, line {line}"
        if any("\0" in cell for cell in cells):
            raise nul_bytes_error(cells, place)
        if not self._options.header and NOT_A_TABLE.match(cells[0]):  # with --header, any names are allowed
            raise not_a_table_error(cells[0], place)
        if self._options.delimiter is None:
            check_separator(first, lambda: self._cutter.peek(FIRST_ROWS, eager=True), self.dialect, self.name)
            if len(cells) == 1:
                check_comment(first, self.dialect, place)
        if self.nameless:
            return [f"c{i}" for i in range(1, len(cells) + 1 - self._options.row_names)]
        if self._options.header is None:
            check_names(cells, self.dialect, place, reporter)
        return cells

    def _first_row(self) -> list[str] | None:
        """Return the cells of the first row without moving past the row; None where there is no row."""
        first = self._cutter.peek(1, eager=True)
        return None if first is None else next(rows_of(first, self.dialect, self.name))[1]

    def profile(self) -> tuple[Column, ...]:
        """Return the columns with their kinds, judged by the first block of rows, without moving past the block."""
        return tuple(
            column._replace(kind="text", row_name=True) if named.row_name else column
            for named, column in zip(self.columns, self._profile(), strict=True)
        )

    def _profile(self) -> tuple[Column, ...]:
        """Return the columns with their kinds, judged by the first row if it has numbers only, else by the first block.

        A column of row names is judged like any other column.
        """
        first = self._cutter.peek(1)
        names = [c.name for c in self.columns]
        if first is None:
            return tuple(Column(name, "empty") for name in names)
        if all_numbers(first, len(names), self.dialect, self.name):
            return tuple(Column(name) for name in names)
        chunk = self._cutter.peek(block_rows(len(names)))
        assert chunk is not None
        try:
            columns = profile(chunk, names, self.dialect, self.name, self._line_below_header)
        except DataError:
            self._check_blanks()
            raise
        if columns[0].kind == "text":
            self._check_blanks()
        return with_lines(columns, rows_of(chunk, self.dialect, self.name))

    def _check_blanks(self) -> None:
        """Raise `DataError` for a table of one column that runs of blanks would split into columns."""
        rows = self._cutter.peek(FIRST_ROWS)
        if (
            self.dialect.single_column
            and rows is not None
            and (remedy := blanks_remedy(self._first_line, rows, self.dialect))
        ):
            name = show(self.columns[0].name)
            raise DataError(f"{self.name}: blanks separate numbers in the only column, {name}", remedy)

    def expected_rows(self) -> int | None:
        """Return the approximate number of rows, from the sizes of the input and of its first rows; None if unknown."""
        if self._size is None:
            return None
        chunk = self._cutter.peek(block_rows(len(self.columns)))
        row = self._cutter.bytes_a_row if chunk is None else len(chunk.view) / chunk.rows
        return int(self._size / row) if row else None

    def passthrough_type(self, column: int) -> pa.DataType:
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
        if self._parser is None:
            return 0
        if self._most_parts is not None:
            parts = min(parts, self._most_parts)
        return self._parser.bytes_at_once(self._bytes_a_row, self._size, parts, alone=not self._one_of_many)

    def parts(
        self,
        features: Sequence[Feature],
        passthrough: Sequence[int],
        *,
        eager: bool = False,
        run: Runner = run_serially,
    ) -> Iterator[Part]:
        """Yield all rows in order, as chunks of text, each with the parser of the table."""
        width, line = len(self.columns), self._line_below_header
        parser = ChunkParser(self.name, self.dialect, width, tuple(features), tuple(passthrough), line)
        self._parser, height = parser, parser.rows_at_once
        while (chunk := self._cutter.rows(height, eager=eager)) is not None:
            if not self._bytes_a_row:
                self._bytes_a_row = self._cutter.bytes_a_row
                self._most_parts = self._expected_parts(chunk)
            yield CsvPart(chunk, parser)
        if self._one_of_many and parser.is_wide:
            release_free_memory()  # the chunks of the next file have other lengths

    def _expected_parts(self, first: Chunk) -> int | None:
        """Return an estimate of the number of chunks: at most one too many if all rows are as long as those of `first`.

        Return None if the size of the input is unknown, or if chunks of the next file may be read at the same time.
        """
        if self._one_of_many or self._size is None:
            return None
        return 1 if self._cutter.ended() else int(self._size / len(first.view)) + 1


class TsvTable(CsvTable):
    """An open table of text separated by tabs."""

    default_delimiter = "\t"


@dataclass(frozen=True)
class CsvPart:
    """Rows as bytes together with their parser, so that any thread or process can parse them."""

    chunk: Chunk
    parser: ChunkParser

    def batch(self) -> Batch:
        """Return the parsed rows; raise as `ChunkParser` does."""
        parsed = self.parser(self.chunk)
        X = parsed.X
        found = partial(self._spellings, X), partial(self._rounded, X)
        return Batch(X, parsed.passthrough, self._place, parsed.finite, *found)

    def _spellings(self, X: Array) -> Mapping[str, int]:
        parser = self.parser
        columns = [f.column for f in parser.features]
        return count_in_text(X, columns, self.chunk, parser.dialect, parser.width, parser.name)

    def _rounded(self, X: Array) -> RoundedCell | None:
        """Return the first cell whose whole number float64 rounds; None if float64 holds all whole numbers exactly."""
        parser = self.parser
        features, rows = above_2_53(X)
        if not len(rows):
            return None
        columns = np.array([f.column for f in parser.features], dtype=np.intp)[features]
        cells = cells_at(rows, columns, self.chunk, parser.dialect, parser.width, parser.name)
        return first_rounded(X, features, rows, cells.to_pylist(), parser.dialect.whole_number)

    @cached_property
    def _lines(self) -> list[int]:
        return [line for line, _ in rows_of(self.chunk, self.parser.dialect, self.parser.name)]

    def _place(self, row: int) -> str:
        return f"{self.parser.name}, line {self._lines[row]}"
