"""Arrow columns to float64 without copies where possible, and without the conversions that import pandas on the way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from pcatool.blocks import empty_block
from pcatool.errors import DataError, show
from pcatool.model import Array
from pcatool.readers.base import Column, Feature

__all__ = ["column_of", "features_to_block", "fill_numbers", "is_number"]

# Arrow's fixed-width numbers under their numpy names.
FIXED = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "halffloat", "float", "double")
NUMPY_NAMES = {"halffloat": "float16", "float": "float32", "double": "float64"}


def numpy_type(kind: pa.DataType) -> np.dtype[np.generic] | None:
    """The numpy type with the same bytes, if there is one."""
    name = str(kind)
    return np.dtype(NUMPY_NAMES.get(name, name)) if name in FIXED else None


def is_number(kind: pa.DataType) -> bool:
    """Integers, floats, decimals, and dictionaries of them; a column of nothing but nulls is a number with holes."""
    if pat.is_dictionary(kind):
        return is_number(kind.value_type)
    return numpy_type(kind) is not None or pat.is_decimal(kind) or pat.is_null(kind)


def is_vector(kind: pa.DataType) -> bool:
    lists = pat.is_list(kind) or pat.is_large_list(kind) or pat.is_fixed_size_list(kind)
    return lists and numpy_type(kind.value_type) is not None


def column_of(name: str, kind: pa.DataType, sample: pa.Array | None) -> Column:
    """The column of this type; a sample of it tells the width of a vector and the first value of a text."""
    if is_number(kind):
        return Column(name)
    if pat.is_boolean(kind):
        return Column(name, "boolean", _example(sample))
    if is_vector(kind):
        width = kind.list_size if pat.is_fixed_size_list(kind) else _first_length(sample)
        return Column(name, "vector", width=width)
    return Column(name, "text", _example(sample))


def _first_length(sample: pa.Array | None) -> int:
    for i in range(0 if sample is None else len(sample)):
        if sample is not None and sample[i].is_valid:
            return len(sample[i])
    return 0


def _example(sample: pa.Array | None) -> str:
    for i in range(0 if sample is None else len(sample)):
        if sample is not None and sample[i].is_valid:
            return str(sample[i].as_py())
    return ""


def valid_rows(array: pa.Array) -> NDArray[np.bool_] | None:
    """Which slots hold a value; None when all do."""
    bitmap = array.buffers()[0]
    if array.null_count == 0 or bitmap is None:
        return None if array.null_count == 0 else np.zeros(len(array), dtype=bool)
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(bool)


def fill_numbers(out: Array, array: pa.Array) -> None:
    """A column of numbers or booleans into `out` (n,), NaN where there is none."""
    kind = array.type
    if pat.is_dictionary(kind):
        return fill_numbers(out, array.dictionary_decode())
    if pat.is_null(kind):
        out[:] = np.nan
        return None
    if pat.is_decimal(kind):
        return fill_numbers(out, array.cast(pa.float64()))
    if pat.is_boolean(kind):
        bits = np.unpackbits(np.frombuffer(array.buffers()[1], np.uint8), bitorder="little")
        out[:] = bits[array.offset : array.offset + len(array)]
    else:
        fixed = numpy_type(kind)
        assert fixed is not None
        out[:] = np.frombuffer(array.buffers()[1], fixed, len(array), array.offset * fixed.itemsize)
    valid = valid_rows(array)
    if valid is not None:
        out[~valid] = np.nan
    return None


def fill_vectors(out: Array, array: pa.Array, elements: Sequence[int], width: int, name: str) -> None:
    """Some elements of a column of vectors into `out` (n, len(elements)); every vector must have the same width."""
    valid = valid_rows(array)
    present = array if valid is None else array.drop_null()
    if not pat.is_fixed_size_list(array.type):
        lengths = _lengths(present)
        if np.any(lengths != width):
            row = int(np.flatnonzero(lengths != width)[0])
            found = int(lengths[row])
            row = row if valid is None else int(np.flatnonzero(valid)[row])
            raise VectorLength(row, name, found, width)
    values = present.flatten()
    numbers = np.empty(len(values))
    fill_numbers(numbers, values)
    rows = numbers.reshape(len(present), width)
    if list(elements) != list(range(width)):
        rows = rows[:, list(elements)]
    if valid is None:
        out[:] = rows
    else:
        out[:] = np.nan
        out[valid] = rows


class VectorLength(Exception):
    """A vector of another length, in a row of the batch; the reader knows where that is."""

    def __init__(self, row: int, name: str, found: int, width: int) -> None:
        super().__init__(row, name, found, width)
        self.row = row
        self.text = f"column {show(name)}: a vector of {found} numbers, the first has {width}"

    def at(self, place: str) -> DataError:
        return DataError(f"{place}, {self.text}", "vectors of one column must have the same length")


def _lengths(array: pa.Array) -> NDArray[np.int64]:
    fixed = np.int64 if pat.is_large_list(array.type) else np.int32
    offsets = np.frombuffer(array.buffers()[1], fixed, len(array) + 1, array.offset * np.dtype(fixed).itemsize)
    return np.diff(offsets.astype(np.int64))


def features_to_block(
    arrays: dict[int, pa.Array], rows: int, features: Sequence[Feature], columns: Sequence[Column]
) -> Array:
    """X (rows, d) from the arrays of the columns that the features come from."""
    X = empty_block(rows, len(features))
    j = 0
    while j < len(features):
        feature = features[j]
        array = arrays[feature.column]
        if feature.element is None:
            fill_numbers(X[:, j], array)
            j += 1
            continue
        run = j
        while run < len(features) and features[run].column == feature.column and features[run].element is not None:
            run += 1
        elements = [f.element for f in features[j:run] if f.element is not None]
        column = columns[feature.column]
        fill_vectors(X[:, j:run], array, elements, column.width, column.name)
        j = run
    return X
