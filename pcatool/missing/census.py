"""Count observed cells per column and per row, in one pass; patterns of missing cells, and columns that rows link."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.linalg.sparse import SparseRows
from pcatool.solvers.base import Problem, check_columns
from pcatool.solvers.rows import Rows, nothing_to_fit

__all__ = [
    "Census",
    "Groups",
    "Index",
    "Mask",
    "column_keys",
    "groups_of",
    "hole_keys",
    "joined",
    "links",
    "links_of_cells",
    "same_cells",
    "same_holes",
    "take_census",
]

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Keys = NDArray[np.uint64]

# An odd number with well mixed bits and two shifts, from the finaliser of SplitMix64 (Steele, Lea, Flood 2014, OOPSLA).
MIX = np.uint64(0xBF58476D1CE4E5B9)
SHIFT = np.uint64(31)


def same_holes(observed: Mask) -> tuple[Index, Index]:
    """The first row of each pattern of holes, and the number of each row's pattern."""
    return _told_apart(hole_keys(observed), observed)


def same_cells(columns: NDArray[np.int32], keys: Keys) -> tuple[Index, Index]:
    """The same of rows with equally many cells, (h, c) their columns; `keys` are those of the columns."""
    return _told_apart(keys[columns].sum(axis=1, dtype=np.uint64), columns)


def _told_apart(keys: Keys, rows: NDArray[Any]) -> tuple[Index, Index]:
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[group]], rows):  # two patterns came by one key: each row for itself
        first = group = np.arange(len(rows))
    return first, group


def column_keys(d: int) -> Keys:
    """A number for each column, so well mixed that a sum tells of which it is made."""
    keys = np.arange(1, d + 1, dtype=np.uint64)
    for _ in range(2):
        keys *= MIX
        keys ^= keys >> SHIFT
    return keys * MIX


def hole_keys(observed: Mask) -> Keys:
    """A number for each row that says where its holes are, (n,); up to 64 columns no two patterns share one."""
    n, d = observed.shape
    packed = np.zeros((n, -(-d // 64) * 8), dtype=np.uint8)
    packed[:, : -(-d // 8)] = np.packbits(observed, axis=1)
    key = np.zeros(n, dtype=np.uint64)
    for word in packed.view(np.uint64).T:
        key = (key ^ word) * MIX
        key ^= key >> SHIFT
    return key


# For each column the first of those that it is linked with, (d,).
Groups = NDArray[np.int64]


def links(observed: Mask) -> Groups:
    """By rows that have two columns at once, and by chains of them; observed (n, d)."""
    d = observed.shape[1]
    first: Groups = np.arange(d)
    while True:
        of_rows = np.where(observed, first, d).min(axis=1, initial=d)
        least = np.minimum(first, np.where(observed, of_rows[:, None], d).min(axis=0, initial=d))
        least = least[least]
        if np.array_equal(least, first):
            return first
        first = least


def links_of_cells(table: SparseRows) -> Groups:
    """The same of rows in compressed form: each cell links its row with its column."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n, d = table.n, table.d
    starts = np.concatenate([np.zeros(d, dtype=np.int64), table.starts])  # columns come first, and link with nothing
    graph = csr_array((np.ones(len(table.values), dtype=np.int8), table.columns, starts), (d + n, d + n))
    group = connected_components(graph, directed=False)[1][:d]
    _, first, of_column = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(first[of_column])


def joined(one: Groups, other: Groups) -> Groups:
    """Linked by either."""
    first = one
    while True:
        least = first.copy()
        for groups in (one, other):
            of_groups = np.full(len(one), len(one))
            np.minimum.at(of_groups, groups, least)
            least = of_groups[groups]
        if np.array_equal(least, first):
            return first
        first = least


def groups_of(first: Groups) -> list[list[int]]:
    """The columns of each group, in their order."""
    return [np.flatnonzero(first == head).tolist() for head in np.unique(first)]


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
