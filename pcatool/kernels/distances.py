"""Squared distances by one matrix product, and again from the differences where that product has lost the digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array

__all__ = ["EPS", "ROUNDINGS", "exact_pairs", "of_products", "squared_distances", "squares"]

EPS = float(np.finfo(np.float64).eps)

# |x|^2 + |y|^2 - 2 x.y is known to a few roundings of its terms.
ROUNDINGS = 8

# Differences held at a time.
CELLS = 1 << 20


def squares(X: Array) -> Array:
    """|x|^2 of each row, (n,)."""
    return np.asarray(np.einsum("ij,ij->i", X, X))


def squared_distances(X: Array, T: Array, *, bound: float = np.inf, allowed: float = np.inf) -> Array:
    """|x - t|^2 (h, n) of rows X (h, d) and T (n, d).

    Distances that may be below `bound`, and whose error may be above `allowed`, are taken from the differences, one by
    one.
    """
    xx, tt = squares(X), squares(T)
    D = (X * -2.0) @ T.T
    D += tt
    D += xx[:, None]
    np.maximum(D, 0.0, out=D)
    if len(T) and len(X) and ROUNDINGS * EPS * float(xx.max() + tt.max()) > allowed:
        sizes = xx[:, None] + tt
        lost = (bound > D - of_products(X.shape[1]) * sizes) & (ROUNDINGS * EPS * sizes > allowed)
        rows, others = np.nonzero(lost)
        D[rows, others] = exact_pairs(X, T, rows, others)
    return D


def of_products(d: int) -> float:
    """Bound on the error of |x|^2 + |t|^2 - 2 x.t, as a part of |x|^2 + |t|^2, for rows of d cells.

    Each sum of d products is off by d / 2 eps of its terms at most, however it is added up, and 2 |x.t| is no more than
    |x|^2 + |t|^2; the additions add less than 3 eps.
    """
    return (d + 4) * EPS


def exact_pairs(X: Array, T: Array, rows: NDArray[np.intp], others: NDArray[np.intp]) -> Array:
    """|x_i - t_j|^2 of the pairs (i, j), from the differences."""
    D = np.empty(len(rows))
    step = max(CELLS // max(X.shape[1], 1), 1)
    for at in range(0, len(rows), step):
        part = slice(at, at + step)
        D[part] = squares(X[rows[part]] - T[others[part]])
    return D
