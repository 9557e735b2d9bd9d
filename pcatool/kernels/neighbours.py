"""The nearest rows of each row, and the graph that they make."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, in_turn
from pcatool.errors import DataError, RefusedError
from pcatool.kernels.base import Prepared, slabs
from pcatool.kernels.distances import EPS, ROUNDINGS, exact_pairs, squared_distances, squares

__all__ = ["Graph", "Nearest", "among", "check_count", "length_rounding", "nearest"]

Numbers = NDArray[np.intp]


class Nearest(NamedTuple):
    """The nearest rows, closest first, of equals the first."""

    numbers: Numbers  # (h, count) among the training rows
    distances: Array  # (h, count)

    @property
    def known(self) -> NDArray[np.bool_]:
        """(h,) which rows are training rows themselves."""
        return np.asarray(self.distances[:, 0] == 0)

    def first(self, count: int) -> Nearest:
        """The `count` nearest of these."""
        return Nearest(self.numbers[:, :count], self.distances[:, :count])

    def certain(self, count: int, rows: Prepared) -> bool:
        """Can rounding not have chosen other rows than the `count` nearest of these `rows` among themselves?

        The last of the nearest must be nearer than the next one by more than what both distances may be off by.
        """
        if self.numbers.shape[1] <= count:
            return True  # all others
        last, after = self.distances[:, count - 1], self.distances[:, count]
        error = rows.error + float(rows.error.max())
        return bool(np.all(after - last > 2 * (error + length_rounding(rows.Y.shape[1]) * after)))


class Graph(NamedTuple):
    """Edges between neighbours, each in both directions, sorted."""

    n: int
    tails: Numbers
    heads: Numbers
    lengths: Array

    @classmethod
    def of(cls, near: Nearest) -> Graph:
        """An edge where one row is among the nearest of the other; refused where the graph falls apart."""
        if not np.isfinite(near.distances).all():
            raise RefusedError("distances between rows overflow a double", "rescale the columns, as --standardize does")
        n, count = near.numbers.shape
        tails, heads = np.repeat(np.arange(n), count), near.numbers.ravel()
        both = np.concatenate([tails * n + heads, heads * n + tails])
        edges, first = np.unique(both, return_index=True)
        lengths = np.tile(near.distances.ravel(), 2)[first]
        graph = cls(n, edges // n, edges % n, lengths)
        graph._check_connected(count)
        return graph

    def sparse(self) -> Any:
        """As a sparse matrix of lengths; a length of 0 is an edge, too."""
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.tails, np.arange(self.n + 1))
        heads, starts = self.heads.astype(np.int32), starts.astype(np.int32)  # older scipy takes no others
        return csr_array((self.lengths, heads, starts), shape=(self.n, self.n))

    def _check_connected(self, count: int) -> None:
        from scipy.sparse.csgraph import connected_components

        parts = int(connected_components(self.sparse(), directed=False, return_labels=False))
        if parts > 1:
            raise DataError(
                f"with --neighbours {count} the rows fall into {parts} parts that no neighbours join",
                "give a larger number with --neighbours, or fit each part by itself",
            )


def length_rounding(d: int) -> float:
    """Bound on the error of a length |x - y| of d differences, as a part of it."""
    return (d / 2 + 3) * EPS


def among(X: Array, count: int, run: Runner) -> Nearest:
    """The `count` nearest others of each row, and one more where there is one, which tells how sure that is."""
    check_count(count, len(X))
    return nearest(X, X, min(count + 1, len(X) - 1), run=run, others=True)


def check_count(count: int, n: int) -> None:
    """Every row needs that many others."""
    if count >= n:
        raise DataError(
            f"--neighbours {count} needs more than {count} rows, there are {n}",
            f"give --neighbours {n - 1} or less" if n > 1 else "give more rows",
        )


def nearest(X: Array, T: Array, count: int, *, run: Runner = in_turn, others: bool = False) -> Nearest:
    """The `count` nearest of the rows T (n, d) for each row of X (h, d); `others`: X is T, and no row is its own."""

    longest = float(squares(T).max())

    def of_slab(rows: slice) -> Nearest:
        Y = X[rows]
        D = squared_distances(Y, T)
        own = (np.arange(len(Y)), np.arange(rows.start, rows.stop)) if others else ((), ())
        D[own] = np.inf
        # All that may be among the nearest but for rounding are measured exactly.
        rounding = ROUNDINGS * EPS * (squares(Y) + longest)
        bound = np.partition(D, count - 1, axis=1)[:, count - 1] + 2 * rounding
        i, j = np.nonzero(bound[:, None] >= D)
        D[i, j] = exact_pairs(Y, T, i, j)
        D[own] = np.inf
        numbers = _smallest(D, count)
        return Nearest(numbers, np.sqrt(np.take_along_axis(D, numbers, axis=1)))

    found = list(run(of_slab, slabs(len(X), len(T))))
    return Nearest(np.concatenate([part.numbers for part in found]), np.concatenate([part.distances for part in found]))


def _smallest(D: Array, count: int) -> Numbers:
    """Columns of the `count` smallest values of each row, in order; of equals the first."""
    chosen = np.sort(np.argpartition(D, count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(D, chosen, axis=1)
    tied = np.count_nonzero(values.max(axis=1, keepdims=True) >= D, axis=1) > count
    chosen[tied] = np.sort(np.argsort(D[tied], axis=1, kind="stable")[:, :count], axis=1)
    order = np.argsort(np.take_along_axis(D, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)
