"""Which columns rows link: what two columns have in common is in the data only if some chain of rows leads across."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcatool.linalg.sparse import SparseRows
from pcatool.missing.patterns import Mask

__all__ = ["Groups", "groups_of", "joined", "links", "links_of_cells"]

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
