"""Column means in the holes, in one pass: the moments of the filled table, whatever the blocks and the offset."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from missing.made import Array, made, problem_of, punched
from pcatool.arrays import SERIAL
from pcatool.errors import DataError
from pcatool.linalg.moments import Moments, MomentsAccumulator
from pcatool.missing import mean_imputation
from pcatool.missing.mean_imputation import MissingSums, PairsAccumulator, PairSums, moving_bytes

# Sums of a few hundred terms, about a mean that is known as a pair of doubles.
DIGITS = 1e-13


def moments_of(X: Array, heights: list[int], weights: Array | None = None) -> Moments | PairSums:
    """Of the rows in blocks of these heights, about the first cells of the first block."""
    cuts = np.cumsum(heights)[:-1]
    ws: Any = [None] * len(heights) if weights is None else np.split(weights, cuts)
    blocks = np.split(X, cuts)
    there = ~np.isnan(blocks[0])
    origin = np.where(there.any(axis=0), blocks[0][there.argmax(axis=0), np.arange(X.shape[1])], np.nan)
    return SERIAL.reduce(zip(blocks, ws, strict=True), PairsAccumulator(origin))


def filled_scatter(X: Array, weights: Array, offset: float) -> tuple[Array, Array]:
    """Means of the cells, and the scatter of the table filled with them, in longer doubles and without the offset."""
    long = X.astype(np.longdouble) - offset
    there = ~np.isnan(X)
    w = weights.astype(np.longdouble)[:, None]
    mean = np.where(there, long * w, 0).sum(axis=0) / (there * w).sum(axis=0)
    Y = np.where(there, long - mean, 0)
    return (mean + offset).astype(np.float64), (Y.T @ (w * Y)).astype(np.float64)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("heights", [[200], [100, 100], [64, 64, 64, 8], [1] * 200])
def test_they_are_the_moments_of_the_filled_table(offset: float, weighted: bool, heights: list[int]) -> None:
    X = punched(made(200, 6, [9.0, 4.0], 0.5, 1).X + offset, 0.3, 2)
    w = np.random.default_rng(3).uniform(0.5, 4, 200) if weighted else np.ones(200)
    found = moments_of(X, heights, w if weighted else None)
    assert isinstance(found, PairSums)
    mean, scatter = filled_scatter(X, w, offset)
    moments = found.filled()
    np.testing.assert_allclose(moments.centre.mean, mean, rtol=4e-16, atol=1e-15)
    assert np.abs(moments.scatter - scatter).max() < DIGITS * np.abs(scatter).max()
    assert moments.centre.rows == 200
    np.testing.assert_allclose(moments.centre.weight, w.sum(), rtol=1e-14)


def test_columns_whole_in_some_blocks_and_empty_in_others() -> None:
    X = made(300, 5, [9.0], 0.5, 1).X + 1e7
    X[:100, 1] = np.nan  # not there at first
    X[100:200, 2] = np.nan
    X[250:, 3] = np.nan
    X[200:, 4] = 3.0
    found = moments_of(X, [100, 100, 100])
    mean, scatter = filled_scatter(X, np.ones(300), 1e7)
    assert isinstance(found, PairSums)
    np.testing.assert_allclose(found.filled().centre.mean, mean, rtol=4e-16, atol=1e-15)
    assert np.abs(found.scatter - scatter).max() < 1e-11 * np.abs(scatter).max()  # column 1 is far from its origin, 0


def test_rows_without_holes_give_the_bits_of_the_plain_moments() -> None:
    X = made(300, 5, [9.0], 0.5, 1).X
    plain = SERIAL.reduce([(block, None) for block in np.split(X, 3)], MomentsAccumulator(X[0]))
    found = moments_of(X, [100, 100, 100])
    assert isinstance(found, Moments)
    assert np.array_equal(found.scatter, plain.scatter)
    assert np.array_equal(found.centre.mean, plain.centre.mean)


@pytest.mark.parametrize("late", [False, True])
def test_a_column_of_one_value_is_constant(late: bool) -> None:
    X = made(200, 3, [9.0], 0.5, 1).X
    X[:, 1] = 5.0
    X[: 100 if late else 30, 1] = np.nan
    found = moments_of(X, [100, 100])
    assert isinstance(found, PairSums)
    assert found.varies.tolist() == [True, False, True]
    X[150, 1] = 6.0
    found = moments_of(X, [100, 100])
    assert isinstance(found, PairSums)
    assert found.varies.tolist() == [True, True, True]


def test_a_column_without_a_cell_is_refused_by_name() -> None:
    X = made(200, 3, [9.0], 0.5, 1).X
    X[:, 1] = np.nan
    found = moments_of(X, [100, 100])
    assert isinstance(found, PairSums)
    with pytest.raises(DataError, match="column 'c2' has no value; leave the column out with -x"):
        found.check(problem_of(3).columns)


def test_bits_do_not_depend_on_how_many_rows_of_a_matrix_are_moved_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    X = punched(made(400, 30, [9.0, 4.0], 0.5, 1).X + 1e6, 0.2, 2)
    found = []
    for size in (1, 8 * 30 * 7, 1 << 30):
        monkeypatch.setattr(mean_imputation, "SLAB_BYTES", size)
        sums = moments_of(X, [128, 128, 144])
        assert isinstance(sums, PairSums)
        found.append((sums.both.tobytes(), sums.cross.tobytes(), sums.scatter.tobytes()))
    assert found[0] == found[1] == found[2]


def test_a_merge_takes_no_further_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    d = 600
    monkeypatch.setattr(mean_imputation, "SLAB_BYTES", 8 * d * 10)
    X = punched(made(200, d, [9.0], 0.5, 1).X, 0.1, 2)
    accumulator = PairsAccumulator(np.where(np.isnan(X[0]), 0.0, X[0]))
    one, other = (accumulator.of_block((part, None)) for part in np.split(X, 2))
    tracemalloc.start()
    try:
        accumulator.merge(one, other)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < moving_bytes(d) + 40 * 8 * d < 8 * d * d / 4  # some rows, and some vectors


def test_sums_of_parts_are_merged_without_changing_them() -> None:
    X = punched(made(200, 6, [9.0, 4.0], 0.5, 1).X, 0.3, 2)
    one, other = (MissingSums.summed(moments_of(part, [100])) for part in np.split(X, 2))
    before = [part.pairs.scatter.copy() for part in (one, other)]
    first = one.merged(other)
    assert np.array_equal(first.pairs.scatter, one.merged(other).pairs.scatter)
    for part, scatter in zip((one, other), before, strict=True):
        assert np.array_equal(part.pairs.scatter, scatter)
