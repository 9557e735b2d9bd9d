"""Whole numbers that no double holds, ids mostly: they are read as the nearest one, and the first of them is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import show

__all__ = ["Rounded", "first_rounded", "has_large", "large"]

# Up to here every whole number is a double.
EXACT = 2.0**53
# Cells of a column looked at in each batch: where so many large whole numbers are doubles, all are likely to be.
LOOKED_AT = 100


class Rounded(NamedTuple):
    """A cell, and the whole number that it says."""

    row: int
    feature: int
    written: int

    def note(self, place: str, column: str) -> str:
        return (
            f"{place}, column {show(column)}: {self.written} is taken as {int(float(self.written))}: whole numbers "
            "beyond 2^53 are rounded; if they are ids, leave the column out with -x"
        )


def has_large(X: Array) -> bool:
    """Is any number beyond the whole numbers that are all exact? The sum of squares tells of most blocks."""
    flat = X.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        if flat @ flat < EXACT**2:
            return False
    return bool((X >= EXACT).any() or (X <= -EXACT).any())


def large(X: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Features and rows of the first such numbers of each column of X (n, d), a column after the other."""
    beyond = (np.abs(X) >= EXACT) & np.isfinite(X)
    features, rows = np.nonzero((beyond & (beyond.cumsum(axis=0) <= LOOKED_AT)).T)
    return features, rows


def first_rounded(
    X: Array,
    features: NDArray[np.intp],
    rows: NDArray[np.intp],
    cells: Iterable[str],
    whole: Callable[[str], int | None],
) -> Rounded | None:
    """The first of these cells that X holds as another whole number."""
    for feature, row, cell in zip(features.tolist(), rows.tolist(), cells, strict=True):
        written = whole(cell)
        if written is not None and abs(written) != int(abs(X[row, feature])):
            return Rounded(row, feature, written)
    return None
