"""Linear PCA of tables of which only some cells are given, one by one; memory follows these."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pcatool.arrays import Array, block_rows
from pcatool.errors import UsageError
from pcatool.linalg.blas import threads
from pcatool.linalg.sparse import SparseRows
from pcatool.methods.base import Fit, Supply
from pcatool.methods.missing_data import IncompletePCA
from pcatool.methods.pca import EM, Solved, evidence
from pcatool.methods.untold import tell_apart
from pcatool.missing.census import links_of_cells, take_census
from pcatool.missing.em import check_census, estimate
from pcatool.rules.base import decide
from pcatool.solvers.base import Problem
from pcatool.solvers.plan import Plan, plan_of
from pcatool.solvers.sparse import choose_sparse, estimate_sparse, solve_sparse

__all__ = ["TriplesPCA"]

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
