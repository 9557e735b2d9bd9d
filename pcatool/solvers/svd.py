"""Singular value decomposition of the centred rows themselves: the reference.

When to prefer it: the rows fit in memory and small eigenvalues matter.
Cost: 2 n d min(n, d). Memory: n d. SciPy: `scipy.linalg.svd(X - X.mean(0))`, lambda = s^2 / (n - ddof).
"""

from __future__ import annotations

from pcatool.linalg.eigen import of_factor, triangle
from pcatool.resources import release_free_memory
from pcatool.solvers.base import (
    Estimate,
    Problem,
    Solution,
    centred_matrix,
    decomposing_bytes,
    directions_bytes,
    finish,
)
from pcatool.solvers.rows import AT_ONCE, Rows
from pcatool.solvers.tsqr import TSQR

__all__ = ["SVD"]


class SVD:
    """Solver `svd`: holds all rows in memory, centres them twice, then calls LAPACK's SVD."""

    def estimate(self, d: int, n: int | None, k: int) -> Estimate:
        rows = n or 0
        held = 8 * rows * d
        if rows > d:  # LAPACK's two copies of the rows; then their triangle, like `tsqr`
            return Estimate("1", held, solving=max(3 * held, TSQR().estimate(d, n, k).solving))
        after = max(
            decomposing_bytes(rows, d), held + directions_bytes(d, min(k, rows))
        )  # besides the singular vectors
        return Estimate("1", held, solving=held + max(after, min(held, AT_ONCE)))

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        centre, Y = centred_matrix(rows)
        if len(Y) > problem.d:
            Y = triangle(Y)
            release_free_memory()
        return finish(centre, Y, problem, of_factor)
