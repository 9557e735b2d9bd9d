"""What a fit would do and need, before it is done."""

from __future__ import annotations

from typing import NamedTuple

from pcatool.blocks import block_rows
from pcatool.errors import RefusedError
from pcatool.memory import size_text
from pcatool.registry import SOLVERS
from pcatool.solvers.base import Estimate, Problem, Solver
from pcatool.solvers.rows import WAITING_BYTES

__all__ = ["Plan", "make_plan", "plan_of"]

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
    threads: int
    remedy: str | None = None  # where no other solver can be asked for
    parts: int = 0  # of the input, that are read elsewhere

    def check(self, limit: int, problem: Problem) -> None:
        """Refuse what cannot fit, naming what would."""
        if self.peak_bytes <= limit:
            return
        size = f"{self.rows} x {self.columns}" if self.rows is not None else f"{self.columns} columns"
        message = (
            f"{f'solver {self.solver}' if self.remedy is None else 'the fit'} needs about {size_text(self.peak_bytes)} "
            f"for {size}, the limit is {size_text(limit)} (--memory, else half of what is free)"
        )
        raise RefusedError(message, self._remedy(limit, problem) if self.remedy is None else self.remedy)

    def _remedy(self, limit: int, problem: Problem) -> str:
        """What would fit."""
        fitting = [name for name in SOLVERS if name != self.solver and self._would_fit(name, limit, problem)]
        other = f"--solver {fitting[0]} would fit" if fitting else "use fewer columns (-c, -x)"
        if fitting[:1] == ["randomized"]:
            other += ", with a small number for -k"
        if _peak(_estimate(self.solver, problem, self.rows), problem, self.rows, 1) <= limit:
            other = "--threads 1 would fit"
        return other

    def _would_fit(self, name: str, limit: int, problem: Problem) -> bool:
        """Would another solver do, in form and in memory?"""
        if name == "randomized" and not isinstance(problem.wish, int):
            return False
        if name in ("svd", "dual") and self.rows is None:
            return False
        return _peak(_estimate(name, problem, self.rows), problem, self.rows, self.threads) <= limit


def make_plan(name: str, reason: str, problem: Problem, rows: int | None, threads: int) -> Plan:
    """The plan for a solver; `rows` as known or expected."""
    return plan_of(name, reason, _estimate(name, problem, rows), problem, rows, threads)


def plan_of(name: str, reason: str, need: Estimate, problem: Problem, rows: int | None, threads: int) -> Plan:
    """The plan for what needs so much."""
    return Plan(name, reason, rows, problem.d, need.passes, _peak(need, problem, rows, threads), threads)


def _peak(need: Estimate, problem: Problem, rows: int | None, threads: int) -> int:
    """The program, blocks in hand, results that wait, and the solver itself."""
    height = block_rows(problem.d) if rows is None else min(rows, block_rows(problem.d))
    in_hand = threads * FORMS * 8 * height * problem.d
    waiting = min((threads + 1) * need.result, max(WAITING_BYTES, need.result)) if threads > 1 else need.result
    return PROGRAM + in_hand + waiting + need.bytes


def _estimate(name: str, problem: Problem, rows: int | None) -> Estimate:
    solver: Solver = SOLVERS.load(name)()
    k = problem.wish if isinstance(problem.wish, int) else min(SOME, problem.d)
    return solver.estimate(problem.d, rows, k)
