"""A running triangular factor of the centred data, in one pass.

When to prefer it: small eigenvalues matter and the rows do not fit in memory. Backward stable: R^T R is the scatter of
data that differ from those read by a few eps, so an eigenvalue is told from rounding down to 1e-32 of the largest
instead of 1e-16.
Each block is centred on its own mean and reduced to its R; two sets of rows merge by the QR of both factors and one
row more, the difference of their means times sqrt(n_a n_b / n): the mean's correction is exact.
Cost: 2 n d^2 to 4 n d^2. Memory: d^2 and one block. SciPy: `scipy.linalg.qr(X - X.mean(0), mode="r")`.
Demmel, Grigori, Hoemmen, Langou 2012, SIAM J. Sci. Comput. 34(1).
"""

from __future__ import annotations

from functools import reduce

from pcatool.linalg.eigen import of_factor
from pcatool.linalg.triangle import Triangle
from pcatool.resources import give_back
from pcatool.solvers.base import Estimate, Problem, Solution, decomposing_bytes, finish, kept_bytes
from pcatool.solvers.rows import Rows

__all__ = ["TSQR", "triangle_of"]


class TSQR:
    """Running R factor, then the SVD of R."""

    def estimate(self, d: int, n: int | None, k: int) -> Estimate:
        # Two triangles, one on the other, with LAPACK's copies; a block joined, centred, and LAPACK's two copies of it.
        # Then the triangle, and what takes it apart.
        square, height = 8 * d * d, 2 * d
        rows = d if n is None else min(n, d)
        factor = 8 * rows * d
        alone = n is not None and n <= height
        merging, copies = (0, 3) if alone else (8 * square, 4)
        solving = factor + max(decomposing_bytes(rows, d), factor + kept_bytes(d, k))
        return Estimate("1", merging, factor, solving=solving, work=factor, copies=copies, height=height)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        running = triangle_of(rows, problem.d)
        give_back()
        return finish(running.centre, running.R, problem, of_factor)


def result_bytes(d: int) -> int:
    return 24 * d * d


def triangle_of(rows: Rows, d: int) -> Triangle:
    """The triangle of all rows."""
    origin = rows.origin
    # Blocks joined until they are so tall that reducing them outweighs merging the triangles.
    triangles = rows.map(lambda X, w: Triangle.of_block(X, origin, w), size=result_bytes(d), height=2 * d)
    return reduce(Triangle.merge, triangles)
