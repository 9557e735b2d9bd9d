"""Protocol of a writer, and which writer an output gets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.errors import UsageError, show
from pcatool.options import OutputOptions
from pcatool.registry import WRITERS
from pcatool.stores.uri import plain_name
from pcatool.writers.cells import slices
from pcatool.writers.sink import Data, Sink, uncompressed_name

__all__ = ["Kept", "TextWriter", "Values", "Writer", "format_name", "open_writer", "output_names"]

Kept = Sequence[tuple[str, pa.DataType]]
Values = NDArray[np.float64]


class Writer(ABC):
    """A table in one format, block by block: columns passed through first, then float64 results, NaN for missing."""

    @abstractmethod
    def __init__(
        self,
        sink: Sink,
        kept: Kept,
        names: Sequence[str],
        *,
        header: bool = True,
        float_format: str | None = None,
    ) -> None: ...

    @abstractmethod
    def format(self, kept: Sequence[pa.Array], values: Values) -> Any:
        """What becomes of rows: kept columns of length n_b, values (n_b, m). Threads call it, so it changes nothing."""

    @abstractmethod
    def put(self, formatted: Any) -> None:
        """Take formatted rows, in order."""

    @abstractmethod
    def close(self) -> None:
        """Finish the table; the sink stays open."""

    def write(self, kept: Sequence[pa.Array], values: Values) -> None:
        self.put(self.format(kept, values))


class TextWriter(Writer):
    """A format that is a text for each block, one after the other."""

    def __init__(
        self,
        sink: Sink,
        kept: Kept,
        names: Sequence[str],
        *,
        header: bool = True,
        float_format: str | None = None,
    ) -> None:
        self.names = output_names(kept, names)
        self.float_format = float_format
        self._sink = sink
        self._header = self.first_line() if header else b""

    def first_line(self) -> bytes:
        """What stands before the rows."""
        return b""

    @abstractmethod
    def format_slice(self, kept: Sequence[pa.Array], values: Values) -> Data:
        """A few thousand rows as text."""

    def format(self, kept: Sequence[pa.Array], values: Values) -> Data:
        rows = slices(len(values))
        return b"".join(self.format_slice([column[part] for column in kept], values[part]) for part in rows)

    def put(self, formatted: Data) -> None:
        """Send a block on at once; the first one takes the header along."""
        if self._header:
            formatted, self._header = self._header + formatted, b""
        if formatted:
            self._sink.write(formatted)

    def close(self) -> None:
        self.put(b"")


# Endings of formats that this program does not write: what stood there would not be what the name says.
OTHERS = (".json", ".xlsx", ".xls", ".ods", ".npy", ".npz", ".feather", ".arrow", ".orc", ".avro", ".db", ".sqlite")


def output_names(kept: Kept, names: Sequence[str]) -> list[str]:
    """All output columns in order; a name that stands for two of them is refused."""
    every = [*(name for name, _ in kept), *names]
    twice = next((name for name, count in Counter(every).items() if count > 1), None)
    if twice is not None:
        raise UsageError(
            f"two columns of the output would be called {show(twice)}",
            "leave it out of the columns passed through, or rename it in the input",
        )
    return every


def format_name(options: OutputOptions) -> str:
    """The format asked for, else the one the output's name tells, else CSV."""
    name = uncompressed_name(plain_name(options.output or ""))
    by_name = WRITERS.by_suffix(name)
    if options.output_format is None and by_name is None and name.lower().endswith(OTHERS):
        raise UsageError(
            f"no writer for {show(Path(name).suffix)}, as in {show(name)}",
            f"name it .{', .'.join(WRITERS)}, or insist with --output-format",
        )
    return options.output_format or by_name or "csv"


def open_writer(options: OutputOptions, sink: Sink, kept: Kept, names: Sequence[str]) -> Writer:
    kind: Any = WRITERS.load(format_name(options))
    writer: Writer = kind(sink, kept, names, header=options.header, float_format=options.float_format)
    return writer
