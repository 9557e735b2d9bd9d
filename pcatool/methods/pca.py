"""Linear PCA: the directions of largest variance, equal to those of smallest mean squared reconstruction error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import RefusedError
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.certificate import PROOFS, certify, is_accurate
from pcatool.linalg.eigen import fix_signs
from pcatool.linalg.moments import center_rows
from pcatool.methods.base import (
    UNLIMITED,
    Fit,
    FitResources,
    Identifiers,
    linear_model,
    note_constant,
    warn_past_rank,
    warn_uncertain,
)
from pcatool.model.model import FORMAT_VERSION, Model
from pcatool.options import FitOptions, parse_components
from pcatool.options.fields import settings_of
from pcatool.progress import Reporter
from pcatool.registry import RULES, SOLVERS
from pcatool.resources import release_free_memory
from pcatool.rules.base import Choice, Evidence, decide, split_rule
from pcatool.solvers.base import Problem, Solution
from pcatool.solvers.estimate import total_bytes
from pcatool.solvers.plan import (
    DUAL_ROWS,
    EXPECTED_COMPONENTS,
    EXPECTED_ROWS_MARGIN,
    FALLBACK_SOLVER,
    SCATTER_COLUMNS,
    Plan,
    choose,
    fallback_plan,
    keep_rows,
    make_plan,
    most_kept,
    room_for_rows,
)
from pcatool.solvers.rows import HELD_BYTES, Rows
from pcatool.wording import counted

__all__ = ["EM", "PCA", "Solved", "evidence"]

# Ratio of the largest to the smallest variance from which a note advises --standardize: one column then dominates the
# components.
UNEQUAL = 1000.0

# Most columns for which a second fit of small data costs next to nothing.
CHEAP_COLUMNS = 256

# Default epsilon of whitening, as a share of the mean eigenvalue. Lecture notes use the same value for data between 0
# and 1.
SMOOTHING = 1e-5

# Largest error of an eigenvalue, as a share of epsilon. Such an error changes a whitened score by at most half of this
# share.
COVERED_SHARE = 1e-3

# Matrices of min(n, d) x d numbers that a solution takes while it is checked: the scatter, the scatter of the fit, and
# two for eigenvectors.
KEPT_SQUARES = 4

# EM is the solver for rows with missing cells, which `--solver` cannot choose. SETTLED is the largest relative error of
# an eigenvalue that counts as settled when EM ends: the missing cells leave fewer digits certain than that.
EM = "em"
SETTLED = 1e-3

# Solvers that keep more digits than the given one.
MORE_DIGITS = {"covariance": "--solver tsqr", "dual": "--solver svd", "randomized": "--solver covariance or tsqr"}


class Solved(NamedTuple):
    """A solution, its solver, and the choice of k."""

    name: str  # of the solver
    reason: str  # for the choice of the solver
    solution: Solution
    choice: Choice
    proved: bool = True  # whether the errors are bounds
    record: Mapping[str, Any] = {}  # further settings for the model

    def meta(self, certificate: Mapping[str, Any]) -> dict[str, Any]:
        """Return metadata for the model: reason for k, rank, count of constant columns, solver, reason, certificate."""
        return {
            "choice": self.choice.reason,
            "rank": self.solution.rank,
            "constant_columns": len(self.solution.constant),
            "solver": self.name,
            "reason": self.reason,
            "certificate": certificate,
        }

    @property
    def accurate(self) -> NDArray[np.bool_]:
        """Mask (m,) of the eigenvalues that are accurate: to 8 digits, or to 3 digits if the solver is EM."""
        values, error = self.solution.eigenvalues, self.solution.error
        return error <= SETTLED * values if self.name == EM else is_accurate(values, error)

    @property
    def uncertain(self) -> list[int]:
        """Numbers, from 1, of the kept components up to the rank whose eigenvalue is not accurate."""
        accurate = self.accurate
        return [j + 1 for j in range(min(self.choice.k, self.solution.rank)) if not accurate[j]]

    @property
    def largest_error(self) -> float:
        """Largest relative error of a kept eigenvalue up to the rank; infinite if the rank is 0."""
        if self.solution.rank == 0:
            return np.inf
        kept = slice(min(self.choice.k, self.solution.rank))
        values = np.maximum(self.solution.eigenvalues[kept], np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            return float(np.max(self.solution.error[kept] / values))


class PCA:
    """Method `pca` for complete rows: chooses a solver, plans, fits, and reports notes and warnings."""

    def __init__(self, options: FitOptions, reporter: Reporter) -> None:
        self.options = options
        self.reporter = reporter
        self.codes: NDArray[np.bool_] | None = None  # columns of whole numbers, from the first block; None: not read

    def fit(self, blocks: Iterable[Array], columns: tuple[str, ...], *, resources: FitResources = UNLIMITED) -> Fit:
        """Fit a model to blocks (h, d) of rows.

        Raise `RefusedError` if the plan is above the memory limit or no component can be computed, and `DataError` for
        rows without variance.
        """
        rows, problem, plan = self._prepare(blocks, columns, resources)
        plan.check(resources.limit, problem)
        with one_blas_thread():
            solved = self._solve(rows, problem, plan)
            release_free_memory()
            self.reporter.kept_rows = rows.kept
            return self.finish_fit(problem, solved, evidence(solved.solution, problem, rows))

    def finish_fit(self, problem: Problem, solved: Solved, known: Evidence) -> Fit:
        """Report notes and warnings about a solution, and return its model with the evidence `known`.

        Raise `RefusedError` if no component is distinguishable from rounding error.
        """
        check_rank(solved.solution, problem)
        self._write_notes(problem, solved)
        return Fit(self._model(problem, solved), known)

    def plan(self, blocks: Iterable[Array], columns: tuple[str, ...], *, resources: FitResources = UNLIMITED) -> Plan:
        """Return the plan of the fit, without fitting; `refusal` of the plan tells if memory or disk are too small."""
        _, problem, plan = self._prepare(blocks, columns, resources)
        return plan.refused_by(lambda: plan.check(resources.limit, problem))

    def _prepare(
        self, blocks: Iterable[Array], columns: tuple[str, ...], resources: FitResources
    ) -> tuple[Rows, Problem, Plan]:
        """Return rows, problem and plan of a fit; read only as many rows as the choice of a solver needs."""
        rows, problem, plan = self._solving(blocks, columns, resources)
        plan = keep_rows(plan, rows, resources.limit)
        known = plan.rows or rows.buffered_rows
        return rows, problem, plan.with_scoring(self._scored_bytes(problem, known, resources))

    def _solving(
        self, blocks: Iterable[Array], columns: tuple[str, ...], resources: FitResources
    ) -> tuple[Rows, Problem, Plan]:
        """Return rows, problem and plan of a fit, without the rows kept for several passes and without scoring."""
        rows = self.rows(blocks, columns, resources)
        self.codes = rows.codes()
        problem = self.problem(columns, rows.n)
        name, reason = self.choose(problem)
        expected = resources.expected() if rows.n is None else rows.n
        known = rows.buffered_rows if expected is None else expected
        at_most = known if rows.n is not None else math.ceil(known * EXPECTED_ROWS_MARGIN)

        def planned(threads: int) -> Plan:
            reading = resources.reading(threads)
            plan = make_plan(name, reason, problem, at_most, threads, reading)
            plan = plan._replace(rows=known, estimated=rows.n is None)
            if expected is None:
                more = make_plan(name, reason, problem, 2 * known, threads, reading)
                plan = plan._replace(rows=None, grows=more.peak_bytes > plan.peak_bytes)
            if rows.small and rows.n is not None:
                plan = self._with_work_on_held_rows(rows.n, problem, plan)
            return plan

        plan = planned(resources.threads)
        if resources.threads > 1:
            plan = plan._replace(with_one_thread=lambda: planned(1))
        return rows, problem, plan

    def _with_work_on_held_rows(self, n: int, problem: Problem, plan: Plan) -> Plan:
        """Return the plan with the memory of later work on n rows: a rule that needs the rows, or a second solver."""
        rule = problem.wish if isinstance(problem.wish, str) else ""
        need = RULES[split_rule(rule)[0]].memory_needed(n, problem.d) if rule else 0
        kept = 8 * KEPT_SQUARES * min(n, problem.d) * problem.d
        if need:
            plan = plan.at_least(total_bytes(problem.d, need + kept))
        if self.options.solver == "auto" and plan.solver != FALLBACK_SOLVER and (rule or problem.d <= CHEAP_COLUMNS):
            plan = plan.with_solving_again(fallback_plan(problem, n, plan.threads, plan.reading).peak_bytes)
        return plan

    def _scored_bytes(self, problem: Problem, rows: int, resources: FitResources) -> int:
        """Bytes at the peak of scoring `rows` rows, with two copies of the model; 0 if nothing is scored."""
        most = min(problem.d, rows)
        half = isinstance(problem.wish, float)  # a share of the variance seldom needs more
        k = most_kept(problem.wish, max(min(EXPECTED_COMPONENTS, most), most // 2) if half else most)
        scatter = problem.d**2 if problem.keeps_sums else 0
        written = problem.d if self.options.whiten == "zca" else k  # ZCA turns the scores back to the columns
        return resources.scoring(written, 2 * 8 * (problem.d * k + scatter))

    def rows(self, blocks: Iterable[Array], columns: tuple[str, ...], resources: FitResources) -> Rows:
        """Return the rows of the fit; as many rows are read as the choice of a solver needs."""
        # If there are few rows of very many columns, the solver `dual` needs them all.
        hold = DUAL_ROWS if len(columns) > SCATTER_COLUMNS and self.options.solver == "auto" else 0
        weighted = self.options.weights is not None

        def room() -> int:
            reading = resources.reading(resources.threads)
            return room_for_rows(len(columns), reading, resources.limit) if hold else HELD_BYTES

        return Rows(
            blocks,
            weighted=weighted,
            hold_rows=hold,
            hold_memory=room,
            at_least=resources.at_least,
            reread=resources.reread,
            engine=resources.engine,
            prepare=center_rows if self.options.center_rows else None,
            small=resources.small,
            check_count=lambda n: self._check_first_rows(n, columns, resources),
        )

    def _check_first_rows(self, n: int, columns: tuple[str, ...], resources: FitResources) -> None:
        """Raise `RefusedError` if a fit of the first n rows, held in memory, needs more memory than allowed."""
        problem = self.problem(columns, n)
        reading = resources.reading(resources.threads)
        plan = make_plan(*self.choose(problem), problem, n, resources.threads, reading)
        # More rows may follow: no remedy may count on their number.
        what = f"a fit of the first {counted(n, 'row')}"
        plan._replace(rows=None, grows=True).check(resources.limit, problem._replace(n=None), what)

    def problem(self, columns: tuple[str, ...], n: int | None) -> Problem:
        """Return the problem for a solver, from the options, for these columns and n rows; n is None if unknown."""
        o = self.options
        wish = parse_components(o.components)
        kind = o.weights_kind if o.weights is not None else None
        # With the default epsilon, no divisor is below 1e-5 of the mean eigenvalue.
        needs_small_eigenvalues = o.whiten != "none" and o.epsilon is not None
        keeps = o.keeps(len(columns) ** 2)
        return Problem(
            columns,
            n,
            wish,
            o.center,
            o.standardize,
            o.ddof,
            kind,
            o.seed,
            needs_small_eigenvalues,
            keeps,
            o.center_rows,
            o.eigenvalues,
        )

    def choose(self, problem: Problem) -> tuple[str, str]:
        """Return the name of the solver and the reason for it: that of `plan.choose`, or "asked for" with --solver."""
        return choose(problem) if self.options.solver == "auto" else (self.options.solver, "asked for")

    def _solve(self, rows: Rows, problem: Problem, plan: Plan) -> Solved:
        """Solve the problem with the planned solver, and return the solution with the choice of k.

        With --solver auto, if eigenvalues may be rounding error or components lost to rounding, and all rows are few,
        solve again with FALLBACK_SOLVER and return the better solution.
        """
        name = plan.solver
        solved = self._solve_with(name, plan.reason, rows, problem)
        if (
            self.options.solver != "auto"
            or name == FALLBACK_SOLVER
            or not rows.small
            or not self._doubtful(solved, problem)
        ):
            return solved
        what = f"solver {name} computed the smallest eigenvalues with too few digits"
        reason = f"{what}, so the fit was repeated with solver {FALLBACK_SOLVER} on the rows in memory"
        again = self._solve_with(FALLBACK_SOLVER, reason, rows, problem)
        return (
            again
            if again.largest_error <= solved.largest_error or again.solution.rank > solved.solution.rank
            else solved
        )

    def _solve_with(self, name: str, reason: str, rows: Rows, problem: Problem) -> Solved:
        with np.errstate(all="ignore"):  # overflow and underflow are checked and refused with a message
            solution: Solution = SOLVERS.load(name)().solve(rows, problem)
        return Solved(name, reason, solution, decide(problem.wish, evidence(solution, problem, rows)))

    def _doubtful(self, solved: Solved, problem: Problem) -> bool:
        """Whether a kept eigenvalue may be rounding error, or the solver may have lost components to rounding."""
        if solved.uncertain:
            return True
        varying = problem.d - (len(solved.solution.constant) if problem.center else 0)
        possible = min(solved.solution.n - problem.center, varying)
        wants_more = (
            isinstance(problem.wish, str) or solved.choice.k > solved.solution.rank or problem.d <= CHEAP_COLUMNS
        )
        return wants_more and solved.solution.rank < possible

    def _model(self, problem: Problem, solved: Solved) -> Model:
        """Build the model with its basis, certificate and settings."""
        solution, k = solved.solution, solved.choice.k
        if problem.eigenvalues == "kept":
            solution = solution._replace(eigenvalues=solution.eigenvalues[:k], error=solution.error[:k])
        basis = fix_signs(solution.leading(k))
        all_known = len(solution.eigenvalues) >= min(solution.n, problem.d)
        certificate = certify(
            solution.apply, solution.eigenvalues, solution.error, basis, solution.total_variance, all_known
        )
        if solution.route in PROOFS:
            certificate["proof"] = PROOFS[solution.route]
        if not solved.proved:
            certificate |= {"relative_error": [None] * k, "vouched": [False] * k}
        rule = problem.wish if isinstance(problem.wish, str) else ""
        drawn = (
            solved.name not in SOLVERS or SOLVERS[solved.name].seeded or (rule and RULES[split_rule(rule)[0]].seeded)
        )
        kept = settings_of(
            self.options,
            components=problem.wish,
            missing=self.options.policy,
            epsilon=None if self.options.whiten == "none" else whitening_epsilon(self.options, solved),
            seed=problem.seed if drawn else None,
        )
        meta: dict[str, Any] = {
            "format_version": FORMAT_VERSION,
            **kept,
            **solved.meta(certificate),
            **({} if solution.squared_shares is None else {"squared_shares": solution.squared_shares}),
            **solved.record,
        }
        return linear_model(solution, basis, problem.columns, meta)

    def _write_notes(self, problem: Problem, solved: Solved) -> None:
        """Report notes and warnings: constant columns, rank, inaccurate eigenvalues, identifiers, unequal variances."""
        solution, k = solved.solution, solved.choice.k
        if problem.center:
            note_constant(self.reporter, problem.columns, solution.constant, "no variance")
        warn_past_rank(self.reporter, solution.rank, k, "the data have")
        better = f"; a fit with {MORE_DIGITS[solved.name]} keeps more digits" if solved.name in MORE_DIGITS else ""
        if solved.name != EM:  # EM has warnings of its own
            warn_uncertain(self.reporter, solved.uncertain, f" with solver {solved.name}{better}")
        self._compare_scales(problem, solution)

    def _compare_scales(self, problem: Problem, solution: Solution) -> None:
        """Report notes on features that look like identifiers, and on very different variances.

        Variances are not compared if the fit standardises, or if the column of the largest variance is an identifier.
        """
        identifiers: set[str] = set()
        if self.codes is not None:
            found = Identifiers.of(problem.columns, solution, problem, self.codes)
            found.note(self.reporter)
            identifiers = {*found.named, *found.numbering}
        varies = np.ones(problem.d, dtype=np.bool_)
        varies[list(solution.constant)] = False
        varying = np.flatnonzero(varies)
        variances = solution.variances[varying]
        if problem.standardize or len(varying) < 2 or variances.max() / UNEQUAL <= variances.min():
            return
        largest, smallest = (problem.columns[varying[int(at)]] for at in (variances.argmax(), variances.argmin()))
        if largest in identifiers:
            return
        # The difference of logarithms, since the quotient may overflow.
        decades = float(np.log10(variances.max()) - np.log10(variances.min()))
        factor = f"{10**decades:.2g}" if decades < 300 else f"1e{decades:.0f}"
        self.reporter.note(
            f"column variances differ by a factor of {factor} (largest: {largest!r}, smallest: {smallest!r}); "
            "--standardize gives every column the same weight"
        )


def whitening_epsilon(options: FitOptions, solved: Solved) -> float:
    """Return the number that whitening adds to each eigenvalue.

    Raise `RefusedError` if a kept eigenvalue has too few accurate digits, and this number is too small to cover that.
    """
    solution, k = solved.solution, solved.choice.k
    mean = solution.total_variance / len(solution.mean)
    epsilon = SMOOTHING * mean if options.epsilon is None else options.epsilon
    values, error = solution.eigenvalues[:k], solution.error[:k]
    good = solved.accurate[:k] | (error < COVERED_SHARE * epsilon)
    if not good.all():
        j = int(np.argmin(good)) + 1
        remedies = [f"-k {j - 1}"] if j > 1 else []
        remedies += [f"--epsilon {1.05 * float(error.max()) / COVERED_SHARE:.1e} or more"] if error.max() > 0 else []
        better = solved.name in MORE_DIGITS and values[j - 1] > 0
        remedies += [f"fit with {MORE_DIGITS[solved.name]}"] if better else []
        lost, em = values[j - 1] <= error[j - 1], solved.name == EM
        few = "has not converged" if em else "is accurate to fewer than 8 digits"
        uncertain = "is indistinguishable from rounding error" if lost and not em else few
        raise RefusedError(
            f"--whiten {options.whiten}: the eigenvalue {values[j - 1]:.3g} of PC{j} {uncertain}, and epsilon "
            f"{epsilon:.3g} is too small to cover the error of the eigenvalue",
            "give " + ", or ".join(remedies or ["--epsilon 1e-5"]),
        )
    return epsilon


def check_rank(solution: Solution, problem: Problem) -> None:
    """Raise `RefusedError` if no component is distinguishable from rounding error."""
    if solution.rank == 0:
        remedy = "subtract from each column a number near the column mean"
        remedy += ", or leave out rows with a tiny weight" if problem.weights else ""
        raise RefusedError(
            "no component is distinguishable from rounding error: the rows differ too little compared with the size of "
            "their values",
            remedy,
        )


def evidence(solution: Solution, problem: Problem, rows: Rows | None = None) -> Evidence:
    """Return the evidence for the rules that choose k, with the `rows` only if these are few and all in memory."""
    held = rows if rows is not None and rows.small else None
    return Evidence(
        eigenvalues=solution.eigenvalues,
        total_variance=solution.total_variance,
        n=solution.observations,
        d=problem.d,
        rank=solution.rank,
        centered=problem.center,
        standardized=problem.standardize,
        ddof=problem.ddof,
        seed=problem.seed,
        rows=(lambda: fitted_rows(held, solution)) if held else None,
        weights=(lambda: _weights(held)) if held and problem.weights else None,
        constant=len(solution.constant),
        whole="variance" if problem.center else "sum of squares about 0",
        method="probabilistic" if solution.route == EM else "pca",
    )


def _weights(rows: Rows) -> Array:
    """Return the weights (n,) of rows in memory; ones if the rows have no weights."""
    X, w = rows.matrix()
    return np.ones(len(X)) if w is None else w.copy()  # a copy: `w` is a column of the whole table


def fitted_rows(rows: Rows, solution: Solution) -> Array:
    """Return the rows (n, d) centred, scaled, and multiplied by the roots of their weights, as a solver sees them."""
    Y, w = rows.matrix()
    Y -= solution.mean
    Y /= solution.std
    if w is not None:
        Y *= np.sqrt(w)[:, None]
    return Y
