"""Count observed cells per column and per row, in one pass.

Also: group rows by their pattern of missing cells, and group columns that are linked by rows.
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
    """Return the first row of each pattern of missing cells, (u,), and the pattern number of each row, (n,)."""
    return _group_equal_rows(hash_patterns(observed), observed)


def group_by_columns(columns: NDArray[np.int32], keys: Keys) -> tuple[Index, Index]:
    """Group rows that observe the same columns, for rows with equally many observed cells.

    `columns` (h, c) are the columns of the observed cells; `keys` (d,) are those of `hash_columns`. Return the first
    row of each group and the group number of each row, like `group_by_pattern`.
    """
    return _group_equal_rows(keys[columns].sum(axis=1, dtype=np.uint64), columns)


def _group_equal_rows(keys: Keys, rows: NDArray[Any]) -> tuple[Index, Index]:
    """Group equal rows (h, c) by their keys (h,): the first row of each group, and the group number of each row."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[group]], rows):  # two patterns share a key: give each row a group of its own
        first = group = np.arange(len(rows))
    return first, group


def order_by_group(group: Index) -> tuple[Index, Index]:
    """Return the rows in the order of their groups, (n,), and where each group begins in that order, (u,)."""
    together = np.argsort(group, kind="stable")
    return together, np.flatnonzero(np.diff(group[together], prepend=-1))


def hash_columns(d: int) -> Keys:
    """Hash each column number, (d,).

    The bits are well mixed, so that the sum of some keys identifies the columns that were summed.
    """
    keys = np.arange(1, d + 1, dtype=np.uint64)
    for _ in range(2):
        keys *= MIX
        keys ^= keys >> SHIFT
    return keys * MIX


def hash_patterns(observed: Mask) -> Keys:
    """Hash the pattern of missing cells of each row, (n,).

    Up to 64 columns, different patterns have different keys.
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
    """Group columns: two columns are linked if a row observes both, or through a chain of such columns.

    `observed` is (n, d).
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
    """Like `link_columns`, for rows in compressed form: each cell links its row with its column."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n, d = table.n, table.d
    starts = np.concatenate([np.zeros(d, dtype=np.int64), table.starts])  # columns are the first nodes, without edges
    graph = csr_array((np.ones(len(table.values), dtype=np.int8), table.columns, starts), (d + n, d + n))
    group = connected_components(graph, directed=False)[1][:d]
    _, first, of_column = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(first[of_column])


def join_groups(one: Groups, other: Groups) -> Groups:
    """Group columns that are linked by `one`, by `other`, or by a chain of links of both."""
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
    """List the column numbers of each group, each in ascending order, groups by their first column."""
    return [np.flatnonzero(first == head).tolist() for head in np.unique(first)]


class Census(NamedTuple):
    """Counts and moments of the observed cells of each column, about an origin per column, and counts of the rows.

    Made by `take_census`, for EM and for filling with means in several passes.
    """

    rows: int  # with at least one observed cell
    empty: int  # rows without an observed cell
    weight: float  # number of rows, or the sum of their weights
    squares: float  # sum of squared weights
    cells: NDArray[np.int64]  # (d,) number of observed cells
    weights: Array  # (d,) sum of the weights of the observed cells
    weight_squares: Array  # (d,) sum of their squared weights
    origin: Array  # (d,) an observed cell of the column
    shift: Array  # (d,) mean about the origin
    scatter: Array  # (d,) sum of w (x - mean)^2
    varies: Mask  # (d,) whether two observed cells differ
    groups: Groups  # (d,) columns linked by rows

    @property
    def complete(self) -> bool:
        """Whether every row that is not empty has all its cells."""
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
        """Return the census of these rows followed by those of `other` (Chan, Golub, LeVeque 1983)."""
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
    """Take the census of all rows in one pass.

    Raise `NoRows` if there are no rows, and `DataError` if a column has no observed cell.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # `units_of` refuses overflow with a message
        accumulator = CensusAccumulator(problem.columns)
        if isinstance(rows, SparseRows):
            return accumulator.finish(_census_of_cells(rows))
        return rows.reduce(accumulator)


class CensusAccumulator(Accumulator[Block, Census]):
    """Adds up the census of rows with NaN in the missing cells, for columns of these names."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns

    @property
    def part_bytes(self) -> int:
        """Bytes of the counts and sums of all columns."""
        return 64 * len(self.columns)

    def of_block(self, block: Block) -> Census:
        """Return the census of one block."""
        return _census_of_rows(*block)

    def merge(self, one: Census, other: Census) -> Census:
        """Return the census of both."""
        return one.merge(other)

    def finish(self, part: Census) -> Census:
        """Return the census of all rows; raise `DataError` if a column has no observed cell."""
        from pcatool.solvers.base import check_columns  # scores of rows group them here, and need no solver

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
    """Replace zero weights by 1, to divide by them."""
    return np.where(weights > 0, weights, 1.0)
