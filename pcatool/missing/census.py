"""What there is of each column and of the rows, before anything is fitted: one pass."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.linalg.sparse import SparseRows
from pcatool.missing.links import Groups, joined, links, links_of_cells
from pcatool.missing.patterns import Mask
from pcatool.solvers.base import Problem, check_columns
from pcatool.solvers.rows import Rows, nothing_to_fit

__all__ = ["Census", "take_census"]


class Census(NamedTuple):
    """What there is of each column, about an origin of its own, and of the rows."""

    rows: int  # with a cell at least
    empty: int  # rows without
    weight: float  # of the rows: their number, or the sum of their weights
    squares: float  # sum of squared weights
    cells: NDArray[np.int64]  # (d,) that are there
    weights: Array  # (d,) of these
    weight_squares: Array  # (d,)
    origin: Array  # (d,) a cell of the column
    shift: Array  # (d,) mean about the origin
    scatter: Array  # (d,) sum of w (x - mean)^2
    varies: Mask  # (d,) two cells differ
    groups: Groups  # (d,) which columns rows link

    @property
    def complete(self) -> bool:
        """Has every row that is not empty all its cells?"""
        return bool(np.all(self.cells == self.rows))

    @property
    def missing(self) -> NDArray[np.int64]:
        """Cells missing in each column, (d,), those of empty rows too."""
        return self.rows + self.empty - self.cells

    @property
    def mean(self) -> Array:
        return self.origin + self.shift

    def merge(self, other: Census) -> Census:
        """Of these rows followed by the others (Chan, Golub, LeVeque 1983)."""
        both = (self.cells > 0) & (other.cells > 0)
        origin = np.where(self.cells > 0, self.origin, other.origin)
        weights = self.weights + other.weights
        share = other.weights / _or_one(weights)
        apart = np.where(both, (other.origin - self.origin) + (other.shift - self.shift), 0.0)
        return Census(
            self.rows + other.rows,
            self.empty + other.empty,
            self.weight + other.weight,
            self.squares + other.squares,
            self.cells + other.cells,
            weights,
            self.weight_squares + other.weight_squares,
            origin,
            np.where(self.cells > 0, self.shift + apart * share, other.shift),
            self.scatter + other.scatter + apart * apart * self.weights * share,
            self.varies | other.varies | (both & (self.origin != other.origin)),
            joined(self.groups, other.groups),
        )


def take_census(rows: Rows | SparseRows, problem: Problem) -> Census:
    """One pass over the columns; refuses one that holds nothing, and what no model can be fitted to."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # units_of refuses in words
        parts = rows.map(_of_block, size=64 * problem.d) if isinstance(rows, Rows) else iter([_of_cells(rows)])
        first = next(parts, None)
        if first is None:
            raise nothing_to_fit()
        census = reduce(Census.merge, parts, first)
    check_columns(census.weights, problem.columns)
    return census


def _of_block(X: Array, w: Array | None) -> Census:
    observed = ~np.isnan(X)
    w = np.ones(len(X)) if w is None else w
    used = observed.any(axis=1)
    cells = observed.sum(axis=0)
    weights = w @ observed
    origin = np.where(cells > 0, X[observed.argmax(axis=0), np.arange(X.shape[1])], 0.0)
    Y = np.where(observed, X - origin, 0.0)
    varies = np.asarray(Y.any(axis=0))
    shift = (w @ Y) / _or_one(weights)
    Y = np.where(observed, Y - shift, 0.0)
    rest = w @ Y  # what rounding left
    return Census(
        int(used.sum()),
        int(len(X) - used.sum()),
        float(w @ used),
        float((w * w) @ used),
        cells,
        weights,
        (w * w) @ observed,
        origin,
        shift + rest / _or_one(weights),
        np.einsum("i,ij,ij->j", w, Y, Y) - rest * (rest / _or_one(weights)),
        varies,
        links(observed),
    )


def _of_cells(table: SparseRows) -> Census:
    used = int(np.count_nonzero(table.counts))
    about = table.about()
    weights = about.cells.astype(np.float64)
    return Census(
        used,
        table.n - used,
        float(used),
        float(used),
        about.cells,
        weights,
        weights,
        about.origin,
        about.shift,
        about.scatter,
        about.varies,
        links_of_cells(table),
    )


def _or_one(weights: Array) -> Array:
    return np.where(weights > 0, weights, 1.0)
