"""Linear PCA of rows with missing cells: column means stand in for them, or EM fits the cells that are there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pcatool.blocks import Runner, in_turn
from pcatool.errors import listed
from pcatool.holes.census import Census, take_census
from pcatool.holes.em import Fitted, as_solution, estimate, fit_em, most_components
from pcatool.holes.links import Groups, groups_of, links
from pcatool.holes.pairs import Pairs, gather_pairs, of_block, pair_bytes
from pcatool.linalg.blas import threads
from pcatool.linalg.sparse import SparseRows
from pcatool.methods.base import NOTHING_MORE, Fit, Supply
from pcatool.methods.pca import EM, PCA, Solved, evidence
from pcatool.methods.remarks import check_rule, listed_components
from pcatool.model import Array
from pcatool.rules.base import Choice, decide
from pcatool.solvers.base import Estimate, Problem, Solution
from pcatool.solvers.covariance import Covariance
from pcatool.solvers.plan import Plan, plan_of
from pcatool.solvers.rows import Rows

__all__ = ["IncompletePCA"]

# EM for a share or a rule starts with this many components and doubles.
FEW = 4

# A component less than half of which comes from cells that are there says more of what stands in for the others.
HALF = 0.5

# Names in one warning.
MOST_NAMED = 3


class IncompletePCA(PCA):
    """Rows with holes in, model out; without any hole it is PCA, bit for bit."""

    def fit(self, blocks: Iterable[Array], columns: tuple[str, ...], *, supply: Supply = NOTHING_MORE) -> Fit:
        rows, problem, plan = self._prepared(blocks, columns, supply)
        if supply.limit is not None:
            plan.check(supply.limit, problem)
        with threads(1):
            if self.options.policy == EM:
                return self._by_em(rows, problem, plan)
            if self._by_pairs(rows, plan):
                return self._in_one_pass(rows, problem, plan)
            return self._filled(rows, problem, plan)

    def plan(self, blocks: Iterable[Array], columns: tuple[str, ...], *, supply: Supply = NOTHING_MORE) -> Plan:
        plan = super().plan(blocks, columns, supply=supply)
        if self.options.policy != EM:
            return plan
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
        else:
            need = Estimate(plan.passes, 8 * 12 * problem.d**2, pair_bytes(problem.d))
        if self.options.policy == EM or self._by_pairs(rows, plan):
            holed = plan_of(plan.solver, plan.reason, need, problem, plan.rows, plan.threads)
            plan = plan._replace(passes=need.passes, peak_bytes=max(plan.peak_bytes, holed.peak_bytes))
        return rows, problem, plan

    # --- column means stand in ---

    def _filled(self, rows: Rows, problem: Problem, plan: Plan) -> Fit:
        """In two passes or more: the means first."""
        rows.several_passes()
        census = take_census(rows, problem)
        if census.missing.any():
            rows.fill(census.mean)
        solved = self._solve(rows, problem, plan)
        there = 1 - census.missing / (census.rows + census.empty)
        self._tell_apart(census.groups, problem.columns)
        return self._with_means(problem, solved, census.mean, there, rows)

    @staticmethod
    def _by_pairs(rows: Rows, plan: Plan) -> bool:
        """Is one pass enough, and are there more rows than are held?"""
        return plan.solver == "covariance" and not rows.complete

    def _in_one_pass(self, rows: Rows, problem: Problem, plan: Plan) -> Fit:
        origin = rows.origin
        moments = gather_pairs(rows.map(lambda X, w: of_block(X, origin, w), size=pair_bytes(problem.d)))
        there = np.ones(problem.d)
        if isinstance(moments, Pairs):
            moments.check(problem.columns)
            self._tell_apart(links(moments.both > 0), problem.columns)
            there, moments = moments.seen / moments.weight, moments.filled()
        solution = Covariance().finish(moments, problem)
        solved = Solved(plan.solver, plan.reason, solution, decide(problem.wish, evidence(solution, problem, rows)))
        return self._with_means(problem, solved, moments.centre.mean, there, rows)

    def _with_means(
        self, problem: Problem, solved: Solved, means: Array, there: Array, rows: Rows | None = None
    ) -> Fit:
        self._remark(problem, solved)
        model = self._model(problem, solved)
        self._tell_made_up(
            there @ (model.basis * model.basis), "weight lies on cells that are there, the rest on column means"
        )
        if not problem.center:
            model = replace(model, column_means=means)
        return Fit(model, evidence(solved.solution, problem, rows))

    # --- EM ---

    def _by_em(self, rows: Rows, problem: Problem, plan: Plan) -> Fit:
        rows.several_passes()
        census = take_census(rows, problem)
        if not census.missing.any():
            solved = self._solve(rows, problem, plan)
            self._remark(problem, solved)
            return Fit(self._model(problem, solved), evidence(solved.solution, problem, rows))
        return self._fitted(rows, problem, census)

    def _fitted(self, rows: Rows | SparseRows, problem: Problem, census: Census, run: Runner = in_turn) -> Fit:
        fitted, solution, choice = _grown(rows, problem, census, run)
        solved = Solved(EM, _how(fitted), solution, choice)
        self._remark(problem, solved)
        self._remark_em(fitted, solved)
        self._tell_apart(census.groups, problem.columns)
        model = self._model(problem, solved).with_meta(em=_record(fitted))
        return Fit(model, evidence(solution, problem))

    def _remark_em(self, fitted: Fitted, solved: Solved) -> None:
        if not fitted.converged:
            self.notices.warn(
                f"EM has not converged in {fitted.iterations} steps: an eigenvalue still moves by {solved.worst:.1g} "
                "of itself; use a smaller -k"
            )
        if fitted.exact:
            self.notices.warn("the components explain every cell that is there, noise included; use a smaller -k")
        self._tell_made_up(_told(fitted)[: solved.choice.k], "variance is told by the cells that are there")

    def _tell_apart(self, groups: Groups, columns: Sequence[str]) -> None:
        """Columns that no row has together, not by way of others either."""
        apart = groups_of(groups)
        if len(apart) > 1:
            some = "; ".join(listed((columns[j] for j in group), MOST_NAMED) for group in apart[:MOST_NAMED])
            more = f"; and {len(apart) - MOST_NAMED} more" if len(apart) > MOST_NAMED else ""
            self.notices.warn(
                f"{len(apart)} groups of columns that no row links: {some}{more}; "
                "what components say of several groups at once is not in the data"
            )

    def _tell_made_up(self, shares: Array, what: str) -> None:
        """Components that missing cells make meaningless."""
        little = np.flatnonzero(shares < HALF).tolist()
        if little:
            names = listed_components(little)
            mean, their = ("means", "its") if len(little) == 1 else ("mean", "their")
            most = max(shares[little].max(), 0.0)
            self.notices.warn(
                f"{names} {mean} little: at most {most:.0%} of {their} {what}; give fewer with -k, or "
                "leave out columns with few cells (-x)"
            )


def _grown(rows: Rows | SparseRows, problem: Problem, census: Census, run: Runner) -> tuple[Fitted, Solution, Choice]:
    """As many components as asked for; for a share or a rule twice as many until it is content with fewer."""
    wish = problem.wish
    most = max(most_components(census, problem), 1)
    k = wish if isinstance(wish, int) else min(FEW, most)
    while True:
        fitted = fit_em(rows, problem, k, census=census, run=run)
        solution = as_solution(fitted, problem)
        choice = decide(wish, evidence(solution, problem))
        if choice.k < k or k == most or isinstance(wish, int) or (isinstance(wish, float) and choice.k == k):
            return fitted, solution, choice._replace(k=min(choice.k, k))
        k = min(2 * k, most)


def _told(fitted: Fitted) -> Array:
    """(k,) of what whole rows would tell of each component, what the cells that are there tell."""
    values = fitted.eigenvalues[: len(fitted.certainty)]
    by_whole = 1 - np.divide(fitted.noise_variance, values, out=np.ones_like(values), where=values > 0)
    return np.asarray(np.divide(fitted.certainty, by_whole, out=np.zeros_like(values), where=by_whole > 0))


def _how(fitted: Fitted) -> str:
    if fitted.iterations == 0:
        return "cells are missing only in rows that have none: PCA of the others"
    return f"cells are missing: probabilistic PCA by EM, {fitted.iterations} steps"


def _record(fitted: Fitted) -> dict[str, Any]:
    """What the model file tells of how EM went. Where there is no noise at all the likelihood has no bound."""
    climb = [value if math.isfinite(value) else None for value in fitted.log_likelihood]
    return {
        "steps": fitted.iterations,
        "converged": fitted.converged,
        "noise_variance": fitted.noise_variance,
        "log_likelihood": climb[-1],
        "climb": climb,
    }
