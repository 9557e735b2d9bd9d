"""Find the label columns, and give numbers to labels: equal labels get equal numbers, in order of first appearance."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pcatool.arrays import Array, empty_block
from pcatool.errors import DataError
from pcatool.options import NULLS
from pcatool.readers.arrow_columns import codes_and_texts
from pcatool.readers.base import Batch, Column, all_finite
from pcatool.readers.select_columns import check_duplicates, find_columns, marked_number_error
from pcatool.wording import show

__all__ = ["NO_LABELS", "Classes", "LabelColumns", "TextLabels", "find_labels", "texts_of"]

Key = tuple[str, ...]


class LabelColumns(NamedTuple):
    """The label columns of a supervised fit, by number."""

    order: list[int]  # all label columns, in the order given
    numbers: list[int]  # label columns read as numbers
    texts: list[int]  # label columns read as text
    classes: bool  # labels are classes: only whether two are equal counts


NO_LABELS = LabelColumns([], [], [], False)


def find_labels(
    terms: Sequence[str],
    kernel: str | None,
    columns: Sequence[Column],
    where: str,
    known: Collection[str] | None = None,
) -> LabelColumns:
    """Return the label columns; they are classes if one of them holds no numbers or the label kernel is delta.

    `known`: names of the labels that are numbers in an existing model, since 07 and 7 are one class as numbers and two
    as text. Raises DataError for labels that the kernel or the model cannot use.
    """
    found = list(dict.fromkeys(find_columns(terms, columns, where))) if terms else []
    check_duplicates(found, columns, where)
    for i in found:
        if columns[i].kind == "vector":
            what = f"{where}: --label {show(columns[i].name)} is a vector column"
            raise DataError(what, "name columns with one value per row")
        if columns[i].kind == "marked number" and kernel != "delta":
            as_class = ", or use the label as a class with --label-kernel delta" if known is None else ""
            raise marked_number_error(columns[i], where, f"{columns[i].remedy}{as_class}")
    for column in (columns[i] for i in found if known is not None and columns[i].name in known):
        if column.kind == "text" or (column.kind == "boolean" and kernel != "delta"):
            raise DataError(
                f"{where}: label {show(column.name)} holds no numbers (first value {show(column.example)}), but in the "
                "model the label holds numbers",
                "give the label as numbers",
            )
    words = [columns[i] for i in found if columns[i].kind not in ("number", "empty")]
    if words and kernel in ("linear", "rbf"):
        raise DataError(
            f"{where}: --label {show(words[0].name)} holds no numbers (first value {show(words[0].example)})",
            f"--label-kernel {kernel} needs numbers: use --label-kernel delta, which takes classes",
        )
    if known is None:
        known = [columns[i].name for i in found if columns[i].kind in ("number", "empty", "boolean")]
    numbers, texts = ([i for i in found if (columns[i].name in known) == number] for number in (True, False))
    return LabelColumns(found, numbers, texts, bool(found) and (bool(words) or kernel == "delta"))


class TextLabels(NamedTuple):
    """A column of labels, coded by its distinct texts."""

    codes: NDArray[np.int64]  # (n,) index into `distinct`; -1 where missing
    distinct: list[str]  # texts in order of first appearance, without missing


def texts_of(column: pa.Array, nulls: Sequence[str] = ()) -> TextLabels:
    """Return a column coded by its distinct texts; spellings of a missing cell, `nulls` included, count as missing."""
    codes, texts = codes_and_texts(column)
    missing = {null.lower() for null in (*NULLS, *nulls)}
    present = [i for i, text in enumerate(texts) if text.strip().lower() not in missing]
    places = np.full(len(texts) + 1, -1, dtype=np.int64)  # index -1, a null, reads the last element
    places[present] = np.arange(len(present))
    return TextLabels(places[codes], [texts[i] for i in present])


class Classes:
    """The classes of a table, numbered from 0 in order of first appearance; a class is one combination of labels.

    `names` are all label columns. Label columns in `numbers` are the last columns of each batch's X; their labels are
    equal if the numbers are. Other label columns are the passthrough columns of the batch; their labels are equal if
    the texts are. `nulls`: further spellings of a missing label. Batches must come in order.
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
        """Names of all label columns, joined by commas, for messages and for the column of class numbers."""
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
                    f"label {show(self.name)}: {show(name)} ends in a NUL byte, which a model cannot store",
                    "remove the NUL byte from the label",
                )
        return names

    def with_classes(self, batch: Batch) -> Batch:
        """Return the batch with class numbers, the last column of X, in place of its labels; NaN if a label is missing.

        Classes are numbered only from rows without missing cells. Rows that miss only features get class number 0.
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
        """Return the mask (n,) of rows with a missing label, without numbering classes."""
        d = batch.X.shape[1] - len(self.numbers)
        missing = np.isnan(batch.X[:, d:]).any(axis=1)
        for column in batch.passthrough:
            missing |= texts_of(column, self._nulls).codes < 0
        return np.asarray(missing)

    def _number_classes(
        self, labels: Sequence[tuple[NDArray[np.int64], list[str]]], complete: NDArray[np.bool_]
    ) -> Array:
        """Return the class number of each row (n,): NaN where a label is missing, 0 for other rows not in `complete`.

        `labels` holds the codes (-1 if missing) and the distinct texts of each label column; `complete` is the mask of
        rows without missing features.
        """
        codes = np.zeros(len(complete), dtype=np.int64)
        keys: list[Key] = [()]
        labelled = np.ones(len(complete), dtype=np.bool_)
        for label_codes, texts in labels:
            labelled &= label_codes >= 0
            codes, keys = _add_label(codes, keys, np.maximum(label_codes, 0), texts)
        classes = np.where(labelled, 0.0, np.nan)
        complete = complete & labelled
        distinct, first, inverse = np.unique(codes[complete], return_index=True, return_inverse=True)
        numbers = np.empty(len(distinct))
        for at in np.argsort(first):  # in order of first appearance
            numbers[at] = self._codes.setdefault(keys[distinct[at]], len(self._codes))
        classes[complete] = numbers[inverse]
        return classes


def _quoted(text: str) -> str:
    """Return the text, quoted as in CSV if needed, so that different combinations of labels get different names."""
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def _code_numbers(column: Array) -> tuple[NDArray[np.int64], list[str]]:
    """Return the index of each number among the distinct numbers (n,), -1 for NaN, and the distinct numbers as texts.

    The distinct numbers are sorted; -0 equals 0.
    """
    missing = np.isnan(column)
    distinct, inverse = np.unique(np.where(missing, 0.0, column) + 0.0, return_inverse=True)
    return np.where(missing, -1, inverse), [repr(value).removesuffix(".0") for value in distinct.tolist()]


def _add_label(
    codes: NDArray[np.int64], keys: list[Key], label_codes: NDArray[np.int64], texts: list[str]
) -> tuple[NDArray[np.int64], list[Key]]:
    """Return the codes (n,) and the keys of combinations of labels with one more label column.

    `codes` (n,) index `keys`, the combinations so far; `label_codes` (n,) index `texts`, the labels of the new column.
    Only combinations that occur are numbered: the codes stay so small that their products fit in int64.
    """
    if not texts:
        return codes, keys
    distinct, inverse = np.unique(codes * len(texts) + label_codes, return_inverse=True)
    return inverse, [(*keys[pair // len(texts)], texts[pair % len(texts)]) for pair in distinct.tolist()]
