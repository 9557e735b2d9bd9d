"""PCA of rows in compressed form is that of the whole table, with zeros or column means where no cell is given."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from missing.made import Array, cells_of, problem_of, rows_of
from pcatool.errors import DataError
from pcatool.linalg import sparse as shifted
from pcatool.linalg.certificate import certify
from pcatool.solvers import sparse
from pcatool.solvers.base import Problem, Solution
from pcatool.solvers.sparse import choose_sparse, estimate_sparse, solve_sparse
from pcatool.solvers.svd import SVD

SHAPES = {"tall": (200, 12), "wide": (25, 90), "nearly square": (60, 40)}
WAYS = ("covariance", "dual", "randomized")
SETTINGS: list[dict[str, Any]] = [
    {},
    {"center": False},
    {"standardize": True},
    {"ddof": 1},
    {"standardize": True, "center": False, "ddof": 1},
]

# Of the largest eigenvalue; where a component is kept by itself its residual proves no more.
SOLVED = {"covariance": 1e-13, "dual": 1e-13, "randomized": 1e-9}


def table(n: int, d: int) -> Array:
    """A third of the cells, and columns of every kind: whole and far out, whole but for one, constant, of one cell."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) @ (rng.normal(size=(d, d)) * np.linspace(2, 0.1, d)[:, None]) + 3
    there = rng.random((n, d)) < 0.3
    X[:, 0] = 1e6 + rng.integers(-9, 9, n)
    X[:, 2] = 7.0
    there[:, :3] = True
    there[n // 2, 1] = False
    there[:, 3] = np.arange(n) == 5
    there[8] = False
    there[8, [0, 2]] = True
    return np.where(there, X, np.nan)


def whole(X: Array, absent: str) -> Array:
    """The table, its means taken in longer doubles."""
    return np.where(np.isnan(X), 0.0 if absent == "zero" else np.nanmean(X.astype(np.longdouble), axis=0), X).astype(
        float
    )


def solved_by(way: str, X: Array, problem: Problem, absent: str, monkeypatch: pytest.MonkeyPatch) -> Solution:
    bounds = {"covariance": (0, 4096), "dual": (1 << 30, 0), "randomized": (0, 0)}
    monkeypatch.setattr(sparse, "DUAL_ROWS", bounds[way][0])
    monkeypatch.setattr(sparse, "SCATTER_COLUMNS", bounds[way][1])
    monkeypatch.setattr(sparse, "COLUMNS_PER_COMPONENT", 1)
    assert choose_sparse(problem, len(X))[0] == way
    return solve_sparse(cells_of(X, 0), problem, absent)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(s) or "plain")
@pytest.mark.parametrize("absent", ["zero", "mean"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_pca_of_the_whole_table(
    way: str, shape: str, absent: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X = table(*SHAPES[shape])
    problem = problem_of(X.shape[1], wish=3 if way == "randomized" else 0.99, **settings)
    found = solved_by(way, X, problem, absent, monkeypatch)
    other = SVD().solve(rows_of(whole(X, absent)), problem)
    m = min(len(found.eigenvalues), len(other.eigenvalues), 3 if way == "randomized" else len(X))
    apart = np.abs(found.eigenvalues - np.resize(other.eigenvalues, len(found.eigenvalues)))[:m]
    assert apart.max() <= SOLVED[way] * other.eigenvalues[0]
    assert np.all(apart <= found.error[:m] + other.error[:m])
    for name in ("mean", "std", "variances", "total_variance"):
        np.testing.assert_allclose(getattr(found, name), getattr(other, name), rtol=1e-12, err_msg=name)
    assert (found.n, found.observations, found.constant) == (other.n, other.observations, other.constant)
    if problem.center:  # about 0, a column far out leaves the smallest of them no digits
        assert found.rank == (3 if way == "randomized" else other.rank)


@pytest.mark.parametrize("absent", ["zero", "mean"])
@pytest.mark.parametrize("way", WAYS)
def test_directions_and_their_proof(way: str, absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = table(*SHAPES["wide"])
    problem = problem_of(90, wish=3, standardize=True)
    found = solved_by(way, X, problem, absent, monkeypatch)
    proof = certify(found.apply, found.eigenvalues, found.error, found.leading(3), found.total_variance, False)
    assert proof["eigen_residual"] < 1e-5 if way == "randomized" else 1e-13
    assert proof["orthonormality"] < 1e-13
    assert all(proof["vouched"])
    other = SVD().solve(rows_of(whole(X, absent)), problem)
    np.testing.assert_allclose(np.abs(np.sum(found.leading(3) * other.leading(3), axis=0)), 1.0, atol=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_same_bits_in_any_order_of_the_cells(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = table(*SHAPES["nearly square"])
    problem = problem_of(40, wish=3)
    one = solved_by(way, X, problem, "zero", monkeypatch)
    other = solve_sparse(cells_of(X, 1), problem, "zero")
    assert one.eigenvalues.tobytes() == other.eigenvalues.tobytes()
    assert one.leading(3).tobytes() == other.leading(3).tobytes()


@pytest.mark.parametrize("way", ["covariance", "dual"])
def test_products_of_dense_rows_are_those_of_sparse_ones(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, problem = table(*SHAPES["nearly square"]), problem_of(40)
    found = []
    for denser in (0, 1 << 30):
        monkeypatch.setattr(shifted, "DENSER", denser)
        found.append(solved_by(way, X, problem, "zero", monkeypatch).eigenvalues[:10])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_a_share_from_a_krylov_space(monkeypatch: pytest.MonkeyPatch) -> None:
    X = table(*SHAPES["nearly square"])
    found = solved_by("randomized", X, problem_of(40, wish=0.9, standardize=True), "zero", monkeypatch)
    assert found.eigenvalues.sum() >= 0.9 * found.total_variance


def test_a_column_without_a_cell() -> None:
    X = table(*SHAPES["tall"])
    X[:, 6] = np.nan
    found = solve_sparse(cells_of(X, 0), problem_of(12, standardize=True), "zero")
    assert found.constant == (2, 6)
    assert (found.mean[6], found.std[6], found.variances[6]) == (0, 1, 0)
    with pytest.raises(DataError, match="column 'c7' has no value; leave the column out with -x"):
        solve_sparse(cells_of(X, 0), problem_of(12), "mean")


def test_a_column_of_equal_cells_varies_where_others_are_zero() -> None:
    X = np.array([[1.0, 2.0], [np.nan, 3.0], [1.0, np.nan]])
    assert solve_sparse(cells_of(X, 0), problem_of(2), "zero").constant == ()
    assert solve_sparse(cells_of(X, 0), problem_of(2), "mean").constant == (0,)


@pytest.mark.parametrize(
    ("n", "d", "wish", "name"),
    [
        (1000, 2000, 0.99, "dual"),  # half as many rows as columns
        (20_000, 2000, 10, "covariance"),
        (20_000, 2000, "all", "covariance"),
        (4000, 5000, 10, "dual"),  # the columns are too many for a scatter, the rows are not
        (20_000, 50_000, 10, "randomized"),
        (20_000, 50_000, 0.5, "randomized"),
        (20_000, 50_000, "all", "dual"),  # nothing smaller holds all of them
        (20_000, 50_000, 5000, "dual"),
        (50_000, 20_000, "kaiser", "covariance"),
    ],
)
def test_the_choice(n: int, d: int, wish: int | float | str, name: str) -> None:
    problem = Problem(("c",) * d, n, wish)
    assert choose_sparse(problem, n)[0] == name
    assert estimate_sparse(problem, n, 10**6, 10).bytes > 0


def test_memory_is_what_was_estimated() -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((3000, 300)) < 0.03, rng.normal(size=(3000, 300)), np.nan)
    cells, problem = cells_of(X, 0), problem_of(300)
    solve_sparse(cells, problem, "zero")  # what SciPy loads is not the fit's
    tracemalloc.start()
    try:
        solve_sparse(cells, problem, "zero").leading(5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= estimate_sparse(problem, 3000, len(cells.values), 5).bytes
