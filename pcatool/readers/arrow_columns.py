"""Convert Arrow columns to float64, without copies where possible and without importing pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.readers.base import Column
from pcatool.readers.csv_reader.dialect import PADDING, Dialect

__all__ = [
    "AS_WRITTEN",
    "NULL",
    "as_text",
    "column_of",
    "fill_from_text",
    "filled_rows",
    "has_value",
    "is_exact",
    "is_null",
    "list_lengths",
    "needs_sample",
    "numbers_of",
    "plain_column",
    "text_array",
    "texts_at",
    "truths",
    "valid_rows",
    "words_of",
]

# Arrow's fixed-width numbers by the number of their type, with the numpy types of the same bytes.
FIXED = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
NUMPY_TYPES = {getattr(pa, name)().id: np.dtype(name) for name in FIXED}

STRING = pa.string()

# Numbers that are stored as text are written as in CSV that nothing more is said of; so many cells tell.
AS_WRITTEN = Dialect()
WRITTEN = 100

# In place of a null, a NaN of its own, the one that is NA to R: where it was copied to, it can still be told from a NaN
# that stood in the data.
NULL_BITS = 0x7FF8_0000_0000_07A2
NULL = np.uint64(NULL_BITS).view(np.float64)


def numpy_type(kind: pa.DataType) -> np.dtype[np.generic] | None:
    """The numpy type with the same bytes, if there is one."""
    return NUMPY_TYPES.get(kind.id)


def is_number(kind: pa.DataType) -> bool:
    """Integers, floats, decimals, and dictionaries of them."""
    if pat.is_dictionary(kind):
        return is_number(kind.value_type)
    return numpy_type(kind) is not None or pat.is_decimal(kind)


def is_exact(kind: pa.DataType) -> bool:
    """Numbers that are no doubles, and may have more digits than one."""
    return bool(pat.is_integer(kind) or pat.is_decimal(kind) or is_text(kind))


def is_text(kind: pa.DataType) -> bool:
    """Text, and dictionaries of it."""
    if pat.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pat.is_string(kind) or pat.is_large_string(kind) or pat.is_string_view(kind))


def as_text(array: pa.Array, kind: pa.DataType = STRING) -> pa.Array:
    """The array as one of strings; Arrow casts string views from version 18 on only."""
    try:
        return array.cast(kind)
    except pa.ArrowNotImplementedError:
        return pa.array(array.to_pylist(), kind)


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a type that Arrow's functions take, with the same values.

    Polars keeps categories as a dictionary of string views, which cannot be cast; run ends and dictionaries
    of booleans hold numbers in another layout.
    """
    kind = column.type
    if pat.is_run_end_encoded(kind):
        import pyarrow.compute as pc

        return plain_column(pc.run_end_decode(column))
    if pat.is_dictionary(kind) and pat.is_boolean(kind.value_type):
        return column.cast(pa.bool_())
    if pat.is_dictionary(kind) and pat.is_string_view(kind.value_type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, as_text(chunk.dictionary, pa.large_string()))
            for chunk in column.chunks
        ]
        return pa.chunked_array(chunks, pa.dictionary(kind.index_type, pa.large_string()))
    return column


def is_vector(kind: pa.DataType) -> bool:
    lists = pat.is_list(kind) or pat.is_large_list(kind) or pat.is_fixed_size_list(kind)
    return lists and (numpy_type(kind.value_type) is not None or pat.is_null(kind.value_type))


def needs_sample(kind: pa.DataType) -> bool:
    """Does the type alone not say all that there is to know of a column?"""
    return not (is_number(kind) or pat.is_null(kind))


def column_of(name: str, kind: pa.DataType, sample: pa.Array | None) -> Column:
    """The column of this type; some of its rows tell the width of a vector and the first value of a text."""
    if is_number(kind):
        return Column(name)
    if pat.is_null(kind):
        return Column(name, "empty")
    first = _first(sample)
    if is_vector(kind):
        fixed = kind.list_size if pat.is_fixed_size_list(kind) else 0
        return Column(name, "vector", width=fixed or (0 if first is None else len(first)))
    example = "" if first is None else _as_text(first)
    if pat.is_boolean(kind):
        return Column(name, "boolean", example, typed=True)
    stored = f"dictionary of {kind.value_type}" if pat.is_dictionary(kind) else str(kind)
    return Column(name, "text", example, written=_written(sample) if is_text(kind) else "none", stored=stored)


def _written(sample: pa.Array | None) -> str:
    """Which of the first cells of a text are numbers in digits: all, some or none."""
    cells = () if sample is None else as_text(sample.slice(0, WRITTEN)).to_pylist()
    numbers = [
        AS_WRITTEN.number(cell) is not None for cell in cells if not (cell is None or AS_WRITTEN.is_missing(cell))
    ]
    return "none" if not any(numbers) else "all" if all(numbers) else "some"


def has_value(array: pa.Array) -> bool:
    """Is there a value in it? An empty list is none."""
    filled = filled_rows(array)
    return len(array) > 0 and (filled is None or bool(filled.any()))


def filled_rows(array: pa.Array) -> NDArray[np.bool_] | None:
    """Which slots hold a value, an empty list being none; None when all do."""
    valid = valid_rows(array)
    if not (pat.is_list(array.type) or pat.is_large_list(array.type)):
        return valid
    filled = list_lengths(array) > 0
    filled = filled if valid is None else filled & valid
    return None if filled.all() else filled


def list_lengths(array: pa.Array) -> NDArray[np.signedinteger[Any]]:
    """How long each list is, also in slots that hold none."""
    offset_type = np.dtype(np.int64 if pat.is_large_list(array.type) else np.int32)
    count = len(array) + 1 if len(array) else 0
    return np.diff(np.frombuffer(array.buffers()[1], offset_type, count, array.offset * offset_type.itemsize))


def _first(sample: pa.Array | None) -> pa.Scalar | None:
    """The first value that is not missing."""
    if sample is None or len(sample) == 0:
        return None
    filled = filled_rows(sample)
    if filled is None:
        return sample[0]
    return sample[int(np.argmax(filled))] if filled.any() else None


def _as_text(value: pa.Scalar) -> str:
    try:
        return str(value.cast(pa.string()).as_py())
    except (pa.ArrowException, ValueError):
        pass
    try:
        return str(value.as_py())
    except (pa.ArrowException, ValueError):
        return str(value.type)


def texts_at(array: pa.Array, rows: NDArray[np.intp]) -> list[str]:
    """Some of its values as they would be written."""
    indices = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows.astype(np.int64))])
    return [str(text) for text in array.take(indices).cast(pa.string()).to_pylist()]


def bits(array: pa.Array) -> NDArray[np.bool_]:
    """The values of a boolean array."""
    return _bits(array.buffers()[1], array)


def truths(values: NDArray[np.bool_]) -> pa.Array:
    """A boolean array of these values."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))])


def valid_rows(array: pa.Array) -> NDArray[np.bool_] | None:
    """Which slots hold a value; None when all do."""
    if array.null_count == 0:
        return None
    bitmap = array.buffers()[0]
    return np.zeros(len(array), dtype=bool) if bitmap is None else _bits(bitmap, array)


def _bits(buffer: pa.Buffer, array: pa.Array) -> NDArray[np.bool_]:
    every = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little")
    return every[array.offset : array.offset + len(array)].view(bool)


def text_array(cells: Sequence[str]) -> pa.Array:
    data = [cell.encode() for cell in cells]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(cells), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(data))])


def numbers_of(array: pa.Array) -> NDArray[np.generic]:
    """A column of numbers or booleans (n,), as it lies in memory where nothing is missing, else with NaN for holes."""
    fixed = numpy_type(array.type)
    if fixed is not None and array.null_count == 0 and len(array):  # soonest: there may be very many of these
        return _fixed(array, fixed)
    if pat.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pat.is_null(array.type) or len(array) == 0:
        return np.full(len(array), NULL)
    valid = valid_rows(array)
    return _slots(array) if valid is None else np.where(valid, _slots(array).astype(np.float64), NULL)


def is_null(X: Array) -> NDArray[np.bool_]:
    """Which NaN were nulls."""
    return np.asarray(X.view(np.uint64) == NULL_BITS)


def _slots(array: pa.Array) -> NDArray[np.generic]:
    """The numbers, and something in the slots that hold none."""
    kind = array.type
    if pat.is_boolean(kind):
        return bits(array)
    if pat.is_decimal(kind):
        return _decimals(array)
    fixed = numpy_type(kind)
    assert fixed is not None
    return _fixed(array, fixed)


def _fixed(array: pa.Array, fixed: np.dtype[np.generic]) -> NDArray[np.generic]:
    return np.frombuffer(array.buffers()[1], fixed, len(array), array.offset * fixed.itemsize)


def _decimals(array: pa.Array) -> NDArray[np.generic]:
    """The nearest doubles; Arrow's own conversion may miss them by a bit."""
    kind = array.type
    if kind.byte_width == 16 and kind.precision <= 15 and 0 <= kind.scale <= 22:
        # Digits and power of ten are exact, so that their quotient is rounded once.
        digits = np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), array.offset * 16)[::2]
        return np.asarray(digits / 10.0**kind.scale)
    return _slots(array.cast(pa.string()).cast(pa.float64()))


def words_of(column: pa.Array) -> tuple[NDArray[np.int64], list[str]]:
    """For each row which of the distinct words it holds, -1 for a null, and the words."""
    if pat.is_dictionary(column.type):
        column = column.dictionary_decode()
    encoded = column.dictionary_encode()
    words = [str(text) for text in encoded.dictionary.cast(pa.string()).to_pylist()]
    return np.nan_to_num(numbers_of(encoded.indices).astype(np.float64), nan=-1.0).astype(np.int64), words


def fill_from_text(out: Array, cells: pa.Array, dialect: Dialect, *, boolean: bool) -> int | None:
    """The cells into `out` (n,), NaN where one is missing, and how many are; None when not all can be read here."""
    import pyarrow.compute as pc

    if dialect.as_in_c and not boolean:  # most columns are clean, and then this is all
        values = _cast(cells)
        if values is not None and np.isfinite(values).all():
            out[:] = values
            return 0
    cells = pc.utf8_trim_whitespace(cells)
    missing = _among(pc.ascii_lower(cells), dialect.nulls)
    holes = int(missing.sum())
    if holes:
        cells = cells.filter(truths(~missing))
    values = _booleans(pc.ascii_lower(cells)) if boolean else _numbers(cells, dialect)
    if values is None or not np.isfinite(values).all():
        return None
    if holes:
        out[:] = np.nan
        out[~missing] = values
    else:
        out[:] = values
    return holes


def _among(cells: pa.Array, words: frozenset[str]) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    return bits(pc.is_in(cells, value_set=text_array(sorted(words))))


def _booleans(cells: pa.Array) -> NDArray[np.generic] | None:
    true = _among(cells, frozenset({"true"}))
    return true if (true | _among(cells, frozenset({"false"}))).all() else None


def _numbers(cells: pa.Array, dialect: Dialect) -> NDArray[np.generic] | None:
    import pyarrow.compute as pc

    if dialect.strip:
        cells = pc.utf8_trim(cells, characters=dialect.strip + PADDING)
        cells = pc.replace_substring_regex(cells, pattern=dialect.after_sign, replacement=r"\1")
    if dialect.dressed or dialect.decimal != ".":  # else the cast checks as much
        if not bits(pc.match_substring_regex(cells, rf"\A(?i:{dialect.number_pattern})\z")).all():
            return None
        if dialect.marks:
            cells = pc.replace_substring_regex(cells, pattern=dialect.marks, replacement="")
        cells = pc.replace_substring(cells, pattern=dialect.decimal, replacement=".")
    return _cast(cells)


def _cast(cells: pa.Array) -> NDArray[np.generic] | None:
    """Numbers as they are written in C."""
    try:
        return numbers_of(cells.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
