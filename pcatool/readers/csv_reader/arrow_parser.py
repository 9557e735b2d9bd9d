"""Arrow's CSV parser, with every setting given beforehand so that it guesses nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.normalize import plain
from pcatool.readers.csv_reader.split import Chunk

__all__ = ["MARK", "TEXT", "ArrowCsv"]

TEXT = pa.string()
Buffer: TypeAlias = bytes | memoryview | NDArray[np.uint8]
MARK = b"\xef\xbb\xbf"


class ArrowCsv:
    """Reads some columns of a table, each in the type named, a chunk at a time.

    `clean`: every cell is a number and nothing is quoted, which is quicker to read; what is not, is not read.
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
            null_values=[] if clean or set(types.values()) == {TEXT} else _spellings(dialect.nulls),
            strings_can_be_null=False,
            decimal_point=dialect.decimal,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
        )

    def read(self, chunk: Chunk) -> dict[int, pa.Array] | None:
        """Its columns by number; None when it is no table of this width, or a cell is not of the type named."""
        table = self._table(chunk)
        return None if table is None else {c: table.column(i).chunk(0) for i, c in enumerate(self._columns)}

    def block(self, chunk: Chunk) -> NDArray[np.float64] | None:
        """The same as a block (n, d), when all columns are float64 and no cell is missing."""
        table = self._table(chunk)
        # At once by Arrow: column by column takes a tenth of the time of parsing, and keeps other threads waiting.
        return None if table is None else table.to_batches()[0].to_tensor(row_major=False).to_numpy()

    def _table(self, chunk: Chunk) -> pa.Table | None:
        data = chunk.view if chunk.plain else plain(chunk.data, self._dialect)
        if data[: len(MARK)] == MARK:
            return None  # no byte-order mark in the middle of a text, but Arrow would drop it
        if self._clean and not chunk.plain and b'"' in data:
            return None
        return self.parse(data, chunk.rows)

    def parse(self, data: Buffer, rows: int) -> pa.Table | None:
        """So many rows of plain CSV; None when they are not."""
        try:
            table = csv.read_csv(pa.py_buffer(data), self._read, self._parse, self._convert)
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows == rows else None


def _spellings(nulls: frozenset[str]) -> list[str]:
    """Arrow compares letter by letter, and with each column anew: only the usual cases of each spelling."""
    return sorted({"NaN"} | {form for null in nulls for form in (null, null.upper(), null.capitalize())})
