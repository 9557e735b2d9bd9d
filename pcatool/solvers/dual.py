"""Solver `dual`: decompose the n x n inner products between rows, for few rows of many columns.

When to prefer it: n << d. Never forms d x d. With X_c = U s V^T, the eigenvectors of X_c X_c^T are U, and the
directions are V = X_c^T U / s, made orthonormal again because small s leave errors.
Cost: n^2 d + 9 n^3; for few components of more than 1,000 rows n^2 d + n^3 / 3. Memory: n d.
SciPy: `scipy.linalg.eigh(Xc @ Xc.T)`.
Accuracy: like `covariance`, the matrix holds squares; `svd` keeps twice as many digits.
"""

from __future__ import annotations

from pcatool.arrays import Array
from pcatool.linalg.eigen import SLAB_COLUMNS, spectrum_of_factor, spectrum_of_gram
from pcatool.linalg.leading import leading_bytes, leading_spectrum_of_gram
from pcatool.linalg.spectrum import Spectrum, Wish, finds_leading
from pcatool.solvers.base import Problem, Solution, centered_matrix, solve_factor
from pcatool.solvers.estimate import Estimate, estimate_in_memory
from pcatool.solvers.rows import AT_ONCE, Rows

__all__ = ["Dual"]


class Dual:
    """Solver `dual`: holds all rows in memory, centres them, then calls `eigh` on their inner products."""

    def estimate(self, problem: Problem, n: int | None, k: int) -> Estimate:
        d = problem.d
        rows = n or d
        if n is not None and n >= d:  # then the factor itself is decomposed
            return estimate_in_memory(d, n, k)
        # The rows, and the larger of two: the inner products, those of scaled columns, and LAPACK's copies of both, or
        # the work on the leading ones; or the directions, a second matrix of this size for their signs or for S times
        # them, and copies of some columns.
        held, directions, wish = 8 * rows * d, 8 * d * min(k, rows), problem.wish
        leading = isinstance(wish, int) and finds_leading(rows, wish, problem.eigenvalues)
        work = 8 * rows * rows + leading_bytes(rows, k) if leading else 8 * 8 * rows * rows
        after = max(
            min(held, AT_ONCE),
            work + 8 * SLAB_COLUMNS * rows,
            2 * directions + min(directions, AT_ONCE),
        )
        return Estimate("1", held, solving=held + after)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        centre, Y = centered_matrix(rows)
        run = rows.run

        def decompose(
            F: Array, rounding: Array, rows: int, wish: Wish, scale_rounding: Array | float = 0.0
        ) -> Spectrum:
            r, d = F.shape
            if r >= d:  # the SVD costs no more, and is more accurate
                return spectrum_of_factor(F, rounding, rows, wish, scale_rounding)
            if isinstance(wish, str) or not finds_leading(r, wish, problem.eigenvalues):
                return spectrum_of_gram(F, rounding, rows, wish, scale_rounding)
            return leading_spectrum_of_gram(F, rounding, rows, wish, scale_rounding, run)

        return solve_factor(centre, Y, problem, decompose)
