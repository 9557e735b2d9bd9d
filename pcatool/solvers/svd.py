"""Singular value decomposition of the centred data themselves: the reference.

When to prefer it: the data fit in memory and small eigenvalues matter.
Cost: 2 n d min(n, d). Memory: n d. SciPy: `scipy.linalg.svd(X - X.mean(0))`, lambda = s^2 / (n - ddof).
"""

from __future__ import annotations

from pcatool.linalg.spectral import of_factor, triangle
from pcatool.solvers.base import Estimate, Problem, Solution
from pcatool.solvers.factor import centred_matrix, finish
from pcatool.solvers.rows import AT_ONCE, Rows

__all__ = ["SVD"]


class SVD:
    """All rows in memory, centred twice, then LAPACK's SVD."""

    def estimate(self, d: int, n: int | None, k: int) -> Estimate:
        rows = n or 0
        if rows > d:  # the rows and LAPACK's two copies of them; then their triangle as of `tsqr`
            solving = max(3 * rows * d, rows * d + 13 * d * d)
        else:  # the rows, the same about 0, scaled or LAPACK's copy, and singular vectors twice
            solving = 5 * rows * d + 8 * rows * rows
        return Estimate("1", 8 * rows * d, solving=8 * solving + AT_ONCE)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        centre, Y = centred_matrix(rows)
        return finish(centre, triangle(Y) if len(Y) > problem.d else Y, problem, of_factor)
