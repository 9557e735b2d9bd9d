"""What a fit would do and need, before it is done."""

from __future__ import annotations

from typing import NamedTuple

from pcatool.errors import RefusedError
from pcatool.memory import size_text
from pcatool.registry import SOLVERS
from pcatool.solvers.base import Estimate, Problem, Solver

__all__ = ["Plan", "make_plan"]

# The program, Arrow and numpy themselves, before any data.
PROGRAM = 100 << 20

# Components reckoned with where a share or a rule will decide.
SOME = 32


class Plan(NamedTuple):
    """One solver's part: why it was taken, how often the data are read, and memory at the peak."""

    solver: str
    reason: str
    rows: int | None
    columns: int
    passes: str
    peak_bytes: int

    def check(self, limit: int, problem: Problem) -> None:
        """Refuse what cannot fit, naming what would."""
        if self.peak_bytes <= limit:
            return
        fitting = [name for name in SOLVERS if name != self.solver and _fits(name, limit, problem, self.rows)]
        other = f"--solver {fitting[0]} would fit" if fitting else "use fewer columns (-c, -x)"
        if fitting[:1] == ["randomized"]:
            other += ", with a small number for -k"
        size = f"{self.rows} x {self.columns}" if self.rows is not None else f"{self.columns} columns"
        raise RefusedError(
            f"solver {self.solver} needs about {size_text(self.peak_bytes)} for {size}, "
            f"the limit is {size_text(limit)} (--memory, else half of what is free)",
            other,
        )


def make_plan(name: str, reason: str, problem: Problem, rows: int | None) -> Plan:
    """The plan for a solver; `rows` as known or expected."""
    need = _estimate(name, problem, rows)
    return Plan(name, reason, rows, problem.d, need.passes, PROGRAM + need.bytes)


def _estimate(name: str, problem: Problem, rows: int | None) -> Estimate:
    solver: Solver = SOLVERS.load(name)()
    k = problem.wish if isinstance(problem.wish, int) else min(SOME, problem.d)
    return solver.estimate(problem.d, rows, k)


def _fits(name: str, limit: int, problem: Problem, rows: int | None) -> bool:
    """Would this solver do, in form and in memory?"""
    if name == "randomized" and not isinstance(problem.wish, int):
        return False
    if name in ("svd", "dual") and rows is None:
        return False
    return PROGRAM + _estimate(name, problem, rows).bytes <= limit
