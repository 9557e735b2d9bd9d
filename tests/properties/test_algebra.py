"""What the lectures prove of PCA, measured: no basis keeps more, none comes back closer, what is lost is J_M."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import ortho_group

from pcatool.arrays import recut
from pcatool.methods.pca import PCA
from pcatool.model.model import Model
from pcatool.options import FitOptions
from pcatool.progress import Reporter
from pcatool.registry import SOLVERS
from solvers import tolerances as within
from solvers.cases import Array, Run, every_fit, fit, fitted, names_of

every_solver = pytest.mark.parametrize("solver", list(SOLVERS))


@pytest.fixture(scope="module")
def X() -> Array:
    """Correlated columns of unequal variance, (200, 6)."""
    rng = np.random.default_rng(20)
    return rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)) + rng.normal(size=6)


def variance_kept(Y: Array, W: Array) -> float:
    """tr(W^T S W) for centred rows Y."""
    return float(np.sum((Y @ W) ** 2) / len(Y))


def error_left(Y: Array, W: Array) -> float:
    """Mean squared distance of centred rows from their projection on the columns of W."""
    return float(np.sum((Y - Y @ W @ W.T) ** 2) / len(Y))


# --- the two views ---


@every_solver
@pytest.mark.parametrize("M", range(1, 6))
def test_no_other_basis_keeps_more_or_comes_back_closer(solver: str, M: int, X: Array) -> None:
    model = fit(X, solver=solver, components=M)
    Y = X - X.mean(axis=0)
    slack = within.OPTIMAL * model.total_variance
    kept, left = variance_kept(Y, model.basis), error_left(Y, model.basis)
    rng = np.random.default_rng(M)
    for W in ortho_group.rvs(6, size=200, random_state=rng)[:, :, :M]:
        assert variance_kept(Y, W) <= kept + slack
        assert error_left(Y, W) >= left - slack


@every_solver
@pytest.mark.parametrize("angle", [1e-6, 1e-3, 0.1, 1.0])
def test_turning_the_answer_makes_it_worse(solver: str, angle: float, X: Array) -> None:
    """Each kept direction turned towards each discarded one; the loss is (lambda_i - lambda_j) sin^2, on paper."""
    model = fit(X, solver=solver, components=6)
    Y, M = X - X.mean(axis=0), 3
    for i in range(M):
        for j in range(M, 6):
            W = model.basis[:, :M].copy()
            W[:, i] = np.cos(angle) * model.basis[:, i] + np.sin(angle) * model.basis[:, j]
            loss = (model.eigenvalues[i] - model.eigenvalues[j]) * np.sin(angle) ** 2
            slack = within.OPTIMAL * model.total_variance
            assert loss > slack or angle < 1e-5
            assert abs(variance_kept(Y, model.basis[:, :M]) - variance_kept(Y, W) - loss) <= slack
            assert abs(error_left(Y, W) - error_left(Y, model.basis[:, :M]) - loss) <= slack


@every_solver
def test_rotation_within_the_kept_space_changes_nothing_but_the_axes(solver: str, X: Array) -> None:
    model = fit(X, solver=solver, components=3)
    Y = X - X.mean(axis=0)
    for turn in ortho_group.rvs(3, size=20, random_state=np.random.default_rng(4)):
        W = model.basis @ turn
        assert abs(variance_kept(Y, W) - variance_kept(Y, model.basis)) <= within.ALGEBRA * model.total_variance
        first = variance_kept(Y, W[:, :1])
        assert first <= model.eigenvalues[0] + within.OPTIMAL * model.total_variance


# --- J_M in all its forms ---


@every_fit
def test_what_is_lost_is_the_mean_squared_error(run: Run) -> None:
    """J_M = sum of the discarded eigenvalues = mean squared error (n/(n - ddof) times) = tr((I - B B^T) S)."""
    model = fitted(run)
    Y = run.standard / np.sqrt(model.total_variance)  # before the squares, which may overflow
    if run.center:
        Y = Y - Y.mean(axis=0)  # 1e8 is rounded to 1.5e-8, which noise of 1e-6 would show
    S = Y.T @ Y / (len(Y) - run.ddof)
    for M in range(1, model.k + 1):
        B = model.basis[:, :M]
        lost = model.variance.lost[M - 1] / model.total_variance
        assert abs(lost - model.eigenvalues[M:].sum() / model.total_variance) <= within.EIGENVALUE
        squared = np.sum((Y - Y @ B @ B.T) ** 2) / len(Y)
        assert abs(squared - lost * (len(Y) - run.ddof) / len(Y)) <= within.EIGENVALUE
        assert abs(np.trace(S - B @ (B.T @ S)) - lost) <= within.EIGENVALUE


@every_fit
def test_squared_error_of_the_model_is_that_of_the_rows(run: Run) -> None:
    model = fitted(run)
    scale = model.total_variance
    Y = model.standard_rows(run.X) / np.sqrt(scale)
    for M in range(1, model.k + 1):
        B = model.basis[:, :M]
        expected = np.sum((Y - Y @ B @ B.T) ** 2, axis=1)
        found = model.truncated(M).squared_error(run.X) / scale
        assert np.abs(found - expected).max() <= within.ALGEBRA * np.sum(Y * Y, axis=1).max()


def test_residual_lies_in_the_orthogonal_complement(X: Array) -> None:
    model = fit(X, components=3)
    residual = X - model.reconstruct(model.project(X))
    assert np.abs(residual @ model.basis).max() <= within.ALGEBRA * np.abs(X).max()


# --- one component at a time ---


@every_solver
def test_deflation(solver: str, X: Array) -> None:
    """The m-th component is the first of the data with the first m - 1 taken out."""
    model = fit(X, solver=solver, components=6)
    for m in range(1, 6):
        B = model.basis[:, :m]
        Y = X - X.mean(axis=0)
        first = fit(Y - Y @ B @ B.T, solver=solver, components=1)
        assert abs(first.eigenvalues[0] - model.eigenvalues[m]) <= within.ALGEBRA * model.eigenvalues[0]
        gap = np.min(np.abs(np.delete(model.eigenvalues, m) - model.eigenvalues[m])) / model.eigenvalues[0]
        assert np.abs(first.basis[:, 0] - model.basis[:, m]).max() <= within.ALGEBRA / gap


@every_solver
@pytest.mark.parametrize("ddof", [0, 1])
def test_scores_are_decorrelated_with_variances_lambda(solver: str, ddof: int, X: Array) -> None:
    model = fit(X, solver=solver, components=6, ddof=ddof)
    C = np.cov(model.project(X), rowvar=False, ddof=ddof)
    assert np.abs(C - np.diag(model.eigenvalues)).max() <= within.ALGEBRA * model.eigenvalues[0]


# --- what must not matter, or must in a known way ---


@every_solver
def test_order_of_rows_does_not_matter(solver: str, X: Array) -> None:
    same(fit(X, solver=solver, components=6), fit(X[::-1], solver=solver, components=6))


@every_solver
def test_order_of_columns_only_moves_rows_of_the_basis(solver: str, X: Array) -> None:
    order = np.array([3, 0, 5, 1, 4, 2])
    one, other = fit(X, solver=solver, components=6), fit(X[:, order], solver=solver, components=6)
    assert np.abs(one.eigenvalues - other.eigenvalues).max() <= within.ALGEBRA * one.eigenvalues[0]
    assert np.abs(one.basis[order] - other.basis).max() <= within.ALGEBRA * 1e3


@every_solver
def test_shift_does_not_matter(solver: str, X: Array) -> None:
    """By powers of two, so that the shifted values are exact to fewer digits but no worse."""
    rounded = np.round(X * 2**20) / 2**20
    one, other = fit(rounded, solver=solver, components=6), fit(rounded + 2**20, solver=solver, components=6)
    same(one, other)
    assert np.abs(other.mean - one.mean - 2**20).max() <= within.MEAN * 2**20


@every_solver
def test_rotating_the_data_turns_the_directions_along(solver: str, X: Array) -> None:
    Q = ortho_group.rvs(6, random_state=np.random.default_rng(8))
    one, other = fit(X, solver=solver, components=6), fit(X @ Q, solver=solver, components=6)
    assert np.abs(one.eigenvalues - other.eigenvalues).max() <= within.ALGEBRA * one.eigenvalues[0]
    turned = Q.T @ one.basis
    signs = np.sign(np.sum(turned * other.basis, axis=0))
    assert np.abs(turned * signs - other.basis).max() <= within.ALGEBRA * 1e3


@every_solver
def test_powers_of_two_change_no_digit(solver: str, X: Array) -> None:
    one, other = fit(X, solver=solver, components=6), fit(X * 2.0**30, solver=solver, components=6)
    np.testing.assert_array_equal(one.basis, other.basis)
    np.testing.assert_array_equal(one.eigenvalues * 2.0**60, other.eigenvalues)


@every_solver
def test_standardising_does_not_see_units(solver: str, X: Array) -> None:
    units = 10.0 ** np.arange(-6, 6, 2)
    one = fit(X, solver=solver, components=6, standardize=True)
    other = fit(X * units, solver=solver, components=6, standardize=True)
    same(one, other)
    assert abs(one.total_variance - 6) <= within.ALGEBRA


@every_solver
def test_standardised_eigenvalues_do_not_see_ddof(solver: str, X: Array) -> None:
    zero, one = (fit(X, solver=solver, components=6, standardize=True, ddof=ddof) for ddof in (0, 1))
    assert np.abs(zero.eigenvalues - one.eigenvalues).max() <= within.ALGEBRA * zero.eigenvalues[0]
    assert np.abs(zero.std * np.sqrt(200 / 199) / one.std - 1).max() <= within.ALGEBRA


@every_solver
def test_doubling_every_row_changes_nothing_with_divisor_n(solver: str, X: Array) -> None:
    same(fit(X, solver=solver, components=6), fit(np.repeat(X, 2, axis=0), solver=solver, components=6))


@every_solver
def test_uncentred_directions_of_centred_rows_are_the_centred_ones(solver: str, X: Array) -> None:
    Y = X - X.mean(axis=0)
    one = fit(Y, solver=solver, components=6)
    other = fit(Y, solver=solver, components=6, center=False)
    same(one, other)
    assert np.all(other.mean == 0)


@every_solver
def test_orthonormality_of_the_other_side_only_at_full_rank(solver: str, X: Array) -> None:
    """B B^T = I at k = d and only there."""
    model = fit(X, solver=solver, components=6)
    assert np.abs(model.basis @ model.basis.T - np.eye(6)).max() <= within.ORTHONORMAL
    fewer = model.truncated(5)
    assert np.abs(fewer.basis @ fewer.basis.T - np.eye(6)).max() > 0.01


@every_solver
def test_truncating_equals_fitting_with_fewer(solver: str, X: Array) -> None:
    full = fit(X, solver=solver, components=6)
    for k in range(1, 6):
        small, cut = fit(X, solver=solver, components=k), full.truncated(k)
        np.testing.assert_array_equal(small.basis, cut.basis)
        np.testing.assert_array_equal(small.eigenvalues, cut.eigenvalues)


@every_solver
def test_gram_matrix_of_the_rows_has_the_same_eigenvalues(solver: str) -> None:
    """n << d: the eigenvectors c of 1/n X X^T give those of S by X^T c, normalised."""
    X = np.random.default_rng(6).normal(size=(5, 40)) + 10
    model = fit(X, solver=solver, components="all")
    Y = X - X.mean(axis=0)
    values, C = np.linalg.eigh(Y @ Y.T / 5)
    assert np.abs(model.eigenvalues[:4] - values[:0:-1]).max() <= within.ALGEBRA * values[-1]
    B = Y.T @ C[:, :0:-1]
    B /= np.linalg.norm(B, axis=0)
    assert np.abs(np.abs(np.sum(B * model.basis, axis=0)) - 1).max() <= within.ALGEBRA


def same(one: Model, other: Model) -> None:
    """The eigenvalues, and each direction as far as the gap to its neighbours makes it firm."""
    assert np.abs(one.eigenvalues - other.eigenvalues).max() <= within.ALGEBRA * one.eigenvalues[0]
    assert np.abs(one.basis - other.basis).max() <= within.ALGEBRA * 1e3


# --- weights ---


@every_solver
@pytest.mark.parametrize("options", [{}, {"center": False}, {"standardize": True}, {"ddof": 1}], ids=str)
def test_whole_weights_are_repeated_rows(solver: str, options: dict[str, bool | int]) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 4)) * [1, 2, 3, 4] + 5
    w = rng.integers(1, 6, 60)
    settings: dict[str, Any] = {"solver": solver, "components": 4, **options}
    weighted = PCA(FitOptions(weights="w", weights_kind="frequency", **settings), Reporter())
    one = weighted.fit(recut([np.column_stack([X, w])], 5), names_of(4)).model
    other = fit(np.repeat(X, w, axis=0), **settings)
    same(one, other)
    assert np.abs(one.mean - other.mean).max() <= within.ALGEBRA
    assert np.abs(one.std - other.std).max() <= within.ALGEBRA
    assert abs(one.total_variance / other.total_variance - 1) <= within.ALGEBRA
