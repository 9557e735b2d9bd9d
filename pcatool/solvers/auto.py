"""The choice of a solver: a pure function, a ladder from the cheapest that is accurate enough to the most general."""

from __future__ import annotations

from pcatool.solvers.base import Problem

__all__ = ["DUAL_ROWS", "SCATTER_COLUMNS", "choose"]

# A scatter of this many columns takes 128 MB and its eigenvectors half a minute of one core; past it n decides.
SCATTER_COLUMNS = 4096

# The inner products of this many rows cost as much.
DUAL_ROWS = 4096

# A few leading components of very wide data are found from a small random subspace.
FEW = 20


def choose(problem: Problem) -> tuple[str, str]:
    """The solver's name and the reason, as recorded in the model."""
    d, n = problem.d, problem.n
    if n is not None and 2 * n <= d:
        return "dual", f"{n} rows of {d} columns: the {n} x {n} inner products are the smaller problem"
    if d <= SCATTER_COLUMNS and problem.sharp:
        return "tsqr", "one pass, backward stable: whitening divides by the small eigenvalues, too"
    if d <= SCATTER_COLUMNS:
        return "covariance", f"one pass, a {d} x {d} scatter, whatever the number of rows"
    if n is not None and n < d:
        return "dual", f"{n} rows of {d} columns: a {d} x {d} scatter is too large"
    if isinstance(problem.wish, int) and problem.wish * FEW <= d:
        return "randomized", f"{problem.wish} of {d} components: neither d x d nor n x n need be formed"
    return "covariance", f"a {d} x {d} scatter: {problem.wish} may ask for any number of components"
