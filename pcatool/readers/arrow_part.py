"""Rows that lie in memory as Arrow columns, whatever they were read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from pcatool.arrays import Array
from pcatool.readers.arrow_columns import is_exact, texts_at
from pcatool.readers.arrow_parts import BadValue, features_to_block
from pcatool.readers.base import Batch, Column, Feature, all_finite
from pcatool.readers.csv_reader.dialect import Dialect
from pcatool.readers.csv_reader.spellings import in_numbers
from pcatool.readers.rounding import Rounded, first_rounded, large

__all__ = ["ArrowPart", "Rows"]


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
        rows = Rows(self.name, self.features, self.columns, self.first_row)
        try:
            X = features_to_block(self.arrays, self.rows, self.features, self.columns)
        except BadValue as error:
            raise error.at(rows.place(error.row)) from None
        return rows.batch(X, self.arrays, self.kept)


class Rows(NamedTuple):
    """Some rows of a table: which they are, and what is taken from them."""

    name: str
    features: tuple[Feature, ...]
    columns: tuple[Column, ...]
    first_row: int

    def batch(self, X: Array, arrays: Mapping[int, pa.Array], kept: Sequence[int]) -> Batch:
        """With X (n, d) made of the columns, only those go on that more will be asked of.

        The others are given back by the thread that took the memory, which is cheaper.
        """
        exact = {column: array for column, array in arrays.items() if is_exact(array.type)}
        passed = [arrays[column] for column in kept]
        return Batch(
            X, passed, self.place, all_finite(X), partial(self._spellings, X), partial(self._rounded, X, exact)
        )

    def _spellings(self, X: Array) -> Mapping[str, int]:
        return in_numbers(X, (self.columns[f.column].null for f in self.features))

    def _rounded(self, X: Array, exact: Mapping[int, pa.Array]) -> Rounded | None:
        features, rows = large(X)
        for j in dict.fromkeys(features.tolist()):
            array = exact.get(self.features[j].column)
            if array is not None:
                at = rows[features == j]
                found = first_rounded(X, np.full(len(at), j), at, texts_at(array, at), Dialect().whole)
                if found is not None:
                    return found
        return None

    def place(self, row: int) -> str:
        return f"{self.name}, row {self.first_row + row + 1}"
