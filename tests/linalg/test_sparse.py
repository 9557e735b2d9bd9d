"""Rows in compressed form: the cells come in any order, and nothing of the columns' sums is lost to an offset."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from missing.made import Array, cells_of, punched
from pcatool.linalg.sparse import SparseRows, first_duplicate


@pytest.fixture(scope="module")
def X() -> Array:
    return punched(np.random.default_rng(0).normal(size=(50, 7)), 0.6, 1)


def test_order_of_the_cells_changes_no_bit(X: Array) -> None:
    plain = SparseRows.of_dense(X)
    for seed in range(3):
        other = cells_of(X, seed)
        for mine, its in zip(plain, other, strict=True):
            assert np.asarray(mine).tobytes() == np.asarray(its).tobytes()


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint16])
def test_any_integers_will_do(X: Array, kind: type[np.integer]) -> None:
    rows, columns = np.nonzero(~np.isnan(X))
    cells = SparseRows.of(rows.astype(kind), columns.astype(kind), X[rows, columns], *X.shape)
    assert np.array_equal(cells.dense(0, 50, np.nan), X, equal_nan=True)
    assert (cells.starts.dtype, cells.columns.dtype) == (np.int64, np.int32)


def test_places_past_what_32_bits_count() -> None:
    cells = SparseRows.of(np.array([99_999, 0], np.int32), np.array([99_998, 1], np.int32), np.ones(2), 100_000, 99_999)
    assert cells.columns.tolist() == [1, 99_998]
    assert cells.starts[[0, 1, 99_999, 100_000]].tolist() == [0, 1, 1, 2]


def test_as_blocks(X: Array) -> None:
    cells, means = SparseRows.of_dense(X), np.arange(7.0)
    block = cells.dense(10, 30, means)
    assert block.flags.f_contiguous
    assert np.array_equal(block, np.where(np.isnan(X), means, X)[10:30])
    assert cells.dense(20, 20, 0.0).shape == (0, 7)
    assert np.array_equal(cells.matrix().toarray(), np.nan_to_num(X))


@pytest.mark.parametrize("size", [1, 5, 40, 1000])
def test_parts_are_the_whole(size: int, X: Array) -> None:
    cells = SparseRows.of_dense(X)
    ends = cells.cut(size)
    parts = [cells.part(first, last) for first, last in ends]
    assert [first for first, _ in ends] == [0, *(last for _, last in ends[:-1])]
    assert np.array_equal(np.vstack([part.dense(0, part.n, np.nan) for part in parts]), X, equal_nan=True)
    assert max(len(part.values) for part in parts) <= size + 7


def test_doubles() -> None:
    rows, columns = np.array([4, 2, 4, 2, 2, 4]), np.array([1, 0, 2, 0, 0, 1])
    assert first_duplicate(rows, columns) == (1, 3)  # cell 5 is a double of cell 0, but comes later
    assert first_duplicate(rows[[0, 2, 4]], columns[[0, 2, 4]]) is None
    assert first_duplicate(rows[:0], columns[:0]) is None


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_sums_of_columns_about_any_offset(offset: float) -> None:
    X = punched(np.random.default_rng(3).integers(-512, 512, (400, 6)) / 1024.0 + offset, 0.5, 4)
    X[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, 7.0)
    X[:, 3] = np.nan
    X[9, 4], X[:9, 4], X[10:, 4] = 3.0, np.nan, np.nan
    about = cells_of(X, 0).column_sums()
    some = about.cells > 0
    assert about.cells.tolist() == (~np.isnan(X)).sum(axis=0).tolist()
    assert about.varies.tolist() == [True, True, False, False, False, True]
    small = X[:, some] - np.array([offset, offset, 7.0, 3.0, offset])
    np.testing.assert_allclose(about.scatter[some], len(X) * 0 + np.nansum((small - np.nanmean(small, 0)) ** 2, 0))
    np.testing.assert_allclose((about.origin + about.shift)[some], np.nanmean(X[:, some], axis=0), rtol=1e-14)


def test_memory_of_sorting() -> None:
    count = 200_000
    at = np.random.default_rng(0).permutation(4 * count)[:count]
    rows, columns, values = at // 1000, at % 1000, np.ones(count)
    tracemalloc.start()
    try:
        SparseRows.of(rows, columns, values, 800, 1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * count
