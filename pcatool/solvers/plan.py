"""Choose a solver, and plan passes and memory of a fit before the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pcatool.arrays import QUEUED_TASKS, block_rows, most_tasks
from pcatool.errors import RefusedError
from pcatool.registry import SOLVERS
from pcatool.resources import admitting, limit_text, need_text
from pcatool.solvers.base import Estimate, Problem, Solver, estimate_in_memory
from pcatool.solvers.rows import SMALL_BYTES

__all__ = [
    "DUAL_ROWS",
    "EXPECTED_COMPONENTS",
    "FALLBACK_SOLVER",
    "HOLDS_ROWS",
    "SCATTER_COLUMNS",
    "Plan",
    "blocks_bytes",
    "bytes_with_reading",
    "choose",
    "fallback_plan",
    "in_flight",
    "make_plan",
    "most_kept",
    "plan_of",
    "scoring_bytes",
    "total_bytes",
]

# Most columns for a scatter whatever n: it takes 128 MB, and its eigenvectors half a minute of one core.
SCATTER_COLUMNS = 4096

# Most rows for inner products if the columns are too many: the same cost.
DUAL_ROWS = 4096

# Least number of columns per component for `randomized`, which works in a small random subspace.
COLUMNS_PER_COMPONENT = 20


def choose(problem: Problem) -> tuple[str, str]:
    """Return the name of the best solver, and the reason, as recorded in the model."""
    d, n = problem.d, problem.n
    if n is not None and 2 * n <= d:
        return "dual", f"{n} rows of {d} columns: the {n} x {n} inner products are the smaller problem"
    if d <= SCATTER_COLUMNS and problem.needs_small_eigenvalues:
        return "tsqr", "one pass, backward stable: whitening divides by the small eigenvalues, too"
    if d <= SCATTER_COLUMNS:
        return "covariance", f"one pass, a {d} x {d} scatter, whatever the number of rows"
    if n is not None and n < d:
        return "dual", f"{n} rows of {d} columns: a {d} x {d} scatter is too large"
    if isinstance(problem.wish, int) and problem.wish * COLUMNS_PER_COMPONENT <= d:
        return "randomized", f"{problem.wish} of {d} components: neither d x d nor n x n need be formed"
    return "covariance", f"a {d} x {d} scatter: {problem.wish} may ask for any number of components"


# Bytes of the program before any data: 70 MB with Arrow and numpy, 85 MB with Parquet and the part of scipy that some
# fits load, and 15 MB for pieces of freed memory that are too small for reuse, which small fits have, too.
PROGRAM_BYTES = 95 << 20

# Share added to the computed memory: fragmentation depends on the system. With it, a fit that is admitted under
# --memory stays below the limit.
MARGIN = 0.05

# Bytes per column: its name and its place, in several tables.
COLUMN_BYTES = 1 << 10

# Components that a remedy advises to keep where a share or a rule asks for too many.
FEW_COMPONENTS = 10

# Solvers that hold all rows in memory.
HOLDS_ROWS = ("svd", "dual")

# Solver that keeps most digits; it solves again where the chosen one leaves eigenvalues in doubt.
FALLBACK_SOLVER = "svd"

# Components to plan for where a rule will choose the number.
EXPECTED_COMPONENTS = 32


class Plan(NamedTuple):
    """The planned fit: solver and reason, passes over the rows, and peak of memory.

    Printed by `plan`; checked against the memory limit before a fit.
    """

    solver: str
    reason: str
    rows: int | None
    columns: int
    passes: str
    peak_bytes: int
    threads: int
    remedy: str | None = None  # what makes the fit smaller, if no other solver can be chosen
    reading: int = 0  # bytes of the peak for reading the input
    grows: bool = False  # the peak is that of the rows so far, and their final number is unknown
    parts: int = 0  # parts of the input that are read by other processes
    scoring: bool = False  # whether scoring the rows sets the peak
    later: int = 0  # bytes at the peak of other work than solving, whatever the solver
    solving_again: int = 0  # bytes at the peak of FALLBACK_SOLVER, which may solve again if no solver was asked for
    refusal: str = ""  # why the fit would be refused, and the remedy
    with_one_thread: Callable[[], Plan] | None = None  # returns the same plan with one thread

    def at_least(self, peak: int) -> Plan:
        """Return the plan with a peak of at least this many bytes, whatever the solver."""
        return self._replace(peak_bytes=max(self.peak_bytes, peak), later=max(self.later, peak), with_one_thread=None)

    def with_solving_again(self, peak: int) -> Plan:
        """Like `at_least`, for FALLBACK_SOLVER."""
        return self._replace(peak_bytes=max(self.peak_bytes, peak), solving_again=peak)

    def with_scoring(self, peak: int) -> Plan:
        """Like `at_least`, for scoring after the fit."""
        return self._replace(peak_bytes=peak, scoring=True) if peak > self.peak_bytes else self

    def refused_by(self, check: Callable[[], None]) -> Plan:
        """Return the plan with the words of the `RefusedError` that `check` raises, if it raises one."""
        try:
            check()
        except RefusedError as error:
            return self._replace(refusal=str(error))
        return self

    def check(self, limit: int | None, problem: Problem) -> None:
        """Raise `RefusedError` if the peak is above `limit` bytes, with a remedy that fits."""
        if limit is None or self.peak_bytes <= limit:
            return
        need = need_text(self.peak_bytes)
        if self.scoring:
            raise RefusedError(
                f"scoring the rows needs about {need}, {limit_text(limit)}",
                "leave out --scores, and run transform with the model; or give a smaller -k, or --threads 1",
            )
        size = f"{self.rows} x {self.columns}" if self.rows is not None else f"{self.columns} columns"
        what = f"solver {self.solver}" if self.remedy is None else "the fit"
        raise RefusedError(f"{what} needs about {need} for {size}, {limit_text(limit)}", self._remedy(limit, problem))

    def _remedy(self, limit: int, problem: Problem) -> str:
        """Return the options that would admit the fit, and what else would make it smaller."""
        admits = None if self.grows else admitting(self.peak_bytes)
        options = [option for option in (self._smaller(limit, problem), admits) if option]
        remedies = [f"{' or '.join(options)} would do"] if options else []
        one_column = problem._replace(columns=problem.columns[:1])
        if self.remedy is not None:
            remedies += [self.remedy] if limit > PROGRAM_BYTES else []
        elif len(options) < 2 and self._fits(self.solver, one_column, limit):
            remedies.append("use fewer columns (-c, -x)")
        return ", or ".join(remedies) or "use a machine with more memory"

    def _smaller(self, limit: int, problem: Problem) -> str | None:
        """Return options with which the fit takes no more than `limit` bytes; None if there are none."""
        if self.remedy is not None:
            return None
        if self.with_one_thread is not None and self.with_one_thread().peak_bytes <= limit:
            return "--threads 1"
        possible = [name for name in SOLVERS if name not in HOLDS_ROWS or self.rows is not None]
        if not isinstance(problem.wish, int):
            possible.remove("randomized")
        for name in possible:
            if self._fits(name, problem, limit):
                return f"--solver {name}"
        few = problem._replace(wish=FEW_COMPONENTS)
        if problem.d > COLUMNS_PER_COMPONENT * FEW_COMPONENTS and self._fits("randomized", few, limit):
            return f"--solver randomized -k {FEW_COMPONENTS}"
        return None

    def _fits(self, name: str, problem: Problem, limit: int) -> bool:
        """Whether the fit by the solver `name` takes no more than `limit` bytes."""
        peak = _peak(_estimate(name, problem, self.rows), problem, self.rows, self.threads, self.reading)
        return max(peak, self.later if problem.d == self.columns else 0) <= limit


def make_plan(name: str, reason: str, problem: Problem, rows: int | None, threads: int, reading: int = 0) -> Plan:
    """Return the plan for a solver.

    `rows` are known or expected; `reading` is the number of bytes that reading the input takes.
    """
    return plan_of(name, reason, _estimate(name, problem, rows), problem, rows, threads, reading)


def fallback_plan(problem: Problem, rows: int, threads: int, reading: int) -> Plan:
    """Return the plan for solving again by FALLBACK_SOLVER, without importing this solver: few fits come to it."""
    need = estimate_in_memory(problem.d, rows, _most_kept(problem, rows))
    return plan_of(FALLBACK_SOLVER, "", _of_held(need, problem, rows), problem, rows, threads, reading)


def plan_of(
    name: str, reason: str, need: Estimate, problem: Problem, rows: int | None, threads: int, reading: int = 0
) -> Plan:
    """Return the plan for a given estimate."""
    peak = _peak(need, problem, rows, threads, reading)
    return Plan(name, reason, rows, problem.d, need.passes, peak, threads, reading=reading)


def total_bytes(d: int, working: int) -> int:
    """Bytes at the peak: the program, its tables for d columns, and `working` bytes of data with a margin."""
    return PROGRAM_BYTES + COLUMN_BYTES * d + working + int(MARGIN * working)


def blocks_bytes(
    d: int, rows: int | None, threads: int, copies: int = 1, *, height: int = 0, most: int = 1 << 30
) -> int:
    """Bytes of the block being filled, of the blocks under way, and of the copies that each thread makes.

    `most` limits the number of blocks under way, and `copies` is the number of copies per block. Blocks under way are
    joined until they have `height` rows. The number of rows, if known, limits every count.
    """

    def bytes_of(blocks: int, height: int) -> int:
        return 8 * d * (blocks * height if rows is None else min(blocks * height, rows))

    tall = joined_rows(d, height)
    return (
        bytes_of(1, block_rows(d))
        + bytes_of(min(in_flight(threads), most), tall)
        + copies * bytes_of(min(threads, most), tall)
    )


def joined_rows(d: int, height: int) -> int:
    """Return the number of rows in the fewest whole blocks of d columns that have `height` rows together."""
    one = block_rows(d)
    return max(-(-height // one), 1) * one


def scoring_bytes(d: int, k: int, rows: int, threads: int, held: int) -> int:
    """Bytes at the peak while parts of `rows` rows are scored and written, besides `held` bytes.

    `held` includes the bytes for reading the rows. A finished part is text. A part in work holds its rows, padded and
    centred, the scores with two copies, and their text with room to grow.
    """
    number, text = 8, 24
    each = rows * text * k
    worked_on = rows * (2 * number * d + (3 * number + 2 * text) * k)
    parts = in_flight(threads)
    return total_bytes(d, held + parts * each + max(parts - QUEUED_TASKS, 1) * worked_on)


def most_kept(wish: int | float | str, most: int) -> int:
    """Components to plan for, out of at most `most`: a share or a rule may take all of them."""
    return min(wish, most) if isinstance(wish, int) else most


def in_flight(threads: int) -> int:
    """Number of items that are in work, waiting or finished at once."""
    return threads + QUEUED_TASKS if threads > 1 else 1


def _peak(need: Estimate, problem: Problem, rows: int | None, threads: int, reading: int) -> int:
    """Bytes at the peak: the program, and the larger need of reading the rows and of solving."""
    d, height = problem.d, need.height
    waiting = min(in_flight(threads), most_tasks(need.result, 8 * d * height))
    if rows is not None:
        waiting = min(waiting, -(-rows // joined_rows(d, height)) or 1)

    def under_way(tasks: int) -> int:
        blocks = 0 if need.without_blocks else blocks_bytes(d, rows, threads, need.copies, height=height, most=tasks)
        return blocks + tasks * need.result + min(threads, tasks) * need.work

    # The next task begins after the result before it is merged, so that one task less is under way meanwhile.
    working = need.bytes + max(under_way(waiting), under_way(waiting - 1) + need.merging)
    held = None if need.without_blocks else problem.n
    working = bytes_with_reading(working, reading, d, held)
    return total_bytes(problem.d, max(working, need.solving + _left_of(reading)))


def bytes_with_reading(working: int, reading: int, d: int, held: int | None) -> int:
    """Bytes at the peak of reading rows and of a pass over them that takes `working` bytes.

    `held` is the number of rows where all are held before the pass, few in a file, more in memory; None where they are
    read during the pass.
    """
    if held is None:
        return working + reading
    numbers = 8 * held * d
    cutting = blocks_bytes(d, held, 1)
    return max(working + _left_of(reading), reading + cutting + (numbers if numbers > SMALL_BYTES else 0))


def _left_of(reading: int) -> int:
    """Bytes of the freed memory of reading that is too fragmented for reuse."""
    return reading // 4


def _estimate(name: str, problem: Problem, rows: int | None) -> Estimate:
    """Return the estimate of a solver for this problem."""
    solver: Solver = SOLVERS.load(name)()
    need = solver.estimate(problem.d, rows, _most_kept(problem, rows))
    return _of_held(need, problem, rows) if name in HOLDS_ROWS else need


def _of_held(need: Estimate, problem: Problem, rows: int | None) -> Estimate:
    """Return the estimate of a solver that holds the rows, with the copies that row means and an uncentred fit add."""
    held = 8 * (rows or 0) * problem.d
    if problem.n is None or held > SMALL_BYTES:  # one block is filled while the one before it is put to the others
        need = need._replace(bytes=need.bytes + blocks_bytes(problem.d, rows, 1, 0), without_blocks=True)
    if problem.rows_centered:  # rows as read, rows about one of their cells, and a copy while means are taken
        need = need._replace(solving=max(need.solving, 3 * held))
    if not problem.center:  # one more row for the mean is appended to the rows, or to their triangle, in a copy
        need = need._replace(solving=need.solving + min(held, 8 * problem.d**2))
    return need


def _most_kept(problem: Problem, rows: int | None) -> int:
    return most_kept(problem.wish, min(problem.d, EXPECTED_COMPONENTS if rows is None else rows))
