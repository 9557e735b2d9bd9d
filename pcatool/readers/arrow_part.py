"""Rows that lie in memory as Arrow columns, whatever they were read from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from pcatool.model import Array
from pcatool.readers.arrow import is_exact, texts_at
from pcatool.readers.base import Batch, Column, Feature, all_finite
from pcatool.readers.dialect import Dialect
from pcatool.readers.rounding import Rounded, first_rounded, large
from pcatool.readers.spellings import in_numbers
from pcatool.readers.vectors import VectorLength, features_to_block

__all__ = ["ArrowPart"]


class ArrowPart(NamedTuple):
    """Some rows as Arrow columns."""

    name: str
    rows: int
    arrays: dict[int, pa.Array]
    features: tuple[Feature, ...]
    kept: tuple[int, ...]
    columns: tuple[Column, ...]
    first_row: int

    def batch(self) -> Batch:
        try:
            X = features_to_block(self.arrays, self.rows, self.features, self.columns)
        except VectorLength as error:
            raise error.at(self.place(error.row)) from None
        kept = [self.arrays[column] for column in self.kept]
        return Batch(X, kept, self.place, all_finite(X), partial(self._spellings, X), partial(self._rounded, X))

    def _spellings(self, X: Array) -> Mapping[str, int]:
        return in_numbers(X, (self.columns[f.column].null for f in self.features))

    def _rounded(self, X: Array) -> Rounded | None:
        features, rows = large(X)
        for j in dict.fromkeys(features.tolist()):
            array = self.arrays[self.features[j].column]
            if is_exact(array.type):
                at = rows[features == j]
                found = first_rounded(X, np.full(len(at), j), at, texts_at(array, at), Dialect().whole)
                if found is not None:
                    return found
        return None

    def place(self, row: int) -> str:
        return f"{self.name}, row {self.first_row + row + 1}"
