"""The choice of a solver: a pure function, a ladder from the cheapest that is accurate enough to the most general."""

from __future__ import annotations

from pcatool.solvers.base import Problem

__all__ = ["choose"]

# A scatter of this many columns takes 128 MB, its eigenvectors as much again.
SCATTER_COLUMNS = 4096


def choose(problem: Problem) -> tuple[str, str]:
    """The solver's name and the reason, as recorded in the model."""
    d, n = problem.d, problem.n
    if n is not None and n < d:
        return "svd", f"fewer rows ({n}) than columns ({d}), and they fit in memory"
    if d <= SCATTER_COLUMNS:
        return "covariance", f"one pass, a {d} x {d} scatter, whatever the number of rows"
    return "svd", f"a {d} x {d} scatter is too large; the rows are held instead"
