"""Columns of Python objects: numbers, and texts that say some, by the rules that cells of text tables follow."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from pcatool.errors import check_memory
from pcatool.readers.base import MEND
from pcatool.readers.csv_reader.dialect import Dialect

__all__ = ["BadObject", "Objects", "of_objects"]

# What pandas has in place of a value, beside None and NaN.
MISSING = ("NAType", "NaTType")

# Whole numbers that some type of 64 bits holds.
LARGEST, SMALLEST = 2**64 - 1, -(2**63)
TOO_LARGE = "is a whole number beyond 64 bits"


class BadObject(NamedTuple):
    """A cell among numbers that is none: which, what it says, why it cannot be used, and the way out."""

    row: int
    value: str
    why: str = "is not a number"
    remedy: str = MEND


class Objects(NamedTuple):
    """A column of Python objects."""

    array: pa.Array  # as it is passed through
    numbers: pa.Array | None = None  # where it holds numbers, and Arrow does not see that
    bad: BadObject | None = None  # the first cell of a column of numbers that is none


def of_objects(cells: Any, dialect: Dialect, *, texts_count: bool) -> Objects:
    """The column. One number makes it a column of numbers; with `texts_count` a text that says one does, too."""
    array = _by_arrow(cells)
    if array is not None and not (texts_count and _is_text(array.type)):
        return Objects(array)
    found = [_number(row, cell, dialect) for row, cell in enumerate(cells)]
    if array is None:
        array = pa.array([None if value is None else str(cell) for value, cell in zip(found, cells, strict=True)])
    if not any(map(partial(_is_number, texts_count=texts_count), cells, found)):
        return Objects(array)
    numbers = pa.array([None if isinstance(value, BadObject) else value for value in found], pa.float64())
    return Objects(array, numbers, next((value for value in found if isinstance(value, BadObject)), None))


def _is_number(cell: Any, value: float | BadObject | None, *, texts_count: bool) -> bool:
    """Does this cell make a column one of numbers? A boolean among texts does not."""
    if isinstance(value, BadObject):
        return value.why == TOO_LARGE
    return value is not None and not isinstance(cell, (bool, np.bool_)) and (texts_count or not isinstance(cell, str))


def _by_arrow(cells: Any) -> pa.Array | None:
    """As Arrow takes them: numbers, texts, lists; None where they are of several types, or too large."""
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        check_memory(error)
        return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pat.is_string(kind) or pat.is_large_string(kind))


def _number(row: int, cell: Any, dialect: Dialect) -> float | BadObject | None:
    """None where the cell is missing."""
    if isinstance(cell, np.ndarray) and cell.ndim == 0:
        cell = cell.item()
    if cell is None or type(cell).__name__ in MISSING:
        return None
    if isinstance(cell, str):
        if dialect.is_missing(cell):
            return None
        value = dialect.number(cell)
        return BadObject(row, cell) if value is None else value
    if isinstance(cell, (int, np.integer)) and not SMALLEST <= cell <= LARGEST:
        return BadObject(row, str(cell), TOO_LARGE, "give the column as floats, with astype(float)")
    if isinstance(cell, (Real, np.bool_)) or hasattr(cell, "as_tuple"):  # the latter of decimals
        value = float(cell)
        return None if value != value else value
    return BadObject(row, str(cell))
