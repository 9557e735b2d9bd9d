"""Linear PCA of tables with missing cells, and of tables with one line for each given cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pcatool.arrays import Array, Runner, block_rows, in_turn
from pcatool.errors import UsageError, listed
from pcatool.linalg.blas import threads
from pcatool.linalg.moments import Moments
from pcatool.linalg.sparse import SparseRows
from pcatool.methods.base import NOTHING_MORE, Fit, Supply, check_rule, listed_components
from pcatool.methods.pca import EM, PCA, Solved, evidence, scored_bytes
from pcatool.missing.census import Census, Groups, groups_of, links, links_of_cells, take_census
from pcatool.missing.em import check_census, estimate, fit_em, most_components
from pcatool.missing.mean_imputation import HoledSums, PairSums, gather_pairs, of_block, pair_bytes
from pcatool.missing.solution import EMFit, as_solution
from pcatool.progress import Notices
from pcatool.rules.base import Choice, Evidence, decide
from pcatool.solvers.base import Estimate, Problem, Solution
from pcatool.solvers.covariance import Covariance
from pcatool.solvers.plan import HOLDING, Plan, plan_of
from pcatool.solvers.rows import AT_ONCE, Rows
from pcatool.solvers.sparse import choose_sparse, estimate_sparse, solve_sparse

__all__ = ["IncompletePCA", "TriplesPCA"]

# A component less than half of which comes from cells that are there says more of what stands in for the others; a few
# roundings below it are still half.
HALF = 0.5 - 1e-9

# A component that whole rows would tell less than this of is as weak as the noise, with holes or without.
LITTLE_TOLD = 1e-3

# A column to which components give this many times the variance of its cells, of which there are enough to tell.
INFLATED, ENOUGH = 3.0, 30

# Columns this far apart in variance leave the noise of the smaller no digits.
UNEQUAL = 1e10

# Names in one warning.
MOST_NAMED = 3


def tell_apart(notices: Notices, groups: Groups, columns: Sequence[str]) -> None:
    """Columns that no row has together, not by way of others either."""
    apart = groups_of(groups)
    if len(apart) > 1:
        some = "; ".join(listed((columns[j] for j in group), MOST_NAMED) for group in apart[:MOST_NAMED])
        more = f"; and {len(apart) - MOST_NAMED} more" if len(apart) > MOST_NAMED else ""
        notices.warn(
            f"{len(apart)} groups of columns that no row links: {some}{more}; "
            "what components say of several groups at once is not in the data"
        )


def tell_made_up(notices: Notices, shares: Array, what: str, remedy: str) -> None:
    """Components that missing cells make meaningless, by the share that they do not."""
    little = np.flatnonzero(shares < HALF).tolist()
    if little:
        mean, their = ("means", "its") if len(little) == 1 else ("mean", "their")
        most = max(shares[little].max(), 0.0)
        notices.warn(f"{listed_components(little)} {mean} little: at most {most:.0%} of {their} {what}; {remedy}")


def tell_em(notices: Notices, fitted: EMFit, problem: Problem, k: int, remedy: str) -> None:
    """What is doubtful of a fit by EM of which k components are kept."""
    if not fitted.converged:
        moved = float(np.max(fitted.error[:k] / fitted.eigenvalues[:k]))
        notices.warn(
            f"EM has not converged in {fitted.iterations} steps: "
            f"an eigenvalue {'may be off' if fitted.proved else 'still moves'} by {moved:.1g} of itself"
            + ("; use a smaller -k" if k > 1 else "")
        )
    if fitted.exact and fitted.iterations:
        _tell_exact(notices, fitted, problem, k)
    tell_made_up(notices, _told(fitted)[:k], "variance is told by the cells that are there", remedy)
    if problem.center:
        _tell_inflated(notices, fitted, problem)


def _tell_exact(notices: Notices, fitted: EMFit, problem: Problem, k: int) -> None:
    varying = fitted.variances[fitted.census.varies]
    if not problem.standardize and len(varying) and varying.max() / UNEQUAL > varying.min():
        notices.warn("column variances are too far apart for EM to tell the noise of the smallest; use --standardize")
        return
    remedy = "; use a smaller -k" if k > 1 else ""
    notices.warn(f"the components explain every cell that is there, and leave nothing to the noise{remedy}")


def _told(fitted: EMFit) -> Array:
    """(k,) of what whole rows would tell of each component, what the cells that are there tell."""
    values = np.maximum(fitted.eigenvalues[: len(fitted.certainty)], np.finfo(float).tiny)
    by_whole = 1 - fitted.noise_variance / values
    weak = by_whole < LITTLE_TOLD
    return np.where(weak, 1.0, np.clip(fitted.certainty / np.where(weak, 1.0, by_whole), 0.0, 1.0))


def _tell_inflated(notices: Notices, fitted: EMFit, problem: Problem) -> None:
    """Columns of few cells to which components give what these do not have."""
    seen = fitted.variances / fitted.std**2
    given = (fitted.basis**2) @ (fitted.eigenvalues[: fitted.basis.shape[1]] - fitted.noise_variance)
    much = (given > INFLATED * seen) & (fitted.census.cells >= ENOUGH) & fitted.census.varies
    if much.any():
        names = listed(problem.columns[j] for j in np.flatnonzero(much).tolist())
        notices.warn(
            f"components give more than {INFLATED:g} times the variance of its cells to {names}; use a larger -k"
        )


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


# Of each cell while lines are read and sorted: names as numbers, value and place, in the order of the lines, in that of
# the rows, and as they are joined.
READING_BYTES = 88


class TriplesPCA(IncompletePCA):
    """Cells in, model out; where every cell is given it is PCA of the table, bit for bit."""

    remedy = "give fewer with -k, or leave out the lines of items with few"

    def fit_cells(self, table: SparseRows, columns: tuple[str, ...], supply: Supply) -> Fit:
        if _whole(table):
            return self.fit(_blocks(table), columns, supply=_of_blocks(table, supply))
        problem, plan = self.problem(columns, table.n), self._plan_holed(table, columns, supply)
        if supply.limit is not None:
            plan.check(supply.limit, problem)
        with threads(1):
            if plan.solver == EM:
                return self._of_cells(table, problem, take_census(table, problem), supply.run)
            return self._of_whole(table, problem, plan)

    def plan_cells(self, table: SparseRows, columns: tuple[str, ...], supply: Supply) -> Plan:
        """What would be done, once it is known that it can be."""
        if _whole(table):
            return self.plan(_blocks(table), columns, supply=_of_blocks(table, supply))
        plan = self._plan_holed(table, columns, supply)
        if plan.solver == EM:
            problem = self.problem(columns, table.n)
            check_census(take_census(table, problem), problem)
        return plan

    def _plan_holed(self, table: SparseRows, columns: tuple[str, ...], supply: Supply) -> Plan:
        problem = self.problem(columns, table.n)
        cells, wish = len(table.values), problem.wish
        k = wish if isinstance(wish, int) else min(32, problem.d)
        if self.options.policy == EM:
            if not isinstance(wish, int):
                what = f"with most cells missing, components are fitted to a number, not to -k {wish}"
                raise UsageError(what, "give one, such as -k 10")
            need = estimate(problem.d, k, table)
            name, reason = EM, "cells are missing"
        else:
            name, reason = choose_sparse(problem, table.n)
            need = estimate_sparse(problem, table.n, cells, k)
        need = need._replace(bytes=max(need.bytes, READING_BYTES * cells))
        plan = plan_of(name, reason, need, problem, table.n, supply.threads, supply.reading())
        read_again = supply.scoring(k, READING_BYTES * cells + 2 * 8 * problem.d * k)
        return plan.then_scoring(read_again)._replace(remedy="use a smaller -k, or leave out the lines of rare items")

    def _of_whole(self, table: SparseRows, problem: Problem, plan: Plan) -> Fit:
        """Of the table with zeros or means where no cell is given."""
        filled = self.options.policy == "mean"
        solution = solve_sparse(table, problem, "mean" if filled else "zero")
        known = evidence(solution, problem)
        solved = Solved(plan.solver, plan.reason, solution, decide(problem.wish, known))
        if not filled:
            return self.finished(problem, solved, known)
        tell_apart(self.notices, links_of_cells(table), problem.columns)
        about = table.about()
        return self._with_means(problem, solved, known, about.origin + about.shift, about.cells / table.n)


def _whole(table: SparseRows) -> bool:
    """Is every cell given?"""
    return len(table.values) == table.n * table.d


def _of_blocks(table: SparseRows, supply: Supply) -> Supply:
    return supply._replace(reread=lambda: _blocks(table), expected=lambda: table.n)


def _blocks(table: SparseRows) -> Iterator[Array]:
    height = block_rows(table.d)
    return (table.dense(at, min(at + height, table.n), np.nan) for at in range(0, table.n, height))
