"""Number labels: equal labels get equal numbers, in order of first appearance."""

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
from pcatool.readers.arrow_columns import words_of
from pcatool.readers.base import Batch, all_finite

__all__ = ["Classes", "Texts", "texts_of"]

Key = tuple[str, ...]


class Texts(NamedTuple):
    """For each row which of the distinct texts it holds, -1 for a missing one."""

    which: NDArray[np.int64]
    distinct: list[str]


def texts_of(column: pa.Array, nulls: Sequence[str] = ()) -> Texts:
    """The texts of a column, without those that are only there as spellings of a missing cell."""
    found, words = words_of(column)
    missing = {null.lower() for null in (*NULLS, *nulls)}
    there = [i for i, text in enumerate(words) if text.strip().lower() not in missing]
    places = np.full(len(words) + 1, -1, dtype=np.int64)  # the last for a null, which is -1
    places[there] = np.arange(len(there))
    return Texts(places[found], [words[i] for i in there])


class Classes:
    """Counts up the classes of a table as its rows come, in order.

    The last columns of a batch, those of `numbers`, are labels that are numbers, equal when their values are; the kept
    columns, all others of the `names`, are labels of other types, equal when their texts are.
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
        """As which cells of it are told of."""
        return ", ".join(self.names)

    def fresh(self) -> Classes:
        """The same with no class yet."""
        other = copy(self)
        other._codes = {}
        return other

    def levels(self) -> list[str]:
        """The names of the classes so far, no two alike."""
        names = [", ".join(map(_quoted, key)) if len(key) > 1 else key[0] for key in self._codes]
        for name in names:
            if name.endswith("\0"):
                raise DataError(
                    f"label {show(self.name)}: {show(name)} ends in a NUL, which models do not keep", "take it off"
                )
        return names

    def added(self, batch: Batch) -> Batch:
        """The rows with the number of their class in place of their labels, NaN where one is missing."""
        d = batch.X.shape[1] - len(self.numbers)
        X = empty_block(len(batch.X), d + 1)
        X[:, :-1] = batch.X[:, :d]
        labels = [_values(column) for column in batch.X[:, d:].T]
        labels += [texts_of(column, self._nulls) for column in batch.kept]
        whole = np.ones(len(X), dtype=np.bool_) if batch.finite else np.asarray(~np.isnan(X[:, :-1]).any(axis=1))
        X[:, -1] = self._classes([labels[at] for at in self._order], whole)
        return batch._replace(X=X, kept=(), finite=all_finite(X))

    def missing(self, batch: Batch) -> NDArray[np.bool_]:
        """Which rows lack a label; nothing is counted."""
        d = batch.X.shape[1] - len(self.numbers)
        lacking = np.isnan(batch.X[:, d:]).any(axis=1)
        for column in batch.kept:
            lacking |= texts_of(column, self._nulls).which < 0
        return np.asarray(lacking)

    def _classes(self, labels: Sequence[tuple[NDArray[np.int64], list[str]]], whole: NDArray[np.bool_]) -> Array:
        """Each combination of labels is a class, if it is that of a row in which nothing is missing."""
        which = np.zeros(len(whole), dtype=np.int64)
        keys: list[Key] = [()]
        there = np.ones(len(whole), dtype=np.bool_)
        for found, words in labels:
            there &= found >= 0
            which, keys = _combined(which, keys, np.maximum(found, 0), words)
        codes = np.where(there, 0.0, np.nan)
        whole = whole & there
        distinct, first, inverse = np.unique(which[whole], return_index=True, return_inverse=True)
        numbers = np.empty(len(distinct))
        for at in np.argsort(first):  # as they first appear
            numbers[at] = self._codes.setdefault(keys[distinct[at]], len(self._codes))
        codes[whole] = numbers[inverse]
        return codes


def _quoted(text: str) -> str:
    """As CSV would have it, so that combinations of different texts do not look alike."""
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def _values(column: Array) -> tuple[NDArray[np.int64], list[str]]:
    """The same for numbers: however they are spelled, and whatever the sign of a zero."""
    holes = np.isnan(column)
    distinct, inverse = np.unique(np.where(holes, 0.0, column) + 0.0, return_inverse=True)
    return np.where(holes, -1, inverse), [repr(value).removesuffix(".0") for value in distinct.tolist()]


def _combined(
    which: NDArray[np.int64], keys: list[Key], found: NDArray[np.int64], words: list[str]
) -> tuple[NDArray[np.int64], list[Key]]:
    """Combinations with one more label, numbered anew so that no number of them is too large."""
    if not words:
        return which, keys
    distinct, inverse = np.unique(which * len(words) + found, return_inverse=True)
    return inverse, [(*keys[pair // len(words)], words[pair % len(words)]) for pair in distinct.tolist()]
