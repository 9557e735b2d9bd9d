"""Write Apache Parquet, in row groups whose size depends only on the column types."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pcatool.errors import UsageError
from pcatool.wording import show
from pcatool.writers.base import PassthroughFields, Values, Writer, output_names
from pcatool.writers.cells import CONVERT_COLUMN, floats
from pcatool.writers.sink import ByteCollector, Sink

__all__ = ["ParquetWriter", "group_rows"]

# Bytes of a row group, which is held in memory, and bounds on its rows: in a group of few rows a reader spends more on
# headers than on values.
GROUP_BYTES = 16 << 20
LEAST_ROWS = 512
MOST_ROWS = 1 << 20

# Assumed size where the type does not give one: bytes of a short text, elements of a list (a vector).
TEXT_BYTES = 64
LIST_LENGTH = 256


class ParquetWriter(Writer):
    """Writer of Parquet: passed-through columns with their types, results as float64 with null for missing.

    Rows are collected into full row groups, so the bytes of the file do not depend on the size of the blocks. Arrow
    writes neither a time nor a host name.
    """

    def __init__(
        self,
        sink: Sink,
        passthrough: PassthroughFields,
        names: Sequence[str],
        *,
        header: bool = True,
        float_format: str | None = None,
    ) -> None:
        if not header:
            raise UsageError(
                "a Parquet file always contains the column names",
                "leave out --no-output-header, or give --output-format csv",
            )
        if float_format is not None:
            raise UsageError(
                "--float-format does not go with Parquet: a Parquet file stores numbers in binary form, not as text",
                "leave out --float-format, or give --output-format csv",
            )
        output_names(passthrough, names)
        self._schema = pa.schema([*passthrough, *((name, pa.float64()) for name in names)])
        self._sink = sink
        self._buffer = ByteCollector()
        self._writer = open_parquet(self._buffer, self._schema, [name for name, _ in passthrough])
        self._rows = group_rows(self._schema)
        self._filled = 0
        self._passthrough: list[Sequence[pa.Array]] = []
        self._values = np.empty((len(names), self._rows))

    def format(self, passthrough: Sequence[pa.Array], values: Values) -> tuple[Sequence[pa.Array], Values]:
        return passthrough, values

    def put(self, formatted: tuple[Sequence[pa.Array], Values]) -> None:
        passthrough, values = formatted
        start = 0
        while start < len(values):
            stop = min(start + self._rows - self._filled, len(values))
            self._add([column[start:stop] for column in passthrough], values[start:stop])
            start = stop

    def _add(self, passthrough: Sequence[pa.Array], values: Values) -> None:
        """Add rows to the current row group, which must have room for all of them; write the group if it is then full.

        `values` are copied, because the caller may reuse their memory.
        """
        self._values[:, self._filled : self._filled + len(values)] = values.T
        self._passthrough.append(passthrough)
        self._filled += len(values)
        if self._filled == self._rows:
            self._write_group()

    def _write_group(self) -> None:
        columns = [pa.concat_arrays(parts) for parts in zip(*self._passthrough, strict=True)]
        columns += [floats(column) for column in self._values[:, : self._filled]]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self._writer.write_batch(batch, row_group_size=self._rows)
        self._passthrough, self._filled = [], 0
        self._sink.write(self._buffer.take())

    def close(self) -> None:
        if self._filled:
            self._write_group()
        self._writer.close()
        self._sink.write(self._buffer.take())


def open_parquet(buffer: ByteCollector, schema: pa.Schema, passthrough: Sequence[str]) -> pq.ParquetWriter:
    """Return Arrow's Parquet writer into `buffer`; raise `UsageError` for a column type that Parquet cannot store.

    `passthrough` names the passed-through columns, which are stored with dictionaries.
    """
    # Results hardly ever repeat a value, so only passed-through columns get a dictionary.
    try:
        return pq.ParquetWriter(buffer, schema, use_dictionary=list(passthrough) or False)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        bad = next(field for field in schema if not storable(field))
        raise UsageError(
            f"Parquet cannot store column {show(bad.name)} of type {bad.type}",
            CONVERT_COLUMN,
        ) from None


def storable(field: pa.Field) -> bool:
    """Return whether Parquet can store the type of a column."""
    try:
        pq.ParquetWriter(ByteCollector(), pa.schema([field])).close()
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


def group_rows(schema: pa.Schema) -> int:
    """Return the number of rows of a row group: as many as fit into GROUP_BYTES, from LEAST_ROWS to MOST_ROWS.

    Only the column types decide.
    """
    row = max(1, sum(value_bytes(kind) for kind in schema.types))
    return max(LEAST_ROWS, min(MOST_ROWS, GROUP_BYTES // row))


def value_bytes(kind: pa.DataType) -> int:
    """Return the size of one value of a type, in bytes.

    The size is assumed where the type does not give one: TEXT_BYTES, and LIST_LENGTH elements of a list.
    """
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * value_bytes(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return LIST_LENGTH * value_bytes(kind.value_type)
    if pa.types.is_struct(kind):
        return sum(value_bytes(field.type) for field in kind)
    try:
        return (int(kind.bit_width) + 7) // 8
    except ValueError:  # no fixed width
        return TEXT_BYTES
