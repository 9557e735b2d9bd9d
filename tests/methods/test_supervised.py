"""Supervised PCA against its formulas written out in full: directions, eigenvalues, HSIC, and what follows."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from methods import supervision as by_hand
from methods.supervision import angle, case, classes_of, dense, fit, spectrum
from pcatool.arrays import recut
from pcatool.engines.threads import Threads
from pcatool.methods.pca import PCA
from pcatool.model.npz import dumps
from pcatool.options import FitOptions
from pcatool.progress import Reporter

# Against long doubles, of the largest eigenvalue, and of a direction whose neighbours are far enough. The promise is
# 1e-8; measured errors are a thousand times smaller but at the offset, where the data themselves are rounded.
AGREEMENT = 1e-9

seeded = settings(max_examples=40, deadline=None, derandomize=True, database=None)

# Tall, wide, square, few rows, one column.
SHAPES = [(120, 7), (40, 90), (30, 30), (5, 3), (50, 1)]


def cases_of(rows: Any) -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """Labels, their kernel in full, and the options that ask for it."""
    y, T = rows.y, rows.targets
    return {
        "delta": (y, by_hand.delta(y), {"classes": True}),
        "linear, one": (T[:, 0], by_hand.linear(T[:, 0]), {}),
        "linear, three": (T, by_hand.linear(T), {}),
        "rbf, one": (T[:, 0], by_hand.rbf(T[:, 0], 1.0), {"label_kernel": "rbf"}),
        "rbf, three": (T, by_hand.rbf(T, 1 / 3), {"label_kernel": "rbf"}),
        "rbf, narrow": (T, by_hand.rbf(T, 40.0), {"label_kernel": "rbf", "label_gamma": 40.0}),
    }


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("what", list(cases_of(case(5, 3))))
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_eigenvectors_and_eigenvalues_of_the_dense_matrix(
    n: int, d: int, what: str, standardize: bool, offset: float
) -> None:
    rows = case(n, d, offset=offset)
    y, Ky, options = cases_of(rows)[what]
    model = fit(rows.X, y, components="all", standardize=standardize, **options).model
    Q = dense(rows.X, Ky, model.std)
    values, U = spectrum(Q)
    if standardize:
        np.testing.assert_allclose(model.std, (rows.X - rows.X.mean(axis=0)).std(axis=0), rtol=AGREEMENT)
    np.testing.assert_allclose(model.eigenvalues, values[: min(n, d)].clip(0), atol=AGREEMENT * values[0], rtol=0)
    assert model.total_variance == pytest.approx(np.trace(Q), rel=AGREEMENT)
    assert model.meta["hsic"] == pytest.approx(np.trace(Q) / (n - 1) ** 2, rel=AGREEMENT)
    assert not model.mean.any()
    known = model.eigenvalues[: model.k] > 1e-5 * values[0]
    for j in np.flatnonzero(known):
        gap = np.abs(np.delete(values, j) - values[j]).min(initial=np.inf) / values[0]
        if gap > 1e-4:
            assert angle(model.basis[:, [j]], U[:, [j]]) <= AGREEMENT / min(gap, 1), f"PC{j + 1}"
    residual = Q @ model.basis - model.basis * model.eigenvalues[: model.k]
    assert np.abs(residual).max() <= AGREEMENT * values[0]


@pytest.mark.parametrize(("n", "d", "solver"), [(60, 5, "label-kernel"), (40, 90, "dual")])
def test_solvers_are_told(n: int, d: int, solver: str) -> None:
    rows = case(n, d)
    assert fit(rows.X, rows.targets, label_kernel="rbf").model.meta["solver"] == solver
    model = fit(rows.X, rows.y, classes=True).model
    assert (model.meta["solver"], model.meta["classes"]) == ("cross-moment", 4)
    assert "label_gamma" not in model.meta
    assert fit(rows.X, rows.targets, label_kernel="rbf").model.meta["label_gamma"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(("n", "d"), [(50, 6), (12, 30)])
def test_a_class_for_each_row_gives_pca(n: int, d: int) -> None:
    X = case(n, d).X
    model = fit(X, np.arange(n), classes=True, components="all").model
    pca = PCA(FitOptions(components="all"), Reporter()).fit(recut([X], d), by_hand.columns_of(X)).model
    np.testing.assert_allclose(model.eigenvalues, pca.eigenvalues * n, atol=AGREEMENT * n * pca.eigenvalues[0])
    for k in range(1, pca.k + 1):
        if k == pca.k or pca.eigenvalues[k - 1] > 1.01 * pca.eigenvalues[k]:
            assert angle(model.basis[:, :k], pca.basis[:, :k]) <= 1e-7


def test_delta_is_linear_on_zeros_and_ones() -> None:
    rows = case(80, 6)
    by_class = fit(rows.X, rows.y, classes=True, components=3).model
    by_number = fit(rows.X, np.eye(4)[rows.y], components=3).model
    np.testing.assert_allclose(by_class.eigenvalues, by_number.eigenvalues, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(by_class.basis, by_number.basis, atol=1e-12)


def test_no_basis_depends_more_on_the_label() -> None:
    rows = case(60, 6)
    model = fit(rows.X, rows.y, classes=True, components=2).model
    Q = dense(rows.X, by_hand.delta(rows.y))
    best = np.trace(model.basis.T @ Q @ model.basis)
    rng = np.random.default_rng(1)
    for _ in range(200):
        U = np.linalg.qr(model.basis * rng.choice([0, 1]) + 10 ** rng.uniform(-4, 1) * rng.normal(size=(6, 2)))[0]
        assert np.trace(U.T @ Q @ U) <= best * (1 + 1e-12)


def test_scores_and_reconstruction_are_not_centred() -> None:
    rows = case(60, 6, offset=5.0)
    model = fit(rows.X, rows.y, classes=True, components=2).model
    U = model.basis
    np.testing.assert_allclose(model.project(rows.X), rows.X @ U, atol=1e-12)
    np.testing.assert_allclose(model.reconstruct(rows.X @ U), rows.X @ U @ U.T, atol=1e-12)


def test_two_classes_give_the_difference_of_their_means() -> None:
    rows = case(50, 5, classes=2)
    found = fit(rows.X, rows.y, classes=True, components="all")
    assert (found.model.k, found.model.meta["rank"]) == (1, 1)
    gap = rows.X[rows.y == 0].mean(axis=0) - rows.X[rows.y == 1].mean(axis=0)
    assert angle(found.model.basis, (gap / np.linalg.norm(gap))[:, None]) <= 1e-14
    sizes = np.bincount(rows.y)
    exact = 2 * (sizes[0] * sizes[1] / 50) ** 2 * gap @ gap
    assert found.model.eigenvalues[0] == pytest.approx(exact, rel=1e-13)


def test_a_class_of_one_row() -> None:
    rows = case(40, 5)
    y = classes_of(np.where(np.arange(40) == 17, 9, rows.y))
    model = fit(rows.X, y, classes=True, components="all").model
    values, U = spectrum(dense(rows.X, by_hand.delta(y)))
    assert (model.k, model.meta["classes"]) == (4, 5)
    np.testing.assert_allclose(model.eigenvalues[:4], values[:4], rtol=1e-10)
    assert angle(model.basis, U[:, :4]) <= 1e-10


def test_rows_are_centred_first_when_asked() -> None:
    rows = case(40, 5)
    X = rows.X + np.random.default_rng(3).normal(size=(40, 1)) * 100
    model = fit(X, rows.y, classes=True, components=2, center_rows=True).model
    other = fit(X - X.mean(axis=1, keepdims=True), rows.y, classes=True, components=2).model
    np.testing.assert_allclose(model.basis, other.basis, atol=1e-12)
    assert model.meta["center_rows"] is True
    np.testing.assert_allclose(model.project(X), other.project(X - X.mean(axis=1, keepdims=True)), atol=1e-11)


# --- rank and k ---


@seeded
@given(
    n=st.integers(3, 60),
    d=st.integers(1, 12),
    classes=st.integers(2, 8),
    scale=st.integers(-6, 6),
    offset=st.sampled_from([0.0, -3.0, 1e4]),
    seed=st.integers(0, 99),
)
def test_rank_is_below_the_classes_and_the_basis_orthonormal(
    n: int, d: int, classes: int, scale: int, offset: float, seed: int
) -> None:
    rows = case(n, d, classes=min(classes, n), seed=seed)
    found = len(np.unique(rows.y))
    if found < 2:
        return
    # Columns of very different scale keep their components.
    X = rows.X * 10.0 ** (scale * np.linspace(-1, 1, d)) + offset * 10.0 ** (scale * np.linspace(-1, 1, d))
    most = min(n, d)
    model = fit(X, rows.y, classes=True, components=most).model
    assert model.meta["rank"] == min(found - 1, d)
    assert np.all(model.eigenvalues[model.meta["rank"] :] == 0)
    assert len(model.eigenvalues) == most
    np.testing.assert_allclose(model.basis.T @ model.basis, np.eye(most), atol=1e-13)
    certificate = model.meta["certificate"]
    assert certificate["eigen_residual"] <= 1e-12
    assert certificate["trace_closure"] <= 1e-12


def test_k_past_the_rank_is_kept_with_a_warning() -> None:
    rows = case(40, 6)
    found = fit(rows.X, rows.y, classes=True, components=5)
    assert found.model.k == 5
    assert found.model.eigenvalues[3:].tolist() == [0.0, 0.0, 0.0]
    assert found.reporter.warnings == [
        "PC4 to PC5 explain nothing about the label: their eigenvalues are 0, "
        "because the dependence of the columns on the label has rank 3 (-k all keeps 3)"
    ]
    assert (
        fit(rows.X, rows.targets[:, 0], components=2)
        .reporter.warnings[0]
        .startswith("PC2 explains nothing about the label")
    )
    np.testing.assert_array_equal(found.model.basis[:, :3], fit(rows.X, rows.y, classes=True, components=3).model.basis)


@pytest.mark.parametrize(("wish", "k"), [("all", 3), (0.9999999, 3), (1, 1), ("ratio:0.3", None), ("kaiser", None)])
def test_rules_that_look_at_eigenvalues_alone(wish: Any, k: int | None) -> None:
    rows = case(60, 6)
    found = fit(rows.X, rows.y, classes=True, components=wish)
    shares = found.model.variance.share
    expected = {"ratio:0.3": max(int(np.sum(shares >= 0.3)), 1), "kaiser": int(np.sum(shares > 1 / 3))}
    assert found.model.k == (k or expected[wish])


@pytest.mark.parametrize("wish", ["eigenvalue:1", "broken-stick", "elbow"])
def test_other_such_rules_work(wish: str) -> None:
    rows = case(60, 6)
    assert 1 <= fit(rows.X, rows.y, classes=True, components=wish).model.k <= 3


# --- digits ---


def test_small_eigenvalues_of_small_columns_are_kept() -> None:
    """Scales from 1e8 to 1e-8, against fifty digits: LAPACK alone would lose all but the first."""
    rows = case(30, 4, classes=4)
    X = np.round(rows.X * 64) * 10.0 ** np.array([8, 0, -4, -8])
    found = fit(X, rows.y, classes=True, components="all")
    with mpmath.workdps(50):
        Y = mpmath.matrix(np.eye(4)[rows.y].tolist())
        H = mpmath.eye(30) - mpmath.ones(30) / 30
        M = mpmath.matrix(X.tolist()).T * H * Y
        exact = sorted(mpmath.eigsy(M * M.T, eigvals_only=True), reverse=True)[:3]
        errors = [
            float(abs(mpmath.mpf(value) / e - 1)) for value, e in zip(found.model.eigenvalues[:3], exact, strict=True)
        ]
    assert max(errors) <= 1e-12
    certificate = found.model.meta["certificate"]
    assert certificate["vouched"] == [True] * 3
    assert all(error <= bound for error, bound in zip(errors, certificate["relative_error"], strict=True))


def test_no_claim_where_the_label_is_all_but_independent() -> None:
    """Class means that agree to 1e-12 of the spread: the bound says that hardly a digit is known."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(500, 3))
    X = np.vstack([half, half[::-1] + np.array([1e-11, 0, 0])])
    found = fit(X, np.repeat([0, 1], 500), classes=True, components=1)
    assert found.model.meta["certificate"]["vouched"] == [False]
    assert "accurate to fewer than 8 digits" in found.reporter.warnings[0]


# --- the same rows, the same bits ---


@pytest.mark.parametrize("options", [{"classes": True}, {}, {"label_kernel": "rbf"}], ids=["delta", "linear", "rbf"])
def test_threads_change_no_bit(options: dict[str, Any]) -> None:
    rows = case(3000, 40, classes=70)  # several blocks, and classes past the first that a product takes
    y = rows.y if options.get("classes") else rows.targets[:, 0]
    files = set()
    for count in (1, 2):
        with Threads(count) as pool:
            resources = {"engine": pool, "threads": count}
            files.add(dumps(fit(np.tile(rows.X, (7, 1)), np.tile(y, 7), resources=resources, **options).model))
    assert len(files) == 1


def test_order_of_the_rows_matters_to_rounding_only() -> None:
    rows = case(500, 6)
    order = np.random.default_rng(0).permutation(500)
    model = fit(rows.X, rows.y, classes=True, components="all").model
    other = fit(rows.X[order], classes_of(rows.y[order]), classes=True, components="all").model
    np.testing.assert_allclose(model.basis, other.basis, atol=1e-12)
    np.testing.assert_allclose(model.eigenvalues, other.eigenvalues, rtol=1e-12, atol=1e-9)


def test_the_callers_rows_are_left_alone() -> None:
    rows = case(50, 4)
    table = np.asfortranarray(np.hstack([rows.X, rows.targets]))
    table.setflags(write=False)
    labels = by_hand.labels_of(rows.targets)
    for kernel in ("linear", "rbf"):
        options = FitOptions(method="supervised", label=labels.names, label_kernel=kernel)
        method = by_hand.SupervisedPCA(options, Reporter())
        method.fit(iter([table]), by_hand.columns_of(rows.X), resources=by_hand.FitResources(labels=labels))


def test_notes_are_those_of_pca() -> None:
    rows = case(50, 3)
    X = np.column_stack([rows.X * [1, 1000, 1], np.full(50, 4.0)])
    notes = fit(X, rows.y, classes=True).reporter.notes
    assert notes[0] == "kept constant column 'x4', which adds no variance"
    assert "--standardize gives every column the same weight" in notes[1]
    notes = fit(rows.X, np.arange(50), classes=True).reporter.notes
    assert "all 50 rows have different labels, so plain PCA finds the same directions" in notes
