"""Parse chunks of a CSV table to float64 blocks: by Arrow where possible, else cell by cell.

A table of very many number columns is read as one long column, which is then reshaped ("folded"). Arrow sets up a
converter for every column of every chunk, 15 kB each: at 20,000 columns that is 300 MB and most of the time. One
column needs one converter.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from pcatool.arrays import QUEUED_TASKS, Array, block_rows, empty_block
from pcatool.readers.arrow_columns import fill_from_text, numbers_of, text_array
from pcatool.readers.base import Feature, all_finite, rows_at_once
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.normalize import has_text_after_quote, requoted
from pcatool.readers.csv_reader.reference import parse
from pcatool.readers.csv_reader.split import MOST_BYTES, Chunk, check_nul, check_utf8

__all__ = ["TEXT", "WIDE", "ArrowCsv", "ChunkParser", "empty_columns", "read_wide"]

TEXT = pa.string()
Buffer: TypeAlias = bytes | memoryview | NDArray[np.uint8]
# The byte-order mark of UTF-8.
BOM = b"\xef\xbb\xbf"


class ArrowCsv:
    """Arrow's CSV parser for some columns of a table; parses chunks, each of whole rows as bytes.

    `types` maps the number of each of these columns to its Arrow type; `width` is the number of columns of the table.
    With `clean`, parsing is faster, and None is returned for chunks with quotes, blank lines or missing cells. With
    `empty_lines`, a blank line is a row.
    """

    def __init__(
        self,
        dialect: Dialect,
        width: int,
        types: Mapping[int, pa.DataType],
        *,
        empty_lines: bool = False,
        clean: bool = False,
    ) -> None:
        self._dialect = dialect
        self._clean = clean
        self._columns = list(types)
        self._read = csv.ReadOptions(
            column_names=[str(i) for i in range(width)],
            use_threads=False,
            block_size=(1 << 31) - 1,  # a chunk is one block
        )
        self._parse = csv.ParseOptions(
            delimiter=dialect.separator,
            quote_char=False if clean else '"',
            newlines_in_values=not clean,
            ignore_empty_lines=not (empty_lines or clean),
        )
        self._convert = csv.ConvertOptions(
            column_types={str(column): kind for column, kind in types.items()},
            include_columns=[str(column) for column in self._columns],
            null_values=[] if clean or set(types.values()) == {TEXT} else _null_spellings(dialect.nulls),
            strings_can_be_null=False,
            decimal_point=dialect.decimal,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
        )

    def read(self, chunk: Chunk) -> dict[int, pa.Array] | None:
        """Return the columns of `types` by number; None for a chunk that this parser cannot read.

        In such a chunk a row has another width, a cell has another type, the text begins with a byte-order mark, or,
        for a parser with `clean`, there is a quote.
        """
        table = self._table(chunk)
        return None if table is None else {c: table.column(i).chunk(0) for i, c in enumerate(self._columns)}

    def block(self, chunk: Chunk) -> NDArray[np.float64] | None:
        """Return the columns of `types`, which must all be float64, as X (n, d); None as in `read`.

        Only for a parser with `clean`, whose columns have no missing cells.
        """
        table = self._table(chunk)
        # In one call of Arrow: column by column takes a tenth of the time of parsing, and holds the GIL.
        return None if table is None else table.to_batches()[0].to_tensor(row_major=False).to_numpy()

    def _table(self, chunk: Chunk) -> pa.Table | None:
        data = chunk.view if chunk.plain else chunk.normalized(self._dialect)
        if data[: len(BOM)] == BOM:
            return None  # Arrow would drop the mark, which is text in the middle of a file
        if self._clean and not chunk.plain and b'"' in data:
            return None
        return self.parse(data, chunk.rows)

    def parse(self, data: Buffer, rows: int) -> pa.Table | None:
        """Return ordinary CSV text as an Arrow table; None if Arrow refuses it or finds a number of rows not `rows`."""
        try:
            table = csv.read_csv(pa.py_buffer(data), self._read, self._parse, self._convert)
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows == rows else None


def _null_spellings(nulls: frozenset[str]) -> list[str]:
    """Return the spellings of missing cells for Arrow, each in lower case, upper case and capitalized.

    Arrow distinguishes letter case, and prepares the list again for each column, so unusual mixtures of case are left
    to the other parsers.
    """
    return sorted({"NaN"} | {form for null in nulls for form in (null, null.upper(), null.capitalize())})


# Number of columns from which folding costs less than the converters.
WIDE = 1000

# Bytes of one of Arrow's converters of columns.
CONVERTER_BYTES = 15_000

# Bytes for each column to open a file while another is read, and of freed memory that does not fit the next file's
# chunks, which have other lengths: measured with 15,000 to 37,000 columns.
OPENING_BYTES = 1_000

# Most columns that are not features in a folded table, such as names of the rows: their cells are found one by one.
FEW_OTHERS = 16

NEWLINE, QUOTE = ord("\n"), ord('"')


def read_wide(chunk: Chunk, dialect: Dialect, width: int, ignored: Sequence[int] = ()) -> NDArray[np.float64] | None:
    """Return all cells of a chunk as numbers (rows, width), NaN where a cell is missing.

    Arrow parses the chunk as one long column. Cells of the `ignored` columns may hold text, and become 0, or NaN if
    empty. Return None for a chunk that needs another parser: with comments, runs of blanks, lone carriage returns, rows
    of another width, quotes around a separator, or a cell that Arrow does not read as a number.
    """
    if dialect.comment is not None or dialect.blanks:
        return None
    data: Buffer = chunk.view
    if chunk.has(b"\r"):
        data = chunk.data.replace(b"\r\n", b"\n")
        if b"\r" in data:
            return None
    if data[: len(BOM)] == BOM:
        return None
    if data[-1:] != b"\n":
        data = bytes(data) + b"\n"
    text, separator = np.frombuffer(data, dtype=np.uint8), ord(dialect.separator)
    is_separator = text == separator
    if not _has_shape(text, is_separator, chunk.rows, width):
        return None
    # Arithmetic turns the separators into line ends, six times as fast as replacing them.
    lines = is_separator.view(np.uint8)
    lines *= np.uint8((separator - NEWLINE) % 256)
    np.subtract(text, lines, out=lines)
    del data, text  # the chunk still has its text; a copy of it is freed
    if ignored and not _zeroed(lines, ignored, width):
        return None
    table = ArrowCsv(dialect, 1, {0: pa.float64()}, empty_lines=True).parse(lines, chunk.rows * width)
    if table is None:
        return None
    array = table.column(0).chunk(0)
    cells = numbers_of(array).astype(np.float64, copy=False)
    if not all_finite(cells) and np.isnan(cells).sum() != array.null_count:
        return None  # Arrow reads more spellings as NaN than the dialect allows
    return cells.reshape(chunk.rows, width)


def _has_shape(text: NDArray[np.uint8], is_separator: NDArray[np.bool_], rows: int, width: int) -> bool:
    """Return whether the text has `rows` lines of `width` fields each.

    `text` holds the bytes, the last a newline; `is_separator` is the mask of the bytes that are separators.
    """
    ends = np.flatnonzero(text == NEWLINE)
    if len(ends) != rows:
        return False
    return bool(
        np.array_equal(np.searchsorted(np.flatnonzero(is_separator), ends), np.arange(1, rows + 1) * (width - 1))
    )


def _zeroed(lines: NDArray[np.uint8], columns: Sequence[int], width: int) -> bool:
    """Overwrite every character of the cells of these columns with "0", in place, and return True.

    `lines` is text with one cell on each line; `width` cells make a row. If any cell has an odd number of quotes,
    return False and change nothing: a separator inside quotes may have cut the cell in two.
    """
    ends = np.flatnonzero(lines == NEWLINE)
    quotes = np.searchsorted(ends, np.flatnonzero(lines == QUOTE))  # the cell of each quote
    if (np.bincount(quotes, minlength=1) % 2).any():
        return False
    stops = ends.reshape(-1, width)[:, columns].ravel()
    starts = np.concatenate([[0], ends[:-1] + 1]).reshape(-1, width)[:, columns].ravel()
    lengths = stops - starts
    before = np.cumsum(lengths) - lengths  # characters in the cells before each one
    lines[np.arange(lengths.sum()) + np.repeat(starts - before, lengths)] = ord("0")
    return True


def empty_columns(X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the mask (d,) of the columns of X (n, d) that are NaN in all rows."""
    return np.asarray(np.isnan(X).all(axis=0))


class Parsed(NamedTuple):
    """A parsed chunk: features as float64, passthrough columns as text."""

    X: Array  # (n, d), NaN where a cell is missing
    passthrough: Sequence[pa.Array]  # passthrough columns, as text
    finite: bool  # whether no cell is missing


@dataclass(frozen=True)
class ChunkParser:
    """Parser of the chunks of one table into float64 features and passthrough columns.

    Made by `CsvTable.parts`; a worker calls it with each chunk.
    """

    name: str  # of the table, for error messages
    dialect: Dialect
    width: int  # number of columns of the table
    features: tuple[Feature, ...]  # columns of X
    passthrough: tuple[int, ...]  # numbers of the passthrough columns
    line_below_header: int | None  # number of the line below the header; None where there is no header
    # First lines of chunks with missing cells or quotes. Once there is one, the parser for clean chunks is not tried.
    unclean_lines: list[int] = field(default_factory=list)

    def __call__(self, chunk: Chunk) -> Parsed:
        """Parse a chunk with the fastest parser that can read it.

        Raise `BadCell` for a feature cell that is not a finite number (or, in a boolean column, neither true nor
        false), and `DataError` for a ragged row, bytes that are not UTF-8, or a NUL byte.
        """
        clean = None if self.unclean_lines or self.is_wide else self._parse_clean(chunk)
        if clean is not None and len(self.features) == self.width:
            return clean  # every cell was read as a number, so all bytes are ASCII
        check_utf8(chunk, self.name)
        parsed = clean or self._parse(chunk)
        check_nul(chunk, self.name)  # last, so that a NUL byte in a number column is reported as a bad cell of it
        return parsed

    def _parse(self, chunk: Chunk) -> Parsed:
        """Parse a chunk, also with quotes and missing cells: try the parsers, the fastest first.

        The last parser reads every valid chunk, and raises the error for any other chunk.
        """
        if self._has_text_after_quote(chunk):
            return self._parse_requoted(chunk) or self._parse_exactly(chunk)
        return (
            (self._parse_folded(chunk) if self.is_wide else None)
            or (self._parse_by_arrow(chunk, self._as_numbers) if self._as_numbers is not None else None)
            or self._parse_by_arrow(chunk, self._as_text)
            or self._parse_exactly(chunk)
        )

    def _has_text_after_quote(self, chunk: Chunk) -> bool:
        if chunk.plain or not chunk.has(b'"'):
            return False
        return has_text_after_quote(chunk.normalized(self.dialect), self.dialect)

    def _parse_requoted(self, chunk: Chunk) -> Parsed | None:
        """Parse a chunk with fields like "1"2 by Arrow, after `requoted`; None if Arrow cannot read the chunk.

        The quotes stay in these cells, so that Arrow does not read "1"2 as the number 12. Cells of passthrough columns
        must lose their quotes, so the result is None if there are passthrough columns.
        """
        if self.passthrough:
            return None
        data = requoted(chunk.normalized(self.dialect), self.dialect)
        parser = self._parser_of_normalized
        return parser._parse_by_arrow(Chunk(data, chunk.rows, chunk.first_line), parser._as_text)

    @cached_property
    def _parser_of_normalized(self) -> ChunkParser:
        return replace(self, dialect=self.dialect.normalized)

    def _parse_clean(self, chunk: Chunk) -> Parsed | None:
        """Parse a chunk of finite numbers only; for any other chunk return None and extend `unclean_lines`."""
        X = self._as_clean.block(chunk) if self._as_clean is not None else None
        # Arrow reads 1e400 as infinity, and more spellings as NaN than the dialect allows.
        if X is None or not all_finite(X):
            self.unclean_lines.append(chunk.first_line)
            return None
        return Parsed(X, [], True)

    @property
    def rows_at_once(self) -> int:
        """Number of rows to cut for each chunk, chosen by the number of features."""
        d = len(self.features)
        # Folded columns have no cost of their own, so half a block is enough; the text is then in memory four times.
        return block_rows(d) // 2 if self.is_wide else rows_at_once(d)

    def bytes_at_once(self, row: float, size: int | None, parts: int, *, alone: bool = False) -> int:
        """Return the estimated memory, in bytes, for reading `parts` chunks at the same time.

        `row` is the mean size of a row of text in bytes; `size` is the size of the whole text, None if unknown. With
        `alone`, no chunks of other files are read at the same time.
        """
        size = size or sys.maxsize
        rows = min(self.rows_at_once, size / max(row, 1.0), MOST_BYTES / max(row, 1.0))
        text, cells = int(rows * row), int(rows * len(self.features))
        # While a chunk is parsed, it needs its text again, and for each cell its end and its value, as Arrow's column
        # and in the block. A chunk that is folded needs its text three times (its lines, and Arrow's copy with room to
        # grow) and the ends; Arrow's column is the block.
        parsing = 3 * text + 4 * cells if self.is_wide else text + 20 * cells
        if self.width >= WIDE and not self.is_wide:
            parsing += CONVERTER_BYTES * (len(self.features) + len(self.passthrough))
        # Each chunk keeps its text and its block (8 bytes a cell); the cutter's buffer is there twice while it grows.
        whole = size if alone else sys.maxsize
        texts = min(parts * text, whole) + min(2 * text, 2 * max(whole - parts * text, 0) + text)
        numbers = 8 * min(parts * cells, int(whole / max(row, 1.0)) * len(self.features))
        opening = 0 if alone else OPENING_BYTES * len(self.features)
        return texts + max(parts - QUEUED_TASKS, 1) * parsing + numbers + opening

    @property
    def is_wide(self) -> bool:
        """Whether to read chunks as one long column first (`_parse_folded`).

        This is so for at least WIDE features, all of plain numbers, and at most FEW_OTHERS other columns.
        """
        plain = self._as_numbers is not None and not any(f.boolean for f in self.features)
        return len(self.features) >= WIDE and plain and len(self._others) <= FEW_OTHERS

    @cached_property
    def _others(self) -> list[int]:
        """Sorted numbers, from 0, of the columns of the table that are not features."""
        return sorted(set(range(self.width)).difference(f.column for f in self.features))

    def _parse_folded(self, chunk: Chunk) -> Parsed | None:
        """Parse a chunk of many columns with `read_wide`; None if the chunk needs another parser."""
        cells = read_wide(chunk, self.dialect, self.width, self._others)
        if cells is None or np.isinf(cells).any():
            return None
        columns = [f.column for f in self.features]
        X = empty_block(chunk.rows, len(columns))
        X[:] = cells if columns == list(range(self.width)) else cells[:, columns]
        del cells
        texts = self._passthrough_alone.read(chunk) if self.passthrough else {}
        return None if texts is None else Parsed(X, [texts[c] for c in self.passthrough], all_finite(X))

    @cached_property
    def _passthrough_alone(self) -> ArrowCsv:
        """Arrow's parser of the passthrough columns only, for a chunk whose features `read_wide` parses."""
        return ArrowCsv(self.dialect, self.width, dict.fromkeys(self.passthrough, TEXT))

    @cached_property
    def _as_clean(self) -> ArrowCsv | None:
        """Arrow's parser of the features, for chunks without quotes and missing cells.

        None if there are boolean features or passthrough columns, and where `_as_numbers` is None.
        """
        if self._as_numbers is None or self.passthrough or any(f.boolean for f in self.features):
            return None
        return ArrowCsv(self.dialect, self.width, {f.column: pa.float64() for f in self.features}, clean=True)

    @cached_property
    def _as_numbers(self) -> ArrowCsv | None:
        """Arrow's parser of features as numbers or booleans, and of passthrough columns as text.

        None if Arrow cannot read the dialect's numbers: those with marks, and those that mean a missing cell.
        """
        if self.dialect.has_marks or self.dialect.has_numeric_null:
            return None
        types = {f.column: pa.bool_() if f.boolean else pa.float64() for f in self.features}
        return ArrowCsv(self.dialect, self.width, types | dict.fromkeys(self.passthrough, TEXT))

    @cached_property
    def _as_text(self) -> ArrowCsv:
        """Arrow's parser of features and passthrough columns, all as text; the dialect makes numbers of it later."""
        return ArrowCsv(
            self.dialect, self.width, dict.fromkeys([*(f.column for f in self.features), *self.passthrough], TEXT)
        )

    def _parse_by_arrow(self, chunk: Chunk, reader: ArrowCsv) -> Parsed | None:
        """Parse a chunk with `reader`; None for a chunk that another parser must read or raise an error for."""
        arrays = reader.read(chunk)
        if arrays is None:
            return None
        X = empty_block(chunk.rows, len(self.features))
        missing_cells = 0
        for j, feature in enumerate(self.features):
            array = arrays[feature.column]
            if array.type == TEXT:
                missing = fill_from_text(X[:, j], array, self.dialect, boolean=feature.boolean)
                if missing is None:
                    return None
                missing_cells += missing
            else:
                X[:, j] = numbers_of(array)
                missing_cells += array.null_count
        # Arrow reads 1e400 as infinity, and more spellings as NaN than the dialect allows.
        finite = all_finite(X)
        if not finite and (np.isinf(X).any() or np.isnan(X).sum() != missing_cells):
            return None
        return Parsed(X, [arrays[column] for column in self.passthrough], finite)

    def _parse_exactly(self, chunk: Chunk) -> Parsed:
        X, texts = parse(
            chunk, self.dialect, self.width, self.features, self.passthrough, self.name, self.line_below_header
        )
        return Parsed(X, [text_array(text) for text in texts], all_finite(X))
