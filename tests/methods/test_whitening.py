"""PCA and ZCA whitening: scores of variance 1, what stays nearest to the original, and the way back."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from scipy.stats import ortho_group

import pcatool
from pcatool.errors import DataError, ModelError, PcatoolWarning, RefusedError, UsageError
from pcatool.model.npz import dumps, loads
from solvers.cases import EXACT_SOLVERS, Array

# Whitened covariance against I, where the smallest kept eigenvalue is 1e-7 of the largest.
WHITE = 1e-8

# There and back with all components: divided and multiplied by the same number, and two products.
BACK = 1e-12


def rows(n: int = 400, d: int = 8, spread: float = 1.0, seed: int = 5) -> Array:
    """Eigenvalues fall from 1 to `spread` in even steps of the exponent."""
    rng = np.random.default_rng(seed)
    scale = np.sqrt(np.geomspace(1, spread, d))
    return rng.normal(size=(n, d)) * scale @ ortho_group.rvs(d, random_state=rng) + rng.normal(size=d)


def covariance(Z: Array, ddof: int = 0) -> Array:
    return np.asarray(np.cov(Z.T, ddof=ddof))


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-7])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("whiten", ["pca", "zca"])
def test_covariance_is_one(whiten: str, ddof: int, standardize: bool, spread: float) -> None:
    X = rows(spread=spread)
    model = pcatool.fit(X, components="all", whiten=whiten, epsilon=0, ddof=ddof, standardize=standardize)
    np.testing.assert_allclose(covariance(pcatool.transform(model, X), ddof), np.eye(8), atol=WHITE)


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
def test_every_solver_whitens(solver: str) -> None:
    X = rows(spread=1e-5)
    model = pcatool.fit(X, components="all", whiten="pca", epsilon=0, solver=solver)
    np.testing.assert_allclose(covariance(pcatool.transform(model, X)), np.eye(8), atol=WHITE)


def test_large_data_are_whitened_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not solved a second time."""
    monkeypatch.setattr("pcatool.solvers.rows.SMALL_BYTES", 1000)
    X = rows(n=4000, d=30, spread=1e-7)
    model = pcatool.fit(X, components="all", whiten="pca", epsilon=0)
    assert model.meta["solver"] == "tsqr"
    np.testing.assert_allclose(covariance(pcatool.transform(model, X)), np.eye(30), atol=WHITE)
    with (
        pytest.warns(pcatool.PcatoolWarning, match="accurate to fewer than 8 digits"),
        pytest.raises(RefusedError, match=r"give components=\d+, or epsilon=\S+ or more, or fit with solver=.tsqr.$"),
    ):
        pcatool.fit(X, components="all", whiten="pca", epsilon=0, solver="covariance")


def test_about_zero_it_is_the_second_moment() -> None:
    X = rows()
    Z = pcatool.transform(pcatool.fit(X, components="all", whiten="pca", epsilon=0, center=False), X)
    np.testing.assert_allclose(Z.T @ Z / len(X), np.eye(8), atol=WHITE)


def test_the_formulas_of_the_lecture() -> None:
    X, epsilon = rows(), 0.01
    model = pcatool.fit(X, components=5, whiten="pca", epsilon=epsilon)
    Y = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(Y.T @ Y / len(Y))
    values, U = values[:-6:-1], vectors[:, :-6:-1]
    expected = Y @ U / np.sqrt(values + epsilon)
    Z = pcatool.transform(model, X)
    signs = np.sign(np.sum(Z * expected, axis=0))
    np.testing.assert_allclose(Z, expected * signs, atol=1e-11)
    zca = pcatool.transform(pcatool.fit(X, components=5, whiten="zca", epsilon=epsilon), X)
    np.testing.assert_allclose(zca, expected @ U.T, atol=1e-11)


def test_epsilon_is_a_part_of_the_mean_eigenvalue_unless_given() -> None:
    X = rows()
    assert pcatool.fit(X, components=3, whiten="pca").epsilon == pytest.approx(1e-5 * X.var(axis=0).mean(), rel=1e-12)
    assert pcatool.fit(X, components=3, whiten="pca", epsilon=0.5).epsilon == 0.5
    assert pcatool.fit(X, components=3, whiten="pca", epsilon=0).epsilon == 0
    assert "epsilon" not in pcatool.fit(X, components=3).meta


def test_of_all_rotations_zca_stays_closest() -> None:
    X = rows()
    Y = X - X.mean(axis=0)
    white = pcatool.transform(pcatool.fit(X, components="all", whiten="zca", epsilon=0), X)
    nearest = np.sum((white - Y) ** 2)
    rng = np.random.default_rng(0)
    for R in ortho_group.rvs(8, size=200, random_state=rng):
        assert np.sum((white @ R - Y) ** 2) > nearest
    small = np.eye(8)
    small[:2, :2] = [[np.cos(1e-3), -np.sin(1e-3)], [np.sin(1e-3), np.cos(1e-3)]]
    assert np.sum((white @ small - Y) ** 2) > nearest


@pytest.mark.parametrize("epsilon", [None, 0, 0.3])
@pytest.mark.parametrize("whiten", ["pca", "zca"])
def test_reconstruct_undoes_it(whiten: str, epsilon: float | None) -> None:
    X = rows(spread=1e-4)
    model = pcatool.fit(X, components="all", whiten=whiten, epsilon=epsilon, standardize=True)
    back = pcatool.reconstruct(model, pcatool.transform(model, X), source="scores")
    np.testing.assert_allclose(back, X, atol=BACK * 1e3)
    plain = pcatool.fit(X, components=3, standardize=True)
    some = pcatool.fit(X, components=3, whiten=whiten, epsilon=epsilon, standardize=True)
    np.testing.assert_allclose(
        pcatool.reconstruct(some, X, source="rows"), pcatool.reconstruct(plain, X, source="rows"), atol=BACK * 1e3
    )


def test_the_squared_error_is_that_of_plain_scores() -> None:
    X = rows()
    found = [pcatool.transform(pcatool.fit(X, components=3, whiten=w), X, with_error=True)[:, -1] for w in WHITENED]
    for errors in found:
        np.testing.assert_allclose(errors, found[0], rtol=1e-13)


WHITENED = ("none", "pca", "zca")


def test_zca_keeps_the_names_and_fewer_components_keep_the_width() -> None:
    model = pcatool.fit(rows(), components=6, whiten="zca")
    assert model.score_names() == list(model.columns)
    assert pcatool.transform(model, rows(), components=2).shape == (400, 8)
    with pytest.raises(DataError, match=r"a row has 9 scores, but the model gives 8 scores per row; leave out the col"):
        model.reconstruct(np.zeros((1, 9)))


@pytest.mark.parametrize(
    ("scale", "said"),
    [(1e-4, "is accurate to fewer than 8 digits"), (1e-7, "is indistinguishable from rounding error")],
)
def test_an_eigenvalue_with_some_digits_is_not_called_rounding_error(scale: float, said: str) -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:, 2] = X[:, 0] + scale * X[:, 2]
    with (
        pytest.warns(PcatoolWarning, match="PC3"),
        pytest.raises(RefusedError, match=rf"the eigenvalue \S+ of PC3 {said}, and epsilon 0 is too small"),
    ):
        pcatool.fit(X, components=3, whiten="pca", epsilon=0, solver="covariance")


def test_a_zero_eigenvalue_is_refused_unless_epsilon_covers_it() -> None:
    X = np.column_stack([rows(d=3), rows(d=3)])
    said = r"eigenvalue 0 of PC4 .* epsilon 0 is too small to cover the error of the eigenvalue; give components=3, or"
    with pytest.warns(pcatool.PcatoolWarning, match="explains no variance"), pytest.raises(RefusedError, match=said):
        pcatool.fit(X, components=4, whiten="pca", epsilon=0)
    with pytest.warns(pcatool.PcatoolWarning, match="explain no variance"):
        model = pcatool.fit(X, components=6, whiten="pca", epsilon=1e-3)
    assert np.abs(pcatool.transform(model, X)[:, 3:]).max() < 1e-10
    assert pcatool.fit(X, components="all", whiten="pca", epsilon=0).k == 3


def test_what_the_certificate_does_not_vouch_for_is_refused() -> None:
    X = rows(n=50, d=4)
    X = np.column_stack([X, X[:, 0] + 1e-6 * rows(n=50, d=1, seed=9)[:, 0]])
    with (
        pytest.warns(pcatool.PcatoolWarning, match="accurate to fewer than 8 digits"),
        pytest.raises(RefusedError, match=r"PC5.*epsilon .* or more"),
    ):
        pcatool.fit(X, components=5, whiten="zca", epsilon=0, solver="covariance")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"whiten": "cholesky"}, "invalid value 'cholesky' for whiten: choose none, pca or zca"),
        ({"whiten": "pca", "epsilon": -1}, "epsilon=-1 is below 0"),
        ({"whiten": "pca", "epsilon": float("nan")}, "epsilon='nan' is not a finite number"),
        ({"epsilon": 0.1}, 'epsilon has no effect without whiten="pca" or zca'),
    ],
)
def test_wrong_settings(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        pcatool.fit(rows(), **settings)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"whiten": "full"}, "'whiten' is 'full'"),
        ({"epsilon": -1.0}, "'epsilon' is '-1.0'"),
        ({"epsilon": "much"}, "'epsilon' is 'much'"),
        ({"epsilon": True}, "'epsilon' is 'True'"),
        ({"center_rows": 1}, "'center_rows' is '1'"),
    ],
)
def test_a_damaged_setting_is_refused(changed: dict[str, Any], said: str) -> None:
    model = pcatool.fit(rows(), components=2, whiten="pca")
    with pytest.raises(ModelError) as caught:
        model.with_meta(**changed)
    assert said in str(caught.value)


def test_whitening_by_nothing_is_refused() -> None:
    with pytest.warns(pcatool.PcatoolWarning):
        model = pcatool.fit(np.column_stack([rows(d=1)] * 2), components=2)
    with pytest.raises(ModelError, match="divide by an eigenvalue of 0"):
        model.with_meta(whiten="pca", epsilon=0)


def test_the_file_brings_it_back() -> None:
    X = rows()
    for whiten in ("pca", "zca"):
        model = pcatool.fit(X, components=3, whiten=whiten, center_rows=True)
        again = loads(dumps(model))
        assert (again.whitening, again.epsilon, again.rows_centered) == (whiten, model.epsilon, True)
        assert pcatool.transform(again, X).tobytes() == pcatool.transform(model, X).tobytes()
        with np.load(io.BytesIO(dumps(model)), allow_pickle=False) as archive:
            np.testing.assert_allclose(archive["variances"], (X - X.mean(axis=1)[:, None]).var(axis=0), rtol=1e-12)


def test_more_digits_come_from_a_fit_because_other_commands_have_no_solver() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:, 2] = X[:, 0] + 1e-6 * X[:, 2]
    with pytest.warns(PcatoolWarning, match='with solver covariance; a fit with solver="tsqr" keeps more digits'):
        model = pcatool.fit(X, components=3, solver="covariance")
    with pytest.warns(PcatoolWarning, match='; a fit with solver="tsqr" keeps more digits'):
        pcatool.update(model, X)
