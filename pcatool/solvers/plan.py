"""What a fit would do and need, before it is done."""

from __future__ import annotations

from typing import NamedTuple

from pcatool.blocks import block_rows
from pcatool.errors import RefusedError
from pcatool.memory import size_text
from pcatool.registry import SOLVERS
from pcatool.solvers.base import Estimate, Problem, Solver

__all__ = ["Plan", "make_plan"]

# The program, Arrow and numpy themselves, before any data.
PROGRAM = 100 << 20

# What a thread has of a block: its text, Arrow's columns, the numbers, the same centred.
FORMS = 4

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
    work_bytes: int  # of them, what threads have in hand

    def check(self, limit: int, problem: Problem) -> None:
        """Refuse what cannot fit, naming what would."""
        if self.peak_bytes <= limit:
            return
        fitting = [name for name in SOLVERS if name != self.solver and self._would_fit(name, limit, problem)]
        other = f"--solver {fitting[0]} would fit" if fitting else "use fewer columns (-c, -x)"
        if fitting[:1] == ["randomized"]:
            other += ", with a small number for -k"
        size = f"{self.rows} x {self.columns}" if self.rows is not None else f"{self.columns} columns"
        raise RefusedError(
            f"solver {self.solver} needs about {size_text(self.peak_bytes)} for {size}, "
            f"the limit is {size_text(limit)} (--memory, else half of what is free)",
            other,
        )

    def _would_fit(self, name: str, limit: int, problem: Problem) -> bool:
        """Would another solver do, in form and in memory?"""
        if name == "randomized" and not isinstance(problem.wish, int):
            return False
        if name in ("svd", "dual") and self.rows is None:
            return False
        return PROGRAM + self.work_bytes + _estimate(name, problem, self.rows).bytes <= limit


def make_plan(name: str, reason: str, problem: Problem, rows: int | None, threads: int) -> Plan:
    """The plan for a solver; `rows` as known or expected."""
    need = _estimate(name, problem, rows)
    height = block_rows(problem.d) if rows is None else min(rows, block_rows(problem.d))
    work = threads * FORMS * 8 * height * problem.d
    return Plan(name, reason, rows, problem.d, need.passes, PROGRAM + work + need.bytes, work)


def _estimate(name: str, problem: Problem, rows: int | None) -> Estimate:
    solver: Solver = SOLVERS.load(name)()
    k = problem.wish if isinstance(problem.wish, int) else min(SOME, problem.d)
    return solver.estimate(problem.d, rows, k)
