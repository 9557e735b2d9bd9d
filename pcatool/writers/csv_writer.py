"""Write CSV and TSV: numbers that read back to the same bits, quotes only where needed."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
from pyarrow.csv import WriteOptions, write_csv

from pcatool.writers.base import TextWriter, Values
from pcatool.writers.cells import contents, floats, joined, literal, numbers, plain, text
from pcatool.writers.jsonlines import tokens
from pcatool.writers.sink import Data

__all__ = ["CsvWriter", "TsvWriter"]

# Rows that Arrow's writer takes at a time; measured: its default of 1024 is a fifth slower.
BATCH = 4096


class CsvWriter(TextWriter):
    """Comma-separated text. A missing cell is empty, and so is an empty text, as most tables write both."""

    delimiter = ","

    def first_line(self) -> bytes:
        return (self.delimiter.join(self.quoted_name(name) for name in self.names) + "\n").encode()

    @property
    def missing(self) -> str:
        """In a table of one column an empty line would be no row to most readers."""
        return "" if len(self.names) > 1 else '""'

    @property
    def needs_quotes(self) -> str:
        """With blanks at an end (which readers may strip), or with a character that has a meaning.

        Empty only where a row would be an empty line.
        """
        alone = "" if len(self.names) > 1 else "^$|"
        return rf'{alone}^\s|\s$|["\r\n{self.delimiter}]'

    def quoted_name(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"' if re.search(self.needs_quotes, name) else name

    def format(self, kept: Sequence[pa.Array], values: Values) -> Data:
        if not kept and self.float_format is None and len(self.names) > 1:
            return self.plain_numbers(values)
        return super().format(kept, values)

    def plain_numbers(self, values: Values) -> Data:
        """The common case in one call of Arrow's writer, which needs no quotes and loads no compute functions."""
        columns = [floats(column) for column in values.T]
        batch = pa.RecordBatch.from_arrays(columns, names=self.names)
        out = pa.BufferOutputStream()
        options = WriteOptions(include_header=False, batch_size=BATCH, delimiter=self.delimiter, quoting_style="none")
        write_csv(batch, out, options)
        return memoryview(out.getvalue())

    def format_slice(self, kept: Sequence[pa.Array], values: Values) -> Data:
        cells = [self.cells(column) for column in kept]
        cells += [numbers(column, self.float_format) for column in values.T]
        return contents(joined([joined(cells, self.delimiter, self.missing), literal("\n")]))

    def cells(self, column: pa.Array) -> pa.Array:
        """A column passed through as text, quoted where needed."""
        import pyarrow.compute as pc

        column = plain(column)
        words = tokens(column) if pa.types.is_nested(column.type) else text(column)
        special = pc.match_substring_regex(words, self.needs_quotes)
        if special.true_count == 0:
            return words
        quote = literal('"')
        doubled = pc.replace_substring(words, '"', '""')
        return pc.if_else(special, pc.binary_join_element_wise(quote, doubled, quote, literal("")), words)


class TsvWriter(CsvWriter):
    """Tab-separated text, with the same quotes."""

    delimiter = "\t"
