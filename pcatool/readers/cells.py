"""Columns of cells to numbers as the dialect reads them, a column at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.readers.arrow_columns import bits, numbers_of, text_array, truths
from pcatool.readers.csv_reader.dialect import PADDING, Dialect

__all__ = ["fill_from_text"]


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
