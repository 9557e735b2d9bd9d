"""Labels to numbers: equal labels get the same one, in the order in which they first appear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from pcatool.blocks import empty_block
from pcatool.model import Array
from pcatool.options import NULLS
from pcatool.readers.arrow import numbers_of
from pcatool.readers.base import Batch, all_finite

__all__ = ["Classes"]


class Classes:
    """Counts up the classes of a table as its rows come, in order."""

    def __init__(self, name: str, nulls: Sequence[str] = ()) -> None:
        self.name = name
        self._missing = {null.lower() for null in (*NULLS, *nulls)}
        self._codes: dict[tuple[str, ...], int] = {}

    def levels(self) -> list[str]:
        """The names of the classes so far."""
        return [", ".join(key) for key in self._codes]

    def added(self, batch: Batch) -> Batch:
        """The rows with the number of their class as one more column, NaN where a label is missing."""
        X = empty_block(len(batch.X), batch.X.shape[1] + 1)
        X[:, :-1] = batch.X
        X[:, -1] = self._numbers(batch.kept, len(X))
        return batch._replace(X=X, kept=(), finite=batch.finite and all_finite(X))

    def _numbers(self, labels: Sequence[pa.Array], rows: int) -> Array:
        """Each combination of labels is a class."""
        codes = np.zeros(rows)
        words: list[list[str]] = []
        for column in labels:
            found, texts = self._distinct(column)
            codes = codes * len(texts) + found if texts else np.full(rows, np.nan)
            words.append(texts)
        whole = ~np.isnan(codes)
        distinct, first, which = np.unique(codes[whole], return_index=True, return_inverse=True)
        numbers = np.empty(len(distinct))
        for at in np.argsort(first):  # as they first appear
            numbers[at] = self._codes.setdefault(_key(int(distinct[at]), words), len(self._codes))
        codes[whole] = numbers[which]
        return codes

    def _distinct(self, column: pa.Array) -> tuple[NDArray[np.float64], list[str]]:
        """For each row which of the distinct texts it holds, NaN for a missing one."""
        if pat.is_dictionary(column.type):
            column = column.dictionary_decode()
        encoded = column.dictionary_encode()
        texts = [str(text) for text in encoded.dictionary.cast(pa.string()).to_pylist()]
        found = numbers_of(encoded.indices).astype(np.float64)
        holes = [i for i, text in enumerate(texts) if text.strip().lower() in self._missing]
        found[np.isin(found, holes)] = np.nan
        return found, texts


def _key(combined: int, words: Sequence[list[str]]) -> tuple[str, ...]:
    key: list[str] = []
    for texts in reversed(words):
        combined, at = divmod(combined, len(texts))
        key.append(texts[at])
    return tuple(reversed(key))
