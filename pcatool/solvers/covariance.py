"""Solver `covariance`: accumulate the d x d scatter in one pass, then compute its eigenvectors.

When to prefer it: many more rows than columns; rows that do not fit in memory or come from a pipe.
Cost: n d^2 + 9 d^3. Memory: d^2 and one block. SciPy: `scipy.linalg.eigh(numpy.cov(X.T, bias=True))`.
Accuracy: the scatter holds squares, so that an eigenvalue below about 1e-16 of the largest is lost when it comes from
nearly equal columns; `tsqr` and `svd` keep twice as many digits. Small eigenvalues of small-scale columns are kept.
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.blas import thread_count
from pcatool.linalg.eigen import spectrum_of_scatter
from pcatool.linalg.moments import Moments, MomentsAccumulator
from pcatool.linalg.row_sums import Statistic
from pcatool.resources import release_free_memory
from pcatool.solvers.base import (
    ColumnScales,
    Estimate,
    Problem,
    Solution,
    directions_bytes,
    make_solution,
)
from pcatool.solvers.rows import Rows

__all__ = ["Covariance", "scatter_bytes"]


def scatter_bytes(d: int) -> int:
    """Bytes of one scatter matrix (d, d)."""
    return 8 * d * d


class Covariance:
    """Solver `covariance`: accumulates the scatter, then calls `eigh`."""

    def estimate(self, d: int, n: int | None, k: int) -> Estimate:
        # While rows are read: the sums and their correction, and the result of each block. After that, the larger of
        # two peaks. First: the scatter, S, and four matrices of LAPACK for the eigenvectors, with scaled S and two of
        # LAPACK for the rank at the same time (several threads: after these). Second: the scatter, S, the eigenvectors,
        # and the model with its file, which may hold the scatter, too.
        one = scatter_bytes(d)
        decomposing = 10 * one if thread_count(d) == 1 else 8 * one
        return Estimate("1", 2 * one, one, solving=max(decomposing, 6 * one + directions_bytes(d, k)), work=one)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        moments = rows.reduce(MomentsAccumulator(rows.origin))
        release_free_memory()
        return self.solve_moments(moments, problem)

    def solve_moments(
        self,
        moments: Moments,
        problem: Problem,
        rounding: Array | None = None,
        rounding_about_zero: Array | None = None,
    ) -> Solution:
        """Return the solution from the moments, without the rows.

        `rounding` (d,) is the relative rounding error of the columns, by default computed; kept sums have their own.
        `rounding_about_zero` (d,) is the error relative to squares about 0, which an uncentred fit decomposes; by
        default equal to `rounding`.
        """
        centre = moments.centre
        scales = ColumnScales.of(problem, centre, np.diagonal(moments.scatter))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            S = (moments.scatter if problem.center else moments.scatter_about_zero()) / scales.safe_divisor
            if problem.standardize:
                S /= scales.sigma[:, None]
                S /= scales.sigma
        total = float(np.trace(S))
        scales.check(problem, centre, total)
        rounding = problem.rounding(centre, np.diagonal(moments.scatter)) if rounding is None else rounding
        entries = rounding if problem.center or rounding_about_zero is None else rounding_about_zero
        spectrum = spectrum_of_scatter(S, entries, problem.wish, problem.scale_rounding(rounding))
        solution = make_solution(problem, centre, scales.variances, scales.sigma, total, spectrum, lambda V: S @ V)
        return solution._replace(statistic=Statistic.summed(moments, rounding)) if problem.keeps_sums else solution
