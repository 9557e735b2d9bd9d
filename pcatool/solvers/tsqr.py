"""Solver `tsqr`: accumulate a triangular factor of the centred rows in one pass, then decompose the factor.

When to prefer it: small eigenvalues matter and the rows do not fit in memory. Backward stable: R^T R is the scatter of
rows that differ from the input by a few eps, so that eigenvalues down to 1e-32 of the largest are distinguishable from
rounding error, instead of 1e-16.
Each block is centred on its own mean and reduced to its R. Two sets of rows merge by the QR of both factors and one
more row, the difference of their means times sqrt(n_a n_b / n), so that the correction of the mean is exact.
Cost: 2 n d^2 to 4 n d^2. Memory: d^2 and one block. SciPy: `scipy.linalg.qr(X - X.mean(0), mode="r")`.
Demmel, Grigori, Hoemmen, Langou 2012, SIAM J. Sci. Comput. 34(1).
"""

from __future__ import annotations

from pcatool.linalg.eigen import spectrum_of_factor
from pcatool.linalg.triangle import TriangleAccumulator, triangle_bytes
from pcatool.resources import release_free_memory
from pcatool.solvers.base import Problem, Solution, solve_factor
from pcatool.solvers.estimate import Estimate, factor_bytes
from pcatool.solvers.rows import Rows

__all__ = ["TSQR"]


class TSQR:
    """Solver `tsqr`: accumulates R, then computes the SVD of R."""

    def estimate(self, problem: Problem, n: int | None, k: int) -> Estimate:
        d = problem.d
        # While rows are read: the triangle so far; for each thread, joined rows, and three copies of these: centred and
        # LAPACK's two. The triangle of these rows takes less than the copy that LAPACK frees before. To merge, two
        # triangles are stacked and copied twice by LAPACK. After that: the triangle and the memory to decompose it.
        height, rows = 2 * d, d if n is None else min(n, d)
        one = triangle_bytes(d)
        merging = 0 if n is not None and n <= height else 7 * one
        held = min(one, 8 * rows * d)
        solving = factor_bytes(d, rows, k)
        return Estimate("1", held, held, solving=solving, copies=3, height=height, merging=merging)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        running = rows.reduce(TriangleAccumulator(rows.origin))
        release_free_memory()
        return solve_factor(running.centre, running.R, problem, spectrum_of_factor)
