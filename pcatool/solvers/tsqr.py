"""A running triangular factor of the centred rows, in one pass.

When to prefer it: small eigenvalues matter and the rows do not fit in memory. Backward stable: R^T R is the scatter of
rows that differ from the input by a few eps, so that eigenvalues down to 1e-32 of the largest are distinguishable from
rounding error, instead of 1e-16.
Each block is centred on its own mean and reduced to its R. Two sets of rows merge by the QR of both factors and one
more row, the difference of their means times sqrt(n_a n_b / n), so that the correction of the mean is exact.
Cost: 2 n d^2 to 4 n d^2. Memory: d^2 and one block. SciPy: `scipy.linalg.qr(X - X.mean(0), mode="r")`.
Demmel, Grigori, Hoemmen, Langou 2012, SIAM J. Sci. Comput. 34(1).
"""

from __future__ import annotations

from functools import reduce

from pcatool.linalg.eigen import of_factor
from pcatool.linalg.triangle import Triangle
from pcatool.resources import release_free_memory
from pcatool.solvers.base import Estimate, Problem, Solution, decomposing_bytes, directions_bytes, finish
from pcatool.solvers.rows import Rows

__all__ = ["TSQR", "triangle_of"]


class TSQR:
    """Solver `tsqr`: accumulates R, then computes the SVD of R."""

    def estimate(self, d: int, n: int | None, k: int) -> Estimate:
        # While rows are read: two stacked triangles with LAPACK's copies; and a joined block, centred, with LAPACK's
        # two copies. After that: the triangle and the memory to decompose it.
        square, height = 8 * d * d, 2 * d
        rows = d if n is None else min(n, d)
        factor = 8 * rows * d
        alone = n is not None and n <= height
        merging, copies = (0, 3) if alone else (8 * square, 4)
        solving = factor + max(decomposing_bytes(rows, d), factor + directions_bytes(d, k))
        return Estimate("1", merging, factor, solving=solving, work=factor, copies=copies, height=height)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        running = triangle_of(rows, problem.d)
        release_free_memory()
        return finish(running.centre, running.R, problem, of_factor)


def result_bytes(d: int) -> int:
    """Bytes of the triangle of one block, with room to compute it."""
    return 24 * d * d


def triangle_of(rows: Rows, d: int) -> Triangle:
    """Return the triangle of all rows, in one pass."""
    origin = rows.origin
    # Blocks are joined until they are so tall that reducing them outweighs merging the triangles.
    triangles = rows.map(lambda X, w: Triangle.of_block(X, origin, w), size=result_bytes(d), height=2 * d)
    return reduce(Triangle.merge, triangles)
