"""Patterns of holes: which cells of a row are there, told apart by a number for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Index", "Keys", "Mask", "column_keys", "hole_keys", "same_cells", "same_holes"]

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Keys = NDArray[np.uint64]

# An odd number with well mixed bits and two shifts, from the finaliser of SplitMix64 (Steele, Lea, Flood 2014, OOPSLA).
MIX = np.uint64(0xBF58476D1CE4E5B9)
SHIFT = np.uint64(31)


def same_holes(observed: Mask) -> tuple[Index, Index]:
    """The first row of each pattern of holes, and the number of each row's pattern."""
    return _told_apart(hole_keys(observed), observed)


def same_cells(columns: NDArray[np.int32], keys: Keys) -> tuple[Index, Index]:
    """The same of rows with equally many cells, (h, c) their columns; `keys` are those of the columns."""
    return _told_apart(keys[columns].sum(axis=1, dtype=np.uint64), columns)


def _told_apart(keys: Keys, rows: NDArray[Any]) -> tuple[Index, Index]:
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[group]], rows):  # two patterns came by one key: each row for itself
        first = group = np.arange(len(rows))
    return first, group


def column_keys(d: int) -> Keys:
    """A number for each column, so well mixed that a sum tells of which it is made."""
    keys = np.arange(1, d + 1, dtype=np.uint64)
    for _ in range(2):
        keys *= MIX
        keys ^= keys >> SHIFT
    return keys * MIX


def hole_keys(observed: Mask) -> Keys:
    """A number for each row that says where its holes are, (n,); up to 64 columns no two patterns share one."""
    n, d = observed.shape
    packed = np.zeros((n, -(-d // 64) * 8), dtype=np.uint8)
    packed[:, : -(-d // 8)] = np.packbits(observed, axis=1)
    key = np.zeros(n, dtype=np.uint64)
    for word in packed.view(np.uint64).T:
        key = (key ^ word) * MIX
        key ^= key >> SHIFT
    return key
