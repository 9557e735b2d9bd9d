"""Supervised PCA in kernel form, against the generalised eigenproblem and the linear form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from methods import supervision as by_hand
from methods.supervision import Case, case, fit
from pcatool.engines.threads import Threads
from pcatool.errors import UsageError
from pcatool.kernels.model import KernelModel
from pcatool.model.npz import dumps, loads

Array = NDArray[np.float64]

# Scores up to sign, of the largest: the generalised problem squares the condition of Kx, and is the less exact of both.
SCORES = 1e-8

seeded = settings(max_examples=25, deadline=None, derandomize=True, database=None)

# Kernels whose matrix over 40 rows is well enough conditioned for the generalised problem, and what they are.
KERNELS: dict[str, tuple[dict[str, Any], Any]] = {
    "rbf": ({"gamma": 2.0}, lambda A, B: np.exp(-2.0 * cdist(A, B, "sqeuclidean"))),
    "laplacian": ({"gamma": 0.5}, lambda A, B: np.exp(-0.5 * cdist(A, B, "cityblock"))),
    "polynomial": ({"gamma": 0.5, "degree": 4, "coef0": 2}, lambda A, B: (0.5 * A @ B.T + 2) ** 4),
}


def labels_of(rows: Case) -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    y, T = rows.y, rows.targets
    return {
        "delta": (y, by_hand.delta(y), {"classes": True}),
        "linear": (T, by_hand.linear(T), {}),
        "rbf": (T[:, 0], by_hand.rbf(T[:, 0], 1.0), {"label_kernel": "rbf"}),
    }


def generalised(K: Array, Ky: Any) -> tuple[Array, Array]:
    """Kx H Ky H Kx Theta = Kx Theta Lambda, descending; Theta^T Kx Theta = I."""
    H = by_hand.centring(len(K))
    middle = np.asarray(H @ Ky @ H, dtype=np.float64)
    A = K @ middle @ K
    values, Theta = scipy.linalg.eigh((A + A.T) / 2, K)
    return values[::-1], Theta[:, ::-1]


def same_up_to_sign(Z: Array, expected: Array) -> None:
    signs = np.sign(np.sum(Z * expected, axis=0))
    np.testing.assert_allclose(Z, expected * signs, atol=SCORES * np.abs(expected).max(), rtol=0)


def fitted(*given: Any, **options: Any) -> KernelModel:
    model = fit(*given, **options).model
    assert isinstance(model, KernelModel)
    return model


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("label", list(labels_of(case(5, 3))))
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_generalised_eigenproblem(kernel: str, label: str, standardize: bool) -> None:
    rows, new = case(40, 6), case(15, 6, seed=1).X
    y, Ky, options = labels_of(rows)[label]
    numbers, function = KERNELS[kernel]
    model = fitted(rows.X, y, kernel=kernel, components=3, standardize=standardize, **numbers, **options)
    X, new_rows = rows.X / model.std, new / model.std
    K = function(X, X)
    values, Theta = generalised(K, Ky)
    k = min(model.meta["rank"], 3)
    np.testing.assert_allclose(model.eigenvalues[:k], values[:k], rtol=SCORES)
    same_up_to_sign(K @ model.dual_vectors[:, :k], (K @ Theta)[:, :k])
    same_up_to_sign(model.project(rows.X)[:, :k], (K @ Theta)[:, :k])
    same_up_to_sign(model.project(new)[:, :k], (function(new_rows, X) @ Theta)[:, :k])
    H = by_hand.centring(40)
    assert model.meta["hsic"] == pytest.approx(float(np.trace(K @ H @ Ky @ H)) / 39**2, rel=1e-10)
    np.testing.assert_allclose(model.dual_vectors[:, :k].T @ K @ model.dual_vectors[:, :k], np.eye(k), atol=1e-9)
    assert all(model.meta["certificate"]["vouched"][:k])


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize(("n", "d"), [(50, 4), (20, 30)])
@pytest.mark.parametrize("label", list(labels_of(case(5, 3))))
def test_linear_kernel_gives_the_linear_form(label: str, n: int, d: int, offset: float) -> None:
    rows = case(n, d, offset=offset)
    y, _, options = labels_of(rows)[label]
    model, linear = fitted(rows.X, y, kernel="linear", components=2, **options), fit(rows.X, y, components=2, **options)
    np.testing.assert_allclose(model.eigenvalues[:2], linear.model.eigenvalues[:2], rtol=1e-9)
    same_up_to_sign(model.project(rows.X), linear.model.project(rows.X))
    assert model.meta["hsic"] == pytest.approx(linear.model.meta["hsic"], rel=1e-10)


def test_a_precomputed_kernel_is_what_it_is_computed_from() -> None:
    rows, new = case(40, 6), case(7, 6, seed=1).X
    function = KERNELS["rbf"][1]
    model = fitted(rows.X, rows.y, classes=True, kernel="rbf", gamma=2.0, components=2)
    table = fitted(function(rows.X, rows.X), rows.y, classes=True, kernel="precomputed", components=2)
    np.testing.assert_allclose(table.eigenvalues, model.eigenvalues, atol=1e-11)
    same_up_to_sign(table.project(function(new, rows.X)), model.project(new))
    assert table.training_rows.shape == (0, 40)
    assert table.meta["constant_columns"] == 0


def test_what_the_model_says() -> None:
    rows = case(40, 3)
    model = fitted(rows.X, rows.y, classes=True, kernel="rbf", components=2)
    meta = model.meta
    assert (meta["method"], meta["solver"], meta["kernel"]) == ("supervised", "kernel", {"name": "rbf", "gamma": 1 / 3})
    assert (meta["labels"], meta["label_kernel"], meta["classes"]) == (["y"], "delta", 4)
    assert model.training_rows.shape == (40, 3)
    assert (len(model.eigenvalues), model.k, model.basis.shape) == (40, 2, (3, 0))
    np.testing.assert_array_equal(model.training_rows, rows.X)
    assert not model.kernel_means.any()


def test_files_give_the_same_scores() -> None:
    rows = case(40, 3)
    model = fitted(rows.X, rows.targets, kernel="laplacian", components=2)
    np.testing.assert_array_equal(loads(dumps(model)).project(rows.X), model.project(rows.X))


def test_rings_that_no_direction_tells_apart() -> None:
    """Two rings about one centre: the linear form finds nothing, the kernel form tells them apart."""
    angle = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    radius = np.repeat([1.0, 3.0], 40)
    X = np.column_stack([radius * np.cos(2 * angle), radius * np.sin(2 * angle)])
    y = np.repeat([0, 1], 40)
    model = fitted(X, y, classes=True, kernel="rbf", gamma=0.5, components="all")
    score = model.project(X)[:, 0]
    assert model.k == 1
    assert score[y == 0].min() > score[y == 1].max() or score[y == 1].min() > score[y == 0].max()


@seeded
@given(
    n=st.integers(3, 30), d=st.integers(1, 5), classes=st.integers(2, 6), k=st.integers(1, 8), seed=st.integers(0, 50)
)
def test_k_past_the_rank(n: int, d: int, classes: int, k: int, seed: int) -> None:
    rows = case(n, d, classes=min(classes, n), seed=seed)
    found = len(np.unique(rows.y))
    if found < 2:
        return
    outcome = fit(rows.X, rows.y, classes=True, kernel="laplacian", components=min(k, n))
    model, rank = outcome.model, outcome.model.meta["rank"]
    assert rank == found - 1
    Z = model.project(rows.X)
    assert Z.shape == (n, min(k, n))
    assert not Z[:, rank:].any()
    assert bool(outcome.reporter.warnings) == (min(k, n) > rank)
    assert len(model.meta["certificate"]["vouched"]) == min(k, n)


def test_an_indefinite_kernel_is_told() -> None:
    rows = case(40, 3)
    K = -KERNELS["rbf"][1](rows.X, rows.X) + 2 * np.outer(rows.y == 0, rows.y == 0)
    outcome = fit((K + K.T) / 2, rows.y, classes=True, kernel="precomputed", components="all")
    assert "kernel precomputed is not positive semidefinite for these data" in outcome.reporter.warnings[0]
    values = np.linalg.eigvals(
        (K + K.T) / 2 @ np.asarray(by_hand.centring(40) @ by_hand.delta(rows.y) @ by_hand.centring(40), dtype=float)
    )
    expected = np.sort(values.real)[::-1]
    rank = outcome.model.meta["rank"]
    np.testing.assert_allclose(outcome.model.eigenvalues[:rank], expected[:rank], rtol=1e-9)
    assert outcome.model.meta["hsic"] == pytest.approx(values.real.sum() / 39**2)


def test_equal_rows_are_no_matter() -> None:
    rows = case(20, 3)
    X, y = np.tile(rows.X, (3, 1)), np.tile(rows.y, 3)
    model = fitted(X, y, classes=True, kernel="rbf", components="all")
    once = fitted(rows.X, rows.y, classes=True, kernel="rbf", components="all")
    np.testing.assert_allclose(model.eigenvalues[:3], 9 * once.eigenvalues[:3], rtol=1e-10)
    same_up_to_sign(model.project(rows.X), once.project(rows.X))


def test_threads_change_no_bit() -> None:
    rows = case(1500, 4)
    files = set()
    for count in (1, 2):
        with Threads(count) as pool:
            resources = {"engine": pool, "threads": count}
            files.add(dumps(fitted(rows.X, rows.y, classes=True, kernel="rbf", components=2, resources=resources)))
    assert len(files) == 1


def test_rows_centred_first() -> None:
    rows = case(30, 4)
    X = rows.X + np.random.default_rng(0).normal(size=(30, 1)) * 50
    model = fitted(X, rows.y, classes=True, kernel="rbf", components=2, center_rows=True)
    other = fitted(X - X.mean(axis=1, keepdims=True), rows.y, classes=True, kernel="rbf", components=2)
    np.testing.assert_array_equal(model.training_rows, X)
    same_up_to_sign(model.project(X), other.project(X - X.mean(axis=1, keepdims=True)))


def test_the_error_of_a_row_is_refused_by_what_the_model_is_not_by_its_kernel() -> None:
    rows = case(30, 4)
    y, _, options = labels_of(rows)["linear"]
    model = fitted(rows.X, y, kernel="rbf", components=1, **options)
    with pytest.raises(UsageError, match=r"^--with-error does not go with a supervised model with a kernel; leave out"):
        model.squared_error(rows.X)
