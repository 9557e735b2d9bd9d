"""Give numbers to labels: equal labels get equal numbers, in order of first appearance."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.arrays import Array, empty_block
from pcatool.errors import DataError, show
from pcatool.options import NULLS
from pcatool.readers.arrow_columns import codes_and_texts
from pcatool.readers.base import Batch, all_finite

__all__ = ["Classes", "TextLabels", "texts_of"]

Key = tuple[str, ...]


class TextLabels(NamedTuple):
    """A column of labels, coded by its distinct texts."""

    codes: NDArray[np.int64]  # (n,) index into `distinct`; -1 where missing
    distinct: list[str]


def texts_of(column: pa.Array, nulls: Sequence[str] = ()) -> TextLabels:
    """Return a column coded by its distinct texts; spellings of a missing cell, `nulls` included, count as missing."""
    found, words = codes_and_texts(column)
    missing = {null.lower() for null in (*NULLS, *nulls)}
    there = [i for i, text in enumerate(words) if text.strip().lower() not in missing]
    places = np.full(len(words) + 1, -1, dtype=np.int64)  # index -1, a null, reads the last element
    places[there] = np.arange(len(there))
    return TextLabels(places[found], [words[i] for i in there])


class Classes:
    """Numbers the classes of a table, in order of first appearance, as its batches come in order.

    `names` are all label columns. Those in `numbers` are the last columns of each batch's X, and are equal if their
    values are. All others are passthrough columns of the batch, and are equal if their texts are. A class is one
    combination of labels.
    """

    def __init__(self, names: Sequence[str], numbers: Sequence[str] = (), nulls: Sequence[str] = ()) -> None:
        self.names = tuple(names)
        self.numbers = tuple(numbers)
        places = [*numbers, *(name for name in names if name not in numbers)]
        self._order = [places.index(name) for name in names]
        self._nulls = nulls
        self._codes: dict[Key, int] = {}

    @property
    def name(self) -> str:
        """Name of the label column in messages: the names of all label columns."""
        return ", ".join(self.names)

    def without_classes(self) -> Classes:
        """Return a copy that has numbered no class yet."""
        other = copy(self)
        other._codes = {}
        return other

    def levels(self) -> list[str]:
        """Return the distinct names of the classes so far, by number; raises DataError for a name that ends in NUL."""
        names = [", ".join(map(_quoted, key)) if len(key) > 1 else key[0] for key in self._codes]
        for name in names:
            if name.endswith("\0"):
                raise DataError(
                    f"label {show(self.name)}: {show(name)} ends in a NUL byte, which a model cannot hold",
                    "remove the NUL byte",
                )
        return names

    def with_classes(self, batch: Batch) -> Batch:
        """Return the batch with one column of class numbers in place of its labels, NaN where a label is missing.

        New classes are numbered only from rows without missing cells.
        """
        d = batch.X.shape[1] - len(self.numbers)
        X = empty_block(len(batch.X), d + 1)
        X[:, :-1] = batch.X[:, :d]
        labels = [_code_numbers(column) for column in batch.X[:, d:].T]
        labels += [texts_of(column, self._nulls) for column in batch.passthrough]
        complete = np.ones(len(X), dtype=np.bool_) if batch.finite else np.asarray(~np.isnan(X[:, :-1]).any(axis=1))
        X[:, -1] = self._number_classes([labels[at] for at in self._order], complete)
        return batch._replace(X=X, passthrough=(), finite=all_finite(X))

    def rows_without_label(self, batch: Batch) -> NDArray[np.bool_]:
        """Return the mask (n,) of rows without a label; numbers no class."""
        d = batch.X.shape[1] - len(self.numbers)
        lacking = np.isnan(batch.X[:, d:]).any(axis=1)
        for column in batch.passthrough:
            lacking |= texts_of(column, self._nulls).codes < 0
        return np.asarray(lacking)

    def _number_classes(
        self, labels: Sequence[tuple[NDArray[np.int64], list[str]]], complete: NDArray[np.bool_]
    ) -> Array:
        """Return the class number of each row (n,): NaN where a label is missing, 0 for other rows not in `complete`.

        `labels` holds codes and distinct texts of each label column; `complete` marks rows without missing features.
        """
        which = np.zeros(len(complete), dtype=np.int64)
        keys: list[Key] = [()]
        there = np.ones(len(complete), dtype=np.bool_)
        for found, words in labels:
            there &= found >= 0
            which, keys = _add_label(which, keys, np.maximum(found, 0), words)
        codes = np.where(there, 0.0, np.nan)
        complete = complete & there
        distinct, first, inverse = np.unique(which[complete], return_index=True, return_inverse=True)
        numbers = np.empty(len(distinct))
        for at in np.argsort(first):  # in order of first appearance
            numbers[at] = self._codes.setdefault(keys[distinct[at]], len(self._codes))
        codes[complete] = numbers[inverse]
        return codes


def _quoted(text: str) -> str:
    """Return the text quoted as in CSV, so that different combinations of labels get different names."""
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def _code_numbers(column: Array) -> tuple[NDArray[np.int64], list[str]]:
    """Return numbers coded by their distinct values, and these as texts; spelling and the sign of 0 do not count."""
    missing = np.isnan(column)
    distinct, inverse = np.unique(np.where(missing, 0.0, column) + 0.0, return_inverse=True)
    return np.where(missing, -1, inverse), [repr(value).removesuffix(".0") for value in distinct.tolist()]


def _add_label(
    which: NDArray[np.int64], keys: list[Key], found: NDArray[np.int64], words: list[str]
) -> tuple[NDArray[np.int64], list[Key]]:
    """Add one more label to the combinations coded by `codes` and `keys`, and return both, numbered anew.

    Numbering anew keeps the codes small, so that their products fit in int64.
    """
    if not words:
        return which, keys
    distinct, inverse = np.unique(which * len(words) + found, return_inverse=True)
    return inverse, [(*keys[pair // len(words)], words[pair % len(words)]) for pair in distinct.tolist()]
