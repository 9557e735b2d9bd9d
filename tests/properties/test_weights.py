"""Weights of every kind: what is vouched for is right, and what cannot be right is refused in words.

Four hundred fits in the suite; `python tests/properties/test_weights.py 5000` for more.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pcatool
from often import often
from pcatool.errors import DataError, PcatoolError, RefusedError
from pcatool.linalg.spectrum import eigenvalue_shifts
from pcatool.methods.pca import check_rank
from pcatool.model.model import Model
from pcatool.model.npz import dumps, loads
from pcatool.registry import SOLVERS
from pcatool.solvers.base import Problem
from pcatool.solvers.covariance import Covariance
from pcatool.solvers.rows import Rows
from solvers.weighted import CELLS, WEIGHTS, false_claims, framed, spectrum

pytestmark = pytest.mark.filterwarnings("ignore::pcatool.PcatoolWarning")

SOLVERS_ASKED = ("auto", *SOLVERS)


def outcome(seed: int) -> tuple[list[str], int, int]:
    """False claims of one fit, how many components it keeps, and how many of them it vouches for."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 14)), int(rng.integers(1, 6))
    cells = list(CELLS)[(seed // len(WEIGHTS)) % len(CELLS)] if rng.random() < 0.6 else "normal"
    weights = list(WEIGHTS)[seed % len(WEIGHTS)]
    X = CELLS[cells](rng, n, d)
    w = WEIGHTS[weights](rng, n)
    settings: dict[str, Any] = {
        "weights_kind": ("frequency", "reliability")[rng.integers(2)],
        "ddof": int(rng.integers(2)),
        "center": bool(rng.integers(2)),
        "standardize": bool(rng.integers(3) == 0),
    }
    solver = SOLVERS_ASKED[rng.integers(len(SOLVERS_ASKED))]
    try:
        model = pcatool.fit(framed(X, w), weights="w", solver=solver, components="all", **settings)
        model = loads(dumps(model))
    except PcatoolError as error:
        return [f"seed {seed}: exit {error.exit_code}: {error}"] if error.exit_code not in (3, 6) else [], 0, 0
    claims = false_claims(model, spectrum(X, w, settings))
    return (
        [f"seed {seed}, {weights}, {cells}, {solver}, {settings}: {claim}" for claim in claims],
        model.k,
        sum(model.meta["certificate"]["vouched"]),
    )


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_no_false_claim_of_weighted_rows_and_no_error_but_in_words(start: int) -> None:
    found = [outcome(seed) for seed in range(start, start + often(100))]
    assert [claim for claims, _, _ in found for claim in claims] == []
    # Refusing to vouch would be an easy way never to be wrong.
    assert sum(sure for _, _, sure in found) > 0.8 * sum(k for _, k, _ in found) > 50


ROWS = np.random.default_rng(5).normal(size=(10, 3))


def fit(w: Any, X: Any = ROWS, **settings: Any) -> Model:
    return pcatool.fit(framed(np.asarray(X), np.asarray(w, dtype=float)), weights="w", components="all", **settings)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("part", [1e-15, 1e-12, 1e-9])
def test_weights_that_add_up_to_about_1_count_no_rows(part: float, standardize: bool) -> None:
    w = np.arange(1.0, 11)
    w *= (1 + part) / w.sum()
    with pytest.raises(RefusedError) as error:
        fit(w, ddof=1, standardize=standardize)
    assert "the weights add up to 1.0000000" in str(error.value)
    assert "ddof=1 leaves a divisor of " in str(error.value)
    assert 'give weights_kind="reliability" if the weights are not counts, or use ddof=0' in str(error.value)
    equal = fit(w, ddof=1, standardize=standardize, weights_kind="reliability")
    np.testing.assert_allclose(
        equal.eigenvalues, fit(w * 1000, ddof=1, standardize=standardize, weights_kind="reliability").eigenvalues
    )


@pytest.mark.parametrize("missing", ["mean", "em"])
@pytest.mark.parametrize("part", [1e-14, 1e-11])
def test_they_count_none_either_where_cells_are_missing(missing: str, part: float) -> None:
    w, X = np.arange(1.0, 11), ROWS.copy()
    X[3, 1] = np.nan
    w *= (1 + part) / w.sum()
    with pytest.raises(
        RefusedError,
        match=r"; its relative error, .*, is too large; give weights_kind=\"reliability\"",
    ):
        pcatool.fit(framed(X, w), weights="w", ddof=1, missing=missing, components=1)
    assert pcatool.fit(framed(X, w), weights="w", missing=missing, components=1).k == 1


def test_rows_of_weight_0_do_not_count() -> None:
    with pytest.raises(DataError, match=r"at least 2 rows with a weight above 0, but the data have only 1; give more"):
        fit([1.0, 0.0, 0.0], [[1.0, 2.0], [2.0, 5.0], [4.0, 4.0]])


def test_weights_that_add_up_to_less_than_1() -> None:
    with pytest.raises(DataError, match=r"-0\.5 for 10 rows, because their weights add up to 0\.5; give weights_kind"):
        fit(np.full(10, 0.05), ddof=1)
    with pytest.raises(DataError, match="leaves a divisor of 0 for 1 row; use ddof=0"):
        fit([5.0], [[1.0, 2.0]], ddof=1, center=False, weights_kind="reliability")


def test_a_sum_of_weights_near_1_is_in_the_bound_while_it_says_something() -> None:
    w = np.random.default_rng(1).uniform(1, 2, 10)
    w *= (1 + 1e-5) / w.sum()
    bounds = fit(w, ddof=1).meta["certificate"]["relative_error"]
    assert all(1e-12 < bound < 1e-8 for bound in bounds)
    settings = {"weights_kind": "frequency", "ddof": 1, "center": True, "standardize": False}
    assert false_claims(fit(w, ddof=1), spectrum(ROWS, w, settings)) == []


@pytest.mark.parametrize("missing", ["error", "mean", "em", "drop"])
@pytest.mark.parametrize("solver", ["auto", "svd", "randomized"])
def test_weights_that_are_all_0_are_told_as_that(missing: str, solver: str) -> None:
    settings: dict[str, Any] = {"missing": missing, "solver": "auto" if missing == "em" else solver}
    with pytest.raises(
        DataError,
        match=r"^column 'w': the weight of every row is 0; give a weight above 0 to the rows that the fit is to use$",
    ):
        pcatool.fit(framed(ROWS, np.zeros(10)), weights="w", components=1, **settings)
    with pytest.raises(DataError, match=r"^the input has no rows to fit; give an input with at least one row of data$"):
        pcatool.fit(framed(ROWS[:0], np.zeros(0)), weights="w", components=1, **settings)


def test_weights_that_are_0_in_all_rows_that_are_not_dropped() -> None:
    X = ROWS.copy()
    X[:3, 0] = np.nan
    with pytest.raises(DataError, match="column 'w': the weight of every complete row is 0"):
        pcatool.fit(framed(X, np.r_[np.ones(3), np.zeros(7)]), weights="w", missing="drop")


@pytest.mark.parametrize("solver", SOLVERS_ASKED)
@pytest.mark.parametrize("standardize", [False, True])
def test_one_row_of_weight_5_is_five_equal_rows(solver: str, standardize: bool) -> None:
    row = np.array([[1.5, -2.0, 3.0]])
    settings: dict[str, Any] = {"ddof": 1, "center": False, "solver": solver, "standardize": standardize}
    one = loads(dumps(fit([5.0], row, **settings)))
    five = pcatool.fit(framed(np.repeat(row, 5, axis=0)), components="all", **settings)
    assert one.k == five.k == 1
    np.testing.assert_allclose(one.eigenvalues, five.eigenvalues, rtol=1e-15)
    np.testing.assert_allclose(one.basis, five.basis, rtol=1e-15)
    assert one.meta["certificate"]["vouched"] == [True]
    for changes in ({"ddof": 0}, {"components": 2}) if one.statistic else ():
        refitted = pcatool.refit(one, **changes)
        np.testing.assert_allclose(refitted.eigenvalues[0], 15.25 * (5 / (5 - refitted.ddof)), rtol=1e-15)


@pytest.mark.parametrize(
    ("w", "settings", "says"),
    [
        (
            1e200,
            {},
            "the weights add up to 1e+201, and products of weights overflow a double; divide all weights by 1e",
        ),
        (
            1e-200,
            {"weights_kind": "reliability", "ddof": 1},
            "underflow a double; multiply all weights by 1e199, or use",
        ),
        (1e-309, {}, "multiplied by the row weights, underflow a double; multiply all weights by 1e308, rescale"),
        (1e140, {"cells": 1e140}, "overflow a double; divide all weights by 1e141, rescale the columns so that values"),
    ],
)
def test_weights_that_a_double_cannot_hold_are_named_with_the_remedy(w: float, settings: Any, says: str) -> None:
    cells = settings.pop("cells", 1.0) if settings else 1.0
    with pytest.raises(RefusedError) as error:
        fit(np.full(10, w), ROWS * cells, **settings)
    assert says in str(error.value)
    assert error.value.exit_code == 6


def test_weights_that_cancel_in_the_divisor_are_refused() -> None:
    with pytest.raises(
        RefusedError, match="divides by a difference of weights, which is only rounding error; use ddof=0"
    ):
        fit([1.0, 1e-320], ROWS[:2], weights_kind="reliability", ddof=1)


@pytest.mark.parametrize(("rows", "weight"), [(1, 1e299), (4, 1e150)])
def test_a_mean_whose_square_times_the_weights_is_more_than_a_double_holds(rows: int, weight: float) -> None:
    """Rows are equal, so that their squares about the mean are 0."""
    X, w = np.repeat(ROWS[:1] * 4e149, rows, axis=0), np.linspace(0.5, 0.6, rows) * weight
    settings = {"ddof": 0, "center": False, "standardize": False}
    model = loads(dumps(fit(w, X, solver="dual", **settings)))
    assert false_claims(model, spectrum(X, w, settings)) == []
    assert all(model.meta["certificate"]["vouched"])


def test_squares_that_hardly_any_weight_lets_underflow_are_told() -> None:
    with pytest.raises(RefusedError, match="underflow a double; leave out rows with a tiny weight, rescale"):
        fit([1.0, 1e-310], [[0.0, 0.0], [1e-10, 2.0]])


def test_reliability_with_no_center_and_ddof_1_is_bounded_by_what_the_mean_is_of() -> None:
    """Variances are divided by next to nothing where one row has all the weight; rounding is a part of its cells."""
    w = np.array([1.0, 1e24, 1.0])
    X = np.array([[1.0, 2.0], [3.3, 1.7], [0.4, -1.0]])
    for center in (True, False):
        settings = {"weights_kind": "reliability", "ddof": 1, "center": center, "standardize": False}
        assert false_claims(fit(w, X, **settings), spectrum(X, w, settings)) == []


def test_the_first_row_of_hardly_any_weight_costs_no_digits() -> None:
    w = np.r_[1e-30, np.ones(9)]
    assert max(fit(w).meta["certificate"]["relative_error"]) < 1e-13


@pytest.mark.parametrize(
    ("weights", "remedy"),
    [
        ("w", "subtract from each column a number near the column mean, or leave out rows with a tiny weight$"),
        (None, "subtract from each column a number near the column mean$"),
    ],
)
def test_a_solution_without_a_component_is_refused(weights: str | None, remedy: str) -> None:
    problem = Problem(("a", "b"), 10, weights=weights and "frequency")
    solution = Covariance().solve(Rows([ROWS[:, :2]]), problem._replace(weights=None))
    check_rank(solution, problem)
    with pytest.raises(
        RefusedError, match=f"no component is distinguishable from rounding error: the rows differ .*; {remedy}"
    ):
        check_rank(solution._replace(rank=0), problem)


@pytest.mark.parametrize("seed", range(often(100)))
def test_a_bound_covers_every_perturbation_that_it_allows(seed: int) -> None:
    """Of close eigenvalues, too, of graded ones, and of signs that are chosen to do harm."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    values = np.sort(10.0 ** rng.uniform(-[0, 1, 6][seed % 3], 0, d))[::-1]
    if seed % 2 and d > 1:
        values[1:] = np.minimum(values[1:], values[0] * (1 - 10.0 ** -rng.uniform(1, 15)))
        values = np.sort(values)[::-1]
    p, q, r = (10.0 ** rng.uniform(-9, -2, d) * np.sqrt(values) for _ in range(3))
    bound = eigenvalue_shifts(values, p, q, r)
    most = np.outer(p, q) + np.outer(q, p) + np.outer(r, r)
    for trial in range(8):
        sign = rng.choice([-1.0, 1.0], d)
        E = most * (np.outer(sign, sign) if trial else 1.0) * rng.choice([-1.0, 1.0])
        if trial > 4:
            E = np.triu(E * rng.uniform(-1, 1, (d, d)))
            E = E + np.triu(E, 1).T
        moved = np.sort(np.linalg.eigvalsh(np.diag(values) + E))[::-1]
        assert np.all(np.abs(moved - values) <= bound + 8 * d * np.finfo(float).eps * values[0])


def test_a_bound_of_eigenvalues_far_apart_is_that_of_first_order() -> None:
    values = np.array([4.0, 2.0, 1.0, 1e-6])
    p, q = 1e-15 * np.sqrt(values), np.sqrt(values)
    np.testing.assert_allclose(eigenvalue_shifts(values, p, q), 2 * p * q, rtol=1e-6)


if __name__ == "__main__":
    found = [claim for seed in range(int(sys.argv[1])) for claim in outcome(seed)[0]]
    print("\n".join(found) or f"{sys.argv[1]} fits, no false claim")
    sys.exit(bool(found))
