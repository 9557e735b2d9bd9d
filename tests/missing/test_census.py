"""Which columns rows link: told alike of blocks, of their parts joined, and of cells."""

from __future__ import annotations

import numpy as np
import pytest

from pcatool.linalg.sparse import SparseRows
from pcatool.missing.census import join_groups, link_columns, link_columns_of_cells, list_groups


@pytest.mark.parametrize("seed", range(40))
def test_every_way_tells_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 14, size=2)
    observed = rng.random((n, d)) < rng.choice([0.1, 0.2, 0.4])
    whole = link_columns(observed)
    half = n // 2
    assert np.array_equal(join_groups(link_columns(observed[:half]), link_columns(observed[half:])), whole)
    assert np.array_equal(link_columns_of_cells(SparseRows.of_dense(np.where(observed, 1.0, np.nan))), whole)
    # By hand: two columns of one row are of one group, and nothing links the groups.
    group_of = {j: g for g, columns in enumerate(list_groups(whole)) for j in columns}
    assert sorted(group_of) == list(range(d))
    for row in observed:
        assert len({group_of[j] for j in np.flatnonzero(row)}) <= 1


def test_a_chain_of_rows_links_its_ends() -> None:
    chain = np.eye(9, 10, dtype=bool) | np.eye(9, 10, 1, dtype=bool)
    assert list_groups(link_columns(chain[::-1])) == [list(range(10))]
    chain[4] = False
    assert list_groups(link_columns(chain)) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_a_column_without_cells_stands_alone() -> None:
    assert list_groups(link_columns(np.array([[True, False, True]]))) == [[0, 2], [1]]
