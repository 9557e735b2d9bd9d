"""Scores of rows with holes: least squares row by row, whatever stands beside a row; posterior means; what was seen."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from missing.made import Array, cells_of, punched
from pcatool.missing import project as holes
from pcatool.missing.census import group_by_pattern, hash_patterns
from pcatool.missing.project import UNDETERMINED, coverage, coverage_of_cells, fill, project_cells, project_incomplete

# Two ways to solve small problems whose condition is below a thousand.
SOLVED = 1e-11

SHAPES = [(5, 1), (6, 3), (30, 4), (70, 5), (130, 3), (4, 4)]  # d, k: below and above 64 columns, and a square basis
every_shape = pytest.mark.parametrize(("d", "k"), SHAPES)


def basis(d: int, k: int) -> Array:
    return np.linalg.qr(np.random.default_rng(d).normal(size=(d, k)))[0]


def rows(n: int, d: int, share: float = 0.4) -> Array:
    Y = punched(np.random.default_rng(n).normal(size=(n, d)), share, d)
    Y.setflags(write=False)
    return Y


# --- least squares ---


@every_shape
def test_scores_are_the_shortest_least_squares_solution_of_each_row(d: int, k: int) -> None:
    B, Y = basis(d, k), rows(60, d)
    Z = project_incomplete(Y, B)
    for y, z in zip(Y, Z, strict=True):
        o = ~np.isnan(y)
        expected = np.linalg.lstsq(B[o], y[o], rcond=UNDETERMINED)[0] if o.any() else np.full(k, np.nan)
        np.testing.assert_allclose(z, expected, rtol=1e-9, atol=SOLVED)


@every_shape
def test_without_holes_it_is_the_plain_projection(d: int, k: int) -> None:
    B, Y = basis(d, k), rows(40, d, 0.0)
    np.testing.assert_allclose(project_incomplete(Y, B), Y @ B, rtol=0, atol=1e-14 * d)


def test_rows_of_the_space_are_found_again() -> None:
    B, scores = basis(30, 4), np.random.default_rng(0).normal(size=(200, 4))
    Y = punched(scores @ B.T, 0.5, 1)
    np.testing.assert_allclose(project_incomplete(Y, B), scores, atol=1e-11)


def test_fewer_cells_than_components_give_the_shortest_scores() -> None:
    B = basis(6, 3)
    y = np.array([[np.nan, 2.0, np.nan, np.nan, -1.0, np.nan]])
    z = project_incomplete(y, B)[0]
    o = [1, 4]
    np.testing.assert_allclose(B[o] @ z, y[0, o], atol=1e-14)  # both cells are met,
    across = np.linalg.svd(B[o])[2][2]
    assert abs(across @ z) < 1e-14  # and nothing is added that they say nothing of


def test_a_component_that_no_observed_cell_shows_gets_nothing() -> None:
    B = np.zeros((4, 2))
    B[:2, 0] = np.sqrt(0.5)
    B[2, 1] = 1.0
    B[0, 1] = 1e-12  # as rounding may leave it: far below OPEN, so not divided by
    z = project_incomplete(np.array([[3.0, 3.0, np.nan, 1.0]]), B)[0]
    np.testing.assert_allclose(z, [3 * np.sqrt(2), 0.0], atol=1e-11)


def test_a_loading_above_the_bound_counts() -> None:
    B = np.array([[np.sqrt(1 - 1e-12), -1e-6], [1e-6, np.sqrt(1 - 1e-12)]])
    z = project_incomplete(np.array([[1.0, np.nan]]), B[:, 1:])[0]
    np.testing.assert_allclose(z, -1e6)


def test_rows_of_holes_only_have_no_scores() -> None:
    Z = project_incomplete(np.array([[np.nan] * 5, [1.0] * 5]), basis(5, 2))
    assert np.isnan(Z[0]).all()
    assert np.isfinite(Z[1]).all()


def test_no_rows() -> None:
    assert project_incomplete(np.zeros((0, 5)), basis(5, 2)).shape == (0, 2)


# --- posterior means ---


@every_shape
def test_posterior_means_are_those_of_the_normal_distribution(d: int, k: int) -> None:
    B, Y = basis(d, k), rows(40, d)
    variances, noise = np.linspace(3, 1, k), 0.3
    Z = project_incomplete(Y, B, variances=variances, noise=noise)
    for y, z in zip(Y, Z, strict=True):
        o = ~np.isnan(y)
        if o.any():
            C = (B[o] * variances) @ B[o].T + noise * np.eye(o.sum())
            np.testing.assert_allclose(z, variances * (B[o].T @ np.linalg.solve(C, y[o])), atol=SOLVED)


def test_posterior_means_tend_to_least_squares_as_the_noise_goes() -> None:
    B, Y = basis(30, 4), rows(50, 30)
    plain = project_incomplete(Y, B)
    np.testing.assert_allclose(project_incomplete(Y, B, variances=np.ones(4), noise=1e-12), plain, atol=1e-9)
    np.testing.assert_allclose(project_incomplete(Y, B, variances=np.arange(4, 0, -1.0)), plain, atol=1e-9)


def test_a_component_without_variance_gets_nothing() -> None:
    Z = project_incomplete(rows(20, 30), basis(30, 3), variances=np.array([2.0, 1.0, 0.0]), noise=0.1)
    assert np.all(Z[:, 2] == 0)


# --- a row for itself ---


@every_shape
@pytest.mark.parametrize("posterior", [False, True])
def test_same_bits_whatever_stands_beside_a_row(d: int, k: int, posterior: bool) -> None:
    B, Y = basis(d, k), np.vstack([rows(150, d), rows(30, d, 0.0), rows(30, d, 0.05)])
    more = {"variances": np.linspace(3, 1, k), "noise": 0.3} if posterior else {}
    Z = project_incomplete(Y, B, **more)
    order = np.random.default_rng(0).permutation(len(Y))
    assert project_incomplete(Y[order], B, **more).tobytes() == Z[order].tobytes()
    assert project_incomplete(np.asfortranarray(Y), B, **more).tobytes() == Z.tobytes()
    for at, height in ((0, 1), (17, 1), (149, 3), (160, 7), (100, 110)):
        assert project_incomplete(Y[at : at + height], B, **more).tobytes() == Z[at : at + height].tobytes()


def test_same_bits_in_slabs_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    B, Y = basis(30, 4), rows(100, 30, 0.1)
    whole = project_incomplete(Y, B).tobytes()
    for slab in (1, 120, 500, 5000):
        monkeypatch.setattr(holes, "SLAB", slab)
        assert project_incomplete(Y, B).tobytes() == whole


def test_patterns_that_share_a_key_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    B, Y = basis(30, 4), np.vstack([rows(100, 30), rows(20, 30, 0.0)])
    right = project_incomplete(Y, B).tobytes()
    monkeypatch.setattr(holes, "hash_columns", lambda d: np.zeros(d, dtype=np.uint64))
    assert project_incomplete(Y, B).tobytes() == right


@pytest.mark.parametrize("d", [1, 7, 8, 9, 63, 64, 65, 200])
def test_patterns_are_found(d: int) -> None:
    seen: NDArray[np.bool_] = np.random.default_rng(d).random((40, d)) < 0.7
    observed = seen[np.random.default_rng(1).integers(0, 40, 300)]
    first, group = group_by_pattern(observed)
    assert np.array_equal(observed[first[group]], observed)
    assert len(first) == len(np.unique(observed, axis=0)) == len(np.unique(hash_patterns(observed)))


@every_shape
@pytest.mark.parametrize("posterior", [False, True])
def test_same_bits_in_compressed_form(d: int, k: int, posterior: bool) -> None:
    B, Y = basis(d, k), np.vstack([rows(60, d, 0.8), rows(30, d, 0.0), rows(30, d, 0.05)])
    more = {"variances": np.linspace(3, 1, k), "noise": 0.3} if posterior else {}
    cells, values = cells_of(Y, 0), np.linspace(3, 1, k)
    assert project_cells(cells, B, **more).tobytes() == project_incomplete(Y, B, **more).tobytes()
    assert coverage_of_cells(cells, B, values).tobytes() == coverage(np.isnan(Y), B, values).tobytes()


# --- coverage and fills ---


def test_coverage_is_the_share_of_the_variance_that_was_there() -> None:
    B, values, Y = basis(12, 3), np.array([5.0, 2.0, 1.0, 0.5]), rows(50, 12)
    missing = np.isnan(Y)
    share = coverage(missing, B, values)
    for m, s in zip(missing, share, strict=True):
        np.testing.assert_allclose(s, np.trace((B[~m] * values[:3]).T @ B[~m]) / values[:3].sum())
    assert np.all((share >= 0) & (share <= 1))


@every_shape
def test_coverage_of_all_and_of_nothing(d: int, k: int) -> None:
    missing = np.zeros((3, d), dtype=bool)
    missing[1] = True
    for layout in (missing, np.asfortranarray(missing)):
        assert coverage(layout, basis(d, k), np.linspace(2, 1, k)).tolist() == [1.0, 0.0, 1.0]


def test_same_coverage_whatever_stands_beside_a_row() -> None:
    B, missing = basis(70, 5), np.isnan(rows(50, 70))
    whole = coverage(np.asfortranarray(missing), B, np.arange(5, 0, -1.0))
    for at in range(50):
        assert coverage(missing[at : at + 1], B, np.arange(5, 0, -1.0)).tobytes() == whole[at : at + 1].tobytes()


def test_only_holes_are_filled() -> None:
    X = rows(20, 6)
    R = np.arange(120.0).reshape(20, 6)
    F = fill(X, R)
    missing = np.isnan(X)
    assert F[~missing].tobytes() == X[~missing].tobytes()
    assert F[missing].tobytes() == R[missing].tobytes()
    assert np.isnan(X).sum() == missing.sum()
