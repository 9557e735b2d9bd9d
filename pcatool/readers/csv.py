"""Text tables: bytes are cut at row ends, and each chunk is parsed by Arrow with the types named beforehand.

Naming the types keeps Arrow from guessing them from the first block, and lets a chunk be parsed on its own, anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from pcatool.blocks import block_rows, empty_block
from pcatool.errors import DataError, show
from pcatool.model import Array
from pcatool.notices import Notices
from pcatool.options import TableOptions
from pcatool.readers.arrow import fill_numbers
from pcatool.readers.base import Batch, Column, Feature, Part
from pcatool.readers.cutter import Chunk, Cutter
from pcatool.readers.dialect import Dialect
from pcatool.readers.exact import BOOLEANS, parse, rows_of
from pcatool.readers.source import Opened, bare_name

__all__ = ["CsvTable"]

SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'"}
WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)


class CsvTable:
    """One text table, opened: its names are known, its rows are still to come."""

    def __init__(self, opened: Opened, options: TableOptions, notices: Notices) -> None:
        self.name = opened.name
        tabs = opened.format == "tsv" or bare_name(opened.input.path).lower().endswith((".tsv", ".tab"))
        self.dialect = Dialect.of(options, "\t" if tabs and opened.format != "csv" else ",")
        self._options = options
        self._cutter = Cutter(opened.stream, self.dialect, self.name)
        self._cutter.skip_lines(options.skip_lines)
        self._has_header = options.header is not False
        self.columns = tuple(Column(name, kind="") for name in self._names(notices))

    def _names(self, notices: Notices) -> list[str]:
        first = self._cutter.rows(1) if self._has_header else self._cutter.peek(1)
        if first is None:
            raise DataError(f"{self.name} is empty", "a table begins with a line of column names")
        line, cells = next(rows_of(first, self.dialect, self.name))
        self._check_separator(cells, line)
        if not self._has_header:
            return [f"c{i}" for i in range(1, len(cells) + 1)]
        if self._options.header is None:
            self._check_names(cells, line, notices)
        return cells

    def _check_separator(self, cells: list[str], line: int) -> None:
        if len(cells) != 1 or self._options.delimiter is not None:
            return
        for separator, spelled in SEPARATORS.items():
            if separator in cells[0]:
                raise DataError(
                    f"{self.name}, line {line}: one field, {show(cells[0])}, with {spelled} in it",
                    f"read it with -d {'tab' if separator == chr(9) else spelled}",
                )

    def _check_names(self, cells: list[str], line: int, notices: Notices) -> None:
        """Names that are numbers may be a first row of data: whole numbers are taken with a note, others refused."""
        filled = [c for c in cells if c.strip()]
        numbers = [c for c in filled if self.dialect.number(c) is not None]
        fractions = [c for c in numbers if not WHOLE.fullmatch(c)]
        if fractions and 2 * len(numbers) >= len(filled):
            raise DataError(
                f"{self.name}, line {line}: the first line looks like data ({show(fractions[0])}), not like names",
                "read it with --no-header, or with --header if these are names",
            )
        if numbers and len(numbers) == len(filled):
            notices.note(f"{self.name}: the first line, whole numbers, is taken as names; --no-header reads it as data")

    def profile(self) -> tuple[Column, ...]:
        """Kinds of the columns, judged by the first block of rows; that block is still to be read."""
        chunk = self._cutter.peek(block_rows(len(self.columns)))
        everything = [Feature(c.name, i) for i, c in enumerate(self.columns)]
        if chunk is None or (self.dialect.plain and self._parser(everything, ()).is_all_numbers(chunk)):
            return tuple(Column(c.name) for c in self.columns)
        cells = self._cells(chunk)
        return tuple(kind_of(c.name, column, self.dialect) for c, column in zip(self.columns, cells, strict=True))

    def _cells(self, chunk: Chunk) -> list[list[str]]:
        """The cells of a chunk by column, as text."""
        width = len(self.columns)
        _, texts = parse(chunk, self.dialect, width, (), range(width), self.name, self._has_header)
        return texts

    def kept_type(self, column: int) -> pa.DataType:
        return pa.string()

    def _parser(self, features: Sequence[Feature], kept: Sequence[int]) -> ChunkParser:
        return ChunkParser(
            self.name, self.dialect, len(self.columns), tuple(features), tuple(kept), self._has_header
        )

    def parts(self, features: Sequence[Feature], kept: Sequence[int], *, eager: bool) -> Iterator[Part]:
        parser = self._parser(features, kept)
        height = block_rows(len(features))
        while (chunk := self._cutter.rows(height, eager=eager)) is not None:
            yield CsvPart(chunk, parser)


def kind_of(name: str, cells: list[str], dialect: Dialect) -> Column:
    """What a column of cells holds. One number makes it a column of numbers; a text in it is then a bad cell."""
    filled = [c for c in dict.fromkeys(cells) if not dialect.is_missing(c)]
    if not filled or any(dialect.number(c) is not None for c in filled):
        return Column(name)
    if all(c.strip().lower() in BOOLEANS for c in filled):
        return Column(name, "boolean", filled[0])
    dressed = [(c, options) for c in filled if (options := dialect.dressing(c)) is not None]
    if 2 * len(dressed) >= len(filled):
        # The longest list of options is that of the cell with the most marks.
        cell, options = max(dressed, key=lambda pair: len(pair[1]))
        return Column(name, "dressed", cell, remedy=options)
    return Column(name, "text", filled[0])


@dataclass(frozen=True)
class CsvPart:
    """Rows as bytes, with what is needed to parse them anywhere."""

    chunk: Chunk
    parser: ChunkParser

    def batch(self) -> Batch:
        X, kept = self.parser(self.chunk)
        return Batch(X, kept, self._place)

    @cached_property
    def _lines(self) -> list[int]:
        return [line for line, _ in rows_of(self.chunk, self.parser.dialect, self.parser.name)]

    def _place(self, row: int) -> str:
        return f"{self.parser.name}, line {self._lines[row]}"


@dataclass(frozen=True)
class ChunkParser:
    """Chunks to X and kept columns; the same for every chunk of a table."""

    name: str
    dialect: Dialect
    width: int
    features: tuple[Feature, ...]
    kept: tuple[int, ...]
    has_header: bool

    def __call__(self, chunk: Chunk) -> tuple[Array, Sequence[pa.Array]]:
        found = self._fast(chunk)
        if found is not None:
            return found
        X, texts = parse(chunk, self.dialect, self.width, self.features, self.kept, self.name, self.has_header)
        return X, [pa.array(text, pa.string()) for text in texts]

    def is_all_numbers(self, chunk: Chunk) -> bool:
        return self._by_arrow(chunk) is not None

    @property
    def _fast(self) -> Callable[[Chunk], tuple[Array, Sequence[pa.Array]] | None]:
        return self._by_arrow if self.dialect.plain else self._by_pandas

    def _by_pandas(self, chunk: Chunk) -> tuple[Array, Sequence[pa.Array]] | None:
        from pcatool.readers.pandas_text import parse_with_pandas

        return parse_with_pandas(chunk, self.dialect, self.width, self.features, self.kept)

    def _by_arrow(self, chunk: Chunk) -> tuple[Array, Sequence[pa.Array]] | None:
        """None when there is anything in the chunk that Arrow refuses."""
        read, parsing, convert = self._arrow_options
        read.block_size = len(chunk.data) + 1  # the chunk is one block
        try:
            table = arrow_csv.read_csv(pa.py_buffer(chunk.data), read, parsing, convert)
        except pa.ArrowInvalid:
            return None
        X = empty_block(table.num_rows, len(self.features))
        for j, feature in enumerate(self.features):
            fill_numbers(X[:, j], table.column(self._position[feature.column]).chunk(0))
        return X, [table.column(self._position[column]).chunk(0) for column in self.kept]

    @cached_property
    def _position(self) -> dict[int, int]:
        """Where each needed column stands in Arrow's table."""
        return {column: i for i, column in enumerate(self._needed)}

    @cached_property
    def _needed(self) -> list[int]:
        return list(dict.fromkeys([*(f.column for f in self.features), *self.kept]))

    @cached_property
    def _arrow_options(self) -> tuple[Any, Any, Any]:
        types: dict[str, pa.DataType] = {str(column): pa.string() for column in self.kept}
        types |= {str(f.column): pa.bool_() if f.boolean else pa.float64() for f in self.features}
        read = arrow_csv.ReadOptions(column_names=[str(i) for i in range(self.width)], use_threads=False)
        parsing = arrow_csv.ParseOptions(delimiter=self.dialect.delimiter, newlines_in_values=True)
        convert = arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=[str(column) for column in self._needed],
            null_values=spellings(self.dialect.nulls),
            strings_can_be_null=False,
            decimal_point=self.dialect.decimal,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
        )
        return read, parsing, convert


def spellings(nulls: frozenset[str]) -> list[str]:
    """Arrow compares letter by letter: the usual cases of each, and with a blank before it, as after a comma.

    Rarer spellings are read by the exact parser.
    """
    found = {form for n in (*nulls, "NaN", "N/a") for form in (n, n.upper(), n.title(), n.capitalize())}
    return sorted(found | {" " + form for form in found})

