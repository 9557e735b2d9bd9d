"""Linear PCA of tables with missing cells, and of tables in triples, one line per given cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pcatool.arrays import SERIAL, Array, Engine, block_rows
from pcatool.errors import UsageError
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.moments import Moments
from pcatool.linalg.sparse import SparseRows
from pcatool.methods.base import UNLIMITED, Fit, FitResources, check_rule
from pcatool.methods.missing_warnings import warn_em, warn_mostly_missing, warn_unlinked_columns
from pcatool.methods.pca import EM, PCA, Solved, evidence
from pcatool.missing.census import Census, link_columns, link_columns_of_cells, take_census
from pcatool.missing.em import EMFit, as_solution, check_census, estimate, fit_em, most_components
from pcatool.missing.mean_imputation import MissingSums, PairsAccumulator, PairSums, moving_bytes, pair_bytes
from pcatool.rules.base import Choice, Evidence, decide
from pcatool.solvers.base import Problem, Solution
from pcatool.solvers.covariance import Covariance
from pcatool.solvers.estimate import Estimate, left_of_reading
from pcatool.solvers.plan import EXPECTED_COMPONENTS, HOLDS_ROWS, Plan, make_plan, plan_of
from pcatool.solvers.rows import AT_ONCE, Rows
from pcatool.solvers.sparse import choose_sparse, estimate_sparse, solve_sparse
from pcatool.wording import counted, show

__all__ = ["IncompletePCA", "TriplesPCA"]


NO_MORE_ALLOWED = "the largest possible number for these rows and observed cells"


# Copies of a block while its missing cells are filled; and while its observed cells are counted and summed.
FILLED_COPIES, CENSUS_COPIES = 3, 4

# Numbers of each column in the sums of observed cells.
COLUMN_SUMS = 8

# First number of components of EM for a share or a rule. The number doubles while the weakest component has more than
# WEAK times the variance of the noise: further components are noise, and cost the square of their number.
FEW = 4
WEAK = 2.0


class IncompletePCA(PCA):
    """Method `pca` for rows with missing cells, which are filled with means or fitted by EM.

    With EM, complete rows give bit-identical results to `PCA`.
    """

    @property
    def remedy(self) -> str:
        """Remedy in warnings about components that depend on few observed cells."""
        return "leave out columns with few cells (-x)"

    def fit(self, blocks: Iterable[Array], columns: tuple[str, ...], *, resources: FitResources = UNLIMITED) -> Fit:
        """Fit a model to blocks (h, d) of rows with NaN in the missing cells."""
        rows, problem, plan = self._prepare(blocks, columns, resources)
        plan.check(resources.limit, problem)
        with one_blas_thread():
            if self.options.policy == EM:
                fit = self._fit_by_em(rows, problem, plan)
            elif _one_pass(rows, plan):
                fit = self._fit_in_one_pass(rows, problem, plan)
            else:
                fit = self._fit_filled(rows, problem, plan)
        self.reporter.kept_rows = rows.kept
        return fit

    def plan(self, blocks: Iterable[Array], columns: tuple[str, ...], *, resources: FitResources = UNLIMITED) -> Plan:
        """Return the plan of the fit, without fitting; `refusal` of the plan tells if memory or disk are too small.

        Raise `DataError` or `RefusedError` if all rows are known and EM cannot fit the components to these.
        """
        rows, problem, plan = self._prepare(blocks, columns, resources)
        plan = plan.refused_by(lambda: plan.check(resources.limit, problem))
        if self.options.policy != EM:
            return plan
        if rows.complete and (census := take_census(rows, problem)).missing.any():
            check_census(census, problem)
        reason = f"used if a cell is missing; if no cell is missing, solver {plan.solver} is used: {plan.reason}"
        return plan._replace(solver=EM, reason=reason)

    def rows(self, blocks: Iterable[Array], columns: tuple[str, ...], resources: FitResources) -> Rows:
        """Return the rows of the fit; as many rows are read as the choice of a solver needs.

        Data that are already a table in memory are usually cut into blocks again for each pass. EM makes so many passes
        that it keeps these blocks, as it keeps those of files.
        """
        return super().rows(
            blocks, columns, resources._replace(reread=None) if self.options.policy == EM else resources
        )

    def _solving(
        self, blocks: Iterable[Array], columns: tuple[str, ...], resources: FitResources
    ) -> tuple[Rows, Problem, Plan]:
        """Return rows, problem and plan of a fit, with the passes and the memory of EM or of filling with means.

        Rows that are kept for several passes, and scoring, are not included yet.
        """
        rows, problem, plan = super()._solving(blocks, columns, resources)
        if self.options.policy == EM:
            check_rule(problem.wish, "--missing em")
            need = estimate(problem.d, problem.wish if isinstance(problem.wish, int) else FEW)
        elif _one_pass(rows, plan):
            # The sums so far; and of each block its sums, its filled cells, and their mask as numbers. Blocks and
            # merges overwrite the sums so far, some rows of matrices at a time; while two sums are merged, both are in
            # memory. The memory of a freed product is too small for the next matrix once smaller arrays are in it.
            held, moved = pair_bytes(problem.d), moving_bytes(problem.d)
            need = Estimate(plan.passes, held + 8 * problem.d**2, held, work=moved, copies=2, merging=held + moved)
        else:
            return rows, problem, _filling(plan, rows, problem)
        of_incomplete = plan_of(plan.solver, plan.reason, need, problem, plan.rows, plan.threads, plan.reading)
        remedy = "use fewer columns (-c, -x), or a smaller -k"
        # If no cell is missing in the rows so far, plain PCA may follow.
        if not (self.options.policy == EM and rows.has_missing()):
            peak = max(plan.peak_bytes, of_incomplete.peak_bytes)
            beside = max(plan.beside_rows, of_incomplete.beside_rows)
            of_incomplete = of_incomplete._replace(peak_bytes=peak, beside_rows=beside)
        peak, first, beside = of_incomplete.peak_bytes, of_incomplete.first_peak, of_incomplete.beside_rows
        plan = plan._replace(passes=need.passes, peak_bytes=peak, first_peak=first, beside_rows=beside)
        return rows, problem, plan._replace(remedy=remedy, holds_rows=False)

    # --- column means in the missing cells ---

    def _fit_in_one_pass(self, rows: Rows, problem: Problem, plan: Plan) -> Fit:
        """Fit with column means in the missing cells, in one pass."""
        return self._fit_pair_sums(
            rows.reduce(PairsAccumulator(rows.origin)), problem, plan.solver, plan.reason, rows
        )  # the sums have no name here, so that they are freed before the scatter is decomposed

    def of_sums(self, sums: MissingSums, columns: tuple[str, ...], reason: str) -> Fit:
        """Fit a model to the sums over all rows; `reason` explains the choice of the solver."""
        problem = self.problem(columns, sums.pairs.rows)
        return self._fit_pair_sums(sums.pairs, problem, "covariance", reason, rounding=sums.rounding)

    def _fit_pair_sums(
        self,
        moments: PairSums | Moments,
        problem: Problem,
        solver: str,
        reason: str,
        rows: Rows | None = None,
        rounding: Array | None = None,
    ) -> Fit:
        """Fit a model to the sums over all rows; `rounding` (d,) bounds the relative errors of sums made earlier."""
        observed = np.ones(problem.d)
        if isinstance(moments, PairSums):
            moments.check(problem.columns)
            warn_unlinked_columns(self.reporter, link_columns(moments.both > 0), problem.columns)
            observed, moments = moments.observed_weight / moments.weight, moments.filled()
        solution = Covariance().solve_moments(moments, problem, rounding)
        known = evidence(solution, problem, rows)
        solved = Solved(solver, reason, solution, decide(problem.wish, known))
        return self._finish_with_means(problem, solved, known, moments.centre.mean, observed)

    def _fit_filled(self, rows: Rows, problem: Problem, plan: Plan) -> Fit:
        """Fit with column means in the missing cells, in two passes or more; the first takes the means.

        In a centred fit an observed cell of each column is subtracted first, so that numbers stay small.
        """
        rows.several_passes()
        census = take_census(rows, problem)
        warn_unlinked_columns(self.reporter, census.groups, problem.columns)
        about, mean = (census.origin, census.shift) if problem.center else (np.zeros(problem.d), census.mean)
        if census.missing.any():
            rows.center_and_fill(mean, about)
        solved = self._solve(rows, problem, plan)
        known = evidence(solved.solution, problem, rows)
        if census.missing.any():
            solution = solved.solution
            solved = solved._replace(solution=solution._replace(mean=solution.mean + about))
        observed = 1 - census.missing / (census.rows + census.empty)
        return self._finish_with_means(problem, solved, known, census.mean, observed)

    def _finish_with_means(
        self, problem: Problem, solved: Solved, known: Evidence, means: Array, observed: Array
    ) -> Fit:
        """Return the fit, and warn about components whose weight is mostly on columns that are filled with means.

        `means` (d,) are stored in an uncentred model; `observed` (d,) are the shares of observed cells.
        """
        fit = self.finish_fit(problem, solved, known)
        shares = observed @ (fit.model.basis**2)
        what = "weight comes from observed cells, the rest from column means"
        warn_mostly_missing(self.reporter, shares, what, self.remedy)
        return fit if problem.center else fit._replace(model=replace(fit.model, column_means=means))

    # --- EM ---

    def _fit_by_em(self, rows: Rows, problem: Problem, plan: Plan) -> Fit:
        rows.several_passes()
        census = take_census(rows, problem)
        if census.missing.any():
            return self._fit_em(rows, problem, census)
        solved = self._solve(rows, problem, plan)
        return self.finish_fit(problem, solved, evidence(solved.solution, problem, rows))

    def _fit_em(self, rows: Rows | SparseRows, problem: Problem, census: Census, engine: Engine = SERIAL) -> Fit:
        """Fit by EM, with bounds on the errors where affordable, and warn."""
        fitted, choice = _fit_components(rows, problem, census, engine)
        fitted = fitted.bounded()
        solution = as_solution(fitted, problem)
        solved = Solved(EM, _reason(fitted), solution, choice, fitted.proved, {"em": _record(fitted)})
        fit = self.finish_fit(problem, solved, evidence(solution, problem))
        if isinstance(problem.wish, float) and fit.model.variance.cumulative[choice.k - 1] < problem.wish:
            kept = counted(choice.k, "component")
            self.reporter.note(
                f"-k {problem.wish:g} would need components as weak as the noise, so the model keeps only {kept}"
            )
        warn_unlinked_columns(self.reporter, census.groups, problem.columns)
        warn_em(self.reporter, fitted, problem, choice.k, self.remedy)
        return fit


def _filling(plan: Plan, rows: Rows, problem: Problem) -> Plan:
    """Return the plan of a fit of complete rows with the pass that takes the means, and the filling in later passes.

    The rows are read in the first pass, unless they are read again in each pass.
    """
    solver, census, first = plan, plan, 0
    if plan.solver not in HOLDS_ROWS and not rows.complete:  # else the solver begins when all rows are in memory
        reading = left_of_reading(plan.reading) if rows.must_be_kept else plan.reading
        solver = make_plan(plan.solver, plan.reason, problem, plan.rows, plan.threads, reading)
        need = Estimate(plan.passes, 8 * problem.d * COLUMN_SUMS, 8 * problem.d * COLUMN_SUMS, copies=CENSUS_COPIES)
        census = plan_of(plan.solver, plan.reason, need, problem, plan.rows, plan.threads, plan.reading)
        first = census.first_peak
    # Of each block: the mask of missing cells, the filled block, and the block minus the origin.
    filled = plan.threads * FILLED_COPIES * 8 * min(plan.rows or 1 << 30, block_rows(problem.d)) * problem.d
    if plan.solver in HOLDS_ROWS:  # these solvers fill some of the rows at a time
        filled = min(filled, AT_ONCE)
    peak = max(census.peak_bytes, solver.peak_bytes + filled)
    plan = plan._replace(passes=_one_more(plan.passes), peak_bytes=peak, first_peak=first or plan.first_peak)
    beside = max(census.beside_rows, solver.beside_rows + filled)
    return plan._replace(beside_rows=beside, later=peak, with_one_thread=None)


def _one_pass(rows: Rows, plan: Plan) -> bool:
    """Whether to compute means and scatter in one pass: the solver is covariance, and not all rows are in memory."""
    return plan.solver == "covariance" and not rows.complete


def _one_more(passes: str) -> str:
    """Return a number of passes, such as `2 and a few more`, with one pass more."""
    first, *rest = passes.split(" ", 1)
    return " ".join([str(int(first) + 1), *rest])


def _fit_components(rows: Rows | SparseRows, problem: Problem, census: Census, engine: Engine) -> tuple[EMFit, Choice]:
    """Fit as many components as requested, and return the fit with the choice of k.

    For a share or a rule, fit only components that stand out from the noise.
    """
    wish = problem.wish
    most = max(most_components(census, problem), 1)

    def fit(k: int) -> tuple[EMFit, Solution]:
        fitted = fit_em(rows, problem, k, census=census, engine=engine)
        return fitted, as_solution(fitted, problem)

    k = wish if isinstance(wish, int) else most if wish == "all" else min(FEW, most)
    while True:
        fitted, solution = fit(k)
        choice = decide(wish, evidence(solution, problem))
        if isinstance(wish, int) or wish == "all" or choice.k < k or (isinstance(wish, float) and choice.k == k):
            return fitted, choice if choice.k <= k else Choice(k, NO_MORE_ALLOWED)
        strong = int(np.count_nonzero(fitted.eigenvalues[:k] > WEAK * fitted.noise_variance))
        if strong < k or k == most:
            kept = max(strong, 1)
            return fit(kept)[0], Choice(kept, f"{_why_no_more(strong, most)}; -k {wish} would need more components")
        k = min(2 * k, most)


def _why_no_more(strong: int, most: int) -> str:
    """Return why a model keeps no more components: `strong` of them stand out from the noise, `most` can be fitted."""
    if strong == 0:
        return "no component stands out from the noise, so the first one is kept"
    if strong == most:
        return NO_MORE_ALLOWED
    return f"only {'this component stands' if strong == 1 else 'these components stand'} out from the noise"


def _reason(fitted: EMFit) -> str:
    """Return the reason for the solver, as recorded in the model."""
    if fitted.iterations == 0:
        return "every row is either complete or empty, so the fit is PCA of the complete rows"
    return f"cells are missing: probabilistic PCA by EM, {fitted.iterations} steps"


def _record(fitted: EMFit) -> dict[str, Any]:
    """Return the record of EM for the model; a log-likelihood is None if it is infinite, because no noise is left."""
    climb = [value if math.isfinite(value) else None for value in fitted.log_likelihood]
    return {
        "steps": fitted.iterations,
        "converged": fitted.converged,
        "proved": fitted.proved,
        "noise_variance": fitted.noise_variance,
        "log_likelihood": climb[-1],
        "climb": climb,
    }


# Bytes per cell while lines are read and sorted. A cell takes two names as numbers, a value and a place: in the order
# of the lines, in the order of the rows, and while arrays are joined.
READING_BYTES = 88


class TriplesPCA(IncompletePCA):
    """Method `pca` for tables in triples (row, column, value), read as `SparseRows`.

    If no cell is absent, the result is bit-identical to that of `PCA`.
    """

    @property
    def remedy(self) -> str:
        """Remedy in warnings about components that depend on few lines, and in refusals for lack of memory."""
        terms = (self.options.triples or "").split(",")
        items = f"values of column {show(terms[1].strip())}" if len(terms) == 3 else "the second column of --triples"
        return f"remove the lines of items ({items}) that have few lines"

    def fit(
        self, blocks: Iterable[Array] | SparseRows, columns: tuple[str, ...], *, resources: FitResources = UNLIMITED
    ) -> Fit:
        """Fit a model to `SparseRows`, or to blocks (h, d) of rows with NaN in the missing cells."""
        table, resources = _complete_as_blocks(blocks, resources)
        if not isinstance(table, SparseRows):
            return super().fit(table, columns, resources=resources)
        problem, plan = self.problem(columns, table.n), self._plan_incomplete(table, columns, resources)
        plan.check(resources.limit, problem)
        with one_blas_thread():
            if plan.solver == EM:
                return self._fit_em(table, problem, take_census(table, problem), resources.engine)
            return self._fit_filled_cells(table, problem, plan)

    def plan(
        self, blocks: Iterable[Array] | SparseRows, columns: tuple[str, ...], *, resources: FitResources = UNLIMITED
    ) -> Plan:
        """Return the plan of the fit, without fitting; `refusal` of the plan tells if memory or disk are too small.

        Raise the errors that the fit would raise for any other reason, as far as they are known before fitting.
        """
        table, resources = _complete_as_blocks(blocks, resources)
        if not isinstance(table, SparseRows):
            return super().plan(table, columns, resources=resources)
        problem, plan = self.problem(columns, table.n), self._plan_incomplete(table, columns, resources)
        if plan.solver == EM:
            check_census(take_census(table, problem), problem)
        return plan.refused_by(lambda: plan.check(resources.limit, problem))

    def _plan_incomplete(self, table: SparseRows, columns: tuple[str, ...], resources: FitResources) -> Plan:
        """Return the plan for a table with absent cells.

        Raise `UsageError` if EM is asked for a share or a rule.
        """
        problem = self.problem(columns, table.n)
        cells, wish = len(table.values), problem.wish
        k = wish if isinstance(wish, int) else min(EXPECTED_COMPONENTS, problem.d)
        if self.options.policy == EM:
            if not isinstance(wish, int):
                what = (
                    f"-k {wish} is not possible with --triples: cells are missing, and EM needs a number of components"
                )
                raise UsageError(what, "give a number, such as -k 10")
            need = estimate(problem.d, k, table)
            name, reason = EM, "cells are missing"
        else:
            name, reason = choose_sparse(problem, table.n)
            need = estimate_sparse(problem, table.n, cells, k)
        need = need._replace(bytes=max(need.bytes, READING_BYTES * cells))
        plan = plan_of(name, reason, need, problem, table.n, resources.threads, resources.reading(resources.threads))
        read_again = resources.scoring(k, READING_BYTES * cells + 2 * 8 * problem.d * k)
        return plan.with_scoring(read_again)._replace(remedy=f"use a smaller -k, or {self.remedy}")

    def _fit_filled_cells(self, table: SparseRows, problem: Problem, plan: Plan) -> Fit:
        """Fit the table with zeros or column means in the absent cells."""
        filled = self.options.policy == "mean"
        solution = solve_sparse(table, problem, "mean" if filled else "zero")
        known = evidence(solution, problem)
        solved = Solved(plan.solver, plan.reason, solution, decide(problem.wish, known))
        if not filled:
            return self.finish_fit(problem, solved, known)
        warn_unlinked_columns(self.reporter, link_columns_of_cells(table), problem.columns)
        about = table.column_sums()
        return self._finish_with_means(problem, solved, known, about.origin + about.shift, about.cells / table.n)


def _complete_as_blocks(
    blocks: Iterable[Array] | SparseRows, resources: FitResources
) -> tuple[Iterable[Array] | SparseRows, FitResources]:
    """Return a sparse table without absent cells as dense blocks, with resources that can read these again.

    Return other arguments unchanged.
    """
    if not isinstance(blocks, SparseRows) or len(blocks.values) < blocks.n * blocks.d:
        return blocks, resources
    table = blocks
    return _dense_blocks(table), resources._replace(reread=lambda: _dense_blocks(table), expected=lambda: table.n)


def _dense_blocks(table: SparseRows) -> Iterator[Array]:
    """Yield the rows of a table in dense blocks, NaN in the absent cells."""
    height = block_rows(table.d)
    return (table.dense(at, min(at + height, table.n), np.nan) for at in range(0, table.n, height))
