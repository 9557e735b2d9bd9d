"""Probabilistic PCA of rows with holes: what is true of the maximum on paper, then other programs, then the targets."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pcatool
from missing.dense import density, em_step, maximum
from missing.made import Array, angle, filled, fit, made, problem_of, punched, rows_of
from pcatool.arrays import recut
from pcatool.engines.threads import Threads
from pcatool.errors import DataError, PcatoolError, RefusedError
from pcatool.linalg.certificate import certify
from pcatool.missing import em
from pcatool.missing import em as start
from pcatool.missing import likelihood as climb
from pcatool.missing.census import take_census
from pcatool.missing.em import EMFit, as_solution, closed_form, estimate, fit_em
from pcatool.model.model import Model
from pcatool.solvers import rows as solver_rows
from pcatool.solvers.rows import Rows
from pcatool.solvers.svd import SVD

pytestmark = pytest.mark.long

# Where EM stops against the maximum, relative: it gains less than 1e-10 a cell by then; measured 1e-5 at most.
CONVERGED = 1e-4

# With `gain` at its least, where the likelihood itself can be told no better than 1e-13: eigenvalues by the root of it.
TIGHT = 1e-13
AT_MAXIMUM = 1e-6

SETTINGS: list[dict[str, Any]] = [
    {},
    {"center": False},
    {"standardize": True},
    {"ddof": 1},
    {"standardize": True, "ddof": 1},
    {"standardize": True, "center": False},
]
every_setting = pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(s) or "plain")


@pytest.fixture(scope="module")
def full() -> Array:
    """Correlated columns of unequal variance and mean, (300, 8)."""
    rng = np.random.default_rng(11)
    return rng.normal(size=(300, 8)) @ rng.normal(size=(8, 8)) * np.linspace(1, 3, 8) + rng.normal(size=8)


@pytest.fixture(scope="module")
def holed(full: Array) -> Array:
    X = punched(full, 0.25, 12)
    X.setflags(write=False)
    return X


def covariance(fitted: EMFit) -> Array:
    """In the units of the fit."""
    B, k = fitted.basis, fitted.basis.shape[1]
    return (B * (fitted.eigenvalues[:k] - fitted.noise_variance)) @ B.T + fitted.noise_variance * np.eye(len(B))


def same_model(one: EMFit, other: EMFit, within: float = AT_MAXIMUM) -> None:
    for mine, its in (
        (one.mean, other.mean),
        (one.std, other.std),
        (one.eigenvalues, other.eigenvalues),
        (one.basis, other.basis),
    ):
        np.testing.assert_allclose(mine, its, rtol=0, atol=within * float(np.abs(its).max()))


# --- the likelihood ---


@every_setting
@pytest.mark.parametrize("k", [1, 3, 7])
def test_log_likelihood_is_the_density_of_the_observed_cells(settings: dict[str, Any], k: int, holed: Array) -> None:
    fitted = fit(holed, k, **settings)
    of_n = covariance(fitted) * (1 - settings.get("ddof", 0) / len(holed))
    expected = density((holed - fitted.mean) / fitted.std, np.zeros(8), of_n)
    assert abs(fitted.log_likelihood[-1] - expected) <= 1e-10 * abs(expected)


@pytest.mark.parametrize("share", [0.05, 0.4, 0.8])
@pytest.mark.parametrize("k", [2, 4, 6])
@pytest.mark.parametrize("center", [True, False])
def test_likelihood_never_falls(share: float, k: int, center: bool) -> None:
    X = punched(made(400, 20, [30, 20, 10, 5], 0.5, k).X, share, 1)
    fitted = fit(X, k, center=center)
    path = np.array(fitted.log_likelihood)
    assert fitted.converged
    assert np.diff(path).min() >= 0
    # It did not end before it had converged, either: a step that falls for another reason than rounding would end it.
    assert path[-1] - path[-3] <= 1e-9 * np.isfinite(X).sum()


def test_noise_that_the_cells_do_not_show_ends_at_its_least() -> None:
    """Rows of two or three cells, seven components: they explain nearly all, and the likelihood has no bound."""
    X = punched(made(400, 12, [30, 20, 10, 5], 0.5, 7).X, 0.8, 1)
    fitted = fit(X, 7, gain=1e-6)
    assert fitted.exact
    assert np.diff(fitted.log_likelihood).min() >= 0
    assert 0 < fitted.noise_variance < 1e-8 * fitted.eigenvalues[0]


def test_no_model_nearby_is_likelier(holed: Array) -> None:
    fitted = fit(holed, 3, gain=TIGHT)
    best = density(holed, fitted.mean, covariance(fitted))
    W = fitted.basis * np.sqrt(fitted.eigenvalues[:3] - fitted.noise_variance)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2):
        for _ in range(10):
            V = W * (1 + size * rng.normal(size=W.shape))
            mean = fitted.mean + size * rng.normal(size=8)
            noise = fitted.noise_variance * np.exp(size * rng.normal())
            assert density(holed, mean, V @ V.T + noise * np.eye(8)) < best


@every_setting
@pytest.mark.parametrize("k", [1, 3, 7, 8])
def test_without_holes_it_is_pca(settings: dict[str, Any], k: int, full: Array) -> None:
    fitted = fit(full, k, **settings)
    problem = problem_of(8, **settings)
    pca = SVD().solve(rows_of(full), problem)
    assert fitted.iterations == 0
    assert fitted.converged
    np.testing.assert_allclose(fitted.eigenvalues[:k], pca.eigenvalues[:k], rtol=0, atol=1e-13 * pca.eigenvalues[0])
    noise = pca.eigenvalues[k:].mean() if k < 8 else 0.0
    np.testing.assert_allclose(fitted.noise_variance, noise, rtol=0, atol=1e-13 * pca.eigenvalues[0])
    np.testing.assert_allclose(np.abs(np.sum(fitted.basis * pca.leading(k), axis=0)), 1.0, rtol=1e-12)
    np.testing.assert_allclose(fitted.mean, pca.mean, rtol=1e-14)
    np.testing.assert_allclose(fitted.std, pca.std, rtol=1e-14)
    np.testing.assert_allclose(fitted.total_variance, pca.total_variance, rtol=1e-12)


@every_setting
@pytest.mark.parametrize("k", [1, 3, 7, 8])
def test_steps_lead_to_pca(settings: dict[str, Any], k: int, full: Array) -> None:
    stepped, closed = fit(full, k, iterate=True, gain=TIGHT, **settings), fit(full, k, **settings)
    assert stepped.iterations > 0
    same_model(stepped, closed)
    np.testing.assert_allclose(stepped.log_likelihood[-1], closed.log_likelihood[-1], rtol=1e-10)
    assert stepped.exact is False


def test_certainty_without_holes_is_what_noise_leaves(full: Array) -> None:
    stepped, closed = fit(full, 3, iterate=True, gain=TIGHT), fit(full, 3)
    np.testing.assert_allclose(closed.certainty, 1 - closed.noise_variance / closed.eigenvalues[:3])
    np.testing.assert_allclose(stepped.certainty, closed.certainty, atol=AT_MAXIMUM)


def test_closed_form_of_any_solver(full: Array) -> None:
    problem = problem_of(8)
    census = take_census(rows_of(full), problem)
    assert census.complete
    same_model(closed_form(SVD().solve(rows_of(full), problem), census, 3, problem), fit(full, 3), 1e-12)


# --- another program ---


def test_agrees_with_the_papers_row_by_row() -> None:
    X = punched(made(60, 6, [9, 4], 0.6, 3).X, 0.3, 4)
    W, mu, noise = maximum(X, 2, 150, 5)
    fitted = fit(X, 2, gain=TIGHT)
    assert fitted.census.empty == 0
    np.testing.assert_allclose(fitted.log_likelihood[-1], density(X, mu, W @ W.T + noise * np.eye(6)), rtol=1e-6)
    np.testing.assert_allclose(covariance(fitted), W @ W.T + noise * np.eye(6), atol=2e-3 * fitted.eigenvalues[0])
    np.testing.assert_allclose(fitted.mean, mu, atol=2e-3 * np.sqrt(fitted.eigenvalues[0]))
    np.testing.assert_allclose(fitted.noise_variance, noise, rtol=1e-3)
    # What was found here stands still there, too.
    ours = (fitted.basis * np.sqrt(fitted.eigenvalues[:2] - fitted.noise_variance), fitted.mean, fitted.noise_variance)
    for mine, its in zip(ours, em_step(X, ours), strict=True):
        np.testing.assert_allclose(its, mine, atol=1e-5 * np.sqrt(fitted.eigenvalues[0]))


# --- the targets ---


def held_out(X: Array, holed: Array, guess: Array) -> float:
    """Root of the mean squared error in the holes, of rows that have a cell."""
    return float(np.sqrt(np.nanmean((guess - X)[np.isnan(holed)] ** 2)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("share", "k", "worse"), [(0.4, 4, 1.05), (0.8, 4, 1.05), (0.8, 8, 1.10)])
def test_fills_about_as_well_as_the_true_model(share: float, k: int, worse: float, seed: int) -> None:
    truth = made(2000, 30, [30, 20, 10, 5], 0.3, seed)
    X = punched(truth.X, share, seed + 100)
    fitted = fit(X, k)
    assert fitted.converged
    signal = fitted.eigenvalues[:k] - fitted.noise_variance
    error = held_out(truth.X, X, filled(X, fitted.basis, signal, fitted.mean, fitted.noise_variance))
    assert error <= worse * held_out(truth.X, X, filled(X, *truth[1:]))
    if k == 4:
        np.testing.assert_allclose(fitted.noise_variance, 0.09, rtol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_few_holes_hardly_turn_the_space(seed: int) -> None:
    X = made(2000, 30, [30, 20, 10, 5], 0.3, seed).X
    fitted = fit(punched(X, 0.05, seed), 4)
    assert angle(fitted.basis, fit(X, 4).basis) < 1
    assert fitted.iterations < 40


def test_holes_that_depend_on_what_is_seen_do_not_shift_the_mean() -> None:
    """Columns 2 and 3 are missing wherever column 1 is large: means of what is there are far off, these are not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1)) * np.ones(6) + 0.3 * rng.normal(size=(4000, 6))
    X[X[:, 0] > 0.5, 1:3] = np.nan
    fitted = fit(X, 1)
    assert np.abs(np.nanmean(X[:, 1:3], axis=0)).min() > 0.4
    assert np.abs(fitted.mean).max() < 0.04
    np.testing.assert_allclose(fitted.eigenvalues[0], 6.09, rtol=0.05)


def test_components_that_are_not_there_are_told_by_their_certainty() -> None:
    X = punched(made(2000, 30, [30, 20, 10, 5], 0.3, 0).X, 0.6, 1)
    certainty = fit(X, 6, gain=1e-7).certainty
    assert certainty[:4].min() > 0.85
    assert certainty[4:].max() < 0.35


def test_rows_without_noise_are_completed() -> None:
    X = made(200, 12, [5, 3], 0, 0).X
    holed = punched(X, 0.3, 1)
    fitted = fit(holed, 2)
    assert fitted.exact
    assert fitted.converged
    signal = fitted.eigenvalues[:2] - fitted.noise_variance
    guess = filled(holed, fitted.basis, signal, fitted.mean, fitted.noise_variance)
    seen = (~np.isnan(holed)).sum(axis=1) > 4
    np.testing.assert_allclose(guess[seen], X[seen], atol=1e-4)


# --- what must change nothing ---


@pytest.mark.parametrize("standardize", [False, True])
def test_order_of_columns_and_rows(standardize: bool, holed: Array) -> None:
    rng = np.random.default_rng(7)
    across, down = rng.permutation(8), rng.permutation(len(holed))
    plain = fit(holed, 3, gain=TIGHT, standardize=standardize)
    turned = fit(holed[down][:, across], 3, gain=TIGHT, standardize=standardize)
    back = np.argsort(across)
    same_model(turned._replace(mean=turned.mean[back], std=turned.std[back], basis=turned.basis[back]), plain)


def test_shift_and_scale(holed: Array) -> None:
    plain = fit(holed, 3, gain=TIGHT)
    moved = fit(holed * 1e-70 + 2e-69, 3, gain=TIGHT)
    np.testing.assert_allclose(moved.mean, plain.mean * 1e-70 + 2e-69, rtol=1e-6)
    np.testing.assert_allclose(moved.eigenvalues, plain.eigenvalues * 1e-140, rtol=1e-5)
    np.testing.assert_allclose(moved.basis, plain.basis, atol=1e-5)
    assert abs(moved.iterations - plain.iterations) <= 5


def test_an_offset_costs_no_digits(full: Array) -> None:
    X = np.round(punched(full, 0.25, 12) * 1024) / 1024  # so that the offset rounds nothing away
    plain, far = fit(X, 3), fit(X + 2.0**26, 3)
    np.testing.assert_allclose(far.eigenvalues, plain.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(far.mean - 2.0**26, plain.mean, atol=1e-7)


def test_units_of_columns_when_standardised(holed: Array) -> None:
    units, zero = 10.0 ** np.arange(-4, 4), np.arange(8.0)
    plain, other = (fit(X, 3, gain=TIGHT, standardize=True) for X in (holed, holed * units + zero))
    np.testing.assert_allclose(other.basis, plain.basis, atol=AT_MAXIMUM)
    np.testing.assert_allclose(other.eigenvalues, plain.eigenvalues, rtol=AT_MAXIMUM)
    np.testing.assert_allclose((other.mean - zero) / units, plain.mean, atol=1e-5)
    np.testing.assert_allclose(other.std / units, plain.std, rtol=1e-9)


def test_standardising_is_by_the_observed_cells(holed: Array) -> None:
    fitted = fit(holed, 2, standardize=True, ddof=1)
    np.testing.assert_allclose(fitted.std, np.nanstd(holed, axis=0, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(fitted.variances, np.nanvar(holed, axis=0, ddof=1), rtol=1e-12)


def test_empty_rows_only_count(holed: Array) -> None:
    X = np.insert(holed, [0, 5, 300], np.nan, axis=0)
    plain, more = fit(holed, 3, gain=TIGHT), fit(X, 3, gain=TIGHT)
    same_model(more, plain)
    np.testing.assert_allclose(more.certainty, plain.certainty, atol=AT_MAXIMUM)
    assert (more.rows, more.census.empty) == (300, 3)
    assert more.missing.tolist() == (plain.missing + 3).tolist()


def test_complete_rows_among_empty_ones_need_no_steps(full: Array) -> None:
    X = np.insert(full, [0, 5, 300], np.nan, axis=0)
    assert fit(X, 3).iterations == 0
    same_model(fit(X, 3), fit(full, 3), 1e-12)
    same_model(fit(X, 3, iterate=True, gain=TIGHT), fit(full, 3))


@pytest.mark.parametrize("holes", [0.0, 0.25])
@pytest.mark.parametrize("settings", [{}, {"ddof": 1}, {"standardize": True, "ddof": 1}])
def test_a_weight_is_as_many_rows(holes: float, settings: dict[str, Any], full: Array) -> None:
    X = punched(full[:80], holes, 3)
    times = np.random.default_rng(3).integers(1, 4, 80)
    weighted = fit(X, 2, weights=times.astype(float), gain=TIGHT, **settings)
    repeated = fit(np.repeat(X, times, axis=0), 2, gain=TIGHT, **settings)
    same_model(weighted, repeated)
    np.testing.assert_allclose(weighted.log_likelihood[-1], repeated.log_likelihood[-1], rtol=1e-9)


def test_a_start_for_wide_rows_leads_to_the_same(holed: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fit(holed, 3, gain=TIGHT)
    monkeypatch.setattr(start, "WHOLE_SCATTER_COLUMNS", 4)
    monkeypatch.setattr(start, "EXTRA", 1)
    for seed in range(3):
        same_model(fit(holed, 3, gain=TIGHT, seed=seed), plain)


# --- the same bytes ---


def as_bytes(fitted: EMFit) -> bytes:
    numbers = (fitted.mean, fitted.std, fitted.basis, fitted.eigenvalues, fitted.certainty, fitted.error)
    return b"".join(array.tobytes() for array in numbers) + str(fitted.log_likelihood).encode()


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_same_bytes_whatever_the_threads(share: float) -> None:
    X = punched(made(30_000, 12, [5, 3], 1, 0).X, share, 1)
    found = []
    for count in (1, 2):
        with Threads(count) as pool:
            found.append(as_bytes(fit_em(rows_of(X, engine=pool), problem_of(12), 2)))
    assert found[0] == found[1]


def test_same_bytes_whatever_the_route(holed: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one piece, in many, from a file that is read again, and from a pipe that is kept."""
    monkeypatch.setattr(solver_rows, "SMALL_BYTES", 1 << 19)
    monkeypatch.setattr(solver_rows, "HELD_BYTES", 1 << 17)
    X = punched(np.tile(holed, (100, 1)), 0.01, 1)
    problem = problem_of(8)

    def pieces() -> Any:
        return recut((X[at : at + 777] for at in range(0, len(X), 777)), 8)

    found = {
        as_bytes(fit_em(rows, problem, 1, most_steps=4))
        for rows in (rows_of(X), Rows(pieces()), Rows(pieces(), reread=pieces))
        if not rows.complete
    }
    monkeypatch.undo()
    assert found == {as_bytes(fit_em(rows_of(X), problem, 1, most_steps=4))}


@pytest.mark.parametrize(("d", "k"), [(30, 4), (300, 6), (40, 20)])
def test_memory_is_what_was_estimated(d: int, k: int) -> None:
    rows = rows_of(punched(made(1000, d, list(range(30, 5, -1)), 1, 0).X, 0.3, 1))
    tracemalloc.start()
    try:
        fit_em(rows, problem_of(d), k, most_steps=4).bounded()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= estimate(d, k).bytes + 4 * 8 * 1000 * d


# --- counts ---


def test_what_is_counted(holed: Array) -> None:
    fitted = fit(holed, 2)
    missing = np.isnan(holed)
    assert fitted.missing.tolist() == missing.sum(axis=0).tolist()
    assert fitted.rows == int((~missing.all(axis=1)).sum())
    assert fitted.constant == ()


def test_steps_are_bounded_and_that_is_said(holed: Array) -> None:
    fitted = fit_em(rows_of(holed), problem_of(8), 3, most_steps=3)
    assert not fitted.converged
    assert fitted.iterations == 3


# --- corners ---


def test_one_column() -> None:
    x = np.array([[1.0], [2.0], [np.nan], [4.0]])
    for iterate in (False, True):
        fitted = fit(x, 1, iterate=iterate)
        np.testing.assert_allclose(fitted.eigenvalues, np.var([1, 2, 4]))
        np.testing.assert_allclose(fitted.mean, 7 / 3)
        assert fitted.basis.tolist() == [[1.0]]


def test_as_many_components_as_columns(holed: Array) -> None:
    """The last is what noise says of the one direction that the others leave out."""
    all_of_them, all_but_one = fit(holed, 8), fit(holed, 7)
    assert all_of_them.eigenvalues.tolist() == all_but_one.eigenvalues.tolist()
    np.testing.assert_allclose(all_of_them.basis.T @ all_of_them.basis, np.eye(8), atol=1e-13)
    np.testing.assert_allclose(all_of_them.basis[:, :7], all_but_one.basis, atol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_constant_column_and_one_with_a_single_cell(standardize: bool, holed: Array) -> None:
    X = np.array(holed)
    X[:, 2] = np.where(np.isnan(X[:, 2]), np.nan, 7.0)
    X[:, 5] = np.nan
    X[9, 5] = 3.0
    fitted = fit(X, 2, standardize=standardize, ddof=1)
    assert fitted.constant == (2, 5)
    assert fitted.std[2] == fitted.std[5] == 1
    np.testing.assert_allclose(fitted.mean[[2, 5]], [7, 3], atol=1e-6)
    assert np.abs(fitted.basis[[2, 5]]).max() < 1e-3


def test_rows_of_one_cell(full: Array) -> None:
    X = np.array(full)
    X[:100] = np.nan
    X[np.arange(100), np.arange(100) % 8] = full[np.arange(100), np.arange(100) % 8]
    fitted = fit(X, 3)
    assert fitted.converged
    assert fitted.census.empty == 0
    assert np.isfinite(fitted.eigenvalues).all()


@every_setting
@pytest.mark.parametrize("holes", [0.0, 0.25])
def test_makes_a_model(settings: dict[str, Any], holes: float, full: Array) -> None:
    X, problem = punched(full, holes, 5), problem_of(8, **settings)
    solution = as_solution(fit(X, 3, **settings), problem)
    basis = solution.leading(3)
    proof = certify(solution.apply, solution.eigenvalues, solution.error, basis, solution.total_variance, True)
    assert proof["eigen_residual"] < 1e-12
    assert proof["orthonormality"] < 1e-12
    assert proof["trace_closure"] < 1e-12
    assert any(proof["vouched"]) == (not holes)  # steps do not end at the last digit
    model = Model(
        mean=solution.mean,
        std=solution.std,
        basis=basis,
        eigenvalues=solution.eigenvalues,
        total_variance=solution.total_variance,
        n_samples=solution.n,
        columns=problem.columns,
        variances=solution.variances,
        meta={"standardize": problem.standardize},
    )
    assert model.k == 3
    assert solution.rank == 8
    assert solution.observations == solution.n == 300


# --- refusals ---

N = np.nan
REFUSED: dict[str, tuple[Array, int, type[PcatoolError], str]] = {
    "column without a value": (
        np.array([[1.0, N], [2.0, N]]),
        1,
        DataError,
        "column 'c2' has no value; leave the column out with -x; "
        "if you gave --triples, remove the lines of the column instead",
    ),
    "columns without a value": (
        np.array([[1.0, N, N], [2.0, N, N]]),
        1,
        DataError,
        "columns 'c2', 'c3' have no value; leave the columns out with -x; "
        "if you gave --triples, remove the lines of the columns instead",
    ),
    "no value at all": (np.full((3, 2), N), 1, DataError, "every cell is missing; give rows with values"),
    "no rows": (
        np.zeros((0, 2)),
        1,
        DataError,
        "the input has no rows to fit; give an input with at least one row of data",
    ),
    "too many components": (
        np.ones((3, 2)),
        3,
        DataError,
        "-k 3 is not possible: 3 rows with values and 2 columns give 1 to 2 components; use -k 2 or less",
    ),
    "no component": (
        np.ones((3, 2)),
        0,
        DataError,
        "-k 0 is not possible: 3 rows with values and 2 columns give 1 to 2 components; use -k 1 or more",
    ),
    "fewer cells than numbers": (
        punched(made(9, 8, [4, 2], 1, 0).X, 0.4, 0),
        6,
        DataError,
        "-k 6 with 8 columns needs more than 42 observed cells, but the data have 41 observed cells; use -k 5 or less",
    ),
    "hardly any cells": (
        np.array([[1.0, N], [N, 2.0], [3.0, N], [N, 5.0]]),
        1,
        DataError,
        "-k 1 with 2 columns needs more than 5 observed cells, but the data have 4 observed cells; give more rows",
    ),
    "constant columns": (
        punched(np.ones((20, 3)), 0.1, 0),
        1,
        DataError,
        "all 3 columns are constant: there is no variance to explain; add a column that varies",
    ),
    "overflow": (
        punched(made(50, 4, [4], 1, 0).X * 1e160, 0.1, 0),
        1,
        RefusedError,
        "squares of the values of columns 'c1', 'c2', 'c3', 'c4' overflow a double; "
        "rescale the columns so that values stay below 1e150, or leave the columns out with -x",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusal(case: str) -> None:
    X, k, kind, text = REFUSED[case]
    with pytest.raises(kind) as caught:
        fit(X, k)
    assert str(caught.value) == text


def test_cells_that_determine_nothing_are_refused(holed: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(em.Slope, "of", fails)
    with pytest.raises(RefusedError, match=r"the observed cells do not determine 3 components; use -k 2 or less"):
        fit(holed, 3)
    with pytest.raises(RefusedError, match=r"do not determine 1 component; leave out columns with few values \(-x\)"):
        fit(holed, 1)
    i, j = np.nonzero(~np.isnan(holed))
    lines = pd.DataFrame({"u": i, "v": j, "w": holed[i, j]})
    with pytest.raises(RefusedError, match=r"do not determine 1 component; remove the lines of items that have few"):
        pcatool.fit(lines, triples=("u", "v", "w"), components=1)


def test_a_step_that_cannot_be_worked_out_is_not_taken(holed: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fit(holed, 3, gain=TIGHT)

    def impossible(*_: Any) -> None:
        return None

    monkeypatch.setattr(climb, "_if_possible", impossible)
    slow = fit(holed, 3, gain=TIGHT)
    same_model(slow, plain, CONVERGED)
    assert slow.iterations > plain.iterations
