"""Columns of names as numbers: which of the distinct words each row holds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from pcatool.readers.arrow_columns import numbers_of

__all__ = ["words_of"]


def words_of(column: pa.Array) -> tuple[NDArray[np.int64], list[str]]:
    """For each row which of the distinct words it holds, -1 for a null, and the words."""
    if pat.is_dictionary(column.type):
        column = column.dictionary_decode()
    encoded = column.dictionary_encode()
    words = [str(text) for text in encoded.dictionary.cast(pa.string()).to_pylist()]
    return np.nan_to_num(numbers_of(encoded.indices).astype(np.float64), nan=-1.0).astype(np.int64), words
