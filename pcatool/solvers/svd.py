"""Solver `svd`: decompose the centred rows by LAPACK's SVD; the reference for accuracy.

When to prefer it: the rows fit in memory and small eigenvalues matter.
Cost: 2 n d min(n, d). Memory: n d. SciPy: `scipy.linalg.svd(X - X.mean(0))`, lambda = s^2 / (n - ddof).
"""

from __future__ import annotations

from pcatool.linalg.eigen import spectrum_of_factor, triangle
from pcatool.resources import release_free_memory
from pcatool.solvers.base import Problem, Solution, centered_matrix, solve_factor
from pcatool.solvers.estimate import Estimate, estimate_in_memory
from pcatool.solvers.rows import Rows

__all__ = ["SVD"]


class SVD:
    """Solver `svd`: holds all rows in memory, centres them twice, then calls LAPACK's SVD."""

    def estimate(self, problem: Problem, n: int | None, k: int) -> Estimate:
        return estimate_in_memory(problem.d, n, k)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        centre, Y = centered_matrix(rows)
        if len(Y) > problem.d:
            Y = triangle(Y)
            release_free_memory()
        return solve_factor(centre, Y, problem, spectrum_of_factor)
