"""The choice of a solver is a pure function of the problem, and the model says what was chosen and why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pcatool
from pcatool.arrays import recut
from pcatool.methods.base import FitResources
from pcatool.methods.missing_data import IncompletePCA
from pcatool.methods.pca import PCA
from pcatool.options import FitOptions
from pcatool.progress import Reporter
from pcatool.registry import SOLVERS
from pcatool.resources import parse_size
from pcatool.solvers.base import Problem
from pcatool.solvers.estimate import blocks_bytes, in_flight, joined_rows, total_bytes
from pcatool.solvers.plan import FALLBACK_SOLVER, HOLDS_ROWS, Plan, choose, fallback_plan, keep_rows, make_plan
from pcatool.solvers.randomized import krylov_bytes
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
    (20_000, None, "covariance"),  # the number of components of a share is not known before the fit
]


@pytest.mark.parametrize(("d", "n", "solver"), TABLE)
def test_table(d: int, n: int | None, solver: str) -> None:
    name, reason = choose(Problem(names_of(d), n))
    assert name == solver
    assert f"{d:,}" in reason


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        (
            0.99,
            "solver randomized needs a number of components, not -k 0.99, "
            "so a 4,500 x 4,500 scatter matrix is computed",
        ),
        (
            "kaiser",
            "solver randomized needs a number of components, not -k kaiser, "
            "so a 4,500 x 4,500 scatter matrix is computed",
        ),
        (1500, "1,500 components are too many for solver randomized, so a 4,500 x 4,500 scatter matrix is computed"),
    ],
)
def test_reason_of_a_large_scatter(wish: int | float | str, reason: str) -> None:
    assert choose(Problem(names_of(4500), None, wish)) == ("covariance", reason)


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


# --- refusals for memory ---

ONE_MB = 1_000_000


def plan_under(limit: int, X: Any, threads: int = 4, **options: Any) -> Plan:
    """Return the plan of a fit of X (n, d) under a limit in bytes."""
    method = IncompletePCA if "missing" in options else PCA
    resources = FitResources(limit=limit, threads=threads, expected=lambda: len(X))
    return method(FitOptions(**options), Reporter()).plan(
        recut([X], X.shape[1]), names_of(X.shape[1]), resources=resources
    )


@pytest.mark.parametrize(
    ("shape", "options", "limits"),
    [
        ((1797, 64), {}, (50, 105, 110)),
        ((3000, 900), {}, (95, 150, 200)),
        ((9000, 900), {"solver": "svd"}, (150, 400)),
        ((20_000, 200), {"components": "parallel"}, (110, 160)),
        ((30, 6000), {"components": 3}, (97, 101, 110)),
        ((4100, 4100), {"solver": "covariance"}, (300, 600)),
        ((3000, 50), {"missing": "em", "components": 3}, (98, 101)),
        ((3000, 50), {"missing": "mean", "solver": "svd"}, (98, 101, 104)),
    ],
)
def test_the_remedies_of_a_refusal_admit_the_fit(
    shape: tuple[int, int], options: dict[str, Any], limits: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pcatool.resources.free_bytes", lambda: 64 << 30)
    X = np.random.default_rng(0).normal(size=shape)
    if "missing" in options:
        X[0, 0] = np.nan
    refused = 0
    for limit in limits:
        refusal = plan_under(limit * ONE_MB, X, **options).refusal
        if not refusal:
            continue
        refused += 1
        memory = re.search(r"give (?:.* or )?--memory ([0-9.]+[MG]B)", refusal)
        assert memory is not None, refusal
        assert not plan_under(parse_size(memory[1]), X, **options).refusal
        if "; give --threads 1 or" in refusal:
            assert not plan_under(limit * ONE_MB, X, threads=1, **options).refusal
        if (solver := re.search(r"; give --solver ([a-z]+)(?: -k ([0-9]+))? or ", refusal)) is not None:
            other = options | {"solver": solver[1]} | ({"components": int(solver[2])} if solver[2] else {})
            assert not plan_under(limit * ONE_MB, X, **other).refusal, refusal
    assert refused


def test_a_limit_below_the_program_advises_only_more_memory() -> None:
    assert plan_under(50 * ONE_MB, np.zeros((100, 9))).refusal.endswith(
        "half of the free memory); give --memory 99.7MB"
    )


def test_an_expected_number_of_rows_is_called_about() -> None:
    X = np.zeros((600_000, 9))
    assert " for about 600,000 rows of 9 columns; the limit" in plan_under(50 * ONE_MB, X).refusal
    in_buffer = plan_under(50 * ONE_MB, X[:100])  # all rows
    assert " for 100 rows of 9 columns; the limit" in in_buffer.refusal


def test_fewer_columns_are_advised_where_they_help() -> None:
    refusal = plan_under(150 * ONE_MB, np.zeros((3000, 2000))).refusal
    assert "use fewer columns (-c, -x)" in refusal


def test_no_more_memory_is_advised_than_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pcatool.resources.free_bytes", lambda: 60 * ONE_MB)
    assert plan_under(50 * ONE_MB, np.zeros((100, 9))).refusal.endswith("; use a machine with more memory")


@pytest.mark.parametrize("solver", ["randomized", "tsqr"])
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_blocks_of_rows_that_are_kept_in_memory_count_once(solver: str, threads: int) -> None:
    """A block that is filled, waits or is in work is a part of the rows; the copies of the threads are not."""
    d, n = 3000, 100_000
    plan = make_plan(solver, "", Problem(names_of(d), None, 5), n, threads, 100 << 20)
    height = 2 * d if solver == "tsqr" else 0
    most = in_flight(threads) if solver == "randomized" else 1  # results of tsqr wait one at a time
    all_blocks = blocks_bytes(d, n, threads, 0, height=height, most=most)
    joined = height and blocks_bytes(d, n, threads, 0, height=height, most=most, kept=True)
    assert joined == (8 * d * joined_rows(d, height) * min(threads, most) if height else 0)
    assert abs(plan.peak_bytes - plan.beside_rows - 1.05 * (all_blocks - joined)) <= 2


def test_work_on_directions_and_a_pass_are_not_at_the_same_time() -> None:
    """With 60,000 columns 688 MB were planned, and 444 taken."""
    d, k, n = 60_000, 10, 1 << 20
    plan = make_plan("randomized", "", Problem(names_of(d), None, k), n, 2)
    apart = total_bytes(d, krylov_bytes(d, k, n))
    a_pass = blocks_bytes(d, n, 2, 2) + in_flight(2) * 8 * d * (k + 10)
    assert apart <= plan.peak_bytes < apart + a_pass


def test_a_limit_of_what_was_planned_leaves_the_rows_in_memory() -> None:
    """However many bytes they take; with a limit of one byte less they go to a file."""
    for n in range(200, 230):
        rows = Rows(recut([np.ones((n, 701))], 701))
        plan = make_plan("randomized", "", Problem(names_of(701), n, 5), n, 1)
        free = keep_rows(plan, rows, None)
        assert keep_rows(plan, rows, free.peak_bytes) == free
        less = keep_rows(plan, rows, free.peak_bytes - 1)
        assert less.peak_bytes == plan.peak_bytes
        assert less.kept is not None
        assert less.kept.memory_bytes == 0


@pytest.mark.parametrize("solver", HOLDS_ROWS)
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_rows_that_are_held_need_no_more_while_they_arrive_than_was_planned(solver: str, threads: int) -> None:
    d, n, reading = 30_000, 190, 100 << 20
    planned = make_plan(solver, "", Problem(names_of(d), None, 5), n, threads, reading).peak_bytes
    for so_far in range(1, n + 1):
        arrived = make_plan(solver, "", Problem(names_of(d), so_far, 5), so_far, threads, reading)
        assert arrived.peak_bytes <= planned


def test_no_thread_works_on_blocks_of_rows_that_are_held() -> None:
    problem = Problem(names_of(30_000), None, 5)
    one, several = (make_plan("dual", "", problem, 190, threads).peak_bytes for threads in (1, 4))
    assert one == several


def test_one_thread_is_advised_where_it_fits(tmp_path: Path) -> None:
    """Of a file, a plan for one thread counts what one thread reads."""
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(4000, 150)), "%.6f", ",")
    path = tmp_path / "t.csv"
    options: dict[str, Any] = {"header": False, "updatable": False}
    one, two = (pcatool.plan(path, threads=threads, **options)["peak_bytes"] for threads in (1, 2))
    limit = (one + two) // 2
    assert "; give threads=1 or " in pcatool.plan(path, threads=2, memory=str(limit), **options)["refusal"]
    assert "refusal" not in pcatool.plan(path, threads=1, memory=str(limit), **options)
