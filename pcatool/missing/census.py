"""Count observed cells per column and per row, in one pass.

Also: group rows by their pattern of missing cells, and group columns that are observed together in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Accumulator, Array, Block
from pcatool.linalg.sparse import SparseRows

if TYPE_CHECKING:
    from pcatool.solvers.base import Problem
    from pcatool.solvers.rows import Rows

__all__ = [
    "Census",
    "Groups",
    "Index",
    "Mask",
    "group_by_columns",
    "group_by_pattern",
    "hash_columns",
    "hash_patterns",
    "join_groups",
    "link_columns",
    "link_columns_of_cells",
    "list_groups",
    "order_by_group",
    "take_census",
]

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Keys = NDArray[np.uint64]

# Multiplier (odd, with well mixed bits) and shift of the finaliser of SplitMix64 (Steele, Lea, Flood 2014, OOPSLA).
MIX = np.uint64(0xBF58476D1CE4E5B9)
SHIFT = np.uint64(31)


def group_by_pattern(observed: Mask) -> tuple[Index, Index]:
    """Group rows by their pattern of missing cells; `observed` is (n, d).

    Return the index of the first row of each of u patterns, (u,), and the number of the pattern of each row, (n,), from
    0 to u - 1.
    """
    return _group_equal_rows(hash_patterns(observed), observed)


def group_by_columns(columns: NDArray[np.int32], keys: Keys) -> tuple[Index, Index]:
    """Group rows that observe the same columns, for h rows with c observed cells each.

    `columns` (h, c) are the columns of the observed cells; `keys` (d,) is the result of `hash_columns`. Return the
    first row of each group and the group number of each row, like `group_by_pattern`.
    """
    return _group_equal_rows(keys[columns].sum(axis=1, dtype=np.uint64), columns)


def _group_equal_rows(keys: Keys, rows: NDArray[Any]) -> tuple[Index, Index]:
    """Group equal rows (h, c); `keys` (h,) are hashes of the rows.

    Return the first row of each group and the group number of each row, (h,). If different rows share a key, each row
    is a group of its own.
    """
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[group]], rows):  # two patterns share a key: give each row a group of its own
        first = group = np.arange(len(rows))
    return first, group


def order_by_group(group: Index) -> tuple[Index, Index]:
    """Sort rows by the number of their group, `group` (n,).

    Return the row indices in this order, (n,), and the position where each of u groups begins in this order, (u,).
    """
    together = np.argsort(group, kind="stable")
    return together, np.flatnonzero(np.diff(group[together], prepend=-1))


def hash_columns(d: int) -> Keys:
    """Return a hash of each column number from 0 to d - 1, (d,).

    The bits are well mixed, so that the sum of the hashes of some columns identifies these columns.
    """
    keys = np.arange(1, d + 1, dtype=np.uint64)
    for _ in range(2):
        keys *= MIX
        keys ^= keys >> SHIFT
    return keys * MIX


def hash_patterns(observed: Mask) -> Keys:
    """Return a hash of the pattern of missing cells of each row, (n,); `observed` is (n, d).

    Up to 64 columns, different patterns have different hashes.
    """
    n, d = observed.shape
    packed = np.zeros((n, -(-d // 64) * 8), dtype=np.uint8)
    packed[:, : -(-d // 8)] = np.packbits(observed, axis=1)
    key = np.zeros(n, dtype=np.uint64)
    for word in packed.view(np.uint64).T:
        key = (key ^ word) * MIX
        key ^= key >> SHIFT
    return key


# Groups of linked columns: for each column, the number of the first column of its group, (d,). A row links all columns
# that it observes; columns of different groups are never linked, not even through other columns.
Groups = NDArray[np.int64]


def link_columns(observed: Mask) -> Groups:
    """Group columns that are observed together: in the same row, or through a chain of rows and columns.

    `observed` is (n, d). Return the number of the first column in the group of each column, (d,).
    """
    d = observed.shape[1]
    first: Groups = np.arange(d)
    while True:
        of_rows = np.where(observed, first, d).min(axis=1, initial=d)
        least = np.minimum(first, np.where(observed, of_rows[:, None], d).min(axis=0, initial=d))
        least = least[least]
        if np.array_equal(least, first):
            return first
        first = least


def link_columns_of_cells(table: SparseRows) -> Groups:
    """Group columns that are observed together, like `link_columns`, for rows in compressed form."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n, d = table.n, table.d
    starts = np.concatenate([np.zeros(d, dtype=np.int64), table.starts])  # columns are the first nodes, without edges
    graph = csr_array((np.ones(len(table.values), dtype=np.int8), table.columns, starts), (d + n, d + n))
    group = connected_components(graph, directed=False)[1][:d]
    _, first, of_column = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(first[of_column])


def join_groups(one: Groups, other: Groups) -> Groups:
    """Return the groups (d,) of columns after merging all groups of `one` and `other` that have a column in common."""
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


def list_groups(first: Groups) -> list[list[int]]:
    """Return one list of ascending column numbers for each group, groups in the order of their first columns."""
    return [np.flatnonzero(first == head).tolist() for head in np.unique(first)]


class Census(NamedTuple):
    """Counts and moments of the observed cells of each column, about an origin per column, and counts of the rows.

    Made by `take_census`, for EM and for filling with means in several passes. An empty row has no observed cell.
    """

    rows: int  # rows with at least one observed cell
    empty: int  # empty rows
    weight: float  # number of `rows`, or the sum of their weights
    squares: float  # sum of the squared weights of `rows`
    cells: NDArray[np.int64]  # (d,) number of observed cells
    weights: Array  # (d,) sum of the weights of the observed cells
    weight_squares: Array  # (d,) sum of their squared weights
    origin: Array  # (d,) an observed cell of the column
    shift: Array  # (d,) mean minus origin
    scatter: Array  # (d,) sum of w (x - mean)^2
    varies: Mask  # (d,) whether two observed cells differ
    groups: Groups  # (d,) see `link_columns`

    @property
    def complete(self) -> bool:
        """Whether no cell is missing, except in empty rows."""
        return bool(np.all(self.cells == self.rows))

    @property
    def missing(self) -> NDArray[np.int64]:
        """Number of missing cells per column, (d,), including the cells of empty rows."""
        return self.rows + self.empty - self.cells

    @property
    def mean(self) -> Array:
        """Mean of the observed cells of each column, (d,)."""
        return self.origin + self.shift

    def merge(self, other: Census) -> Census:
        """Return the census of the rows of `self` and `other` together (Chan, Golub, LeVeque 1983)."""
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
            join_groups(self.groups, other.groups),
        )


def take_census(rows: Rows | SparseRows, problem: Problem) -> Census:
    """Count and sum the observed cells of all rows, in one pass; `problem` gives the column names for errors.

    Raise `NoRows` if there are no rows, and `DataError` if a column has no observed cell.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # `units_of` refuses overflow with a message
        accumulator = CensusAccumulator(problem.columns)
        if isinstance(rows, SparseRows):
            return accumulator.finish(_census_of_cells(rows))
        return rows.reduce(accumulator)


class CensusAccumulator(Accumulator[Block, Census]):
    """Adds up the census of rows with NaN in the missing cells; `columns` are the column names, for errors."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns

    @property
    def part_bytes(self) -> int:
        """Bytes of one census."""
        return 64 * len(self.columns)

    def of_block(self, block: Block) -> Census:
        """Return the census of one block."""
        return _census_of_rows(*block)

    def merge(self, one: Census, other: Census) -> Census:
        """Return the census of the rows of `one` and `other` together."""
        return one.merge(other)

    def finish(self, part: Census) -> Census:
        """Return the census of all rows; raise `DataError` if a column has no observed cell."""
        from pcatool.solvers.base import check_columns  # imported here: scoring uses this module without a solver

        check_columns(part.weights, self.columns)
        return part


def _census_of_rows(X: Array, w: Array | None) -> Census:
    """Return the census of rows X (n, d) with NaN in the missing cells, and weights (n,) or None."""
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
    rest = w @ Y  # rounding error of the mean
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
        link_columns(observed),
    )


def _census_of_cells(table: SparseRows) -> Census:
    """Return the census of rows in compressed form."""
    used = int(np.count_nonzero(table.counts))
    sums = table.column_sums()
    weights = sums.cells.astype(np.float64)
    return Census(
        used,
        table.n - used,
        float(used),
        float(used),
        sums.cells,
        weights,
        weights,
        sums.origin,
        sums.shift,
        sums.scatter,
        sums.varies,
        link_columns_of_cells(table),
    )


def _or_one(weights: Array) -> Array:
    """Return the weights with 1 in place of 0, so that they can be divisors."""
    return np.where(weights > 0, weights, 1.0)
