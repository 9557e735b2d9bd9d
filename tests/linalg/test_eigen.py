"""Rank that does not see the scale of columns, and small eigenvalues that come from it, whatever else there is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from often import often
from pcatool.arrays import block_rows
from pcatool.errors import RefusedError
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.eigen import all_eigenpairs, spectrum_of_scatter
from pcatool.linalg.spectrum import EPS
from pcatool.registry import SOLVERS
from solvers import tolerances as within
from solvers.cases import Array, fit
from solvers.oracle import Exact, relative_errors

every_solver = pytest.mark.parametrize("solver", list(SOLVERS))
seeds = pytest.mark.parametrize("seed", range(12))


def rank(X: Array, solver: str) -> int:
    found: int = fit(X, solver=solver, components="all").meta["rank"]
    return found


# --- eigenpairs of wide matrices ---


@pytest.mark.parametrize("d", [1001, 1002, 1150])
@pytest.mark.parametrize("scale", [1.0, 3e-290, 7e290])
def test_the_steps_of_dsyevd_have_its_bits(d: int, scale: float) -> None:
    """The scale, a power of two here, is undone exactly; without it squares would underflow or overflow."""
    scale = 2.0 ** round(np.log2(scale))
    F = np.random.default_rng(d).normal(size=(d // 2, d))
    S = F.T @ F
    S /= 2.0 ** np.frexp(np.trace(S))[1]
    with one_blas_thread():
        values, vectors = scipy.linalg.eigh(S, driver="evd")
        found = all_eigenpairs(S * scale)
    assert found[0].tobytes() == (values * scale).tobytes()
    assert found[1].tobytes() == np.ascontiguousarray(vectors).tobytes()


# --- rank ---


@every_solver
@seeds
def test_rank_of_any_product(solver: str, seed: int) -> None:
    """Rank r on paper, columns of any scale, then rounded: the rounding must not count."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 12))
    r = int(rng.integers(1, d + 1))
    n = int(rng.integers(d + 1, 200))
    X = rng.normal(size=(n, r)) @ rng.normal(size=(r, d)) * 10.0 ** rng.uniform(-8, 8, d)
    assert rank(X, solver) == r


@pytest.mark.parametrize(
    ("above", "known"), [(0.5, False), (0.9, False), (1.1, True), (1.9, True), (2.1, True), (50, True)]
)
def test_rank_near_the_bound(above: float, known: bool) -> None:
    """Columns that all correlate equally: 1 + (d - 1) r once and 1 - r else, so much above or below d noise."""
    d, noise = 40, 1e-9
    gap = above * d * noise
    R = np.full((d, d), 1 - gap)
    np.fill_diagonal(R, 1.0)
    scale = np.geomspace(1, 1e6, d)
    spectrum = spectrum_of_scatter(R * np.outer(scale, scale), np.full(d, noise), "all")
    assert spectrum.rank == (d if known else 1)


def test_rank_of_columns_that_never_vary() -> None:
    R = np.diag([2.0, 0.0, 3.0, 0.0])
    assert spectrum_of_scatter(R, np.full(4, 8 * EPS), "all").rank == 2


def proportional(rng: np.random.Generator, n: int) -> Array:
    x = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3)
    return np.column_stack([x, 2.54 * x])


def positive(rng: np.random.Generator, n: int) -> Array:
    x = rng.exponential(size=n) + 3
    return np.column_stack([x, x / 3])


def counts(rng: np.random.Generator, n: int) -> Array:
    x = np.round(rng.normal(size=n) * 300)
    return np.column_stack([x, 3 * x])


@every_solver
@pytest.mark.parametrize("make", [proportional, positive, counts])
@pytest.mark.parametrize(("n", "times"), [(20, 50), (100, 50), (300, 50), (1000, 50), (3000, 30), (30_000, 3)])
def test_one_dimension_is_one_however_many_rows(
    solver: str, make: Callable[[np.random.Generator, int], Array], n: int, times: int
) -> None:
    """The rounding of a sum grows with its terms: with two columns it is above 2 * eps once in fifty."""
    ranks = [rank(make(np.random.default_rng([seed, n]), n), solver) for seed in range(often(times))]
    assert ranks == [1] * len(ranks)


@every_solver
@seeds
def test_rank_does_not_see_the_units(solver: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 10))
    A = rng.integers(-9, 10, (40, d)).astype(np.float64)
    if seed % 2:
        A[:, -1] = A[:, 0] - 2 * A[:, d // 2]
    expected = int(np.linalg.matrix_rank(A - A.mean(axis=0)))
    for _ in range(5):
        units = 2.0 ** rng.integers(-150, 150, d)
        assert rank(A * units, solver) == expected


@every_solver
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e8])
def test_rank_does_not_see_the_offset(solver: str, offset: float) -> None:
    """Whole numbers and a duplicate column, so that the shifted data have the same rank exactly."""
    A = np.random.default_rng(3).integers(-99, 100, (50, 3)).astype(np.float64)
    A = np.column_stack([A, A[:, 1], A[:, 0] + A[:, 2]])
    assert rank(A + offset, solver) == 3


@every_solver
def test_independent_columns_count_however_close(solver: str) -> None:
    """Two columns 1e-5 of their size apart: their eigenvalue is 1e-10 of the largest, well above rounding."""
    x, y = np.random.default_rng(1).normal(size=(2, 500))
    assert rank(np.column_stack([x, x + 1e-5 * y]), solver) == 2


@every_solver
@pytest.mark.parametrize(("n", "d"), [(2, 5), (5, 40), (40, 41), (60, 400)])
def test_fewer_rows_than_columns_leave_n_minus_one(solver: str, n: int, d: int) -> None:
    X = np.random.default_rng(n).normal(size=(n, d))
    for offset in (0.0, 1e8):
        assert rank(X + offset, solver) == n - 1


# --- small eigenvalues from small columns ---


@cache
def near_equal(largest: float, seed: int, delta: float) -> tuple[Array, Exact]:
    """One column large, two equal to within delta, one beside them; and the truth."""
    rng = np.random.default_rng(seed)
    a, b, c, e = rng.normal(size=(4, 40))
    order = rng.permutation(4)
    X = np.column_stack([a, largest * (b + 0.3 * a), a + delta * c, e - 0.5 * a])[:, order]
    return X, Exact(X)


@every_solver
@pytest.mark.parametrize("seed", [2, 3, 4, 5, 10])
@pytest.mark.parametrize("largest", [1e2, 1e4, 1e6, 1e10])
def test_near_equal_columns_do_not_spoil_the_others(solver: str, largest: float, seed: int) -> None:
    """Only the eigenvalue of the difference of those two may lose digits.

    The others come from the scale of the columns, and must not depend on how close those two are.
    """
    for delta in (1e-4, 1e-7, 1e-8, 1e-9, 0.0):
        X, exact = near_equal(largest, seed, delta)
        found = fit(X, solver=solver, components="all").eigenvalues[:3]
        assert relative_errors(found, exact.eigenvalues[:3]).max() <= within.EACH_SHARP, delta


@every_solver
@seeds
def test_graded_and_deficient(solver: str, seed: int) -> None:
    """Whole numbers of rank r in columns of scales 2^-80 to 2^80: each of r eigenvalues to its own digits."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 8))
    r = int(rng.integers(2, d + 1))
    A = rng.integers(-9, 10, (20, r)) @ rng.integers(-9, 10, (r, d)) * 1.0
    r = int(np.linalg.matrix_rank(A - A.mean(axis=0)))
    X = A * 2.0 ** rng.integers(-80, 81, d)
    model = fit(X, solver=solver, components=d)
    exact = Exact(X)
    assert model.meta["rank"] == r
    assert relative_errors(model.eigenvalues[:r], exact.eigenvalues[:r]).max() <= within.EACH_GRADED
    assert np.all(model.eigenvalues[r:] == 0)
    assert np.abs(model.basis.T @ model.basis - np.eye(d)).max() <= within.ORTHONORMAL
    assert exact.residual(model.eigenvalues, model.basis) <= within.RESIDUAL


@every_solver
@pytest.mark.parametrize("standardize", [False, True])
@seeds
def test_vectors_stay_in_step_with_their_values(solver: str, standardize: bool, seed: int) -> None:
    """The variance of each score, measured, is the eigenvalue in the same place: of the smallest, too."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    X = rng.normal(size=(60, d)) * 10.0 ** rng.uniform(-3, 3, d)
    if seed % 3 == 0:
        X = np.column_stack([X, X[:, 0], np.full(60, 5.0)])
    model = fit(X, solver=solver, components=X.shape[1], standardize=standardize)
    measured = model.project(X).var(axis=0)
    slack = within.DECORRELATION * model.eigenvalues[0]
    assert np.all(np.abs(measured - model.eigenvalues) <= slack + 1e-6 * model.eigenvalues)


@every_solver
@pytest.mark.parametrize("exponent", [-140, -75, 0, 75, 140])
def test_scale_of_everything_does_not_matter(solver: str, exponent: int) -> None:
    X = np.random.default_rng(6).normal(size=(30, 5)) * [1, 10, 100, 1e3, 1e4]
    one, other = (fit(A, solver=solver, components="all") for A in (X, X * 10.0**exponent))
    assert one.meta["rank"] == other.meta["rank"] == 5
    assert np.abs(one.basis - other.basis).max() <= within.AGREEMENT * 1e4
    assert np.abs(one.variance.share - other.variance.share).max() <= within.AGREEMENT
    assert other.meta["certificate"]["eigen_residual"] <= within.RESIDUAL


@every_solver
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(
    "exponents",
    [(150, 0, -150), (150, -150, 0, 75), (100, -100), (153, 153), (150, 145, -140), (-150, -153), (152, -152)],
    ids=str,
)
def test_all_scales_at_once(solver: str, center: bool, exponents: tuple[int, ...]) -> None:
    """Eigenvalues up to six hundred powers of ten apart; nothing overflows on the way, not even in a remark."""
    X = np.random.default_rng(1).normal(size=(20, len(exponents))) * 10.0 ** np.array(exponents)
    model = fit(X, solver=solver, components="all", center=center)
    assert model.k == len(exponents)
    exact = Exact(X, center=center)
    assert relative_errors(model.eigenvalues, exact.eigenvalues).max() <= within.EACH_EIGENVALUE
    assert model.meta["certificate"]["eigen_residual"] <= within.RESIDUAL
    back = model.reconstruct(model.project(X))
    assert np.abs((back - X) / np.abs(X).max(axis=0))[:, np.argmax(exponents)].max() <= within.ROUND_TRIP


BLOCK = block_rows(2)

# Where the values are that a double cannot square, by row and column.
TOO_LARGE: dict[str, tuple[slice | int, slice | int]] = {
    "everywhere": (slice(None), slice(None)),
    "in one column": (slice(None), 1),
    "in the first block": (slice(BLOCK), slice(None)),
    "in the second block": (slice(BLOCK, None), slice(None)),
    "in one cell": (2 * BLOCK + 5, 0),
    "in the first cell": (0, 0),
}


@every_solver
@pytest.mark.parametrize("where", TOO_LARGE)
@pytest.mark.parametrize("size", [1e160, 1e200, 1.5e308])
@pytest.mark.parametrize("options", [{}, {"center": False}, {"standardize": True}], ids=str)
def test_too_large_to_square_is_refused(solver: str, where: str, size: float, options: dict[str, Any]) -> None:
    """In whichever block it comes, and without a word from numpy."""
    X = np.random.default_rng(0).normal(size=(2 * BLOCK + 10, 2))
    X[TOO_LARGE[where]] = np.sign(X[TOO_LARGE[where]]) * size
    with pytest.raises(RefusedError, match="overflow"):
        fit(X, solver=solver, **options)


# --- constant columns ---


@every_solver
@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 + 0.1, -7.0, 1e-300, 1e300])
def test_constant_column_carries_nothing(solver: str, value: float) -> None:
    X = np.random.default_rng(2).normal(size=(300, 3))
    with_it = np.insert(X, 1, value, axis=1)
    one, other = fit(X, solver=solver, components="all"), fit(with_it, solver=solver, components="all")
    assert other.meta["rank"] == 3
    assert np.abs(other.eigenvalues[:3] - one.eigenvalues).max() <= within.AGREEMENT * one.eigenvalues[0]
    assert np.abs(other.basis[1]).max() <= within.ORTHONORMAL
    assert other.mean[1] == value
    assert np.all(fit(with_it, solver=solver, standardize=True).std[1] == 1)


@every_solver
def test_smallest_step_is_no_constant(solver: str) -> None:
    """Min and max differ, if by one unit in the last place: the column varies."""
    X = np.full((20, 1), 0.1)
    X[7] = np.nextafter(0.1, 1)
    model = fit(X, solver=solver, standardize=True)
    assert model.k == 1
    assert abs(model.std[0] - (X[7, 0] - 0.1) * np.sqrt(19) / 20) <= within.STD * model.std[0]
