"""The d x d scatter, accumulated in one pass, then its eigenvectors.

When to prefer it: many more rows than columns; rows that do not fit in memory or come from a pipe.
Cost: n d^2 + 9 d^3. Memory: d^2 and one block. SciPy: `scipy.linalg.eigh(numpy.cov(X.T, bias=True))`.
Accuracy: an eigenvalue below about 1e-16 of the largest is lost when it comes from near-equal columns, since the
scatter holds squares; `svd` keeps twice as far. Small eigenvalues of small-scale columns are kept (linalg/spectral.py).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pcatool.linalg.moments import Moments
from pcatool.linalg.spectral import of_scatter
from pcatool.model import Array
from pcatool.solvers.base import Problem, Solution, check_solvable, scale_of

__all__ = ["Covariance"]


class Covariance:
    """Streaming scatter, then `eigh`."""

    def solve(self, rows: Iterable[Array], problem: Problem) -> Solution:
        moments: Moments | None = None
        for X in rows:
            part = Moments.of_block(X, X[0].copy() if moments is None else moments.origin)
            moments = part if moments is None else moments.merge(part)
        if moments is None:
            check_solvable(problem, 0, np.ones(problem.d, dtype=bool), 0.0)
            raise AssertionError("unreachable: no rows are refused")
        return self.finish(moments, problem)

    def finish(self, moments: Moments, problem: Problem) -> Solution:
        """The solution from the moments alone."""
        n, constant = moments.n, ~moments.varies
        divisor = max(n - problem.ddof, 1)
        variances = np.diagonal(moments.scatter) / divisor
        sigma = scale_of(variances, constant, problem)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            S = moments.scatter if problem.center else moments.scatter_about_zero()
            S = S / divisor / sigma[:, None] / sigma
        check_solvable(problem, n, constant, float(np.trace(S)))
        spectrum = of_scatter(S)
        return Solution(
            n=n,
            mean=moments.mean if problem.center else np.zeros(problem.d),
            std=sigma,
            eigenvalues=spectrum.eigenvalues,
            vectors=spectrum.vectors,
            total_variance=float(np.trace(S)),
            rank=spectrum.rank,
            route=spectrum.route,
            constant=tuple(np.flatnonzero(constant).tolist()),
            variances=variances,
            apply=lambda V: S @ V,
        )
