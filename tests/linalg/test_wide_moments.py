"""Moments of wide rows: those of `Moments.of_block`, the same bits for any threads and any cut of the rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pcatool.arrays import Array, NoRows, recut, run_serially
from pcatool.engines.threads import Threads
from pcatool.linalg.moments import Moments
from pcatool.linalg.wide_moments import JOINED_ROWS, wide_moments
from pcatool.solvers.rows import Rows

N, D = 2 * JOINED_ROWS + 77, 1030


@pytest.fixture(scope="module")
def X() -> Array:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, D)) * 10.0 ** rng.uniform(-3, 3, D) + 1e6 * rng.standard_normal(D)
    X[:, 7] = 3.25
    return np.asarray(X)


def cut(X: Array, heights: int) -> Iterator[Array]:
    return (X[at : at + heights] for at in range(0, len(X), heights))


def moments_of(table: Array, heights: int, engine: Threads, *, weighted: bool) -> Moments:
    rows = Rows(recut(cut(table, heights), table.shape[1]), weighted=weighted, engine=engine)
    return wide_moments(rows.joined(JOINED_ROWS), rows.origin, rows.run)


@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_one_block_and_has_the_same_bits_for_any_cut(X: Array, weighted: bool) -> None:
    w = np.random.default_rng(1).uniform(0.1, 9, N) if weighted else None
    table = X if w is None else np.column_stack([X, w])
    results = []
    for count, heights in ((1, 100), (2, 3000), (3, 17)):
        with Threads(count) as engine:
            results.append(moments_of(table, heights, engine, weighted=weighted))
    expected = Moments.of_block(X, X[0].copy(), w)
    sizes = np.sqrt(np.outer(np.diagonal(expected.scatter), np.diagonal(expected.scatter)))
    for found in results:
        assert found.scatter.tobytes() == results[0].scatter.tobytes()
        assert found.centre.mean.tobytes() == results[0].centre.mean.tobytes()
        assert np.abs(found.scatter - expected.scatter).max() <= 1e-12 * sizes.max()
        assert np.all(np.abs(found.scatter - expected.scatter) <= 1e-11 * sizes)
        assert np.array_equal(found.scatter, found.scatter.T)
        assert_allclose(found.centre.mean, expected.centre.mean, rtol=1e-14)
        assert found.centre.rows == N
        assert found.centre.weight == pytest.approx(expected.centre.weight, rel=1e-14)
        assert np.flatnonzero(~found.centre.varies).tolist() == [7]


def test_no_rows_are_an_error() -> None:
    with pytest.raises(NoRows):
        wide_moments([], np.zeros(1100), run_serially)
