"""Choose a solver, and plan the passes and the memory of a fit before it begins."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import NamedTuple

from pcatool.arrays import most_tasks
from pcatool.errors import RefusedError
from pcatool.progress import KeptRows
from pcatool.registry import SOLVERS
from pcatool.resources import admitting, free_disk, limit_text, need_text, or_admitting, size_text, temporary_folder
from pcatool.solvers.base import Problem, Solver
from pcatool.solvers.estimate import (
    PROGRAM_BYTES,
    Estimate,
    blocks_bytes,
    bytes_with_reading,
    estimate_in_memory,
    in_flight,
    joined_rows,
    left_of_reading,
    total_bytes,
    with_margin,
    without_margin,
)
from pcatool.solvers.rows import HELD_BYTES, SMALL_BYTES, Rows
from pcatool.wording import counted, grouped, show

__all__ = [
    "DUAL_ROWS",
    "EXPECTED_COMPONENTS",
    "EXPECTED_ROWS_MARGIN",
    "FALLBACK_SOLVER",
    "HOLDS_ROWS",
    "SCATTER_COLUMNS",
    "Plan",
    "choose",
    "fallback_plan",
    "keep_rows",
    "make_plan",
    "most_kept",
    "not_randomized",
    "plan_of",
    "room_for_rows",
]

# Most columns for a scatter whatever n: it takes 128 MB, and its eigenvectors half a minute of one core.
SCATTER_COLUMNS = 4096

# Most rows for inner products if the columns are too many: the same cost.
DUAL_ROWS = 4096

# Least number of columns per component for `randomized`, which works in a small random subspace.
COLUMNS_PER_COMPONENT = 20


def choose(problem: Problem) -> tuple[str, str]:
    """Return the name of the solver for a problem with `--solver auto`, and the reason, as stored in the model."""
    d, n = problem.d, problem.n
    size = f"{grouped(d)} x {grouped(d)}"
    if n is not None and 2 * n <= d:
        return "dual", inner_products_text(n, d)
    if d <= SCATTER_COLUMNS and problem.needs_small_eigenvalues:
        return "tsqr", "whitening divides by small eigenvalues, and tsqr computes small eigenvalues accurately"
    if d <= SCATTER_COLUMNS:
        return (
            "covariance",
            f"reads the rows once and adds them up in a {size} scatter matrix, for any number of rows",
        )
    if n is not None and n < d:
        return "dual", f"{grouped(n)} rows of {grouped(d)} columns: a {size} scatter matrix would be too large"
    if problem.eigenvalues == "all":
        return "covariance", f"--eigenvalues all needs the {size} scatter matrix"
    if isinstance(problem.wish, int) and problem.wish * COLUMNS_PER_COMPONENT <= d:
        return "randomized", few_components_text(problem.wish, d)
    return "covariance", f"{not_randomized(problem.wish)}, so a {size} scatter matrix is computed"


def inner_products_text(n: int, d: int) -> str:
    """Return the text that says why solver `dual` was chosen for n rows of d columns."""
    rows, columns = grouped(n), grouped(d)
    matrices = f"the {rows} x {rows} matrix of inner products is smaller than the {columns} x {columns} scatter matrix"
    return f"{rows} rows of {columns} columns: {matrices}"


def few_components_text(wish: int | float, d: int) -> str:
    """Return the text that says why solver `randomized` was chosen for d columns.

    `wish` is the requested number of components or share of the variance.
    """
    kept = counted(wish, "component") if isinstance(wish, int) else f"-k {wish}"
    return f"for {kept}, no {grouped(d)} x {grouped(d)} scatter matrix is needed"


def not_randomized(wish: int | float | str) -> str:
    """Return the text that says why `--solver auto` does not choose `randomized`; `wish` is the value of `-k`."""
    if isinstance(wish, int):
        return f"{counted(wish, 'component')} are too many for solver randomized"
    return f"solver randomized needs a number of components, not -k {wish}"


# Factor on the expected number of rows, which is an estimate.
EXPECTED_ROWS_MARGIN = 1.02


# Number of components that a remedy suggests where a share or a rule asks for too many.
FEW_COMPONENTS = 10

# Solvers that hold all rows in memory.
HOLDS_ROWS = ("svd", "dual")

# Solver that keeps most digits; it solves again where the chosen solver leaves eigenvalues with too few digits.
FALLBACK_SOLVER = "svd"

# Components to plan for where a rule will choose the number.
EXPECTED_COMPONENTS = 32


class Plan(NamedTuple):
    """The planned fit: solver and reason, passes over the rows, and peak of memory.

    `pcatool fit --plan` prints the plan, and every fit checks it against the memory limit.
    """

    solver: str
    reason: str
    rows: int | None  # known or expected; None if unknown
    columns: int
    passes: str  # as in `Estimate`
    peak_bytes: int  # most memory of the process
    threads: int
    remedy: str | None = None  # advice for a smaller fit, if no other solver can be chosen
    reading: int = 0  # bytes for reading the input, included in the peak
    first_peak: int = 0  # bytes at the peak of the first pass
    beside_rows: int = 0  # bytes at the peak without the rows, if these are kept in memory for several passes
    holds_rows: bool = False  # whether the peak includes all rows in memory
    grows: bool = False  # whether the peak is only that of the rows read so far, and more rows may follow
    parts: int = 0  # parts of the input that are read by other processes
    scoring: bool = False  # whether scoring the rows sets the peak
    fitting: int = 0  # if so: bytes at the peak of the fit alone
    later: int = 0  # bytes at the peak of work other than solving, with any solver
    solving_again: int = 0  # bytes at the peak of FALLBACK_SOLVER, which may solve again if no solver was asked for
    estimated: bool = False  # whether `rows` is expected, not known
    refusal: str = ""  # if the fit would be refused for lack of memory or disk: message of the error, with its remedy
    with_one_thread: Callable[[], Plan] | None = None  # returns the same plan with one thread
    kept: KeptRows | None = None  # where the rows are kept for several passes; None for one pass

    @property
    def rows_text(self) -> str:
        """Number of rows for messages, such as `about 500,000`; `an unknown number of` if there is no number."""
        if not self.rows:
            return "an unknown number of"
        return f"{'about ' if self.estimated else ''}{grouped(self.rows)}"

    @property
    def several_passes(self) -> bool:
        """Whether the fit passes over the rows more than once."""
        return self.passes != "1"

    def most_bytes(self, size: int) -> int:
        """Return `size`, the bytes of all rows, plus a margin if the number of rows is only expected, not known."""
        return math.ceil(size * EXPECTED_ROWS_MARGIN) if self.estimated else size

    def at_least(self, peak: int) -> Plan:
        """Return the plan with a peak of at least `peak` bytes, which any solver and number of threads would need."""
        beside = max(self.beside_rows, peak)
        plan = self._replace(peak_bytes=max(self.peak_bytes, peak), beside_rows=beside, with_one_thread=None)
        return plan._replace(later=max(self.later, peak))

    def with_solving_again(self, peak: int) -> Plan:
        """Return the plan with a peak of at least `peak` bytes, for the case that FALLBACK_SOLVER solves again."""
        plan = self._replace(peak_bytes=max(self.peak_bytes, peak), beside_rows=max(self.beside_rows, peak))
        return plan._replace(solving_again=peak)

    def with_scoring(self, peak: int) -> Plan:
        """Return the plan with a peak of at least `peak` bytes, which scoring the rows after the fit takes."""
        return self._replace(peak_bytes=peak, scoring=True, fitting=self.peak_bytes) if peak > self.peak_bytes else self

    def refused_by(self, check: Callable[[], None]) -> Plan:
        """Return the plan with `refusal` set to the message of the `RefusedError` that `check` raises, if any."""
        try:
            check()
        except RefusedError as error:
            return self._replace(refusal=str(error))
        return self

    def check(self, limit: int | None, problem: Problem, fit: str = "") -> None:
        """Raise `RefusedError` if the peak is above `limit` bytes; a limit of None allows everything.

        The error names options that need less memory, if there are any. `fit` names the fit in the message; by default
        the message names its solver and the size of the table. Also raise `RefusedError` if the disk lacks room for the
        rows that are kept in a temporary file.
        """
        if limit is None or self.peak_bytes <= limit:
            self.check_disk()
            return
        need = need_text(self.peak_bytes)
        if self.scoring:
            admits = admitting(self.peak_bytes)
            apart = ["leave out --scores, and run transform with the model"] if self.fitting <= limit else []
            remedies = apart + ([f"give {admits}"] if admits else [])
            raise RefusedError(
                f"scoring the rows needs about {need}; {limit_text(limit)}",
                ", or ".join(remedies) or "use a machine with more memory",
            )
        if fit:
            raise RefusedError(f"{fit} needs about {need}; {limit_text(limit)}", self._remedy(limit, problem))
        columns = counted(self.columns, "column")
        size = f"{self.rows_text} rows of {columns}" if self.rows is not None else columns
        what = f"solver {self.solver}" if self.remedy is None else "the fit"
        raise RefusedError(f"{what} needs about {need} for {size}; {limit_text(limit)}", self._remedy(limit, problem))

    def check_disk(self) -> None:
        """Raise `RefusedError` if the rows are kept in a temporary file, and the disk has too little room for them."""
        if self.kept is None or self.kept.folder is None or not self.kept.file_bytes:
            return
        size, folder = self.kept.file_bytes, self.kept.folder
        free = free_disk(folder)
        if size > free:
            remedy = f"set the variable TMPDIR to a folder on a disk with {need_text(size)} of free space"
            raise RefusedError(
                f"the fit keeps its rows in a temporary file of about {need_text(size)}, but {show(folder)} has only "
                f"{size_text(free)} of free space",
                or_admitting(remedy, self.peak_bytes + with_margin(self.most_bytes(size))),
            )

    def _remedy(self, limit: int, problem: Problem) -> str:
        """Return the remedy for a peak above `limit` bytes: options with which the fit would run, or other advice."""
        admits = None if self.grows else admitting(self.peak_bytes)
        options = [option for option in (self._smaller(limit, problem), admits) if option]
        remedies = [f"give {' or '.join(options)}"] if options else []
        one_column = problem._replace(columns=problem.columns[:1])
        if self.remedy is not None:
            remedies += [self.remedy] if limit > PROGRAM_BYTES else []
        elif len(options) < 2 and self._fits(self.solver, one_column, limit):
            remedies.append("use fewer columns (-c, -x)")
        if self.grows:  # the memory for all rows is unknown
            remedies.append("give a larger --memory")
        return ", or ".join(remedies) or "use a machine with more memory"

    def _smaller(self, limit: int, problem: Problem) -> str | None:
        """Return an option, such as `--threads 1`, with which the fit stays within `limit` bytes; None without one."""
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
        """Return whether the fit by the solver `name` takes at most `limit` bytes."""
        _, peak = _peaks(_estimate(name, problem, self.rows), problem, self.rows, self.threads, self.reading)
        return max(peak, self.later if problem.d == self.columns else 0) <= limit


def room_for_rows(d: int, reading: int, limit: int | None) -> int:
    """Return the bytes of rows of d columns that may be in memory before a solver is chosen.

    `reading` is the bytes for reading the input, and `limit` the most bytes of memory, None for no limit.
    """
    return _room(total_bytes(d, reading + blocks_bytes(d, None, 1)), limit)


def _room(peak: int, limit: int | None) -> int:
    """Return the bytes of rows that may be in memory beside `peak` bytes, at least HELD_BYTES; None is no limit."""
    return sys.maxsize if limit is None else max(without_margin(limit - peak), HELD_BYTES)


def keep_rows(plan: Plan, rows: Rows, limit: int | None) -> Plan:
    """Return the plan with the memory or the file for rows that are kept; set `rows.memory`, the bytes in memory.

    All rows of several passes stay in memory if the peak stays below `limit` bytes (None is no limit), else they go to
    a temporary file. Rows of an unknown number begin in memory and go on in the file; fewer then stay in memory, since
    blocks that wait or are in work no longer belong to these. Rows of a single pass that were read to choose a solver
    stay in memory until they are used, if there is room.
    """
    if not plan.several_passes or not rows.must_be_kept:
        return _begin_with(plan, rows, limit)
    if plan.holds_rows and not rows.small:
        rows.memory = sys.maxsize  # counted already
        return plan
    room, beside_file = _room(plan.beside_rows, limit), _room(plan.peak_bytes, limit)
    peak, held, before = plan.peak_bytes, 0, _peak_before(plan, rows)
    if plan.rows is None:
        in_memory = beside_file > HELD_BYTES
        held = min(rows.buffered_rows * rows.row_bytes, beside_file) if in_memory else 0
        kept = KeptRows(held, 0) if limit is None else KeptRows(room if in_memory else 0, None, temporary_folder())
        plan = plan._replace(grows=plan.grows or in_memory)
    else:
        size = plan.rows * rows.row_bytes
        most = plan.most_bytes(size)
        in_memory = most <= room
        peak, held = (plan.beside_rows, most) if in_memory else (peak, 0)
        kept = KeptRows(size, 0) if in_memory else KeptRows(0, size, temporary_folder())
    rows.memory, rows.memory_beside_file = (room, beside_file) if in_memory else (HELD_BYTES, None)
    return plan._replace(peak_bytes=max(peak + with_margin(held), before), kept=kept)


def _begin_with(plan: Plan, rows: Rows, limit: int | None) -> Plan:
    """Return the plan of a fit that begins with the rows that were read to choose a solver, and does not keep them.

    If these rows leave too little memory for the first pass, move them to the temporary file.
    """
    held = 0 if rows.complete else rows.held_bytes
    if held <= HELD_BYTES:
        return plan
    if held <= _room(plan.first_peak, limit):
        return plan._replace(peak_bytes=max(plan.peak_bytes, plan.first_peak + with_margin(held)))
    before = _peak_before(plan, rows)
    rows.leave_memory()
    return plan._replace(peak_bytes=max(plan.peak_bytes, before))


def _peak_before(plan: Plan, rows: Rows) -> int:
    """Bytes at the peak while rows were read to choose a solver."""
    known = rows.buffered_rows if rows.complete else None
    return total_bytes(plan.columns, plan.reading + blocks_bytes(plan.columns, known, 1)) + with_margin(rows.held_bytes)


def make_plan(name: str, reason: str, problem: Problem, rows: int | None, threads: int, reading: int = 0) -> Plan:
    """Return the plan for the solver `name`, chosen for `reason`.

    `rows` is the number of rows, known or expected, None if unknown; `reading` is the bytes for reading the input.
    """
    return plan_of(name, reason, _estimate(name, problem, rows), problem, rows, threads, reading)


def fallback_plan(problem: Problem, rows: int, threads: int, reading: int) -> Plan:
    """Return the plan for solving again by FALLBACK_SOLVER, without importing this solver, which few fits need."""
    need = estimate_in_memory(problem.d, rows, _most_kept(problem, rows))
    return plan_of(FALLBACK_SOLVER, "", _with_row_copies(need, problem, rows), problem, rows, threads, reading)


def plan_of(
    name: str, reason: str, need: Estimate, problem: Problem, rows: int | None, threads: int, reading: int = 0
) -> Plan:
    """Return the plan for the solver `name`, chosen for `reason`, which needs `need`.

    The other parameters are as for `make_plan`.
    """
    first, peak = _peaks(need, problem, rows, threads, reading)
    _, beside = _peaks(need, problem, rows, threads, reading, kept=True)
    plan = Plan(name, reason, rows, problem.d, need.passes, peak, threads, reading=reading, first_peak=first)
    return plan._replace(beside_rows=beside, holds_rows=name in HOLDS_ROWS)


def most_kept(wish: int | float | str, most: int) -> int:
    """Return the largest number of components that `wish` can give, at most `most`; a share or a rule may take all."""
    return min(wish, most) if isinstance(wish, int) else most


def _peaks(
    need: Estimate, problem: Problem, rows: int | None, threads: int, reading: int, *, kept: bool = False
) -> tuple[int, int]:
    """Return the bytes at the peak of the first pass, while rows are read, and at the peak of the whole fit.

    With `kept`, all rows are kept in memory for several passes. They do not count here, nor does the reading of rows
    that were all read before the first pass.
    """
    d, height = problem.d, need.height
    waiting = min(in_flight(threads), most_tasks(need.result, 8 * d * height))
    if rows is not None:
        waiting = min(waiting, -(-rows // joined_rows(d, height)) or 1)

    def under_way(tasks: int, copies: int) -> int:
        blocks = blocks_bytes(d, rows, threads, copies, height=height, most=tasks, kept=kept)
        blocks = 0 if need.without_blocks else blocks
        return blocks + tasks * need.result + min(threads, tasks) * need.work

    # A new task begins only after a result is merged, so one task less is in work during the merge.
    def of_pass(copies: int) -> int:
        return max(under_way(waiting, copies), under_way(waiting - 1, copies) + need.merging)

    working = need.bytes + of_pass(1 if need.again else need.copies)
    if kept and problem.n is not None:
        first = working + left_of_reading(reading)
    else:
        first = bytes_with_reading(working, reading, d, None if need.without_blocks else problem.n)
    later = max(need.again + of_pass(need.copies), need.solving)
    return total_bytes(d, first), total_bytes(d, max(first, later + left_of_reading(reading)))


def _estimate(name: str, problem: Problem, rows: int | None) -> Estimate:
    """Return the estimate of the solver `name` for this problem, for `rows` rows, None if unknown."""
    solver: Solver = SOLVERS.load(name)()
    need = solver.estimate(problem, rows, _most_kept(problem, rows))
    return _with_row_copies(need, problem, rows) if name in HOLDS_ROWS else need


def _with_row_copies(need: Estimate, problem: Problem, rows: int | None) -> Estimate:
    """Return the estimate `need` of a solver that holds the rows, plus the copies of rows made before solving."""
    held = 8 * (rows or 0) * problem.d
    if problem.n is None or held > SMALL_BYTES:  # one block is filled while the last one is appended
        need = need._replace(bytes=need.bytes + blocks_bytes(problem.d, rows, 1, 0), without_blocks=True)
    if problem.rows_centered:  # rows as read, rows minus their first cell, and a copy while means are computed
        need = need._replace(solving=max(need.solving, 3 * held))
    if not problem.center:  # one more row for the mean is appended to the rows, or to their triangle, in a copy
        need = need._replace(solving=need.solving + min(held, 8 * problem.d**2))
    return need


def _most_kept(problem: Problem, rows: int | None) -> int:
    """Return the number of components to plan for: the most that -k can give; for a share or a rule, min(d, rows).

    If the number of rows is unknown, EXPECTED_COMPONENTS takes its place.
    """
    return most_kept(problem.wish, min(problem.d, EXPECTED_COMPONENTS if rows is None else rows))
