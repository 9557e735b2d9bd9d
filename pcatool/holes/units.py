"""The units that EM works in: sums neither overflow nor underflow there, and its steps do not depend on the scale."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pcatool.holes.census import Census
from pcatool.linalg.sparse import SparseRows
from pcatool.model import Array
from pcatool.solvers.base import Problem, check_solvable, scale_of

__all__ = ["Units", "fewer", "units_of", "variances_of"]


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
    check_solvable(problem, census.rows, fewer(census, problem), ~census.varies, variances, total)
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


def _divisor(weight: Array, squares: Array, problem: Problem) -> Array:
    """n - ddof as Problem.divisor has it, of every column or of the rows."""
    if problem.weights == "reliability" and problem.ddof == 1:
        return np.asarray(weight - squares / weight)
    return np.asarray(weight - problem.ddof)
