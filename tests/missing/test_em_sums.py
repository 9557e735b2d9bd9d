"""EM on rows in compressed form: what it gives of the same rows as blocks, and what a large table takes."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from missing.made import Array, cells_of, filled, made, problem_of, punched, rows_of
from pcatool.engines.threads import Threads
from pcatool.errors import DataError
from pcatool.linalg.sparse import SparseRows
from pcatool.missing import em as start
from pcatool.missing import em_sums as of_cells
from pcatool.missing.census import take_census
from pcatool.missing.em import EMFit, estimate, fit_em

# Two orders of the same sums, after a few dozen steps; about zero one component is 1e3 times the noise.
ROUNDING = 1e-8
EARLY = 1e-6  # past convergence rounding decides which leap is taken


@pytest.fixture(scope="module")
def holed() -> Array:
    X = punched(made(300, 20, [30, 20, 10], 0.5, 0).X + 10, 0.6, 1)
    X[[4, 200]] = np.nan
    X.setflags(write=False)
    return X


def same_fit(one: EMFit, other: EMFit) -> None:
    for name in ("mean", "std", "basis", "eigenvalues", "certainty", "variances", "log_likelihood"):
        mine, its = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        np.testing.assert_allclose(mine, its, rtol=0, atol=ROUNDING * float(np.abs(its).max()), err_msg=name)
    for name in ("iterations", "converged", "exact", "rows", "constant"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.missing.tolist() == other.missing.tolist()


@pytest.mark.parametrize(
    "settings",
    [{}, {"center": False}, {"standardize": True}, {"ddof": 1}, {"standardize": True, "center": False, "ddof": 1}],
    ids=lambda s: "-".join(s) or "plain",
)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_it_is_that_of_blocks(settings: dict[str, Any], k: int, holed: Array) -> None:
    problem = problem_of(20, **settings)
    same_fit(fit_em(cells_of(holed, 0), problem, k, gain=EARLY), fit_em(rows_of(holed), problem, k, gain=EARLY))


def test_the_start_of_a_wide_table(holed: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "WHOLE_SCATTER_COLUMNS", 4)
    problem = problem_of(20)
    same_fit(fit_em(cells_of(holed, 0), problem, 3, gain=EARLY), fit_em(rows_of(holed), problem, 3, gain=EARLY))


def test_parted_in_any_number_of_slabs(holed: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(20)
    whole = fit_em(cells_of(holed, 0), problem, 3, gain=EARLY)
    monkeypatch.setattr(of_cells, "SLAB", 1)
    same_fit(fit_em(cells_of(holed, 0), problem, 3, gain=EARLY), whole)


def test_same_bits_in_any_order_of_the_cells(holed: Array) -> None:
    one, other = (fit_em(cells_of(holed, seed), problem_of(20), 3, gain=EARLY) for seed in (0, 1))
    assert one.basis.tobytes() == other.basis.tobytes()
    assert one.eigenvalues.tobytes() == other.eigenvalues.tobytes()


def test_same_bits_whatever_the_threads(ratings: tuple[SparseRows, Array, Array]) -> None:
    found = set()
    for count in (1, 2):
        with Threads(count) as pool:
            found.add(fit_em(ratings[0], problem_of(400), 20, most_steps=4, engine=pool).basis.tobytes())
    assert len(found) == 1


def test_without_holes_in_the_closed_form() -> None:
    X = made(60, 8, [9, 4], 0.5, 0).X
    X[3] = np.nan
    same_fit(fit_em(cells_of(X, 0), problem_of(8), 2), fit_em(rows_of(X), problem_of(8), 2))


def test_census_is_that_of_blocks(holed: Array) -> None:
    one, other = take_census(cells_of(holed, 0), problem_of(20)), take_census(rows_of(holed), problem_of(20))
    for name in ("weights", "weight_squares", "mean", "scatter"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-13, err_msg=name)
    assert (one.rows, one.empty) == (other.rows, other.empty)


def test_a_column_without_a_cell_is_refused_by_name(holed: Array) -> None:
    X = np.array(holed)
    X[:, 7] = np.nan
    with pytest.raises(DataError, match="column 'c8' has no value; leave the column out with -x"):
        fit_em(cells_of(X, 0), problem_of(20), 2)


# --- a table of ratings, a twentieth of its cells there ---


@pytest.fixture(scope="module")
def ratings() -> tuple[SparseRows, Array, Array]:
    """The cells, and the table that they were taken from with what its true model expects from them."""
    truth = made(2000, 400, [90, 70, 50], 0.3, 0)
    X = punched(truth.X, 0.95, 1)
    return cells_of(X, 0), truth.X, filled(X, *truth[1:])


def test_fills_about_as_well_as_the_true_model(ratings: tuple[SparseRows, Array, Array]) -> None:
    cells, X, best = ratings
    fitted = fit_em(cells, problem_of(400), 3)
    assert fitted.converged
    holed = cells.dense(0, cells.n, np.nan)
    signal = fitted.eigenvalues[:3] - fitted.noise_variance
    guess = filled(holed, fitted.basis, signal, fitted.mean, fitted.noise_variance)
    hidden = np.isnan(holed)
    assert np.mean((guess - X)[hidden] ** 2) <= 1.15 * np.mean((best - X)[hidden] ** 2)


def test_memory_follows_the_cells(ratings: tuple[SparseRows, Array, Array]) -> None:
    cells = ratings[0]
    fit_em(cells, problem_of(400), 3, most_steps=3)  # what SciPy loads is not the fit's
    tracemalloc.start()
    try:
        fit_em(cells, problem_of(400), 3, most_steps=6)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    held = cells.values.nbytes + cells.columns.nbytes + cells.starts.nbytes
    need = estimate(400, 3, cells)
    assert peak + held <= need.bytes + need.work
