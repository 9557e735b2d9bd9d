"""Arrow's CSV parser with every setting given, so that Arrow guesses nothing."""

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
# The byte-order mark of UTF-8.
MARK = b"\xef\xbb\xbf"


class ArrowCsv:
    """Parser of the columns in `types` (table column -> Arrow type), for chunks of a table `width` columns wide.

    With `clean`, only chunks without quotes, blank lines and missing cells are read, which is faster; other chunks
    give None. With `empty_lines`, a blank line is a row.
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
        """Return the columns by their place in the table; None where a row has another width or a cell another type."""
        table = self._table(chunk)
        return None if table is None else {c: table.column(i).chunk(0) for i, c in enumerate(self._columns)}

    def block(self, chunk: Chunk) -> NDArray[np.float64] | None:
        """Return the columns as a block (n, d), where all are float64 without missing cells; None as in `read`."""
        table = self._table(chunk)
        # In one call of Arrow: column by column takes a tenth of the time of parsing, and holds the GIL.
        return None if table is None else table.to_batches()[0].to_tensor(row_major=False).to_numpy()

    def _table(self, chunk: Chunk) -> pa.Table | None:
        data = chunk.view if chunk.plain else plain(chunk.data, self._dialect)
        if data[: len(MARK)] == MARK:
            return None  # Arrow would drop the mark, which is text in the middle of a file
        if self._clean and not chunk.plain and b'"' in data:
            return None
        return self.parse(data, chunk.rows)

    def parse(self, data: Buffer, rows: int) -> pa.Table | None:
        """Parse normalized CSV; None where Arrow refuses it or finds another number of rows than `rows`."""
        try:
            table = csv.read_csv(pa.py_buffer(data), self._read, self._parse, self._convert)
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows == rows else None


def _spellings(nulls: frozenset[str]) -> list[str]:
    """Return the spellings of missing cells for Arrow, each in lower case, upper case and capitalized.

    Arrow distinguishes letter case, and prepares the list again for each column, so unusual mixtures of case are left
    to the other parsers.
    """
    return sorted({"NaN"} | {form for null in nulls for form in (null, null.upper(), null.capitalize())})
