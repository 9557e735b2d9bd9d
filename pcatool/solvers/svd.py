"""Singular value decomposition of the centred data themselves: the reference.

When to prefer it: the data fit in memory and small eigenvalues matter.
Cost: 2 n d min(n, d). Memory: n d. SciPy: `scipy.linalg.svd(X - X.mean(0))`, lambda = s^2 / (n - ddof).
"""

from __future__ import annotations

from pcatool.linalg.spectral import of_factor, triangle
from pcatool.solvers.base import Estimate, Problem, Solution
from pcatool.solvers.factor import centred_matrix, finish
from pcatool.solvers.rows import Rows

__all__ = ["SVD"]


class SVD:
    """All rows in memory, centred twice, then LAPACK's SVD."""

    def estimate(self, d: int, n: int | None, k: int) -> Estimate:
        # The rows as read, centred, their QR, and both scaled and plain triangles.
        return Estimate("1", 8 * ((n or 0) * d * 4 + 6 * min(n or d, d) * d) + (32 << 20))

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        centre, Y = centred_matrix(rows)
        return finish(centre, triangle(Y) if len(Y) > problem.d else Y, problem, of_factor)
