"""Solver `covariance`: accumulate the d x d scatter in one pass, then compute its eigenvectors.

When to prefer it: many more rows than columns; rows that do not fit in memory or come from a pipe.
Cost: n d^2 + 9 d^3; for few components of more than 1,000 columns n d^2 + d^3 / 3. Memory: d^2 and one block.
SciPy: `scipy.linalg.eigh(numpy.cov(X.T, bias=True))`.
Accuracy: the scatter holds squares, so that an eigenvalue below about 1e-16 of the largest is lost when it comes from
nearly equal columns; `tsqr` and `svd` keep twice as many digits. Small eigenvalues of small-scale columns are kept, but
not if only the leading ones are computed.
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import SLAB_ROWS, Array, Runner, run_serially
from pcatool.linalg.eigen import scatter_spectrum_bytes, spectrum_of_scatter
from pcatool.linalg.leading import leading_bytes, leading_spectrum
from pcatool.linalg.moments import Moments, MomentsAccumulator
from pcatool.linalg.row_sums import Statistic
from pcatool.linalg.spectrum import Spectrum, finds_leading
from pcatool.linalg.wide_moments import JOINED_ROWS, WIDE_COLUMNS, wide_moments
from pcatool.resources import release_free_memory
from pcatool.solvers.base import ColumnScales, Problem, Solution, make_solution
from pcatool.solvers.estimate import Estimate, directions_bytes
from pcatool.solvers.rows import Rows

__all__ = ["Covariance", "scatter_bytes"]


def scatter_bytes(d: int) -> int:
    """Bytes of one scatter matrix (d, d)."""
    return 8 * d * d


class Covariance:
    """Solver `covariance`: accumulates the scatter, then computes its leading eigenpairs, or all."""

    def estimate(self, problem: Problem, n: int | None, k: int) -> Estimate:
        d, wish = problem.d, problem.wish
        one = scatter_bytes(d)
        # S and the work of finding the eigenpairs; then S, the eigenvectors, and the model with its file, which may
        # hold the scatter, too.
        work = (
            leading_bytes(d, wish if isinstance(wish, int) else None)
            if finds_leading(d, wish, problem.eigenvalues)
            else scatter_spectrum_bytes(d)
        )
        saved = 4 * one if problem.keeps_sums else one
        sums = one if problem.keeps_sums or d <= WIDE_COLUMNS else 0  # else S takes the place of the sums
        solving = sums + max(one + work, saved + directions_bytes(d, k))
        if d <= WIDE_COLUMNS:  # the sums and their correction, and the result of each block
            return Estimate("1", 2 * one, one, solving=solving, work=one)
        # The sums; rows that wait, the same joined, and those of the next blocks; per thread two products of a slab.
        joined = 8 * d * (JOINED_ROWS if n is None else min(n, JOINED_ROWS))
        return Estimate("1", one + 4 * joined, work=2 * 8 * SLAB_ROWS * d, without_blocks=True, solving=solving)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        if problem.d > WIDE_COLUMNS:
            moments = wide_moments(rows.joined(JOINED_ROWS), rows.origin, rows.run)
        else:
            moments = rows.reduce(MomentsAccumulator(rows.origin))
        release_free_memory()
        return self.solve_moments(moments, problem, run=rows.run, overwrite=not problem.keeps_sums)

    def solve_moments(
        self,
        moments: Moments,
        problem: Problem,
        rounding: Array | None = None,
        rounding_about_zero: Array | None = None,
        *,
        run: Runner = run_serially,
        overwrite: bool = False,
    ) -> Solution:
        """Return the solution from the moments, without the rows.

        `rounding` (d,) is the relative rounding error of the columns, by default computed; kept sums have their own.
        `rounding_about_zero` (d,) is the error relative to squares about 0, which an uncentred fit decomposes; by
        default equal to `rounding`. `run` runs the tasks of a wide matrix. With `overwrite`, the scatter is used up.
        """
        centre, squares = moments.centre, np.diagonal(moments.scatter).copy()
        scales = ColumnScales.of(problem, centre, squares)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            S = moments.scatter if problem.center else moments.scatter_about_zero(overwrite=overwrite)
            S = np.divide(S, scales.safe_divisor, out=S if overwrite or not problem.center else None)
            if problem.standardize:
                S /= scales.sigma[:, None]
                S /= scales.sigma
        total = float(np.trace(S))
        scales.check(problem, centre, total)
        rounding = problem.rounding(centre, squares) if rounding is None else rounding
        entries = rounding if problem.center or rounding_about_zero is None else rounding_about_zero
        spectrum = self._spectrum(S, entries, problem, problem.scale_rounding(rounding), run)
        solution = make_solution(problem, centre, scales.variances, scales.sigma, total, spectrum, lambda V: S @ V)
        return solution._replace(statistic=Statistic.summed(moments, rounding)) if problem.keeps_sums else solution

    def _spectrum(
        self, S: Array, rounding: Array, problem: Problem, scale_rounding: Array | float, run: Runner
    ) -> Spectrum:
        """Return all eigenpairs of S, or only the leading ones, as the problem asks; see `finds_leading`."""
        wish = problem.wish
        if isinstance(wish, str) or not finds_leading(problem.d, wish, problem.eigenvalues):
            return spectrum_of_scatter(S, rounding, wish, scale_rounding)
        return leading_spectrum(S, rounding, wish, scale_rounding, run)
