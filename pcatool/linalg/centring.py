"""Each row about its own mean: what normalises images, whose brightness says nothing of what they show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["center_rows", "row_means"]

Array = NDArray[np.float64]


def center_rows(X: Array) -> Array:
    """X (n, d) with its own mean subtracted from each row."""
    return X - row_means(X)[:, None]


def row_means(X: Array) -> Array:
    """(n,) column after column, so that a row's mean does not depend on how many rows come with it."""
    means: Array = np.add.reduce(np.asfortranarray(X), axis=1) / X.shape[1]
    return means
