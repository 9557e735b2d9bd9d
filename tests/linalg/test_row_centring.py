"""`--center-rows`: each row about its own mean, first of all."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import pcatool
from pcatool.linalg.moments import center_rows, row_means
from solvers.cases import EXACT_SOLVERS, Array
from solvers.oracle import real


@pytest.fixture
def images() -> Array:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 7)) @ rng.normal(size=(7, 7)) + 20 * rng.random((150, 1))
    X.flags.writeable = False
    return X


def aligned(Z: Array, to: Array) -> Array:
    return Z * np.sign(np.sum(Z * to, axis=0))


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_same_as_by_hand(images: Array, solver: str, center: bool, standardize: bool) -> None:
    plain = images - images.mean(axis=1, keepdims=True)
    how = {"components": 4, "solver": solver, "center": center, "standardize": standardize}
    model, expected = pcatool.fit(images, center_rows=True, **how), pcatool.fit(plain, **how)
    np.testing.assert_allclose(model.eigenvalues, expected.eigenvalues, atol=1e-12 * expected.eigenvalues[0])
    scores = pcatool.transform(expected, plain)
    np.testing.assert_allclose(aligned(pcatool.transform(model, images), scores), scores, atol=1e-10)


def test_what_is_lost_is_the_mean_squared_error(images: Array) -> None:
    model = pcatool.fit(images, center_rows=True, components=3)
    errors = pcatool.transform(model, images, with_error=True)[:, -1]
    assert errors.mean() == pytest.approx(model.variance.lost[2], rel=1e-11)


def test_rows_come_back_with_their_means_from_rows(images: Array) -> None:
    model = pcatool.fit(images, center_rows=True, components="all")
    np.testing.assert_allclose(pcatool.reconstruct(model, images, source="rows"), images, atol=1e-11)


def test_from_scores_they_come_back_about_zero_and_that_is_said(images: Array) -> None:
    model = pcatool.fit(images, center_rows=True, components="all")
    scores = pcatool.transform(model, images)
    with pytest.warns(pcatool.PcatoolWarning, match="each reconstructed row lacks its mean"):
        back = pcatool.reconstruct(model, scores, source="scores")
    np.testing.assert_allclose(back, images - images.mean(axis=1, keepdims=True), atol=1e-11)


def test_brightness_does_not_matter(images: Array) -> None:
    model = pcatool.fit(images, center_rows=True, components=2)
    scores = pcatool.transform(model, images)
    np.testing.assert_allclose(pcatool.transform(model, images + 1000.0), scores, atol=1e-9)


def test_a_row_has_one_mean_whoever_comes_with_it(images: Array) -> None:
    means = row_means(images)
    assert [float(row_means(images[i : i + 1])[0]) for i in range(9)] == means[:9].tolist()
    assert center_rows(np.asfortranarray(images)).tobytes() == center_rows(images).tobytes()


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e3, 1e6, 1e8])
@pytest.mark.parametrize("solver", ["auto", "covariance", "svd", "tsqr"])
@pytest.mark.parametrize("d", [3, 7, 64])
def test_the_rank_is_one_less_however_bright_the_rows(d: int, solver: str, offset: float) -> None:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(300, d)) + offset * (1 + rng.random((300, 1)))
    model = pcatool.fit(X, center_rows=True, components="all", solver=solver)
    assert model.k == d - 1


def test_equal_columns_leave_nothing() -> None:
    column = np.random.default_rng(0).normal(size=(50, 1)) * 1e3 + 1 / 3
    for d in (2, 3, 4, 7):
        with pytest.raises(pcatool.DataError, match="columns are constant"):
            pcatool.fit(np.tile(column, d), center_rows=True)


def test_weights_are_no_part_of_the_mean(images: Array) -> None:
    weights = np.arange(len(images)) % 3 + 1.0
    frame = np.column_stack([images, weights])
    model = pcatool.fit(frame, weights="c8", center_rows=True, components=2)
    repeated = pcatool.fit(np.repeat(images, weights.astype(int), axis=0), center_rows=True, components=2)
    np.testing.assert_allclose(model.eigenvalues, repeated.eigenvalues, atol=1e-10)


def test_of_a_row_with_holes_the_mean_is_that_of_its_cells() -> None:
    X = np.random.default_rng(4).normal(size=(50, 6)) + 1e6
    holes = np.random.default_rng(5).random(X.shape) < 0.4
    holes[:2] = [[True] * 6, [True, False, False, False, False, False]]
    X[holes] = np.nan
    means = np.array([row[~np.isnan(row)].mean() if not np.isnan(row).all() else np.nan for row in X])
    np.testing.assert_allclose(row_means(X), means, rtol=1e-15)
    np.testing.assert_allclose(center_rows(X), X - means[:, None], atol=1e-9)  # of the plain way, at this offset
    assert np.array_equal(np.isnan(center_rows(X)), holes)


def test_holes_in_other_rows_change_no_bit_of_a_row() -> None:
    X = np.random.default_rng(4).normal(size=(50, 7))
    holed = X.copy()
    holed[1::2, ::3] = np.nan
    assert np.array_equal(center_rows(holed)[::2], center_rows(X)[::2])
    assert np.array_equal(row_means(holed)[::2], row_means(X)[::2])


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
@pytest.mark.parametrize("apart", [1e3, 1e6, 1e9])
@pytest.mark.filterwarnings("ignore::pcatool.PcatoolWarning")
def test_what_a_mean_of_large_cells_rounds_is_in_the_bounds(solver: str, apart: float) -> None:
    """Columns far apart: what is left of a row keeps the rounding of its largest cells. The oracle reckons exactly."""
    X = np.random.default_rng(0).standard_normal((60, 3)) + apart * np.array([0, 1, -2])
    rows = [[Fraction(cell) - sum(map(Fraction, row)) / 3 for cell in row] for row in X.tolist()]
    model = pcatool.fit(X, center_rows=True, solver=solver, components="all")
    means = [sum(column) / 60 for column in zip(*rows, strict=True)]
    Y = [[cell - mean for cell, mean in zip(row, means, strict=True)] for row in rows]
    S = [[sum(row[i] * row[j] for row in Y) / 60 for j in range(3)] for i in range(3)]
    with mpmath.workdps(60):
        true = sorted(mpmath.eigsy(mpmath.matrix([[real(s) for s in row] for row in S]), eigvals_only=True))[:0:-1]
        off = [float(abs(mpmath.mpf(a) - b) / a) for a, b in zip(model.eigenvalues[:2], true, strict=True)]
    certificate = model.meta["certificate"]
    assert np.all(np.array(off) <= certificate["relative_error"][:2])
    assert not any(certificate["vouched"][2:])  # the third is rounding, or known to be none
    assert sum(certificate["vouched"]) == (2 if apart < 1e9 else 0)
