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
    "DEFAULT_DIALECT",
    "NULL",
    "as_text",
    "boolean_array",
    "codes_and_texts",
    "column_of",
    "fill_from_text",
    "has_value",
    "is_null",
    "list_lengths",
    "may_exceed_double",
    "needs_sample",
    "numbers_of",
    "plain_column",
    "rows_with_value",
    "text_array",
    "texts_at",
    "valid_rows",
]

# Arrow's fixed-width number types, by type id, with the numpy types of the same memory layout.
NUMERIC = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
NUMPY_TYPES = {getattr(pa, name)().id: np.dtype(name) for name in NUMERIC}

STRING = pa.string()

# Numbers stored as text are read in the default CSV dialect.
DEFAULT_DIALECT = Dialect()
# Cells of a text column that are checked for being numbers.
CELLS_CHECKED = 100

# The NaN that stands for a null: R's NA, whose payload is 1954 (0x7A2). The bits survive copying, so that a null can be
# distinguished from a NaN that the data held.
NULL_BITS = 0x7FF8_0000_0000_07A2
NULL = np.uint64(NULL_BITS).view(np.float64)


def numpy_type(kind: pa.DataType) -> np.dtype[np.generic] | None:
    """Return the numpy type with the memory layout of an Arrow integer or float type; None for other types."""
    return NUMPY_TYPES.get(kind.id)


def is_number(kind: pa.DataType) -> bool:
    """Whether the type is an integer, a float, a decimal, or a dictionary of one of these."""
    if pat.is_dictionary(kind):
        return is_number(kind.value_type)
    return numpy_type(kind) is not None or pat.is_decimal(kind)


def may_exceed_double(kind: pa.DataType) -> bool:
    """Whether the type is an integer, a decimal, text or a dictionary of text: values that a double may not hold."""
    return bool(pat.is_integer(kind) or pat.is_decimal(kind) or is_text(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether the type is text, or a dictionary of text."""
    if pat.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pat.is_string(kind) or pat.is_large_string(kind) or pat.is_string_view(kind))


def as_text(array: pa.Array, kind: pa.DataType = STRING) -> pa.Array:
    """Return the array cast to a string type; casts string views too, which Arrow does only from version 18 on."""
    try:
        return array.cast(kind)
    except pa.ArrowNotImplementedError:
        return pa.array(array.to_pylist(), kind)


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column in a type that this module and Arrow can convert; most columns are returned as they are.

    A dictionary of string views (categories of Polars) becomes one of large strings, since Arrow cannot cast string
    views. Run-end-encoded columns and dictionaries of booleans are decoded.
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
    """Whether the type is a list of numbers; a list of nulls counts too."""
    lists = pat.is_list(kind) or pat.is_large_list(kind) or pat.is_fixed_size_list(kind)
    return lists and (numpy_type(kind.value_type) is not None or pat.is_null(kind.value_type))


def needs_sample(kind: pa.DataType) -> bool:
    """Whether `column_of` needs some values of a column of this type, besides the type."""
    return not (is_number(kind) or pat.is_null(kind))


def column_of(name: str, kind: pa.DataType, sample: pa.Array | None) -> Column:
    """Return the description of a column of this name and type.

    `sample` holds some rows of the column, from which the length of vectors and the example value are taken; None if no
    rows are known.
    """
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
        return Column(name, "boolean", example, boolean_type=True)
    arrow_type = f"dictionary of {kind.value_type}" if pat.is_dictionary(kind) else str(kind)
    numbers_in_text = _numbers_in_text(sample) if is_text(kind) else "none"
    return Column(name, "text", example, numbers_in_text=numbers_in_text, arrow_type=arrow_type)


def _numbers_in_text(sample: pa.Array | None) -> str:
    """Return whether "all", "some" or "none" of the first cells of a text column are numbers.

    Missing cells are ignored; without any other cell, or with None as the sample, the result is "none".
    """
    cells = () if sample is None else as_text(sample.slice(0, CELLS_CHECKED)).to_pylist()
    filled = (cell for cell in cells if not (cell is None or DEFAULT_DIALECT.is_missing(cell)))
    numbers = [DEFAULT_DIALECT.number(cell) is not None for cell in filled]
    return "none" if not any(numbers) else "all" if all(numbers) else "some"


def has_value(array: pa.Array) -> bool:
    """Whether some slot of the array holds neither a null nor an empty list."""
    filled = rows_with_value(array)
    return len(array) > 0 and (filled is None or bool(filled.any()))


def rows_with_value(array: pa.Array) -> NDArray[np.bool_] | None:
    """Return the mask (n,) of slots that hold neither a null nor an empty list; None if all slots have a value."""
    valid = valid_rows(array)
    if not (pat.is_list(array.type) or pat.is_large_list(array.type)):
        return valid
    filled = list_lengths(array) > 0
    filled = filled if valid is None else filled & valid
    return None if filled.all() else filled


def list_lengths(array: pa.Array) -> NDArray[np.signedinteger[Any]]:
    """Return the length of each list of an array of lists (n,); the length of a null may be any number."""
    offset_type = np.dtype(np.int64 if pat.is_large_list(array.type) else np.int32)
    count = len(array) + 1 if len(array) else 0
    return np.diff(np.frombuffer(array.buffers()[1], offset_type, count, array.offset * offset_type.itemsize))


def _first(sample: pa.Array | None) -> pa.Scalar | None:
    """Return the first value that is neither a null nor an empty list; None without a sample or such a value."""
    if sample is None or len(sample) == 0:
        return None
    filled = rows_with_value(sample)
    if filled is None:
        return sample[0]
    return sample[int(np.argmax(filled))] if filled.any() else None


def _as_text(value: pa.Scalar) -> str:
    """Return the value as text for a message; the name of its type if the value cannot be converted."""
    try:
        return str(value.cast(pa.string()).as_py())
    except (pa.ArrowException, ValueError):
        pass
    try:
        return str(value.as_py())
    except (pa.ArrowException, ValueError):
        return str(value.type)


def texts_at(array: pa.Array, rows: NDArray[np.intp]) -> list[str]:
    """Return the values at these row numbers of the array, as texts."""
    indices = pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows.astype(np.int64))])
    return [str(text) for text in array.take(indices).cast(pa.string()).to_pylist()]


def booleans_of(array: pa.Array) -> NDArray[np.bool_]:
    """Return the values of a boolean array (n,); slots of nulls hold arbitrary values."""
    return _bits(array.buffers()[1], array)


def boolean_array(values: NDArray[np.bool_]) -> pa.Array:
    """Return an Arrow boolean array of these values."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))])


def valid_rows(array: pa.Array) -> NDArray[np.bool_] | None:
    """Return the mask (n,) of slots that are not null, or None if no slot is null."""
    if array.null_count == 0:
        return None
    bitmap = array.buffers()[0]
    return np.zeros(len(array), dtype=bool) if bitmap is None else _bits(bitmap, array)


def _bits(buffer: pa.Buffer, array: pa.Array) -> NDArray[np.bool_]:
    """Return the bits of a buffer of the array as a mask (n,), one bit for each slot."""
    every = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little")
    return every[array.offset : array.offset + len(array)].view(bool)


def text_array(cells: Sequence[str]) -> pa.Array:
    """Return an Arrow string array of these texts."""
    data = [cell.encode() for cell in cells]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(cells), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(data))])


def numbers_of(array: pa.Array) -> NDArray[np.generic]:
    """Return a column of numbers or booleans as a numpy array (n,).

    Without nulls, integers and floats are a view of Arrow's memory in their own type, booleans are numpy booleans, and
    decimals are float64. With nulls the result is float64, with `NULL` for each null. Dictionaries are decoded first.
    """
    fixed = numpy_type(array.type)
    if fixed is not None and array.null_count == 0 and len(array):  # first: tables may have many columns
        return _fixed(array, fixed)
    if pat.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pat.is_null(array.type) or len(array) == 0:
        return np.full(len(array), NULL)
    valid = valid_rows(array)
    return _slots(array) if valid is None else np.where(valid, _slots(array).astype(np.float64), NULL)


def is_null(X: Array) -> NDArray[np.bool_]:
    """Return the mask of the cells of X that hold `NULL`, the NaN that stands for a null."""
    return np.asarray(X.view(np.uint64) == NULL_BITS)


def _slots(array: pa.Array) -> NDArray[np.generic]:
    """Return the numbers or booleans of an array (n,); slots of nulls hold arbitrary values."""
    kind = array.type
    if pat.is_boolean(kind):
        return booleans_of(array)
    if pat.is_decimal(kind):
        return _decimals(array)
    fixed = numpy_type(kind)
    assert fixed is not None
    return _fixed(array, fixed)


def _fixed(array: pa.Array, fixed: np.dtype[np.generic]) -> NDArray[np.generic]:
    return np.frombuffer(array.buffers()[1], fixed, len(array), array.offset * fixed.itemsize)


def _decimals(array: pa.Array) -> NDArray[np.generic]:
    """Return decimals as the nearest doubles (n,); Arrow's own conversion may be off by the last bit."""
    kind = array.type
    if kind.byte_width == 16 and kind.precision <= 15 and 0 <= kind.scale <= 22:
        # At most 15 digits and 10^0 to 10^22 are exact doubles, so that the quotient is rounded only once.
        digits = np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), array.offset * 16)[::2]
        return np.asarray(digits / 10.0**kind.scale)
    return _slots(array.cast(pa.string()).cast(pa.float64()))


def codes_and_texts(column: pa.Array) -> tuple[NDArray[np.int64], list[str]]:
    """Return the index of each row's value among the distinct values (n,), and the distinct values as texts.

    The index of a null is -1. Distinct values come in order of first appearance.
    """
    if pat.is_dictionary(column.type):
        column = column.dictionary_decode()
    encoded = column.dictionary_encode()
    words = [str(text) for text in encoded.dictionary.cast(pa.string()).to_pylist()]
    return np.nan_to_num(numbers_of(encoded.indices).astype(np.float64), nan=-1.0).astype(np.int64), words


def fill_from_text(out: Array, cells: pa.Array, dialect: Dialect, *, boolean: bool) -> int | None:
    """Read text cells as numbers into `out` (n,), with NaN for missing cells, and return how many are missing.

    Returns None, and leaves `out` unchanged, if a cell is neither missing nor a finite number in the dialect. With
    `boolean`, the cells must be true or false instead, in any case; these are read as 1 and 0.
    """
    import pyarrow.compute as pc

    if dialect.has_plain_numbers and not boolean:  # most columns are clean and need only the cast
        values = _cast(cells)
        if values is not None and np.isfinite(values).all():
            out[:] = values
            return 0
    cells = pc.utf8_trim_whitespace(cells)
    missing = _is_one_of(pc.ascii_lower(cells), dialect.nulls)
    count = int(missing.sum())
    if count:
        cells = cells.filter(boolean_array(~missing))
    values = _booleans(pc.ascii_lower(cells)) if boolean else _numbers(cells, dialect)
    if values is None or not np.isfinite(values).all():
        return None
    if count:
        out[:] = np.nan
        out[~missing] = values
    else:
        out[:] = values
    return count


def _is_one_of(cells: pa.Array, words: frozenset[str]) -> NDArray[np.bool_]:
    """Return the mask (n,) of cells that equal one of the words."""
    import pyarrow.compute as pc

    return booleans_of(pc.is_in(cells, value_set=text_array(sorted(words))))


def _booleans(cells: pa.Array) -> NDArray[np.generic] | None:
    """Read lowercase cells as booleans (n,); None if a cell is neither true nor false."""
    true = _is_one_of(cells, frozenset({"true"}))
    return true if (true | _is_one_of(cells, frozenset({"false"}))).all() else None


def _numbers(cells: pa.Array, dialect: Dialect) -> NDArray[np.generic] | None:
    """Read cells as numbers (n,) in the dialect; None if a cell is not a number."""
    import pyarrow.compute as pc

    if dialect.strip:
        cells = pc.utf8_trim(cells, characters=dialect.strip + PADDING)
        cells = pc.replace_substring_regex(cells, pattern=dialect.marks_after_sign, replacement=r"\1")
    if dialect.has_marks or dialect.decimal != ".":  # without these, the cast does the same check
        if not booleans_of(pc.match_substring_regex(cells, rf"\A(?i:{dialect.number_pattern})\z")).all():
            return None
        if dialect.thousands_mark:
            cells = pc.replace_substring_regex(cells, pattern=dialect.thousands_mark, replacement="")
        cells = pc.replace_substring(cells, pattern=dialect.decimal, replacement=".")
    return _cast(cells)


def _cast(cells: pa.Array) -> NDArray[np.generic] | None:
    """Read cells as doubles (n,), written with a point and no other marks; None if a cell is not a number."""
    try:
        return numbers_of(cells.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
