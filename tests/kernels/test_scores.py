"""Kernel PCA against the formulas of the lecture, scikit-learn, and linear PCA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.decomposition import KernelPCA as Peer
from sklearn.metrics.pairwise import pairwise_kernels

from kernels.helpers import POINTWISE, SAME, Array, centred, cloud, far, fit, kernel_of, leading, names, whole_fit
from pcatool.arrays import apply_in_blocks, recut, run_serially
from pcatool.engines.threads import Threads
from pcatool.errors import DataError
from pcatool.methods.base import FitResources
from pcatool.methods.pca import PCA
from pcatool.model.model import Model
from pcatool.model.npz import dumps, loads
from pcatool.options import FitOptions
from pcatool.progress import Reporter

K = 4


def peer(name: str, X: Array, Y: Array) -> tuple[Array, Array]:
    """Scores of the training rows X and of new rows Y by scikit-learn."""
    kernel = Peer(K, kernel="precomputed", eigen_solver="dense")
    own = kernel.fit_transform(pairwise_kernels(X, metric=name))
    return own, kernel.transform(pairwise_kernels(Y, X, metric=name))


@pytest.mark.parametrize("name", POINTWISE)
def test_scores_in_and_out_of_sample(name: str) -> None:
    X, Y = cloud(), cloud(30, seed=7)
    model = fit(X, kernel=name, components=K)
    own, new = peer(name, X, Y)
    assert far(model.project(X), own) < SAME
    assert far(np.vstack([model.project(X), model.project(Y)]), np.vstack([own, new])) < SAME


@pytest.mark.parametrize("name", POINTWISE)
def test_the_lectures_formulas(name: str) -> None:
    """V sqrt(Lambda) of H K H; new rows by k_t - 1/n 1 1^T k_t - 1/n K 1 + 1/n^2 1 1^T K 1."""
    X, Y = cloud(80), cloud(10, seed=3)
    model = fit(X, kernel=name, components=K, ddof=1)
    G, B = pairwise_kernels(X, metric=name), pairwise_kernels(Y, X, metric=name)
    values, V = leading(centred(G), K)
    new = (B - B.mean(axis=1)[:, None] - G.mean(axis=1) + G.mean()) @ (V / np.sqrt(values))
    assert_allclose(model.eigenvalues[:K], values / 79, rtol=SAME)
    assert far(model.dual_vectors, V) < SAME
    assert far(np.vstack([model.project(X), model.project(Y)]), np.vstack([V * np.sqrt(values), new])) < SAME


@pytest.mark.parametrize("name", POINTWISE)
def test_not_centred(name: str) -> None:
    X, Y = cloud(80), cloud(10, seed=3)
    model = fit(X, kernel=name, components=3, center=False)
    values, V = leading(pairwise_kernels(X, metric=name), 3)
    new = pairwise_kernels(Y, X, metric=name) @ (V / np.sqrt(values))
    assert far(np.vstack([model.project(X), model.project(Y)]), np.vstack([V * np.sqrt(values), new])) < SAME
    assert not model.kernel_means.any()
    assert not model.mean.any()


def linear(X: Array, **asked: Any) -> Model:
    return PCA(FitOptions(**asked), Reporter()).fit(recut([X], X.shape[1]), names(X.shape[1])).model


@pytest.mark.parametrize("name", ["linear", "mds"])
@pytest.mark.parametrize("asked", [{}, {"standardize": True}, {"ddof": 1}, {"center_rows": True}], ids=str)
def test_linear_kernel_and_distances_are_pca(name: str, asked: dict[str, Any]) -> None:
    X, Y = cloud() + 1e3, cloud(30, seed=5) + 1e3
    model, pca = fit(X, kernel=name, components=K, **asked), linear(X, components=K, **asked)
    assert_allclose(model.eigenvalues[:K], pca.eigenvalues[:K], rtol=SAME)
    assert_allclose(model.total_variance, pca.total_variance, rtol=SAME)
    assert far(np.vstack([model.project(X), model.project(Y)]), np.vstack([pca.project(X), pca.project(Y)])) < SAME


def test_linear_kernel_not_centred_is_lsa() -> None:
    X = cloud()
    model, pca = fit(X, kernel="linear", components=2, center=False), linear(X, components=2, center=False)
    assert_allclose(model.eigenvalues[:2], pca.eigenvalues[:2], rtol=SAME)
    assert far(model.project(X), pca.project(X)) < SAME


def test_standardised_rows_before_any_kernel() -> None:
    X = cloud()
    Y = (X - X.mean(axis=0)) / X.std(axis=0)
    for name in POINTWISE:
        assert far(fit(X, kernel=name, components=3, standardize=True).project(X), peer(name, Y, Y)[0][:, :3]) < SAME


def test_mean_and_std_are_as_applied() -> None:
    X = cloud()
    assert_allclose(fit(X, kernel="rbf", components=2).mean, X.mean(axis=0), rtol=1e-14)
    assert not fit(X, kernel="polynomial", components=2).mean.any()
    both = fit(X, kernel="polynomial", components=2, standardize=True, ddof=1)
    assert_allclose(both.mean, X.mean(axis=0), rtol=1e-14)
    assert_allclose(both.std, X.std(axis=0, ddof=1), rtol=1e-14)
    assert not fit(X, kernel="rbf", components=2, standardize=True, center=False).mean.any()


@pytest.mark.parametrize("name", ["rbf", "linear", "polynomial", "laplacian", "cosine", "mds"])
def test_squared_error_is_what_is_lost(name: str) -> None:
    """With ddof 0 its mean over the training rows is J_M."""
    X = cloud()
    model = fit(X, kernel=name, components=3)
    assert_allclose(model.squared_error(X).mean(), model.variance.lost[2], rtol=SAME)


# --- the matrix given as a table ---


def test_precomputed_is_the_kernel_itself() -> None:
    X, Y = cloud(), cloud(20, seed=2)
    rbf = kernel_of("rbf", 5)
    G = rbf.matrix(X, run_serially)
    model, of_rows = fit(G, kernel="precomputed", components=K), fit(X, components=K)
    assert model.training_rows.shape == (0, len(X))
    assert_allclose(model.project(G), of_rows.project(X), atol=1e-12)
    assert_allclose(model.project(rbf.cross(Y, X)), of_rows.project(Y), atol=1e-12)


# --- solvers ---


@pytest.mark.parametrize("name", ["rbf", "linear", "polynomial", "laplacian", "cosine"])
def test_lanczos_and_lapack_agree(name: str) -> None:
    X = cloud(1100, 4)
    few, every = fit(X, kernel=name, components=3), fit(X, kernel=name, components="all")
    assert (few.meta["solver"], every.meta["solver"]) == ("lanczos", "lapack")
    assert_allclose(few.eigenvalues, every.eigenvalues[:3], rtol=1e-10)
    assert far(few.project(X), every.truncated(3).project(X)) < SAME
    assert few.total_variance == every.total_variance


def test_a_share_by_lanczos_is_that_by_lapack() -> None:
    X = cloud(1100, 4)
    some, every = fit(X, gamma=0.02, components=0.8), fit(X, gamma=0.02, components="all")
    assert some.meta["solver"] == "lanczos"
    assert some.k == every.variance.smallest_k(0.8)


def test_a_share_that_needs_most_goes_to_lapack() -> None:
    model = fit(cloud(1100, 4), kernel="rbf", gamma=100.0, components=0.95)
    assert (model.meta["solver"], model.meta["reason"]) == ("lapack", "Lanczos did not converge within 275 vectors")


@pytest.mark.parametrize("n", [200, 1100])
def test_threads_and_cuts_change_no_bit(n: int) -> None:
    X = cloud(n, 3)

    def made(count: int, cuts: list[int], **asked: Any) -> bytes:
        with Threads(count) as pool:
            resources = FitResources(engine=pool, threads=count)
            return dumps(whole_fit(X, resources=resources, cuts=cuts, **asked).model)

    for asked in ({"components": 3}, {"components": 3, "landmarks": 50}, {"components": 2, "kernel": "lle"}):
        assert made(1, [], **asked) == made(2, [], **asked) == made(2, [1, 77, 150], **asked)


def test_a_file_gives_the_same_scores() -> None:
    X = cloud()
    model = fit(X, components=3)
    again = loads(dumps(model))
    assert again.project(X).tobytes() == model.project(X).tobytes()
    assert again.meta == model.meta


def test_scores_do_not_depend_on_how_rows_arrive() -> None:
    X = cloud(500, 3)
    model = fit(X[:300], components=3)
    whole = apply_in_blocks(model.project, X, 0)
    parts = [apply_in_blocks(model.project, X[a:b], a) for a, b in ((0, 1), (1, 200), (200, 500))]
    assert np.vstack(parts).tobytes() == whole.tobytes()


# --- what must hold of any data ---


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 25),
    st.integers(1, 4),
    st.integers(0, 10**6),
    st.sampled_from([*POINTWISE, "mds"]),
    st.sampled_from([0, 1]),
    st.booleans(),
)
def test_algebra(n: int, d: int, seed: int, name: str, ddof: int, equal: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if equal and n > 3:
        X[1:3] = X[0]  # equal rows
    if name == "cosine" and d == 1:
        X[0], X[-1] = -1.0, 1.0  # else every row may point the same way
    try:
        model = fit(X, kernel=name, components="all", ddof=ddof)
    except DataError as error:
        assert name == "sigmoid" and "no eigenvalue that is larger than rounding error" in error.message
        return
    Z = model.project(X)
    V = model.dual_vectors
    assert_allclose(V.T @ V, np.eye(model.k), atol=1e-10)
    scale = np.sqrt(model.eigenvalues[0] * n)
    assert_allclose(Z, V * np.sqrt(model.eigenvalues[: model.k] * (n - ddof)), atol=1e-6 * scale)
    if name != "sigmoid":
        assert_allclose(model.eigenvalues.sum(), model.total_variance, rtol=1e-10)
        G = centred(kernel_of(name, d).matrix(np.ascontiguousarray(X), run_serially))
        assert_allclose(Z @ Z.T, G, atol=1e-6 * max(abs(G).max(), 1e-12))
    assert model.k <= n - 1


def test_equal_rows_have_equal_scores() -> None:
    X = np.vstack([cloud(40), cloud(40)])
    Z = fit(X, components=5).project(X)
    assert_allclose(Z[:40], Z[40:], atol=1e-12)


def test_repeated_eigenvalues_all_come() -> None:
    """Rows that are one of 40 kinds: 39 eigenvalues are equal, more than a block of Lanczos is wide."""
    X = np.repeat(np.eye(40), 28, axis=0)
    model = fit(X, kernel="linear", components=45)
    assert model.meta["solver"] == "lanczos"
    assert model.meta["rank"] == 39
    assert_allclose(model.eigenvalues[:39], 28 / len(X), rtol=1e-10)
    assert not model.eigenvalues[39:].any()
    assert not model.project(X)[:, 39:].any()
