"""Linear PCA of rows with missing cells: column means stand in for them, or EM fits the cells that are there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from pcatool.arrays import Array, Runner, block_rows, in_turn
from pcatool.linalg.blas import threads
from pcatool.linalg.moments import Moments
from pcatool.linalg.sparse import SparseRows
from pcatool.methods.base import NOTHING_MORE, Fit, Supply
from pcatool.methods.pca import EM, PCA, Solved, evidence, scored_bytes
from pcatool.methods.remarks import check_rule
from pcatool.methods.untold import tell_apart, tell_em, tell_made_up
from pcatool.missing.census import Census, links, take_census
from pcatool.missing.em import check_census, estimate, fit_em, most_components
from pcatool.missing.mean_imputation import HoledSums, PairSums, gather_pairs, of_block, pair_bytes
from pcatool.missing.solution import EMFit, as_solution
from pcatool.rules.base import Choice, Evidence, decide
from pcatool.solvers.base import Estimate, Problem, Solution
from pcatool.solvers.covariance import Covariance
from pcatool.solvers.plan import HOLDING, Plan, plan_of
from pcatool.solvers.rows import AT_ONCE, Rows

__all__ = ["IncompletePCA"]

# Of a block whose holes are filled.
FILLED_COPIES = 3

# EM for a share or a rule starts with this many components and doubles, as long as the weakest has this many times the
# variance of the noise: what comes after it is noise, and costs the square of their number.
FEW = 4
WEAK = 2.0


class IncompletePCA(PCA):
    """Rows with holes in, model out; with EM and no hole it is PCA, bit for bit."""

    # What can be done about columns or components that the cells say little of.
    remedy = "give fewer with -k, or leave out columns with few cells (-x)"

    def fit(self, blocks: Iterable[Array], columns: tuple[str, ...], *, supply: Supply = NOTHING_MORE) -> Fit:
        rows, problem, plan = self._prepared(blocks, columns, supply)
        if supply.limit is not None:
            plan.check(supply.limit, problem)
        with threads(1):
            if self.options.policy == EM:
                return self._by_em(rows, problem, plan)
            return self._by_pairs(rows, problem, plan) if _one_pass(rows, plan) else self._filled(rows, problem, plan)

    def plan(self, blocks: Iterable[Array], columns: tuple[str, ...], *, supply: Supply = NOTHING_MORE) -> Plan:
        rows, problem, plan = self._prepared(blocks, columns, supply)
        if self.options.policy != EM:
            return plan
        if rows.complete and (census := take_census(rows, problem)).missing.any():
            check_census(census, problem)
        return plan._replace(solver=EM, reason=f"where cells are missing; else {plan.solver}: {plan.reason}")

    def rows(self, blocks: Iterable[Array], columns: tuple[str, ...], supply: Supply) -> Rows:
        """EM passes over the rows so often that text is better parsed once, and numbers kept in a temporary file."""
        return super().rows(blocks, columns, supply._replace(reread=None) if self.options.policy == EM else supply)

    def _prepared(
        self, blocks: Iterable[Array], columns: tuple[str, ...], supply: Supply
    ) -> tuple[Rows, Problem, Plan]:
        rows, problem, plan = super()._prepared(blocks, columns, supply)
        if self.options.policy == EM:
            check_rule(problem.wish, "pca --missing em")
            need = estimate(problem.d, problem.wish if isinstance(problem.wish, int) else FEW)
        elif _one_pass(rows, plan):
            need = Estimate(plan.passes, 8 * 12 * problem.d**2, pair_bytes(problem.d))
        else:  # the mask of each block, the means in its holes, and the block about the origin
            filled = plan.threads * FILLED_COPIES * 8 * min(plan.rows or 1 << 30, block_rows(problem.d)) * problem.d
            if plan.solver in HOLDING:  # which fill some of the rows at a time
                filled = min(filled, AT_ONCE)
            return rows, problem, plan.at_least(plan.peak_bytes + filled)
        of_holes = plan_of(plan.solver, plan.reason, need, problem, plan.rows, plan.threads, plan.reading)
        remedy = "use fewer columns (-c, -x), or a smaller -k"
        # Where nothing is missing in the rows so far, it may be PCA after all.
        holed = self.options.policy == EM and rows.has_holes()
        peak = of_holes.peak_bytes if holed else max(plan.peak_bytes, of_holes.peak_bytes)
        plan = plan._replace(passes=need.passes, peak_bytes=peak, remedy=remedy)
        plan = plan.then_scoring(scored_bytes(problem, plan.rows or rows.so_far, supply))
        return rows, problem, plan

    # --- column means stand in ---

    def _by_pairs(self, rows: Rows, problem: Problem, plan: Plan) -> Fit:
        """In one pass."""
        origin = rows.origin
        moments = gather_pairs(rows.map(lambda X, w: of_block(X, origin, w), size=pair_bytes(problem.d)))
        return self._of_pairs(moments, problem, plan.solver, plan.reason, rows)

    def of_sums(self, sums: HoledSums, columns: tuple[str, ...], reason: str) -> Fit:
        """From sums over parts of the rows."""
        problem = self.problem(columns, sums.pairs.rows)
        return self._of_pairs(sums.pairs, problem, "covariance", reason, noise=sums.noise)

    def _of_pairs(
        self,
        moments: PairSums | Moments,
        problem: Problem,
        solver: str,
        reason: str,
        rows: Rows | None = None,
        noise: Array | None = None,
    ) -> Fit:
        there = np.ones(problem.d)
        if isinstance(moments, PairSums):
            moments.check(problem.columns)
            tell_apart(self.notices, links(moments.both > 0), problem.columns)
            there, moments = moments.seen / moments.weight, moments.filled()
        solution = Covariance().finish(moments, problem, noise)
        known = evidence(solution, problem, rows)
        solved = Solved(solver, reason, solution, decide(problem.wish, known))
        return self._with_means(problem, solved, known, moments.centre.mean, there)

    def _filled(self, rows: Rows, problem: Problem, plan: Plan) -> Fit:
        """In two passes or more, the means first. Centred rows are filled about cells of theirs, at small numbers."""
        rows.several_passes()
        census = take_census(rows, problem)
        tell_apart(self.notices, census.groups, problem.columns)
        about, mean = (census.origin, census.shift) if problem.center else (np.zeros(problem.d), census.mean)
        if census.missing.any():
            rows.fill(mean, about)
        solved = self._solve(rows, problem, plan)
        known = evidence(solved.solution, problem, rows)
        if census.missing.any():
            solution = solved.solution
            solved = solved._replace(solution=solution._replace(mean=solution.mean + about))
        there = 1 - census.missing / (census.rows + census.empty)
        return self._with_means(problem, solved, known, census.mean, there)

    def _with_means(self, problem: Problem, solved: Solved, known: Evidence, means: Array, there: Array) -> Fit:
        fit = self.finished(problem, solved, known)
        shares = there @ (fit.model.basis**2)
        what = "weight lies on cells that are there, the rest on column means"
        tell_made_up(self.notices, shares, what, self.remedy)
        return fit if problem.center else fit._replace(model=replace(fit.model, column_means=means))

    # --- EM ---

    def _by_em(self, rows: Rows, problem: Problem, plan: Plan) -> Fit:
        rows.several_passes()
        census = take_census(rows, problem)
        if census.missing.any():
            return self._of_cells(rows, problem, census)
        solved = self._solve(rows, problem, plan)
        return self.finished(problem, solved, evidence(solved.solution, problem, rows))

    def _of_cells(self, rows: Rows | SparseRows, problem: Problem, census: Census, run: Runner = in_turn) -> Fit:
        fitted, choice = _grown(rows, problem, census, run)
        fitted = fitted.bounded()
        solution = as_solution(fitted, problem)
        solved = Solved(EM, _how(fitted), solution, choice, fitted.proved, {"em": _record(fitted)})
        fit = self.finished(problem, solved, evidence(solution, problem))
        if isinstance(problem.wish, float) and fit.model.variance.cumulative[choice.k - 1] < problem.wish:
            self.notices.note(f"-k {problem.wish:g} would take components as weak as the noise; {choice.k} kept")
        tell_apart(self.notices, census.groups, problem.columns)
        tell_em(self.notices, fitted, problem, choice.k, self.remedy)
        return fit


def _one_pass(rows: Rows, plan: Plan) -> bool:
    """Is one pass enough for means, and are there more rows than are held?"""
    return plan.solver == "covariance" and not rows.complete


def _grown(rows: Rows | SparseRows, problem: Problem, census: Census, run: Runner) -> tuple[EMFit, Choice]:
    """As many components as asked for; for a share or a rule as many as stand out of the noise, if that is fewer."""
    wish = problem.wish
    most = max(most_components(census, problem), 1)

    def fit(k: int) -> tuple[EMFit, Solution]:
        fitted = fit_em(rows, problem, k, census=census, run=run)
        return fitted, as_solution(fitted, problem)

    k = wish if isinstance(wish, int) else most if wish == "all" else min(FEW, most)
    while True:
        fitted, solution = fit(k)
        choice = decide(wish, evidence(solution, problem))
        if isinstance(wish, int) or wish == "all" or choice.k < k or (isinstance(wish, float) and choice.k == k):
            return fitted, choice if choice.k <= k else Choice(k, "as many as there are cells and rows for")
        strong = max(int(np.count_nonzero(fitted.eigenvalues[:k] > WEAK * fitted.noise_variance)), 1)
        if strong < k or k == most:
            return fit(strong)[0], Choice(strong, f"as many as stand out of the noise; {wish} would take more")
        k = min(2 * k, most)


def _how(fitted: EMFit) -> str:
    if fitted.iterations == 0:
        return "cells are missing only in rows that have none: PCA of the others"
    return f"cells are missing: probabilistic PCA by EM, {fitted.iterations} steps"


def _record(fitted: EMFit) -> dict[str, Any]:
    """What the model file tells of how EM went. Where there is no noise at all the likelihood has no bound."""
    climb = [value if math.isfinite(value) else None for value in fitted.log_likelihood]
    return {
        "steps": fitted.iterations,
        "converged": fitted.converged,
        "proved": fitted.proved,
        "noise_variance": fitted.noise_variance,
        "log_likelihood": climb[-1],
        "climb": climb,
    }
