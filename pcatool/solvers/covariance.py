"""The d x d scatter, accumulated in one pass, then its eigenvectors.

When to prefer it: many more rows than columns; rows that do not fit in memory or come from a pipe.
Cost: n d^2 + 9 d^3. Memory: d^2 and one block. SciPy: `scipy.linalg.eigh(numpy.cov(X.T, bias=True))`.
Accuracy: an eigenvalue below about 1e-16 of the largest is lost when it comes from near-equal columns, since the
scatter holds squares; `tsqr` and `svd` keep twice as far. Small eigenvalues of small-scale columns are kept.
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array
from pcatool.linalg.blas import factorisation_threads
from pcatool.linalg.eigen import of_scatter
from pcatool.linalg.moments import Moments, gather
from pcatool.linalg.row_sums import Statistic
from pcatool.resources import give_back
from pcatool.solvers.base import (
    Estimate,
    Problem,
    Solution,
    assembled,
    check_solvable,
    kept_bytes,
    scale_of,
)
from pcatool.solvers.rows import Rows

__all__ = ["Covariance", "moments_of", "scatter_bytes"]


def scatter_bytes(d: int) -> int:
    return 8 * d * d


class Covariance:
    """Streaming scatter, then `eigh`."""

    def estimate(self, d: int, n: int | None, k: int) -> Estimate:
        # While rows are read, the sums so far and their correction, and of each block the same. Then the scatter, S,
        # and LAPACK's four for the eigenvectors, beside S scaled with two of LAPACK to tell the rank, or after these;
        # or the scatter, S, the eigenvectors, and the model with its file, which may hold the scatter, too.
        one = scatter_bytes(d)
        decomposing = 10 * one if factorisation_threads(d) == 1 else 8 * one
        return Estimate("1", 2 * one, one, solving=max(decomposing, 6 * one + kept_bytes(d, k)), work=one)

    def solve(self, rows: Rows, problem: Problem) -> Solution:
        moments = moments_of(rows, problem.d)
        give_back()
        return self.finish(moments, problem)

    def finish(
        self, moments: Moments, problem: Problem, noise: Array | None = None, about_zero: Array | None = None
    ) -> Solution:
        """The solution from the moments alone, and what is known of their digits if they were added up before.

        `about_zero` is the `noise` of squares about 0, which an uncentred fit takes apart; by default it is no larger.
        """
        centre = moments.centre
        n, constant = centre.rows, ~centre.varies
        divisor = problem.divisor(centre)
        safe = divisor if divisor > 0 else 1.0
        variances = np.diagonal(moments.scatter) / safe
        sigma = scale_of(variances, constant, problem)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            S = (moments.scatter if problem.center else moments.scatter_about_zero()) / safe
            if problem.standardize:
                S /= sigma[:, None]
                S /= sigma
        total = float(np.trace(S))
        check_solvable(problem, n, divisor, constant, variances, total, centre)
        noise = problem.noise(centre, np.diagonal(moments.scatter)) if noise is None else noise
        entries = noise if problem.center or about_zero is None else about_zero
        spectrum = of_scatter(S, entries, problem.wish, problem.scales(noise))
        solution = assembled(problem, centre, variances, sigma, total, spectrum, lambda V: S @ V)
        return solution._replace(statistic=Statistic.summed(moments, noise)) if problem.keeps else solution


def moments_of(rows: Rows, d: int) -> Moments:
    """The moments of all rows."""
    origin = rows.origin
    return gather(rows.map(lambda X, w: Moments.of_block(X, origin, w), size=scatter_bytes(d)))
