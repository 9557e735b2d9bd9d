"""Rows of which only some cells are there, in compressed form: memory follows the cells, not rows times columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["ColumnSums", "SparseRows", "first_double"]

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
