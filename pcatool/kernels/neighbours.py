"""The nearest neighbours of rows, and the graph that connects each row with its neighbours."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, run_serially
from pcatool.errors import DataError, RefusedError
from pcatool.kernels.base import Prepared, row_slices
from pcatool.kernels.functions import EPS, PRODUCT_ROUNDINGS, exact_pairs, squared_distances, squares
from pcatool.wording import counted

__all__ = ["Graph", "Neighbours", "check_neighbour_count", "length_rounding", "neighbours_in", "neighbours_within"]

Indices = NDArray[np.intp]


class Neighbours(NamedTuple):
    """The nearest training rows of each row, closest first; ties in the order of the training rows."""

    indices: Indices  # (h, count) indices of training rows
    distances: Array  # (h, count)

    @property
    def equal_training_row(self) -> NDArray[np.bool_]:
        """Mask (h,) of rows that equal a training row."""
        return np.asarray(self.distances[:, 0] == 0)

    def closest(self, count: int) -> Neighbours:
        """Return only the `count` nearest neighbours of each row."""
        return Neighbours(self.indices[:, :count], self.distances[:, :count])

    def is_certain(self, count: int, rows: Prepared) -> bool:
        """Whether the first `count` neighbours of each row in `rows` are the nearest, in spite of rounding errors.

        This holds if the last of these is closer than the next neighbour by more than the errors of both distances, or
        if there is no next neighbour.
        """
        if self.indices.shape[1] <= count:
            return True  # all other rows are neighbours
        last, after = self.distances[:, count - 1], self.distances[:, count]
        error = rows.error + float(rows.error.max())
        return bool(np.all(after - last > 2 * (error + length_rounding(rows.Y.shape[1]) * after)))


class Graph(NamedTuple):
    """The neighbour graph of n rows; every edge is stored in both directions, sorted by tail and head."""

    n: int
    tails: Indices  # (edges,) first row of each edge
    heads: Indices  # (edges,) second row of each edge
    lengths: Array  # (edges,) distance between the rows

    @classmethod
    def of(cls, neighbours: Neighbours) -> Graph:
        """Build the graph of rows from their neighbours; an edge joins two rows if one is a neighbour of the other.

        Raise RefusedError if distances overflow, and DataError if the graph is not connected.
        """
        if not np.isfinite(neighbours.distances).all():
            raise RefusedError("distances between rows overflow a double", "rescale the columns, as --standardize does")
        n, count = neighbours.indices.shape
        tails, heads = np.repeat(np.arange(n), count), neighbours.indices.ravel()
        both = np.concatenate([tails * n + heads, heads * n + tails])
        edges, first_index = np.unique(both, return_index=True)
        lengths = np.tile(neighbours.distances.ravel(), 2)[first_index]
        graph = cls(n, edges // n, edges % n, lengths)
        graph._check_connected(count)
        return graph

    def sparse(self) -> Any:
        """Return a SciPy csr_array (n, n) of the lengths; an edge of length 0 is stored explicitly."""
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.tails, np.arange(self.n + 1))
        heads, starts = self.heads.astype(np.int32), starts.astype(np.int32)  # older scipy accepts int32 only
        return csr_array((self.lengths, heads, starts), shape=(self.n, self.n))

    def _check_connected(self, count: int) -> None:
        from scipy.sparse.csgraph import connected_components

        parts = int(connected_components(self.sparse(), directed=False, return_labels=False))
        if parts > 1:
            raise DataError(
                f"--neighbours {count}: the graph of nearest neighbours has {parts} separate parts",
                "give a larger number with --neighbours",
            )


def length_rounding(d: int) -> float:
    """Return a bound on the relative error of a length |x - y| computed from d differences."""
    return (d / 2 + 3) * EPS


def neighbours_within(X: Array, count: int, run: Runner) -> Neighbours:
    """Return the `count` + 1 nearest other rows of each row of X (n, d), or all other rows if these are fewer.

    `Neighbours.is_certain` needs the additional neighbour. Raise DataError unless n is larger than `count`.
    """
    check_neighbour_count(count, len(X))
    return neighbours_in(X, X, min(count + 1, len(X) - 1), run=run, exclude_self=True)


def check_neighbour_count(count: int, n: int) -> None:
    """Raise DataError if n rows are too few for `count` neighbours of each row."""
    if count >= n:
        raise DataError(
            f"--neighbours {count} needs more than {counted(count, 'row')}, but the data have {counted(n, 'row')}",
            f"give --neighbours {n - 1} or less" if n > 1 else "give more rows",
        )


def neighbours_in(
    X: Array, T: Array, count: int, *, run: Runner = run_serially, exclude_self: bool = False
) -> Neighbours:
    """Return the `count` nearest of the rows T (n, d) for each row of X (h, d), with their distances.

    `exclude_self` says that X is T, and excludes each row from its own neighbours.
    """
    longest = float(squares(T).max())

    def of_slice(rows: slice) -> Neighbours:
        Y = X[rows]
        D = squared_distances(Y, T)
        itself = (np.arange(len(Y)), np.arange(rows.start, rows.stop)) if exclude_self else ((), ())
        D[itself] = np.inf
        # Distances of all rows that may be among the nearest, given the rounding, are computed exactly.
        rounding = PRODUCT_ROUNDINGS * EPS * (squares(Y) + longest)
        bound = np.partition(D, count - 1, axis=1)[:, count - 1] + 2 * rounding
        i, j = np.nonzero(bound[:, None] >= D)
        D[i, j] = exact_pairs(Y, T, i, j)
        D[itself] = np.inf
        indices = _smallest(D, count)
        return Neighbours(indices, np.sqrt(np.take_along_axis(D, indices, axis=1)))

    parts = list(run(of_slice, row_slices(len(X), len(T))))
    return Neighbours(
        np.concatenate([part.indices for part in parts]), np.concatenate([part.distances for part in parts])
    )


def _smallest(D: Array, count: int) -> Indices:
    """Return columns (h, count) of the `count` smallest values of each row of D (h, n), ascending, ties by column."""
    chosen = np.sort(np.argpartition(D, count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(D, chosen, axis=1)
    tied = np.count_nonzero(values.max(axis=1, keepdims=True) >= D, axis=1) > count
    chosen[tied] = np.sort(np.argsort(D[tied], axis=1, kind="stable")[:, :count], axis=1)
    order = np.argsort(np.take_along_axis(D, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)
