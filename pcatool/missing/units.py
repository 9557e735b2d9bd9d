"""The units that EM works in: sums neither overflow nor underflow there, and its steps do not depend on the scale."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import DataError, RefusedError, show
from pcatool.linalg.moments import usual_errors
from pcatool.linalg.sparse import SparseRows
from pcatool.linalg.spectrum import EPS
from pcatool.missing.census import Census
from pcatool.solvers.base import KNOWN, SMALLEST, Problem, blurred_divisor, check_solvable, scale_of

__all__ = ["Units", "fewer", "rounding_of", "units_of", "variances_of"]


class Units(NamedTuple):
    """How cells come to these units: about their column's mean, of mean variance 1."""

    origin: Array  # (d,)
    shift: Array  # (d,)
    std: Array  # (d,) what the fit divides by
    unit: float  # and then this
    variances: Array  # (d,) of the columns in these units

    def rows(self, X: Array) -> Array:
        return ((X - self.origin) - self.shift) / (self.std * self.unit)

    def cells(self, table: SparseRows) -> SparseRows:
        at = table.columns
        return table._replace(values=((table.values - self.origin[at]) - self.shift[at]) / (self.std * self.unit)[at])


def units_of(census: Census, problem: Problem) -> Units:
    variances = variances_of(census, problem)
    std = scale_of(variances, ~census.varies, problem)
    about = variances if problem.center else variances + census.mean**2
    total = float((about / std**2).sum())
    check_solvable(problem, census.rows, _checked_divisor(census, problem), ~census.varies, variances, total)
    unit = math.sqrt(total / problem.d)
    none = np.zeros(problem.d)
    origin, shift = (census.origin, census.shift) if problem.center else (none, none)
    return Units(origin, shift, std, unit, about / (std * unit) ** 2)


def variances_of(census: Census, problem: Problem) -> Array:
    """Of the observed cells about their mean, (d,); 0 for a column with one cell."""
    divisor = _divisor(census.weights, census.weight_squares, problem)
    return np.where(divisor > 0, census.scatter / np.where(divisor > 0, divisor, 1.0), 0.0)


def fewer(census: Census, problem: Problem) -> float:
    """(n - ddof) / n: likelihood divides by n."""
    return float(_divisor(np.asarray(census.weight), np.asarray(census.squares), problem)) / census.weight


def rounding_of(census: Census, problem: Problem) -> tuple[float, float]:
    """Relative rounding of the divisor of the rows, and the largest of those of the columns if standardised."""
    if problem.weights is None or problem.ddof == 0:
        return 0.0, 0.0
    of_rows = _rounding(census.weight, census.rows) / (fewer(census, problem) * census.weight)
    if not problem.standardize:
        return of_rows, 0.0
    at = census.varies
    divisor = _divisor(census.weights, census.weight_squares, problem)[at]
    return of_rows, float((_rounding(census.weights, census.rows)[at] / divisor).max())


def _checked_divisor(census: Census, problem: Problem) -> float:
    """n - ddof of the rows, at most 0 if it may be rounding; refuses weights that leave only rounding."""
    squares = census.squares
    if problem.weights == "reliability" and problem.ddof == 1 and not SMALLEST <= squares < math.inf:
        raise RefusedError(
            f"squares of the weights {'under' if squares < 1 else 'over'}flow a double",
            "multiply all weights by the same number, so that the largest is near 1, or use --ddof 0",
        )
    found = fewer(census, problem) * census.weight
    if problem.weights is None:
        return found
    off, _ = usual_errors(census.rows, census.weight, math.inf)
    if 0 < found < off / KNOWN:
        raise blurred_divisor(problem, census.weight, found, off / found)
    if found <= _rounding(census.weight, census.rows):
        return min(found, 0.0)
    of_columns = _divisor(census.weights, census.weight_squares, problem)
    none = np.flatnonzero(census.varies & (of_columns <= _rounding(census.weights, census.rows)))
    if len(none):
        j = int(none[0])
        raise DataError(
            f"--ddof {problem.ddof} leaves a divisor of {of_columns[j]:g} for column {show(problem.columns[j])}, "
            f"whose cells have weights of {census.weights[j]:g} together",
            "use --ddof 0, or leave the column out with -x",
        )
    return found


def _rounding(weight: Any, rows: int) -> Any:
    """Bound on the rounding of a sum of weights, or of the sum of their squares divided by it."""
    return 2 * rows * EPS * weight


def _divisor(weight: Array, squares: Array, problem: Problem) -> Array:
    """n - ddof as Problem.divisor has it, of every column or of the rows."""
    if problem.weights == "reliability" and problem.ddof == 1:
        return np.asarray(weight - squares / weight)
    return np.asarray(weight - problem.ddof)
