"""Isomap, LLE and Laplacian eigenmap as kernels (Ham et al. 2004), and their formulas for new rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.manifold import Isomap, LocallyLinearEmbedding

from kernels.helpers import GRAPHS, SAME, Array, centred, far, fit, leading, roll
from pcatool.engines.threads import Threads
from pcatool.errors import DataError
from pcatool.kernels.neighbours import neighbours_in

X, NEW = roll(), roll(20, seed=4)


def test_nearest_rows_are_those_of_all_distances() -> None:
    D = cdist(NEW, X)
    near = neighbours_in(NEW, X, 7)
    assert_allclose(near.distances, np.sort(D, axis=1)[:, :7], rtol=1e-12)
    assert np.array_equal(near.indices, np.argsort(D, axis=1, kind="stable")[:, :7])


def test_nearest_of_rows_among_themselves_leave_each_out() -> None:
    near = neighbours_in(X, X, 5, exclude_self=True)
    assert not (near.indices == np.arange(len(X))[:, None]).any()
    far_away = X + 1e8  # where the fast distances have no digits left
    assert_allclose(neighbours_in(far_away, far_away, 5, exclude_self=True).distances, near.distances, rtol=1e-6)


def test_equal_rows_are_nearest_in_order() -> None:
    Y = np.repeat(X[:10], 3, axis=0)
    near = neighbours_in(Y, Y, 2, exclude_self=True)
    assert np.array_equal(near.indices[:3], [[1, 2], [0, 2], [0, 1]])
    assert not near.distances.any()


def adjacency(count: int) -> Array:
    """1 where one row is among the nearest of the other."""
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    A = np.zeros_like(D)
    np.put_along_axis(A, np.argsort(D, axis=1)[:, :count], 1.0, axis=1)
    return np.maximum(A, A.T)


def test_isomap_is_that_of_scikit_learn() -> None:
    model = fit(X, kernel="isomap", components=3, neighbours=8)
    peer = Isomap(n_neighbors=8, n_components=3, eigen_solver="dense").fit(X)
    own, new = model.project(X), model.project(NEW)
    assert far(own, peer.embedding_) < SAME
    assert far(np.vstack([own, new]), np.vstack([peer.embedding_, peer.transform(NEW)])) < SAME


def test_lle_is_that_of_scikit_learn() -> None:
    model = fit(X, kernel="lle", components=2, neighbours=8)
    peer = LocallyLinearEmbedding(n_neighbors=8, n_components=2, eigen_solver="dense").fit(X)
    length = np.sqrt(model.dual.values)
    assert far(model.dual_vectors, peer.embedding_) < 1e-6  # eigenvalues that differ by 1e-8 of the largest
    assert far(model.project(NEW) / length, peer.transform(NEW)) < 1e-6


def test_lle_eigenvalues_by_the_formula() -> None:
    """lambda_max I - M, M = (I - W)^T (I - W)."""
    W = np.zeros((len(X), len(X)))
    for i, x in enumerate(X):
        near = np.argsort(cdist([x], X)[0])[1:9]
        G = (X[near] - x) @ (X[near] - x).T
        w = np.linalg.solve(G + 1e-3 * np.trace(G) * np.eye(8), np.ones(8))
        W[i, near] = w / w.sum()
    M = (np.eye(len(X)) - W).T @ (np.eye(len(X)) - W)
    K = np.linalg.eigvalsh(M)[-1] * np.eye(len(X)) - M
    model = fit(X, kernel="lle", components="all", neighbours=8)
    assert_allclose(model.eigenvalues, np.maximum(leading(centred(K), len(X))[0], 0) / len(X), atol=1e-12)


def test_laplacian_eigenmap_by_the_formula() -> None:
    A = adjacency(6)
    L = np.diag(A.sum(axis=1)) - A
    model = fit(X, kernel="laplacian-eigenmap", components=4, neighbours=6)
    values, V = leading(np.linalg.pinv(L, hermitian=True), 4)
    assert_allclose(model.eigenvalues[:4] * len(X), values, rtol=SAME)
    assert far(model.project(X), V * np.sqrt(values)) < SAME
    near = np.argsort(cdist(NEW, X), axis=1)[:, :6]
    new = (V * np.sqrt(values))[near].sum(axis=1) / (6 - 1 / values)
    assert far(np.vstack([model.project(X), model.project(NEW)]), np.vstack([V * np.sqrt(values), new])) < SAME


@pytest.mark.parametrize("name", GRAPHS)
def test_a_training_row_has_its_own_score(name: str) -> None:
    model = fit(X, kernel=name, components=3, neighbours=8)
    some = model.project(np.ascontiguousarray(X[::-7]))
    assert_allclose(some, model.dual.scores[::-7], atol=1e-10 * abs(some).max())


@pytest.mark.parametrize("name", GRAPHS)
def test_new_rows_lie_near_their_neighbours(name: str) -> None:
    model = fit(X, kernel=name, components=2, neighbours=8)
    nearest_row = cdist(NEW, X).argmin(axis=1)
    step = np.abs(model.project(NEW) - model.project(X)[nearest_row]).max()
    assert step < 0.25 * np.ptp(model.project(X), axis=0).max()


@pytest.mark.parametrize("name", GRAPHS)
def test_equal_rows_do_no_harm(name: str) -> None:
    Y = np.vstack([X, X[:5]])
    Z = fit(Y, kernel=name, components=2, neighbours=8).project(Y)
    assert np.isfinite(Z).all()


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_in_parts_is_refused(name: str) -> None:
    Y = np.vstack([X, X + 1e3, X - 1e3])
    with pytest.raises(
        DataError, match=r"--neighbours 8: the graph of nearest neighbours has 3 separate parts; give a larger number"
    ):
        fit(Y, kernel=name, components=2, neighbours=8)


@pytest.mark.parametrize("name", GRAPHS)
def test_too_many_neighbours_are_refused(name: str) -> None:
    with pytest.raises(
        DataError, match="--neighbours 9 needs more than 9 rows, but the data have 9 rows; give --neighbours 8 or"
    ):
        fit(X[:9], kernel=name, components=2, neighbours=9)
    assert fit(X[:9], kernel=name, components=2, neighbours=8).k == 2


@pytest.mark.parametrize("name", GRAPHS)
def test_threads_change_no_bit(name: str) -> None:
    model = fit(X, kernel=name, components=2, neighbours=8)
    with Threads(2) as pool:
        parts = list(pool.map(model.project, [NEW, NEW, NEW]))
    assert len({part.tobytes() for part in parts}) == 1
