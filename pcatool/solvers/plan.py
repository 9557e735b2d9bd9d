"""Choose a solver, and plan what a fit will do and need before the work."""

from __future__ import annotations

from typing import NamedTuple

from pcatool.arrays import AHEAD, block_rows
from pcatool.errors import RefusedError
from pcatool.registry import SOLVERS
from pcatool.resources import size_text
from pcatool.solvers.base import Estimate, Problem, Solver
from pcatool.solvers.rows import SMALL_BYTES, WAITING_BYTES

__all__ = [
    "DUAL_ROWS",
    "HOLDING",
    "SCATTER_COLUMNS",
    "SOME",
    "Plan",
    "blocks_bytes",
    "choose",
    "in_flight",
    "make_plan",
    "most_kept",
    "plan_of",
    "scoring_bytes",
    "with_program",
]

# A scatter of this many columns takes 128 MB and its eigenvectors half a minute of one core; past it n decides.
SCATTER_COLUMNS = 4096

# The inner products of this many rows cost as much.
DUAL_ROWS = 4096

# A few leading components of very wide data are found from a small random subspace.
FEW = 20


def choose(problem: Problem) -> tuple[str, str]:
    """The solver's name and the reason, as recorded in the model."""
    d, n = problem.d, problem.n
    if n is not None and 2 * n <= d:
        return "dual", f"{n} rows of {d} columns: the {n} x {n} inner products are the smaller problem"
    if d <= SCATTER_COLUMNS and problem.sharp:
        return "tsqr", "one pass, backward stable: whitening divides by the small eigenvalues, too"
    if d <= SCATTER_COLUMNS:
        return "covariance", f"one pass, a {d} x {d} scatter, whatever the number of rows"
    if n is not None and n < d:
        return "dual", f"{n} rows of {d} columns: a {d} x {d} scatter is too large"
    if isinstance(problem.wish, int) and problem.wish * FEW <= d:
        return "randomized", f"{problem.wish} of {d} components: neither d x d nor n x n need be formed"
    return "covariance", f"a {d} x {d} scatter: {problem.wish} may ask for any number of components"


# The program, Arrow and numpy themselves, before any data; and a part of scipy, which some fits ask for.
PROGRAM = 100 << 20

# What a job takes beyond the program is told by arithmetic, but for a part that depends on how the system cuts memory
# up. The plan is raised by that part, so that a fit which is admitted under --memory stays below it.
MARGIN = 0.05

# Of each column its name and its place, in several tables.
COLUMN = 1 << 10

# Solvers that hold all rows in memory.
HOLDING = ("svd", "dual")

# Components reckoned with where a rule will decide among them.
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
    reading: int = 0  # bytes of the peak that reading the input takes
    grows: bool = False  # the peak is that of the rows that came so far, and nobody knows how many are to come
    parts: int = 0  # of the input, that are read elsewhere
    scoring: bool = False  # the peak is that of scoring the rows

    def at_least(self, peak: int) -> Plan:
        """The same with a peak of so many bytes, if that is more."""
        return self._replace(peak_bytes=max(self.peak_bytes, peak))

    def then_scoring(self, peak: int) -> Plan:
        """Like `at_least`, for scoring that follows the fit."""
        return self._replace(peak_bytes=peak, scoring=True) if peak > self.peak_bytes else self

    def check(self, limit: int, problem: Problem) -> None:
        """Refuse what cannot fit, naming what would."""
        if self.peak_bytes <= limit:
            return
        if self.scoring:
            raise RefusedError(
                f"scoring the rows needs about {size_text(self.peak_bytes)}, the limit is {size_text(limit)} "
                "(--memory, else half of what is free)",
                "leave out --scores, and run transform with the model; or give a smaller -k, or --threads 1",
            )
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
        if _peak(_estimate(self.solver, problem, self.rows), problem, self.rows, 1, self.reading) <= limit:
            other = "--threads 1 would fit"
        return other

    def _would_fit(self, name: str, limit: int, problem: Problem) -> bool:
        """Would another solver do, in form and in memory?"""
        if name == "randomized" and not isinstance(problem.wish, int):
            return False
        if name in HOLDING and self.rows is None:
            return False
        need = _estimate(name, problem, self.rows)
        return _peak(need, problem, self.rows, self.threads, self.reading) <= limit


def make_plan(name: str, reason: str, problem: Problem, rows: int | None, threads: int, reading: int = 0) -> Plan:
    """The plan for a solver; `rows` as known or expected, `reading` the bytes that the input takes while it is read."""
    return plan_of(name, reason, _estimate(name, problem, rows), problem, rows, threads, reading)


def plan_of(
    name: str, reason: str, need: Estimate, problem: Problem, rows: int | None, threads: int, reading: int = 0
) -> Plan:
    """The plan for what needs so much."""
    peak = _peak(need, problem, rows, threads, reading)
    return Plan(name, reason, rows, problem.d, need.passes, peak, threads, reading=reading)


def with_program(d: int, working: int) -> int:
    """Bytes at the peak: the program, what it knows of d columns, and so many bytes of data, with a margin."""
    return PROGRAM + COLUMN * d + working + int(MARGIN * working)


def blocks_bytes(
    d: int, rows: int | None, threads: int, copies: int = 1, *, height: int = 0, most: int = 1 << 30
) -> int:
    """Of the blocks that wait, at most so many, and of the copies that each thread works on.

    Few rows fill few blocks.
    """
    height = max(height, block_rows(d))

    def of(blocks: int) -> int:
        return 8 * d * (blocks * height if rows is None else min(blocks * height, rows))

    return of(1) + of(min(in_flight(threads), most)) + copies * of(min(threads, most))


def scoring_bytes(d: int, k: int, rows: int, threads: int, held: int) -> int:
    """Bytes at the peak while parts of so many rows of d columns are scored and written, beside `held` bytes.

    Those of reading the rows are held. A part that is done is text. While it is worked on there are its rows, padded
    and about their mean, the scores with two copies, and their text with room to grow.
    """
    number, text = 8, 24
    each = rows * text * k
    worked_on = rows * (2 * number * d + (3 * number + 2 * text) * k)
    parts = in_flight(threads)
    return with_program(d, held + parts * each + max(parts - AHEAD, 1) * worked_on)


def most_kept(wish: int | float | str, most: int) -> int:
    """Components to reckon with, where there are `most`: a share or a rule may take all of them."""
    return min(wish, most) if isinstance(wish, int) else most


def in_flight(threads: int) -> int:
    """Items that are worked on at once, wait or are done."""
    return threads + AHEAD if threads > 1 else 1


def _peak(need: Estimate, problem: Problem, rows: int | None, threads: int, reading: int) -> int:
    """The program, and the larger of what reading the rows takes and what solving does."""
    waiting = min(in_flight(threads), max(WAITING_BYTES // max(need.result, 1), 1))
    if rows is not None:
        waiting = min(waiting, -(-rows // max(need.height, block_rows(problem.d), 1)) or 1)
    blocks = blocks_bytes(problem.d, rows, threads, need.copies, height=need.height, most=waiting)
    if need.by_cells:
        blocks = 0
    working = blocks + waiting * need.result + min(threads, waiting) * need.work + need.bytes
    left = reading // 4  # of what is free once the rows are read, a part is in pieces of another size
    if problem.n is None or need.by_cells:
        working += reading
    else:  # the rows are held by now, in a file while they are few
        numbers = 8 * problem.n * problem.d
        cutting = blocks_bytes(problem.d, rows, 1)
        working = max(working + left, reading + cutting + (numbers if numbers > SMALL_BYTES else 0))
    return with_program(problem.d, max(working, need.solving + left))


def _estimate(name: str, problem: Problem, rows: int | None) -> Estimate:
    solver: Solver = SOLVERS.load(name)()
    need = solver.estimate(problem.d, rows, _most_kept(problem, rows))
    if name not in HOLDING:
        return need
    held = 8 * (rows or 0) * problem.d
    if problem.rows_centred:  # as they came, about a cell of theirs, and once more while their means are taken
        need = need._replace(solving=max(need.solving, 3 * held))
    if not problem.center:  # one row more, which carries the mean, is joined to them or to their triangle in a copy
        need = need._replace(solving=need.solving + min(held, 8 * problem.d**2))
    return need


def _most_kept(problem: Problem, rows: int | None) -> int:
    return most_kept(problem.wish, min(problem.d, SOME if rows is None else rows))
