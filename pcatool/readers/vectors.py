"""Columns of vectors: lists of numbers, all of one length, each element a feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from pcatool.blocks import empty_block
from pcatool.errors import DataError, show
from pcatool.model import Array
from pcatool.readers.arrow import NULL, numbers_of, valid_rows
from pcatool.readers.base import Column, Feature

__all__ = ["VectorLength", "by_column", "features_to_block", "fill"]


class VectorLength(Exception):
    """A vector of another length, in a row of the batch; the reader knows where that is."""

    def __init__(self, row: int, name: str, found: int, width: int) -> None:
        super().__init__(row, name, found, width)
        self.row = row
        self.text = f"column {show(name)}: a vector of {found} numbers, the first has {width}"

    def at(self, place: str) -> DataError:
        return DataError(f"{place}, {self.text}", "vectors of one column must have the same length")


def features_to_block(
    arrays: dict[int, pa.Array], rows: int, features: tuple[Feature, ...], columns: Sequence[Column]
) -> Array:
    """X (rows, d) from the arrays of the columns that the features come from."""
    X = empty_block(rows, len(features))
    for column, chosen in by_column(features).items():
        fill(X, chosen, features, arrays[column], columns[column])
    return X


@lru_cache(maxsize=4)
def by_column(features: tuple[Feature, ...]) -> Mapping[int, list[int]]:
    """Where the features stand that come from one column, for each of these; of many pieces of a table, found once."""
    found: dict[int, list[int]] = {}
    for j, feature in enumerate(features):
        found.setdefault(feature.column, []).append(j)
    return found


def fill(X: Array, chosen: list[int], features: Sequence[Feature], array: pa.Array, column: Column) -> None:
    """The chosen features of X (rows, d), which come from this column."""
    if features[chosen[0]].element is None:  # as are all of this column then
        numbers = numbers_of(array)
        for j in chosen:
            X[:, j] = numbers
    elif array.null_count == len(array):
        X[:, chosen] = NULL
    else:
        elements = [e for j in chosen if (e := features[j].element) is not None]
        X[:, _index(chosen)] = _rows_of(array, column)[:, _index(elements)]


def _index(numbers: list[int]) -> slice | list[int]:
    """The same index; as a slice, which copies nothing, when the numbers follow each other."""
    first, count = numbers[0], len(numbers)
    return slice(first, first + count) if numbers == list(range(first, first + count)) else numbers


def _rows_of(array: pa.Array, column: Column) -> NDArray[np.generic]:
    """All elements of each vector (n, width); NaN where there is no vector."""
    valid = valid_rows(array)
    present = array if valid is None else array.drop_null()
    _check_lengths(present, valid, column)
    values = numbers_of(present.flatten()).reshape(len(present), column.width)
    if valid is None:
        return values
    every = np.full((len(array), column.width), NULL)
    every[valid] = values
    return every


def _check_lengths(present: pa.Array, valid: NDArray[np.bool_] | None, column: Column) -> None:
    if pat.is_fixed_size_list(present.type):
        return
    offset_type = np.dtype(np.int64 if pat.is_large_list(present.type) else np.int32)
    count = len(present) + 1 if len(present) else 0
    offsets = np.frombuffer(present.buffers()[1], offset_type, count, present.offset * offset_type.itemsize)
    lengths = np.diff(offsets)
    wrong = np.flatnonzero(lengths != column.width)
    if len(wrong):
        at = int(wrong[0])
        row = at if valid is None else int(np.flatnonzero(valid)[at])
        raise VectorLength(row, column.name, int(lengths[at]), column.width)
