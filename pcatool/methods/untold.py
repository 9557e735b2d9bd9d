"""What missing cells leave untold: components and columns of which a fit says more than the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcatool.arrays import Array
from pcatool.errors import listed
from pcatool.methods.remarks import listed_components
from pcatool.missing.census import Groups, groups_of
from pcatool.missing.solution import EMFit
from pcatool.progress import Notices
from pcatool.solvers.base import Problem

__all__ = ["tell_apart", "tell_em", "tell_made_up"]

# A component less than half of which comes from cells that are there says more of what stands in for the others; a few
# roundings below it are still half.
HALF = 0.5 - 1e-9

# A component that whole rows would tell less than this of is as weak as the noise, with holes or without.
WEAK = 1e-3

# A column to which components give this many times the variance of its cells, of which there are enough to tell.
INFLATED, ENOUGH = 3.0, 30

# Columns this far apart in variance leave the noise of the smaller no digits.
UNEQUAL = 1e10

# Names in one warning.
MOST_NAMED = 3


def tell_apart(notices: Notices, groups: Groups, columns: Sequence[str]) -> None:
    """Columns that no row has together, not by way of others either."""
    apart = groups_of(groups)
    if len(apart) > 1:
        some = "; ".join(listed((columns[j] for j in group), MOST_NAMED) for group in apart[:MOST_NAMED])
        more = f"; and {len(apart) - MOST_NAMED} more" if len(apart) > MOST_NAMED else ""
        notices.warn(
            f"{len(apart)} groups of columns that no row links: {some}{more}; "
            "what components say of several groups at once is not in the data"
        )


def tell_made_up(notices: Notices, shares: Array, what: str, remedy: str) -> None:
    """Components that missing cells make meaningless, by the share that they do not."""
    little = np.flatnonzero(shares < HALF).tolist()
    if little:
        mean, their = ("means", "its") if len(little) == 1 else ("mean", "their")
        most = max(shares[little].max(), 0.0)
        notices.warn(f"{listed_components(little)} {mean} little: at most {most:.0%} of {their} {what}; {remedy}")


def tell_em(notices: Notices, fitted: EMFit, problem: Problem, k: int, remedy: str) -> None:
    """What is doubtful of a fit by EM of which k components are kept."""
    if not fitted.converged:
        moved = float(np.max(fitted.error[:k] / fitted.eigenvalues[:k]))
        notices.warn(
            f"EM has not converged in {fitted.iterations} steps: "
            f"an eigenvalue {'may be off' if fitted.proved else 'still moves'} by {moved:.1g} of itself"
            + ("; use a smaller -k" if k > 1 else "")
        )
    if fitted.exact and fitted.iterations:
        _tell_exact(notices, fitted, problem, k)
    tell_made_up(notices, _told(fitted)[:k], "variance is told by the cells that are there", remedy)
    if problem.center:
        _tell_inflated(notices, fitted, problem)


def _tell_exact(notices: Notices, fitted: EMFit, problem: Problem, k: int) -> None:
    varying = fitted.variances[fitted.census.varies]
    if not problem.standardize and len(varying) and varying.max() / UNEQUAL > varying.min():
        notices.warn("column variances are too far apart for EM to tell the noise of the smallest; use --standardize")
        return
    remedy = "; use a smaller -k" if k > 1 else ""
    notices.warn(f"the components explain every cell that is there, and leave nothing to the noise{remedy}")


def _told(fitted: EMFit) -> Array:
    """(k,) of what whole rows would tell of each component, what the cells that are there tell."""
    values = np.maximum(fitted.eigenvalues[: len(fitted.certainty)], np.finfo(float).tiny)
    by_whole = 1 - fitted.noise_variance / values
    weak = by_whole < WEAK
    return np.where(weak, 1.0, np.clip(fitted.certainty / np.where(weak, 1.0, by_whole), 0.0, 1.0))


def _tell_inflated(notices: Notices, fitted: EMFit, problem: Problem) -> None:
    """Columns of few cells to which components give what these do not have."""
    seen = fitted.variances / fitted.std**2
    given = (fitted.basis**2) @ (fitted.eigenvalues[: fitted.basis.shape[1]] - fitted.noise_variance)
    much = (given > INFLATED * seen) & (fitted.census.cells >= ENOUGH) & fitted.census.varies
    if much.any():
        names = listed(problem.columns[j] for j in np.flatnonzero(much).tolist())
        notices.warn(
            f"components give more than {INFLATED:g} times the variance of its cells to {names}; use a larger -k"
        )
