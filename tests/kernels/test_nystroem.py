"""Kernel PCA from landmarks (Nystroem)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernels.helpers import Array, cloud, far, fit, kernel_of, names, whole_fit
from pcatool.arrays import recut, run_serially
from pcatool.kernels.model import KernelModel
from pcatool.kernels.nystroem import RowSample
from pcatool.methods.base import FitResources
from pcatool.methods.kernel import KernelPCA
from pcatool.model.npz import dumps
from pcatool.options import FitOptions
from pcatool.progress import Reporter


def test_as_many_landmarks_as_rows_are_the_exact_fit() -> None:
    X = cloud(60)
    exact = fit(X, components=3)
    for m in (60, 1000):
        assert dumps(fit(X, components=3, landmarks=m)) == dumps(exact)


@pytest.mark.parametrize("name", ["rbf", "linear", "polynomial", "laplacian", "cosine", "mds"])
def test_landmarks_come_near_the_exact_fit(name: str) -> None:
    X, Y = cloud(600, 3), cloud(50, 3, seed=9)
    exact, near = fit(X, kernel=name, components=2), fit(X, kernel=name, components=2, landmarks=200)
    assert (near.meta["landmarks"], near.meta["solver"], near.n_samples) == (200, "nystroem", 600)
    assert len(near.training_rows) == 200
    assert_allclose(near.eigenvalues[:2], exact.eigenvalues[:2], rtol=1e-2)
    assert far(near.project(Y), exact.project(Y)) < 0.05


def test_a_kernel_of_few_dimensions_needs_no_more_landmarks() -> None:
    """d + 1 landmarks span the linear kernel: the approximation is exact."""
    X = cloud(400, 3)
    exact, near = fit(X, kernel="linear", components=3), fit(X, kernel="linear", components=3, landmarks=20)
    assert_allclose(near.eigenvalues[:3], exact.eigenvalues[:3], rtol=1e-10)
    assert_allclose(near.total_variance, exact.total_variance, rtol=1e-10)
    assert far(near.project(X), exact.project(X)) < 1e-8


@pytest.mark.parametrize("center", [True, False])
def test_by_the_formula(center: bool) -> None:
    """phi(x) = K(x, L) U S^-1/2, then PCA of phi."""
    X = cloud(300, 3)
    model = fit(X, components=4, landmarks=30, ddof=1, center=center)
    L = model.training_rows
    kernel = kernel_of("rbf", 3)
    s, U = np.linalg.eigh(kernel.matrix(L, run_serially))
    phi = kernel.cross(np.array(X), L) @ (U / np.sqrt(s))
    phi -= phi.mean(axis=0) * center
    values, W = np.linalg.eigh(phi.T @ phi / 299)
    assert_allclose(model.eigenvalues, values[::-1], rtol=1e-6, atol=1e-12)
    assert far(model.project(X), phi @ W[:, ::-1][:, :4]) < 1e-8
    Z = model.project(X)
    assert_allclose(Z.T @ Z / 299, np.diag(model.eigenvalues[:4]), atol=1e-12)


def drawn(cuts: list[int], seed: int = 0) -> Array:
    X = np.arange(100.0)[:, None]
    draw = RowSample(10, 1, seed)
    for part in np.split(X, cuts):
        draw.add(part)
    assert draw.seen == 100
    return draw.rows[:, 0]


def test_the_draw_does_not_depend_on_the_cuts() -> None:
    assert np.array_equal(drawn([]), drawn([1, 5, 50, 99]))
    assert not np.array_equal(drawn([]), drawn([], seed=1))
    assert np.all(np.diff(drawn([])) > 0)


def test_every_row_is_as_likely() -> None:
    counts = np.bincount(np.concatenate([drawn([30], seed=s) for s in range(400)]).astype(int), minlength=100)
    assert 15 < counts.min() <= counts.max() < 70  # 40 expected, deviation 6
    assert abs(counts[:50].sum() - 2000) < 200


def test_a_seed_shapes_the_model_and_is_in_it() -> None:
    X = cloud(300, 3)
    one, same, other = (fit(X, components=2, landmarks=40, seed=s) for s in (1, 1, 2))
    assert dumps(one) == dumps(same)
    assert one.meta["seed"] == 1
    assert not np.array_equal(one.training_rows, other.training_rows)
    assert "seed" not in fit(X, components=2).meta


@pytest.mark.parametrize("reread", [True, False])
def test_rows_that_are_not_held_are_read_again(reread: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X = cloud(3000, 3)
    monkeypatch.setattr("pcatool.solvers.rows.SMALL_BYTES", 1000)
    monkeypatch.setattr("pcatool.arrays.CELLS", 1 << 8)
    held = dumps(fit(X, components=2, landmarks=40))
    again = FitResources(reread=(lambda: recut([X], 3)) if reread else None)
    options = FitOptions(method="kernel", components=2, landmarks=40)
    streamed = KernelPCA(options, Reporter()).fit(recut([X], 3), names(3), resources=again).model
    assert isinstance(streamed, KernelModel)
    assert dumps(streamed) == held


@pytest.mark.parametrize("standardize", [True, False])
def test_a_share_a_rule_and_components_past_the_rank(standardize: bool) -> None:
    X = cloud(300, 3)
    share = fit(X, components=0.9, landmarks=40, standardize=standardize)
    assert share.variance.cumulative[share.k - 1] >= 0.9
    every = fit(X, kernel="linear", components="all", landmarks=40, standardize=standardize)
    assert every.k == 3
    reporter = Reporter()
    more = whole_fit(X, kernel="linear", components=40, landmarks=40, reporter=reporter).model
    assert reporter.warnings[0].startswith(
        "PC4 to PC40 explain no variance: their eigenvalues and scores are 0, because the kernel matrix has rank 3 "
    )
    assert not more.project(X)[:, 3:].any()


def test_row_means_are_taken_out_first() -> None:
    X = cloud(300, 4)
    centred = X - X.mean(axis=1)[:, None]
    one = fit(X, components=2, landmarks=40, center_rows=True)
    assert far(one.project(X), fit(centred, components=2, landmarks=40).project(centred)) < 1e-8


def test_an_indefinite_kernel_says_so() -> None:
    reporter = Reporter()
    whole_fit(cloud(200), kernel="sigmoid", gamma=1.0, components=2, landmarks=40, reporter=reporter)
    assert any("kernel sigmoid is not positive semidefinite for these data" in text for text in reporter.warnings)
