"""Singular value decomposition of the centred data themselves: the reference.

When to prefer it: the data fit in memory and small eigenvalues matter, or there are fewer rows than columns.
Cost: 2 n d min(n, d). Memory: n d. SciPy: `scipy.linalg.svd(X - X.mean(0))`, lambda = s^2 / (n - ddof).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pcatool.linalg.spectral import of_factor
from pcatool.model import Array
from pcatool.solvers.base import Problem, Solution, check_solvable, scale_of

__all__ = ["SVD"]


class SVD:
    """All rows in memory, centred twice, then LAPACK's SVD."""

    def solve(self, rows: Iterable[Array], problem: Problem) -> Solution:
        blocks = list(rows)
        X = np.concatenate(blocks) if blocks else np.zeros((0, problem.d))
        del blocks
        n = len(X)
        if n == 0:
            check_solvable(problem, 0, np.ones(problem.d, dtype=bool), 0.0)
        divisor = max(n - problem.ddof, 1)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            Y = X - X[0]
            constant = ~Y.any(axis=0)
            mean = Y.mean(axis=0)
            Y -= mean
            rest = Y.mean(axis=0)  # what rounding left of the mean
            Y -= rest
            variances = np.einsum("ij,ij->j", Y, Y) / divisor
            sigma = scale_of(variances, constant, problem)
            F = (Y if problem.center else X) / (sigma * np.sqrt(divisor))
            total = float(np.einsum("ij,ij->", F, F))
        check_solvable(problem, n, constant, total)
        spectrum = of_factor(F)
        return Solution(
            n=n,
            mean=X[0] + (mean + rest) if problem.center else np.zeros(problem.d),
            std=sigma,
            eigenvalues=spectrum.eigenvalues,
            vectors=spectrum.vectors,
            total_variance=total,
            rank=spectrum.rank,
            route=spectrum.route,
            constant=tuple(np.flatnonzero(constant).tolist()),
            variances=variances,
            apply=lambda V: F.T @ (F @ V),
        )
