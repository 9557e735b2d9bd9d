"""The kernel as a table: entry (i, j) says how alike rows i and j are; of new rows, how alike each is to those."""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array, Runner
from pcatool.errors import DataError
from pcatool.kernels.base import Kernel, Prepared
from pcatool.kernels.distances import EPS

__all__ = ["Precomputed"]

# What a table written with seven digits may lack in symmetry, of its largest value.
ASYMMETRY = 1e-6


class Precomputed(Kernel):
    """The rows are the kernel; that it is positive semidefinite is not known."""

    definite = False
    of_rows = False

    def matrix(self, X: Array, run: Runner) -> Array:
        n, d = X.shape
        if n != d:
            raise DataError(
                f"--kernel precomputed: {n} rows and {d} columns are no square table",
                "give one row and one column for each sample",
            )
        gap = np.abs(X - X.T)
        i, j = divmod(int(gap.argmax()), n)
        if not gap[i, j] <= ASYMMETRY * float(np.abs(X).max()):
            raise DataError(
                f"--kernel precomputed: row {i + 1}, column {j + 1} holds {X[i, j]:.6g}, "
                f"row {j + 1}, column {i + 1} holds {X[j, i]:.6g}",
                "a kernel is symmetric, and its columns stand in the order of its rows",
            )
        return (X + X.T) / 2

    def doubt(self, K: Array, X: Prepared, T: Prepared) -> Array:
        """Rounding of the mean of two values that differ; the values themselves count as given."""
        return np.asarray(np.abs(K).sum(axis=1) * (EPS / 2))

    def cross(self, X: Array, T: Array) -> Array:
        return np.array(X)
