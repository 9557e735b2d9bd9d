"""Protocol of a writer, and the choice of the writer for an output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.errors import DataError, UsageError
from pcatool.options import OutputOptions
from pcatool.registry import READERS, WRITERS
from pcatool.stores.uri import plain_name, shown
from pcatool.wording import show
from pcatool.writers.cells import CONVERT_COLUMN, TextlessType, row_slices
from pcatool.writers.sink import Data, Sink, uncompressed_name

__all__ = ["PassthroughFields", "TextWriter", "Values", "Writer", "format_name", "open_writer", "output_names"]

# Columns of the input that are copied to the output ("passed through"): name and type of each.
PassthroughFields = Sequence[tuple[str, pa.DataType]]
Values = NDArray[np.float64]


class Writer(ABC):
    """Writer of a table in one format, block by block: columns copied from the input first, then float64 results.

    NaN in the results means a missing value. `format` may run in several threads; `put` takes the blocks in order.
    """

    @abstractmethod
    def __init__(
        self,
        sink: Sink,
        passthrough: PassthroughFields,
        names: Sequence[str],
        *,
        header: bool = True,
        float_format: str | None = None,
    ) -> None: ...

    @abstractmethod
    def format(self, passthrough: Sequence[pa.Array], values: Values) -> Any:
        """Return a block of rows in the form that `put` takes.

        `passthrough` are the columns copied from the input, `values` the results, (rows, number of results). Threads
        call `format` at the same time, so an implementation must not change the writer.
        """

    @abstractmethod
    def put(self, formatted: Any) -> None:
        """Append a block that `format` returned; blocks must come in the order of their rows."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left of the table; the sink stays open."""

    def write(self, passthrough: Sequence[pa.Array], values: Values) -> None:
        """Format and append a block of rows."""
        self.put(self.format(passthrough, values))


class TextWriter(Writer):
    """Base of the text formats: a header line, then the text of each block."""

    def __init__(
        self,
        sink: Sink,
        passthrough: PassthroughFields,
        names: Sequence[str],
        *,
        header: bool = True,
        float_format: str | None = None,
    ) -> None:
        self.names = output_names(passthrough, names)
        self.float_format = float_format
        self._sink = sink
        self._header = self.first_line() if header else b""

    def first_line(self) -> bytes:
        """Return the header line with its line end; empty for a format without a header."""
        return b""

    @abstractmethod
    def format_slice(self, passthrough: Sequence[pa.Array], values: Values) -> Data:
        """Return the text of a slice of a block, at most ROWS_PER_SLICE rows; raise `DataError` as `texts_of` does."""

    def texts_of(self, passthrough: Sequence[pa.Array], text_of: Callable[[pa.Array], pa.Array]) -> list[pa.Array]:
        """Return the passed-through columns as text, each made by `text_of`, which may raise `TextlessType`.

        Raise `DataError` in place of `TextlessType`: the type of the column has no text form.
        """
        texts = []
        for name, column in zip(self.names, passthrough, strict=False):  # the results are named after these
            try:
                texts.append(text_of(column))
            except TextlessType:
                raise DataError(
                    f"column {show(name)} has the type {column.type}, which pcatool cannot write to CSV, TSV or JSON "
                    "Lines",
                    CONVERT_COLUMN,
                ) from None
        return texts

    def format(self, passthrough: Sequence[pa.Array], values: Values) -> Data:
        """Return the text of a block of rows, made slice by slice."""
        rows = row_slices(len(values))
        return b"".join(self.format_slice([column[part] for column in passthrough], values[part]) for part in rows)

    def put(self, formatted: Data) -> None:
        """Send the text of a block to the sink at once; the header goes before the first block."""
        if self._header:
            formatted, self._header = self._header + formatted, b""
        if formatted:
            self._sink.write(formatted)

    def close(self) -> None:
        self.put(b"")


# Endings of formats that pcatool does not write; refused, so that no file has a wrong ending.
UNWRITABLE_SUFFIXES = (
    ".json",
    ".xlsx",
    ".xls",
    ".ods",
    ".npy",
    ".npz",
    ".feather",
    ".arrow",
    ".orc",
    ".avro",
    ".db",
    ".sqlite",
)


def output_names(passthrough: PassthroughFields, names: Sequence[str]) -> list[str]:
    """Return the names of all output columns in order; raise `UsageError` for a name that occurs twice."""
    all_names = [*(name for name, _ in passthrough), *names]
    duplicate = next((name for name, count in Counter(all_names).items() if count > 1), None)
    if duplicate is not None:
        raise UsageError(
            f"two output columns have the name {show(duplicate)}",
            f"give --keep with other columns only, or rename {show(duplicate)} in the input if the model does not use "
            "this column",
        )
    return all_names


def format_name(options: OutputOptions) -> str:
    """Return the output format: from --output-format, else from the ending of the output name, else CSV.

    Raise `UsageError` for the ending of a format that has no writer.
    """
    output = options.output or ""
    name = uncompressed_name(plain_name(output) if "://" in output else output)
    by_name = WRITERS.by_suffix(name)
    read_only = READERS.by_suffix(name) is not None  # what is written as CSV could not be read again
    other = by_name is None and (read_only or name.lower().endswith(UNWRITABLE_SUFFIXES))
    if options.output_format is None and other:
        raise UsageError(
            f"cannot write {show(shown(name))}: there is no writer for {show(Path(name).suffix)}",
            f"end the name in one of .{', .'.join(WRITERS)}, or choose a format with --output-format",
        )
    return options.output_format or by_name or "csv"


def open_writer(options: OutputOptions, sink: Sink, passthrough: PassthroughFields, names: Sequence[str]) -> Writer:
    """Return a writer into `sink` for the output format; raise `UsageError` for options that the format cannot follow.

    `passthrough` has name and type of each passed-through column; `names` are those of the results.
    """
    kind: Any = WRITERS.load(format_name(options))
    writer: Writer = kind(sink, passthrough, names, header=options.header, float_format=options.float_format)
    return writer
