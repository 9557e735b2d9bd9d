"""The choice of a solver is a pure function of the problem, and the model says what was chosen and why."""

from __future__ import annotations

import numpy as np
import pytest

from pcatool.arrays import recut
from pcatool.registry import SOLVERS
from pcatool.solvers.base import Problem
from pcatool.solvers.plan import FALLBACK_SOLVER, choose, fallback_plan, joined_rows, make_plan
from pcatool.solvers.rows import SMALL_BYTES, Rows
from solvers.cases import fit, names_of

# Columns, rows (None: more than are held), the solver.
TABLE = [
    (1, 10, "covariance"),
    (20, 10_000, "covariance"),
    (784, 50_000, "covariance"),
    (784, None, "covariance"),  # however many rows there are
    (5, 5, "covariance"),
    (6, 5, "covariance"),  # fewer rows than columns, but not by much
    (6, 3, "dual"),
    (20_000, 300, "dual"),
    (5_000, 4_000, "dual"),  # a scatter is too large
    (20_000, None, "covariance"),  # a share may ask for any number of components
]


@pytest.mark.parametrize(("d", "n", "solver"), TABLE)
def test_table(d: int, n: int | None, solver: str) -> None:
    name, reason = choose(Problem(names_of(d), n))
    assert name == solver
    assert str(d) in reason


@pytest.mark.parametrize(
    ("d", "n", "solver"), [(20, None, "tsqr"), (20, 90, "tsqr"), (6, 3, "dual"), (9_000, None, "covariance")]
)
def test_small_eigenvalues_that_will_be_divided_by(d: int, n: int | None, solver: str) -> None:
    assert choose(Problem(names_of(d), n, needs_small_eigenvalues=True))[0] == solver


@pytest.mark.parametrize("d", [1, 3, 1000, 10_000, 1_000_000])
@pytest.mark.parametrize("n", [1, 2, 999, 10**9, None])
@pytest.mark.parametrize("standardize", [False, True])
def test_always_names_a_solver_there_is_and_why(d: int, n: int | None, standardize: bool) -> None:
    problem = Problem(names_of(d), n, standardize=standardize)
    name, reason = choose(problem)
    assert name in SOLVERS
    assert reason
    assert choose(problem) == (name, reason)


def test_model_says_what_was_chosen() -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = fit(X)
    assert (model.meta["solver"], model.meta["reason"]) == choose(Problem(names_of(4), 30))
    assert fit(X, solver="svd").meta["solver"] == "svd"
    assert "asked" in fit(X, solver="svd").meta["reason"]


def test_what_is_chosen_gives_the_bytes_of_what_is_asked_for() -> None:
    for shape in ((30, 4), (4, 30)):
        X = np.random.default_rng(1).normal(size=shape)
        chosen = fit(X)
        asked = fit(X, solver=chosen.meta["solver"])
        assert chosen.basis.tobytes() == asked.basis.tobytes()
        assert chosen.eigenvalues.tobytes() == asked.eigenvalues.tobytes()


@pytest.mark.parametrize("bytes_more", [-8, 0, 8])
def test_rows_are_counted_while_they_are_few(bytes_more: int) -> None:
    """Up to 32 MB; past that the number is unknown until all are read."""
    d = 64
    n = (SMALL_BYTES + bytes_more) // 8 // d + (bytes_more > 0)
    rows = Rows(recut([np.zeros((n, d))], d))
    assert rows.n == (n if n * d * 8 <= SMALL_BYTES else None)
    assert sum(rows.map(lambda block: len(block[0]), size=1)) == n


@pytest.mark.parametrize(("d", "n"), [(5, 200), (40, 30), (300, 300)])
@pytest.mark.parametrize("other", [{}, {"center": False}, {"rows_centered": True}])
def test_solving_again_is_planned_like_the_solver_that_does_it(d: int, n: int, other: dict[str, bool]) -> None:
    problem = Problem(names_of(d), n)._replace(**other)
    plan = fallback_plan(problem, n, 2, 1 << 24)
    assert plan == make_plan(FALLBACK_SOLVER, "", problem, n, 2, 1 << 24)


@pytest.mark.parametrize(
    ("d", "height", "rows"),
    [(600, 0, 1024), (600, 1, 1024), (600, 1024, 1024), (600, 1200, 2048), (1512, 3024, 3072)],
)
def test_joined_rows_are_whole_blocks(d: int, height: int, rows: int) -> None:
    assert joined_rows(d, height) == rows


def test_merging_waits_for_a_task_where_one_is_under_way_at_a_time() -> None:
    """With one thread, rows are reduced or triangles merged; with two threads, both at once."""
    d = 1500
    problem = Problem(names_of(d), None)
    peaks = [make_plan("tsqr", "", problem, 100_000, threads).peak_bytes for threads in (1, 2)]
    assert peaks[0] < 105 * 10**6 + 1.05 * 8 * d * d * 11
    assert peaks[1] > peaks[0] + 8 * d * d * 4
