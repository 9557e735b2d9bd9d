"""What is done to the columns before a kernel sees them: centred where that changes nothing, scaled where asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array, block_rows
from pcatool.linalg.moments import Centre, center_block, center_rows
from pcatool.linalg.spectrum import EPS

__all__ = ["ColumnMoments", "Preparation", "cut"]


class ColumnMoments(NamedTuple):
    """Count, means and sums of squares of the columns, without their products."""

    centre: Centre
    squares: Array  # (d,)

    @classmethod
    def of_block(cls, X: Array, origin: Array) -> ColumnMoments:
        centre, Y, rest = center_block(X, origin)
        return cls(centre, np.einsum("ij,ij->j", Y, Y) - rest * rest / centre.weight)

    def merge(self, other: ColumnMoments) -> ColumnMoments:
        centre, delta, weight = self.centre.merge(other.centre)
        return ColumnMoments(centre, self.squares + other.squares + delta * delta * weight)

    @classmethod
    def gather(cls, parts: Iterable[ColumnMoments]) -> ColumnMoments:
        with np.errstate(over="ignore", invalid="ignore"):
            return reduce(cls.merge, parts)


class Preparation(NamedTuple):
    """How a row as read becomes one as the kernel sees it; the same as the model will do to new rows."""

    rows_centered: bool
    mean: Array  # (d,)
    std: Array  # (d,)
    variances: Array  # (d,) of the columns, about their mean
    constant: tuple[int, ...]  # columns with one value only

    @classmethod
    def of(
        cls, moments: ColumnMoments, *, shift: bool, standardize: bool, rows_centered: bool, ddof: int
    ) -> Preparation:
        d = len(moments.squares)
        constant = ~moments.centre.varies
        variances = np.maximum(moments.squares, 0.0) / max(moments.centre.rows - ddof, 1)
        std = np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variances))) if standardize else np.ones(d)
        mean = moments.centre.mean if shift else np.zeros(d)
        return cls(rows_centered, mean, std, variances, tuple(np.flatnonzero(constant).tolist()))

    def apply(self, X: Array) -> Array:
        """Rows (n, d) as the kernel sees them."""
        Y = (center_rows(X) if self.rows_centered else X) - self.mean
        return np.ascontiguousarray(Y / self.std if np.any(self.std != 1.0) else Y)

    def rounding(self, X: Array, Y: Array, n: int, *, mean_matters: bool) -> Array:
        """(h,) bounds on the error of each row Y (h, d) that `apply` made of X, as a length.

        `n` rows went into mean and std. `mean_matters` where the kernel's values change when all rows are shifted.
        """
        d, unit = Y.shape[1], EPS / 2
        spread = np.sqrt(self.variances) / self.std
        scaled = bool(np.any(self.std != 1.0))
        # Subtracted first, divided then; a standard deviation comes of n squares, added one by one, of differences to a
        # row that is no farther from the mean than sqrt(n) deviations.
        relative = unit * float(np.any(self.mean != 0.0)) + scaled * unit * (n / 2 + 2 * np.sqrt(n) + 6)
        error = np.zeros(d)
        if mean_matters and np.any(self.mean != 0.0):
            error += unit * (np.abs(self.mean) / self.std + (n + 3 * np.sqrt(n) + 3) * spread)
        rows = np.zeros(len(Y))
        if self.rows_centered:  # a cell is taken off each row, and then the mean of d differences
            rows = (d + 4) * unit * np.abs(X - X[:, :1]).max(axis=1)
            most = float(rows.max(initial=0.0))
            relative += scaled * most / float(self.std.min())
            error += (most / self.std) * mean_matters
            rows = rows * float(np.sqrt(np.sum(self.std**-2.0)))
        lengths = np.sqrt(np.einsum("ij,ij->i", Y, Y))
        return np.asarray(relative * lengths + float(np.linalg.norm(error)) + rows)


def cut(X: Array) -> Iterator[Array]:
    """Blocks of rows already in memory."""
    height = block_rows(X.shape[1])
    return (X[at : at + height] for at in range(0, len(X), height))
