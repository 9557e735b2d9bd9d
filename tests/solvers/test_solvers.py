"""Every solver on every kind of matrix, with every setting, against exact arithmetic."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pcatool.errors import PcatoolError
from pcatool.linalg.eigen import NEARLY_LARGEST
from pcatool.model.model import Model
from pcatool.registry import SOLVERS
from pcatool.solvers.base import Problem
from pcatool.solvers.rows import Rows
from solvers import tolerances as within
from solvers.cases import CASES, Case, Run, every_fit, every_refusal, fit, fitted, names_of, over, rows_of
from solvers.oracle import relative_errors

# --- eigenvalues ---


@every_fit
def test_eigenvalues_to_a_share_of_the_largest(run: Run) -> None:
    found = fitted(run).eigenvalues
    true = run.exact.eigenvalues[: len(found)]
    assert relative_errors(found, true, of=true[0]).max() <= within.EIGENVALUE


@over(lambda run: run.case.each)
def test_each_eigenvalue_has_its_own_digits(run: Run) -> None:
    """Uncentred data are seen from far away; there only what is left of the unit-scale spectrum can be had."""
    rank = visible_rank(run)
    found = fitted(run).eigenvalues[:rank]
    assert relative_errors(found, run.exact.eigenvalues[:rank]).max() <= within.EACH_EIGENVALUE


@every_fit
def test_eigenvalues_descend_to_zero_past_the_rank(run: Run) -> None:
    model = fitted(run)
    rank = model.meta["rank"]
    assert np.all(model.eigenvalues[:rank] > 0)
    assert np.all(np.diff(model.eigenvalues) <= 0)
    assert np.all(model.eigenvalues[rank:] == 0)
    assert not np.any(np.signbit(model.eigenvalues))


@every_fit
def test_all_eigenvalues_known_add_up_to_the_trace(run: Run) -> None:
    model = fitted(run)
    if len(model.eigenvalues) >= min(run.X.shape):
        assert abs(model.eigenvalues.sum() - model.total_variance) <= within.EIGENVALUE * model.total_variance


def visible_rank(run: Run) -> int:
    """How many eigenvalues of the unit-scale scatter no solver may lose."""
    largest = run.exact.unit_eigenvalues[0]
    return sum(1 for value in run.exact.unit_eigenvalues if value > within.SEEN_BY_ALL * largest)


@every_fit
def test_rank_does_not_see_scale(run: Run) -> None:
    true = run.exact.unit_eigenvalues
    at_most = sum(1 for value in true if value > within.SEEN_BY_NONE * true[0])
    assert visible_rank(run) <= fitted(run).meta["rank"] <= at_most


@over(lambda run: run.center and not run.exit_code)
def test_rank_of_centred_data_is_that_of_the_table(run: Run) -> None:
    n, d = run.X.shape
    expected = min(n - 1, d) if run.case.rank is None else run.case.rank
    assert fitted(run).meta["rank"] == expected


# --- moments ---


@every_fit
def test_mean(run: Run) -> None:
    with np.errstate(over="ignore"):
        largest = np.abs(run.X).max(axis=0)
    true = np.array([float(mu) for mu in run.exact.origin])  # rounded once, which the tolerance allows for
    assert np.all(np.abs(fitted(run).mean - true) <= within.MEAN * largest)


@every_fit
def test_std(run: Run) -> None:
    assert relative_errors(fitted(run).std, run.exact.deviations).max() <= within.STD


@every_fit
def test_std_is_one_where_a_column_is_constant(run: Run) -> None:
    constant = run.X.min(axis=0) == run.X.max(axis=0)
    assert np.all(fitted(run).std[constant] == 1)


@every_fit
def test_total_variance(run: Run) -> None:
    assert relative_errors(np.array([fitted(run).total_variance]), [run.exact.total]).max() <= within.TOTAL


@every_fit
def test_number_of_rows(run: Run) -> None:
    assert fitted(run).n_samples == len(run.X)


# --- directions ---


@every_fit
def test_basis_is_orthonormal(run: Run) -> None:
    B = fitted(run).basis
    assert B.shape == (run.X.shape[1], min(run.X.shape))
    assert np.abs(B.T @ B - np.eye(B.shape[1])).max() <= within.ORTHONORMAL


@every_fit
def test_directions_are_eigenvectors(run: Run) -> None:
    model = fitted(run)
    assert run.exact.residual(model.eigenvalues[: model.k], model.basis) <= within.RESIDUAL


@every_fit
def test_entry_that_leads_is_positive(run: Run) -> None:
    for column in fitted(run).basis.T:
        size = np.abs(column)
        leading = int(np.argmax(size >= (1 - NEARLY_LARGEST) * size.max()))
        assert column[leading] > 0


@every_fit
def test_certificate_vouches_for_itself(run: Run) -> None:
    certificate = fitted(run).meta["certificate"]
    assert certificate["eigen_residual"] <= within.RESIDUAL
    assert certificate["orthonormality"] <= within.ORTHONORMAL
    assert certificate.get("trace_closure", 0) <= within.EIGENVALUE


# --- use ---


def unseen(run: Run) -> float:
    """What rows may hold beyond the rank, of their largest entry: nothing, or what this solver cannot see."""
    true = run.exact.unit_eigenvalues
    present = sum(1 for value in true if value > within.SEEN_BY_NONE * true[0])
    return 0.0 if fitted(run).meta["rank"] == present else float(np.sqrt(within.SEEN_BY_ALL))


@every_fit
def test_project_and_come_back(run: Run) -> None:
    """With all components, and with those that carry variance: what lies past the rank is no part of the rows."""
    model = fitted(run)
    rank = model.meta["rank"]
    lean = min(np.sqrt(model.eigenvalues[0] / model.eigenvalues[rank - 1]), within.LEAN) if rank < model.k else 1.0
    allowed = (lean * within.ROUND_TRIP + unseen(run)) * np.abs(run.X / model.std).max()
    for kept in (model, model.truncated(rank)):
        error = (kept.reconstruct(kept.project(run.X)) - run.X) / model.std
        assert np.abs(error).max() <= allowed


@every_fit
def test_scores_are_decorrelated(run: Run) -> None:
    model = fitted(run)
    Z = model.project(run.X) / np.sqrt(model.eigenvalues[0])  # before the squares, which may overflow
    if run.center:
        Z = Z - Z.mean(axis=0)  # the mean is stored as one double: 1e8 to 1.5e-8, against noise of 1e-6
    off = Z.T @ Z / (len(Z) - run.ddof) - np.diag(model.eigenvalues[: model.k] / model.eigenvalues[0])
    assert np.abs(off).max() <= within.DECORRELATION


@every_fit
def test_scores_of_the_training_rows_past_the_rank_are_zero(run: Run) -> None:
    model = fitted(run)
    past = np.abs(model.project(run.X)[:, model.meta["rank"] :])
    assert np.all(past <= unseen(run) * np.abs(run.X / model.std).max())


# --- refusals ---


@every_refusal
def test_refused(run: Run) -> None:
    with pytest.raises(PcatoolError) as caught:
        fitted(run)
    assert caught.value.exit_code == run.exit_code
    if run.case.says and run.center:
        assert run.case.says in str(caught.value)


# --- the caller's data ---

fitting_cases = pytest.mark.parametrize("case", [c for c in CASES if not c.exit_code], ids=lambda case: case.name)
every_solver = pytest.mark.parametrize("solver", list(SOLVERS))


@every_solver
@fitting_cases
@pytest.mark.parametrize("order", ["C", "F"])
def test_solver_leaves_its_blocks_alone(solver: str, case: Case, order: str) -> None:
    """The blocks themselves are read-only here; in the pipeline a solver may be handed the caller's memory."""
    X = np.array(rows_of(case), order=order)  # type: ignore[call-overload]
    blocks = [X[:7], X[7:]] if len(X) > 7 else [X]
    for block in blocks:
        block.setflags(write=False)
    before = X.tobytes()
    problem = Problem(names_of(X.shape[1]), len(X))
    SOLVERS.load(solver)().solve(Rows(blocks), problem)
    assert X.tobytes() == before


@every_solver
@fitting_cases
def test_model_leaves_the_rows_alone(solver: str, case: Case) -> None:
    X = rows_of(case)
    before = X.tobytes()
    model = fit(X, solver=solver, components="all", standardize=True)
    Z = model.project(X)
    Z.setflags(write=False)
    model.reconstruct(Z)
    model.squared_error(X)
    assert X.tobytes() == before


# --- agreement ---


@pytest.mark.parametrize("case", [case for case in CASES if not case.exit_code], ids=lambda case: case.name)
@pytest.mark.parametrize("pair", list(combinations(SOLVERS, 2)), ids="-".join)
@pytest.mark.parametrize("standardize", [False, True], ids=["as it is", "standardised"])
def test_solvers_agree(case: Case, pair: tuple[str, str], standardize: bool) -> None:
    one, other = (fitted(Run(solver, case, True, standardize, 0)) for solver in pair)
    m = min(len(one.eigenvalues), len(other.eigenvalues))
    largest = one.eigenvalues[0]
    assert np.abs(one.eigenvalues[:m] - other.eigenvalues[:m]).max() <= within.AGREEMENT * largest
    assert one.meta["rank"] == other.meta["rank"]
    for j in separate(one, m):
        assert np.abs(one.basis[:, j] - other.basis[:, j]).max() <= within.AGREEMENT * 1e4


def separate(model: Model, m: int) -> list[int]:
    """Components whose eigenvalue stands 1e-3 of the largest off its neighbours, so that their direction is firm."""
    padded = np.concatenate([[np.inf], model.eigenvalues[:m], [0.0]])
    gaps = -np.diff(padded) / model.eigenvalues[0]
    return [j for j in range(min(model.k, m)) if min(gaps[j], gaps[j + 1]) > 1e-3]
