"""What every solver takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pcatool.errors import DataError, RefusedError, show
from pcatool.model import Array

__all__ = ["Problem", "Rows", "Solution", "Solver"]

# Data up to this size are held in memory while they are read, whatever the route they came by.
SMALL_BYTES = 32 << 20


@dataclass(frozen=True)
class Problem:
    """All that may decide how a fit is solved: nothing of the route, the load or the machine."""

    columns: tuple[str, ...]
    n: int | None  # None: more rows than are held in memory
    center: bool = True
    standardize: bool = False
    ddof: int = 0

    @property
    def d(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class Solution:
    """Mean, scale and spectrum of the data; which components are kept is not decided here."""

    n: int
    mean: Array  # (d,) as subtracted: zeros when not centred
    std: Array  # (d,) as divided by: ones when not standardised
    eigenvalues: Array  # (m,) descending, 0 past the rank
    vectors: Array  # (d, m)
    total_variance: float
    rank: int
    route: str
    constant: tuple[int, ...]  # columns whose smallest and largest value are equal
    variances: Array  # (d,) of the columns as read, about their mean
    apply: Callable[[Array], Array]  # V -> S V, for the certificate


class Rows:
    """Blocks of rows in order. Small data are held, so their number is known before a solver is chosen."""

    def __init__(self, blocks: Iterable[Array]) -> None:
        self._rest = iter(blocks)
        self._held: list[Array] = []
        size = 0
        for block in self._rest:
            self._held.append(block)
            size += block.nbytes
            if size > SMALL_BYTES:
                break
        self.n = None if size > SMALL_BYTES else sum(len(block) for block in self._held)

    def __iter__(self) -> Iterator[Array]:
        """Once through, letting go of each block as it is handed over."""
        self._held.reverse()
        while self._held:
            yield self._held.pop()
        yield from self._rest


class Solver(Protocol):
    """Reads the rows once and solves."""

    def solve(self, rows: Iterable[Array], problem: Problem) -> Solution: ...


def scale_of(variances: Array, constant: np.ndarray, problem: Problem) -> Array:
    """sigma: standard deviations when standardising, 1 for a constant column, else ones."""
    if not problem.standardize:
        return np.ones(problem.d)
    return np.where(constant, 1.0, np.sqrt(np.where(constant, 1.0, variances)))


def check_solvable(problem: Problem, n: int, constant: np.ndarray, total: float) -> None:
    """Refuse what has no components: too few rows, or no variance at all."""
    if n == 0:
        raise DataError("no rows to fit", "the input has names but no data")
    if problem.center and n < 2:
        raise DataError("a centred fit needs at least 2 rows, there is 1", "give more rows, or fit with --no-center")
    if n <= problem.ddof:
        raise DataError(f"--ddof {problem.ddof} needs more than {problem.ddof} rows, there is {n}", "use --ddof 0")
    if problem.center and constant.all():
        what = f"column {show(problem.columns[0])} is" if problem.d == 1 else f"all {problem.d} columns are"
        raise DataError(f"{what} constant: there is no variance to explain", "add a column that varies")
    if not np.isfinite(total):
        raise RefusedError("squares of the values overflow a double", "rescale the columns so values stay below 1e150")
    if total <= 0:
        what = "the squares of the values underflow to 0" if not constant.all() else "every value is 0"
        raise DataError(f"{what}: there is no variance to explain", "rescale the columns")
