"""Sparse rows: compressed storage of the cells that are present, and products with the centred table.

The centred table is F = A - 1 m^T, with a sparse matrix A and a shift m (d,). A column that is mostly absent is stored
uncentred, and its mean goes into m: the absent value 0 is at most a standard deviation from the mean. Every other
column is stored in full, already centred. So the subtraction of m cancels no digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.linalg.moments import Centre, Moments

__all__ = ["ShiftedRows", "SparseRows", "first_duplicate"]

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Numbers = NDArray[np.integer[Any]]


class ColumnSums(NamedTuple):
    """Count, mean and scatter of the present cells of each column, about one origin per column to save digits."""

    cells: NDArray[np.int64]  # (d,) number of present cells
    origin: Array  # (d,) first present cell; 0 for a column without any
    shift: Array  # (d,) mean minus origin
    scatter: Array  # (d,) sum of squares about the mean
    varies: NDArray[np.bool_]  # (d,) whether two present cells differ


class SparseRows(NamedTuple):
    """n rows of d columns in compressed sparse row format; the cells of a row are sorted by column."""

    starts: NDArray[np.int64]  # (n + 1,) position of the first cell of each row
    columns: NDArray[np.int32]  # (cells,) column of each cell
    values: Array  # (cells,)
    d: int  # number of columns

    @classmethod
    def of(cls, rows: Numbers, columns: Numbers, values: Array, n: int, d: int) -> SparseRows:
        """Build n rows of d columns from cells in any order: row, column and value of each; no cell may occur twice."""
        order = np.argsort(_places(rows, columns, d), kind="stable")
        starts = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=n), out=starts[1:])
        return cls(starts, columns[order].astype(np.int32, copy=False), values[order], d)

    @classmethod
    def of_dense(cls, X: Array) -> SparseRows:
        """Build the rows from the cells of X (n, d) that are not NaN."""
        n, d = X.shape
        observed = ~np.isnan(X)
        starts = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(observed.sum(axis=1), out=starts[1:])
        return cls(starts, observed.nonzero()[1].astype(np.int32), X[observed], d)

    @property
    def n(self) -> int:
        return len(self.starts) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of present cells of each row, (n,)."""
        return np.diff(self.starts)

    def part(self, first: int, last: int) -> SparseRows:
        """Return rows first to last (exclusive), without copying their cells."""
        begin, end = self.starts[first], self.starts[last]
        return SparseRows(
            self.starts[first : last + 1] - begin, self.columns[begin:end], self.values[begin:end], self.d
        )

    def cut(self, cells: int) -> list[tuple[int, int]]:
        """Return consecutive ranges of rows, (first, last) with last exclusive, of about `cells` cells each.

        A range has at least one row.
        """
        marks = np.arange(0, len(self.values) + cells, cells)
        ends = np.unique(np.append(np.searchsorted(self.starts, marks[:-1]), [0, self.n]))
        return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))

    def matrix(self, values: Array | None = None) -> csr_array:
        """Return a SciPy csr_array (n, d), absent cells as 0; `values` (cells,) replaces the stored values if given."""
        from scipy.sparse import csr_array

        return csr_array((self.values if values is None else values, self.columns, self.starts), (self.n, self.d))

    def dense(self, first: int, last: int, absent: float | Array) -> Array:
        """Return rows first to last (h, d) as a dense array with contiguous columns.

        `absent` fills the absent cells: one number, or one number per column (d,).
        """
        part = self.part(first, last)
        X = np.empty((self.d, part.n)).T
        X[:] = absent
        X[np.repeat(np.arange(part.n), part.counts), part.columns] = part.values
        return X

    def column_sums(self) -> ColumnSums:
        """Return count, mean and scatter of the present cells of each column, from two passes over the cells."""
        cells = np.bincount(self.columns, minlength=self.d).astype(np.int64, copy=False)
        divisor = np.maximum(cells, 1)
        origin = np.zeros(self.d)
        origin[self.columns[::-1]] = self.values[::-1]  # reversed, so that the first cell of a column is written last
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            Y = self.values - origin[self.columns]
            varies = np.bincount(self.columns, Y != 0, minlength=self.d) > 0
            shift = np.bincount(self.columns, Y, minlength=self.d) / divisor
            Y -= shift[self.columns]
            rest = np.bincount(self.columns, Y, minlength=self.d)  # 0 but for the rounding of the mean
            scatter = np.bincount(self.columns, Y * Y, minlength=self.d) - rest * rest / divisor
        return ColumnSums(cells, origin, shift + rest / divisor, scatter, varies)


def first_duplicate(rows: Numbers, columns: Numbers) -> tuple[int, int] | None:
    """Return the positions, in `rows` and `columns`, of two cells with equal row and column; None if there are none.

    If there are several such pairs, the pair whose second cell comes first is returned.
    """
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
    """Return one number per cell, row * d + column, which sorts by row and then by column."""
    places = rows.astype(np.int64)
    places *= d
    places += columns
    return places


Mask = NDArray[np.bool_]

# Elements per step of `_self_product`: of the product, or of rows made dense. FEWEST_ROWS bounds the rows from below.
SLAB = 1 << 20
FEWEST_ROWS = 64

# Cost of a sparse product relative to BLAS: 8 ns per pair of cells in a row against 0.03 ns per pair of columns.
DENSER = 256


class ShiftedRows(NamedTuple):
    """The centred table F = A - 1 m^T (n, d), stored as sparse A and m; solvers multiply by it, never form it."""

    centre: Centre  # of the table, absent cells included
    squares: Array  # (d,) sums of squares about the mean
    cells: SparseRows  # A (n, d)
    shift: Array  # m (d,)

    @classmethod
    def with_zeros(cls, table: SparseRows) -> ShiftedRows:
        """Return the centred table in which absent cells are 0."""
        n, sums = table.n, table.column_sums()
        c = sums.cells
        present = sums.origin + sums.shift
        full = c == n
        origin, high = np.where(full, sums.origin, 0.0), np.where(full, sums.shift, present * (c / n))
        varies = sums.varies | ((c > 0) & ~full & (sums.origin != 0))
        squares = sums.scatter + np.where(full, 0.0, present * present * (c * ((n - c) / n)))
        whole = 2 * c > n
        cells = _with_explicit_zeros(table, whole & ~full)
        at = cells.columns
        values = np.where(whole[at], (cells.values - origin[at]) - high[at], cells.values)
        centre = _centre(n, origin, high, varies)
        return cls(centre, squares, cells._replace(values=values), np.where(whole, 0.0, high))

    @classmethod
    def with_means(cls, table: SparseRows) -> ShiftedRows:
        """Return the centred table in which absent cells are the mean of the present cells in their column."""
        sums, at = table.column_sums(), table.columns
        values = (table.values - sums.origin[at]) - sums.shift[at]
        centre = _centre(table.n, sums.origin, sums.shift, sums.varies)
        return cls(centre, sums.scatter, table._replace(values=values), np.zeros(table.d))

    @property
    def n(self) -> int:
        return self.cells.n

    def uncentered(self) -> ShiftedRows:
        """Return the uncentred rows F + 1 mean^T, in the same sparse form; then F stands for these rows."""
        return self._replace(shift=self.shift - self.centre.mean)

    def scaled(self, scale: Array) -> ShiftedRows:
        """Return F with its columns multiplied by `scale` (d,); `centre` and `squares` stay those of the data."""
        values = self.cells.values * scale[self.cells.columns]
        return self._replace(cells=self.cells._replace(values=values), shift=self.shift * scale)

    def product(self, V: Array) -> Array:
        """Return F^T F V (d, k) for V (d, k)."""
        return self.back(self.cells.matrix() @ V - self.shift @ V)

    def back(self, Z: Array) -> Array:
        """Return F^T Z (d, k) for Z (n, k)."""
        return np.asarray(self.cells.matrix().T @ Z - np.outer(self.shift, Z.sum(axis=0)))

    def inner(self) -> Array:
        """Return F F^T (n, n)."""
        A = self.cells.matrix()
        along = A @ self.shift
        K = _self_product(A.T.tocsr())
        K -= along[:, None]
        K -= along
        K += float(self.shift @ self.shift)
        return K

    def moments(self) -> Moments:
        """Return the moments of the table, with the scatter F^T F (d, d); F must be centred."""
        scatter = _self_product(self.cells.matrix())
        scatter -= np.outer(self.shift, self.shift * self.n)
        return Moments(self.centre, scatter)


def _self_product(A: csr_array) -> Array:
    """Return A^T A (d, d) as a dense array, by the faster of two ways.

    For fuller rows, blocks of rows of A are made dense and multiplied by BLAS; otherwise, rows of the sparse product
    are computed and made dense block by block.
    """
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


def _with_explicit_zeros(table: SparseRows, chosen: Mask) -> SparseRows:
    """Return the rows with zeros stored in all absent cells of the columns in the mask `chosen` (d,)."""
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
    """Return the centre of n rows of weight 1 with the mean origin + high, all arguments (d,)."""
    return Centre(n, float(n), float(n) * (n - 1), origin, high, np.zeros_like(high), varies)
