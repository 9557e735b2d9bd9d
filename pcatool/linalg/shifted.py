"""A table of which most cells are one value, as a sparse matrix and a shift of its rows: A - 1 m^T.

A column that is mostly absent cells is held as it is, about the value of these, which is no more than a standard
deviation from its mean; any other is held whole, about its mean. So centring by the shift cancels nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.linalg.moments import Centre, Moments
from pcatool.linalg.sparse import SparseRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["ShiftedRows"]

Mask = NDArray[np.bool_]

# Numbers worked out at a time: of the products, or of rows made dense.
SLAB = 1 << 20
FEWEST_ROWS = 64

# A sparse product takes 8 ns for every two cells of a row, BLAS 0.03 ns for every two columns.
DENSER = 256


class ShiftedRows(NamedTuple):
    """F = A - 1 m^T, the rows of the table about their mean."""

    centre: Centre
    squares: Array  # (d,) sums of squares about the mean
    cells: SparseRows  # A
    shift: Array  # (d,) m

    @classmethod
    def with_zeros(cls, table: SparseRows) -> ShiftedRows:
        """Absent cells are 0."""
        n, about = table.n, table.about()
        c = about.cells
        present = about.origin + about.shift
        full = c == n
        origin, high = np.where(full, about.origin, 0.0), np.where(full, about.shift, present * (c / n))
        varies = about.varies | ((c > 0) & ~full & (about.origin != 0))
        squares = about.scatter + np.where(full, 0.0, present * present * (c * ((n - c) / n)))
        whole = 2 * c > n
        cells = _whole(table, whole & ~full)
        at = cells.columns
        values = np.where(whole[at], (cells.values - origin[at]) - high[at], cells.values)
        centre = _centre(n, origin, high, varies)
        return cls(centre, squares, cells._replace(values=values), np.where(whole, 0.0, high))

    @classmethod
    def with_means(cls, table: SparseRows) -> ShiftedRows:
        """Absent cells are the mean of the others in their column."""
        about, at = table.about(), table.columns
        values = (table.values - about.origin[at]) - about.shift[at]
        centre = _centre(table.n, about.origin, about.shift, about.varies)
        return cls(centre, about.scatter, table._replace(values=values), np.zeros(table.d))

    @property
    def n(self) -> int:
        return self.cells.n

    def about_zero(self) -> ShiftedRows:
        """The rows as they are, not about their mean."""
        return self._replace(shift=self.shift - self.centre.mean)

    def scaled(self, scale: Array) -> ShiftedRows:
        """With columns multiplied by `scale`; centre and squares stay those of the data."""
        values = self.cells.values * scale[self.cells.columns]
        return self._replace(cells=self.cells._replace(values=values), shift=self.shift * scale)

    def product(self, V: Array) -> Array:
        """F^T F V."""
        return self.back(self.cells.matrix() @ V - self.shift @ V)

    def back(self, Z: Array) -> Array:
        """F^T Z."""
        return np.asarray(self.cells.matrix().T @ Z - np.outer(self.shift, Z.sum(axis=0)))

    def inner(self) -> Array:
        """F F^T (n, n)."""
        A = self.cells.matrix()
        along = A @ self.shift
        K = _self_product(A.T.tocsr())
        K -= along[:, None]
        K -= along
        K += float(self.shift @ self.shift)
        return K

    def moments(self) -> Moments:
        """With the scatter (d, d)."""
        scatter = _self_product(self.cells.matrix())
        scatter -= np.outer(self.shift, self.shift * self.n)
        return Moments(self.centre, scatter)


def _self_product(A: csr_array) -> Array:
    """A^T A (d, d), from some rows of A made dense or of the product at a time, whichever is quicker."""
    n, d = A.shape
    cells = np.diff(A.indptr).astype(np.float64)
    height = max(SLAB // d, FEWEST_ROWS)
    if DENSER * float(cells @ cells) > float(n) * d * d:
        S = np.zeros((d, d))
        for at in range(0, n, height):
            F = A[at : at + height].toarray()
            S += F.T @ F
    else:
        S, At = np.empty((d, d)), A.T.tocsr()
        for at in range(0, d, height):
            S[at : at + height] = (At[at : at + height] @ A).toarray()
    return S


def _whole(table: SparseRows, chosen: Mask) -> SparseRows:
    """With zeros in all absent cells of the chosen columns."""
    if not chosen.any():
        return table
    number = np.cumsum(chosen) - 1
    absent = np.ones((table.n, int(chosen.sum())), dtype=bool)
    rows = np.repeat(np.arange(table.n, dtype=np.int32), table.counts)
    here = chosen[table.columns]
    absent[rows[here], number[table.columns[here]]] = False
    more, at = np.nonzero(absent)
    return SparseRows.of(
        np.concatenate([rows, more.astype(np.int32)]),
        np.concatenate([table.columns, np.flatnonzero(chosen).astype(np.int32)[at]]),
        np.concatenate([table.values, np.zeros(len(at))]),
        table.n,
        table.d,
    )


def _centre(n: int, origin: Array, high: Array, varies: Mask) -> Centre:
    return Centre(n, float(n), float(n) * (n - 1), origin, high, np.zeros_like(high), varies)
