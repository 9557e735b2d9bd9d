"""Each row about its own mean: what normalises images, whose brightness says nothing of what they show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["center_rows", "row_means"]

Array = NDArray[np.float64]


def center_rows(X: Array) -> Array:
    """X (n, d) with its own mean subtracted from each row, to the last digit however bright the row is.

    Its first cell goes first: what is left is small, and equal cells leave nothing at all.
    """
    Y = X - X[:, :1]
    Y -= _means(Y)[:, None]
    return Y


def row_means(X: Array) -> Array:
    """(n,) each row's own mean."""
    means: Array = X[:, 0] + _means(X - X[:, :1])
    return means


def _means(Y: Array) -> Array:
    """Column after column, so that a row's mean does not depend on how many rows come with it."""
    means: Array = np.add.reduce(np.asfortranarray(Y), axis=1) / Y.shape[1]
    return means
