"""Write CSV and TSV: numbers that read back to the same bits, and quotes only where needed."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
from pyarrow.csv import WriteOptions, write_csv

from pcatool.writers.base import TextWriter, Values
from pcatool.writers.cells import as_text, decoded, floats, joined, literal, numbers_as_text, string_bytes
from pcatool.writers.jsonlines import json_tokens
from pcatool.writers.sink import Data

__all__ = ["CsvWriter", "TsvWriter"]

# Rows that Arrow's writer formats at a time; measured: its default of 1024 is a fifth slower.
ROWS_PER_BATCH = 4096


class CsvWriter(TextWriter):
    """Writer of comma-separated text. A missing cell and an empty text both become an empty field."""

    delimiter = ","

    def first_line(self) -> bytes:
        return (self.delimiter.join(self.quoted_name(name) for name in self.names) + "\n").encode()

    @property
    def missing(self) -> str:
        """Text of a missing cell: empty, but "" in a table of one column, because most readers skip an empty line."""
        return "" if len(self.names) > 1 else '""'

    @property
    def needs_quotes(self) -> str:
        """Regular expression that finds cells to be quoted.

        These are cells with a blank at either end (which readers may strip), with a quote, line end or delimiter, and,
        in a table of one column, empty cells.
        """
        empty_cell = "" if len(self.names) > 1 else "^$|"
        return rf'{empty_cell}^\s|\s$|["\r\n{self.delimiter}]'

    def quoted_name(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"' if re.search(self.needs_quotes, name) else name

    def format(self, passthrough: Sequence[pa.Array], values: Values) -> Data:
        """Return the text of a block, in one call of Arrow where possible."""
        if not passthrough and self.float_format is None and len(self.names) > 1:
            return self.plain_numbers(values)
        return super().format(passthrough, values)

    def plain_numbers(self, values: Values) -> Data:
        """Return the text of a block of results only, without a float format: the common case, written by Arrow.

        No number needs quotes, and Arrow's compute functions need not be loaded.
        """
        columns = [floats(column) for column in values.T]
        batch = pa.RecordBatch.from_arrays(columns, names=self.names)
        out = pa.BufferOutputStream()
        options = WriteOptions(
            include_header=False, batch_size=ROWS_PER_BATCH, delimiter=self.delimiter, quoting_style="none"
        )
        write_csv(batch, out, options)
        return memoryview(out.getvalue())

    def format_slice(self, passthrough: Sequence[pa.Array], values: Values) -> Data:
        cells = self.texts_of(passthrough, self.cells)
        cells += [numbers_as_text(column, self.float_format) for column in values.T]
        return string_bytes(joined([joined(cells, self.delimiter, self.missing), literal("\n")]))

    def cells(self, column: pa.Array) -> pa.Array:
        """Return a passed-through column as text, quoted where needed."""
        import pyarrow.compute as pc

        column = decoded(column)
        words = json_tokens(column) if pa.types.is_nested(column.type) else as_text(column)
        special = pc.match_substring_regex(words, self.needs_quotes)
        if special.true_count == 0:
            return words
        quote = literal('"')
        doubled = pc.replace_substring(words, '"', '""')
        return pc.if_else(special, pc.binary_join_element_wise(quote, doubled, quote, literal("")), words)


class TsvWriter(CsvWriter):
    """Writer of tab-separated text, with the quotes of CSV."""

    delimiter = "\t"
