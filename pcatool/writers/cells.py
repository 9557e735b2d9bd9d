"""Convert Arrow columns and float64 columns to columns of text.

A missing cell stays null; each format decides how to write a null. Strings and scalars are built from buffers: Arrow
would import pandas to make them from Python values, which takes longer than most runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = [
    "CONVERT_COLUMN",
    "TextlessType",
    "as_text",
    "decoded",
    "floats",
    "joined",
    "literal",
    "numbers_as_text",
    "row_slices",
    "string_bytes",
    "strings",
]

# Remedy for a column whose type a format cannot hold: most such types have a form in no other format either.
CONVERT_COLUMN = (
    "convert the column before the run, for example to text, or do not copy it: give --keep with other columns only"
)

# 64-bit offsets: a block of long text may pass the 2 GB that `pa.string()` can hold.
TEXT_TYPE = pa.large_string()

# Rows joined at a time: their strings stay in the processor's cache.
ROWS_PER_SLICE = 4096


class TextlessType(Exception):
    """The cells of a column have a type that has no text form."""


def strings(data: bytes, ends: NDArray[np.int64], validity: pa.Buffer | None = None) -> pa.Array:
    """Return a column of strings that lie end to end in `data`; string i stops before byte ends[i].

    `validity` is Arrow's bitmap of the cells that are not null; None if no cell is null.
    """
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    return pa.Array.from_buffers(TEXT_TYPE, len(ends), [validity, pa.py_buffer(offsets), pa.py_buffer(data)])


def literal(word: str) -> pa.Scalar:
    """Return a word as Arrow's string scalar."""
    data = word.encode()
    return strings(data, np.array([len(data)]))[0]


def string_bytes(column: pa.Array) -> memoryview:
    """Return the bytes of all strings of a column, end to end."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return memoryview(data)[ends[0] : ends[-1]] if data is not None else memoryview(b"")


def joined(pieces: Sequence[pa.Array | pa.Scalar], separator: str = "", missing: str = "") -> pa.Array:
    """Return one column of strings: row by row, the strings of all `pieces` with `separator` between them.

    A scalar in `pieces` is used in every row; `missing` replaces a null.
    """
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*pieces, literal(separator), null_handling="replace", null_replacement=missing)


def row_slices(n: int) -> Iterator[slice]:
    """Yield slices of up to ROWS_PER_SLICE rows that together cover n rows."""
    return (slice(start, min(start + ROWS_PER_SLICE, n)) for start in range(0, n, ROWS_PER_SLICE))


def floats(column: NDArray[np.float64]) -> pa.Array:
    """Return a float64 column as an Arrow array, NaN as null."""
    values = np.ascontiguousarray(column, dtype=np.float64)
    missing = np.isnan(values)
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    return pa.Array.from_buffers(pa.float64(), len(values), [validity, pa.py_buffer(values)])


def numbers_as_text(column: NDArray[np.float64], float_format: str | None) -> pa.Array:
    """Return a float64 column as text, NaN as null; `float_format` is a printf format such as "%.3f".

    With None, the text is the shortest one that reads back to the same bits.
    """
    if float_format is None:
        return floats(column).cast(TEXT_TYPE)
    lines = (float_format + "\n") * len(column) % tuple(column.tolist())
    data = lines.encode("ascii")
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    # The end of each line, less the line ends before it, which are removed.
    return strings(data.replace(b"\n", b""), ends - np.arange(len(ends)), floats(column).buffers()[0])


def decoded(column: pa.Array) -> pa.Array:
    """Return the values of a column of dictionary, run-end or extension type; any other column as it is.

    UUIDs become text, and half-precision floats single precision.
    """
    kind = column.type
    if getattr(kind, "extension_name", "") == "arrow.uuid":
        return uuid_text(column.storage)
    if isinstance(kind, pa.BaseExtensionType):
        return decoded(column.storage)
    if pa.types.is_dictionary(kind):
        return decoded(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        import pyarrow.compute as pc

        return decoded(pc.run_end_decode(column))
    # Arrow has few functions for half precision; single precision holds the same values.
    return column.cast(pa.float32()) if pa.types.is_float16(kind) else column


def as_text(column: pa.Array) -> pa.Array:
    """Return a column as text, in Arrow's format for its type, NaN as null.

    The column comes from `decoded` and is not nested. Raise `TextlessType` for a type without a text form.
    """
    kind = column.type
    if pa.types.is_floating(kind):
        return float_text(column)
    try:
        return column.cast(TEXT_TYPE)
    except pa.ArrowInvalid:
        if pa.types.is_timestamp(kind):
            return utc_text(column)
        if is_binary(kind):
            return binary_text(column)
        raise
    except pa.ArrowNotImplementedError:
        raise TextlessType from None


def is_binary(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary))


def float_text(column: pa.Array) -> pa.Array:
    """Return a column of floats as text, NaN as null."""
    import pyarrow.compute as pc

    return pc.if_else(pc.is_nan(column), pa.nulls(len(column), TEXT_TYPE), column.cast(TEXT_TYPE))


def utc_text(column: pa.Array) -> pa.Array:
    """Return timestamps with a time zone as text in UTC, with Z at the end, null as null.

    Used for time zones that the system does not know.
    """
    import pyarrow.compute as pc

    utc = column.cast(pa.int64()).cast(pa.timestamp(column.type.unit)).cast(TEXT_TYPE)
    return pc.binary_join_element_wise(utc, literal("Z"), literal(""))


def binary_text(column: pa.Array) -> pa.Array:
    r"""Return binary cells as UTF-8 text, with `\xff` for a byte that is not UTF-8."""
    # Such columns are rare, so a loop over the cells is fast enough.
    cells = [None if cell is None else cell.decode("utf-8", "backslashreplace").encode() for cell in column.to_pylist()]
    ends = np.cumsum([len(cell or b"") for cell in cells], dtype=np.int64)
    present = np.array([cell is not None for cell in cells])
    validity = pa.py_buffer(np.packbits(present, bitorder="little"))
    return strings(b"".join(cell or b"" for cell in cells), ends, validity)


def uuid_text(storage: pa.Array) -> pa.Array:
    """Return UUIDs, 16 bytes each, as text: the usual five groups of hexadecimal digits."""
    import pyarrow.compute as pc

    start = 16 * storage.offset
    digits = bytes(memoryview(storage.buffers()[1])[start : start + 16 * len(storage)]).hex().encode()
    groups = np.split(np.frombuffer(digits, "S1").reshape(-1, 32), [8, 12, 16, 20], axis=1)
    dash = np.full((len(storage), 1), b"-")
    spelled = np.hstack([piece for group in groups for piece in (group, dash)][:-1])
    texts = strings(spelled.tobytes(), 36 * np.arange(1, len(storage) + 1))
    return pc.if_else(storage.is_valid(), texts, pa.nulls(len(storage), TEXT_TYPE))
