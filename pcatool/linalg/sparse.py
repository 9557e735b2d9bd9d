"""Rows of which only some cells are given: compressed storage, and products with the centred table.

A table of which most cells are one value, as a sparse matrix and a shift of its rows: A - 1 m^T.
A column that is mostly absent cells is held as it is, about the value of these, which is no more than a standard
deviation from its mean; any other is held whole, about its mean. So centring by the shift cancels nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.linalg.moments import Centre, Moments

__all__ = ["ShiftedRows", "SparseRows", "first_double"]

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Numbers = NDArray[np.integer[Any]]


class ColumnSums(NamedTuple):
    """Of each column's cells, about an origin of its own: any offset costs no digits."""

    cells: NDArray[np.int64]  # (d,) how many
    origin: Array  # (d,) the first of them, 0 where there is none
    shift: Array  # (d,) mean about the origin
    scatter: Array  # (d,) sum of squares about the mean
    varies: NDArray[np.bool_]  # (d,) two of them differ


class SparseRows(NamedTuple):
    """n rows of d columns; cells of one row together, in the order of their columns."""

    starts: NDArray[np.int64]  # (n + 1,) where each row's cells begin
    columns: NDArray[np.int32]  # (cells,)
    values: Array  # (cells,)
    d: int

    @classmethod
    def of(cls, rows: Numbers, columns: Numbers, values: Array, n: int, d: int) -> SparseRows:
        """From cells in any order, no two of one place; their order changes no bit."""
        order = np.argsort(_places(rows, columns, d), kind="stable")
        starts = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=n), out=starts[1:])
        return cls(starts, columns[order].astype(np.int32, copy=False), values[order], d)

    @classmethod
    def of_dense(cls, X: Array) -> SparseRows:
        """The cells of X (n, d) that are not NaN."""
        n, d = X.shape
        there = ~np.isnan(X)
        starts = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(there.sum(axis=1), out=starts[1:])
        return cls(starts, there.nonzero()[1].astype(np.int32), X[there], d)

    @property
    def n(self) -> int:
        return len(self.starts) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Cells of each row, (n,)."""
        return np.diff(self.starts)

    def part(self, first: int, last: int) -> SparseRows:
        """Rows first to last, without a copy of their cells."""
        begin, end = self.starts[first], self.starts[last]
        return SparseRows(
            self.starts[first : last + 1] - begin, self.columns[begin:end], self.values[begin:end], self.d
        )

    def cut(self, cells: int) -> list[tuple[int, int]]:
        """Where to part the rows so that each part has about so many cells, and one row at least."""
        marks = np.arange(0, len(self.values) + cells, cells)
        ends = np.unique(np.append(np.searchsorted(self.starts, marks[:-1]), [0, self.n]))
        return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))

    def matrix(self, values: Array | None = None) -> csr_array:
        """As SciPy has it; with other values in the same cells."""
        from scipy.sparse import csr_array

        return csr_array((self.values if values is None else values, self.columns, self.starts), (self.n, self.d))

    def dense(self, first: int, last: int, absent: float | Array) -> Array:
        """Rows first to last (h, d), columns contiguous, with `absent` where no cell is: a number, or one a column."""
        part = self.part(first, last)
        X = np.empty((self.d, part.n)).T
        X[:] = absent
        X[np.repeat(np.arange(part.n), part.counts), part.columns] = part.values
        return X

    def about(self) -> ColumnSums:
        """Count, mean and scatter of the cells of each column, by two passes over them."""
        cells = np.bincount(self.columns, minlength=self.d).astype(np.int64, copy=False)
        divisor = np.maximum(cells, 1)
        origin = np.zeros(self.d)
        origin[self.columns[::-1]] = self.values[::-1]  # the last to be written is the first
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            Y = self.values - origin[self.columns]
            varies = np.bincount(self.columns, Y != 0, minlength=self.d) > 0
            shift = np.bincount(self.columns, Y, minlength=self.d) / divisor
            Y -= shift[self.columns]
            rest = np.bincount(self.columns, Y, minlength=self.d)  # what rounding left
            scatter = np.bincount(self.columns, Y * Y, minlength=self.d) - rest * rest / divisor
        return ColumnSums(cells, origin, shift + rest / divisor, scatter, varies)


def first_double(rows: Numbers, columns: Numbers) -> tuple[int, int] | None:
    """Positions of the first two cells of one place: of all such pairs that whose second comes first."""
    if not len(rows):
        return None
    places = _places(rows, columns, int(columns.max()) + 1)
    order = np.argsort(places, kind="stable")
    places = places[order]
    again = np.flatnonzero(places[1:] == places[:-1])
    if not len(again):
        return None
    at = again[order[again + 1].argmin()]
    return int(order[at]), int(order[at + 1])


def _places(rows: Numbers, columns: Numbers, d: int) -> NDArray[np.int64]:
    """A number for each cell that sorts by row and then by column."""
    places = rows.astype(np.int64)
    places *= d
    places += columns
    return places


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
