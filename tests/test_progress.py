"""What a fit says of the data, each thing once, and says nothing when there is nothing to say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pcatool.progress import Reporter
from pcatool.registry import SOLVERS
from solvers.cases import Array, fit

every_solver = pytest.mark.parametrize("solver", list(SOLVERS))


def said(X: Array, **options: Any) -> Reporter:
    reporter = Reporter()
    fit(X, reporter, **options)
    return reporter


@pytest.fixture
def X() -> Array:
    return np.random.default_rng(0).normal(size=(50, 3))


@every_solver
@pytest.mark.parametrize(
    "options", [{}, {"standardize": True}, {"center": False}, {"ddof": 1}, {"components": 3}], ids=str
)
def test_nothing_to_say(solver: str, X: Array, options: dict[str, Any]) -> None:
    reporter = said(X, solver=solver, **options)
    assert (reporter.notes, reporter.warnings) == ([], [])


@every_solver
def test_constant_columns_are_named_once(solver: str, X: Array) -> None:
    reporter = said(np.insert(X, 1, 0.1, axis=1), solver=solver)
    assert reporter.warnings == []
    (note,) = reporter.notes
    assert "'c2'" in note
    many = said(np.column_stack([X, np.ones((50, 8))]), solver=solver)
    (note,) = many.notes
    assert "'c4'" in note
    assert "3 more" in note


@every_solver
@pytest.mark.parametrize(("k", "warned"), [(1, ""), (2, ""), (3, "PC3 explains"), (4, "PC3 to PC4 explain")])
def test_components_past_the_rank(solver: str, X: Array, k: int, warned: str) -> None:
    X = np.column_stack([X[:, :2], X[:, :2]])
    reporter = said(X, solver=solver, components=k)
    assert len(reporter.warnings) == bool(warned)
    assert all(warned in warning and "rank 2" in warning for warning in reporter.warnings)


@every_solver
def test_one_column_that_speaks_for_all(solver: str, X: Array) -> None:
    reporter = said(X * [1, 1e4, 1], solver=solver)
    (note,) = reporter.notes
    assert "'c2'" in note
    assert "--standardize" in note
    assert said(X * [1, 1e4, 1], solver=solver, standardize=True).notes == []
    # A constant column is no small one.
    (note,) = said(np.column_stack([X, np.ones(50)]), solver=solver).notes
    assert "constant" in note
