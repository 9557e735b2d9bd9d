"""Each row about its own mean: what normalises images, whose brightness says nothing of what they show."""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array

__all__ = ["center_rows", "row_means"]


@np.errstate(over="ignore", invalid="ignore")  # shows in the result
def center_rows(X: Array) -> Array:
    """X (n, d) with its own mean subtracted from each row, to the last digit however bright the row is.

    A cell of it goes first: what is left is small, and equal cells leave nothing at all. Holes stay holes, and the mean
    is that of the other cells.
    """
    Y = X - _first_cells(X)[:, None]
    Y -= _means(Y)[:, None]
    return Y


@np.errstate(over="ignore", invalid="ignore")  # shows in the result
def row_means(X: Array) -> Array:
    """(n,) each row's own mean."""
    first = _first_cells(X)
    means: Array = first + _means(X - first[:, None])
    return means


def _first_cells(X: Array) -> Array:
    """(n,) of each row a cell that is there; NaN for none."""
    first = X[:, 0].copy()
    holes = np.flatnonzero(np.isnan(first))
    first[holes] = X[holes, (~np.isnan(X[holes])).argmax(axis=1)]
    return first


def _means(Y: Array) -> Array:
    """Column after column, so that a row's mean does not depend on how many rows come with it."""
    sums: Array = np.add.reduce(np.asfortranarray(Y), axis=1)
    holes = np.flatnonzero(np.isnan(sums))
    if len(holes) == 0:
        return np.asarray(sums / Y.shape[1])
    there = np.full(len(Y), Y.shape[1])
    there[holes] = (~np.isnan(Y[holes])).sum(axis=1)
    sums[holes] = np.add.reduce(np.where(np.isnan(Y[holes].T), 0.0, Y[holes].T), axis=0)
    return np.asarray(sums / np.where(there > 0, there, np.nan))
