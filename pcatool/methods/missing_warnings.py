"""Warnings on the components of tables with missing cells: columns and cells that say too little about them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcatool.arrays import Array
from pcatool.methods.base import listed_components
from pcatool.missing.census import Groups, list_groups
from pcatool.missing.em import EMFit
from pcatool.progress import Reporter
from pcatool.solvers.base import Problem
from pcatool.wording import counted, grouped, listed, percent

__all__ = ["warn_em", "warn_mostly_missing", "warn_unlinked_columns"]

# Least share of a component that must come from observed cells. A component below this share depends more on what
# replaces missing cells. A few rounding errors below one half still count as half.
HALF = 0.5 - 1e-9

# A component is as weak as the noise if complete rows would determine less than this share of its scores.
WEAK_SHARE = 1e-3

# A column is inflated if the components give it more than INFLATED times the variance of its cells. Columns with fewer
# than ENOUGH cells are not judged.
INFLATED, ENOUGH = 3.0, 30

# Ratio of variances from which the noise of the smaller column has no digits left.
UNEQUAL = 1e10

# Largest number of names, and of groups of names, in a warning.
MOST_NAMED = 3


def warn_unlinked_columns(reporter: Reporter, groups: Groups, columns: Sequence[str]) -> None:
    """Warn if `groups`, as from `link_columns`, has several groups: no row has observed cells in two of these."""
    apart = list_groups(groups)
    if len(apart) > 1:
        some = ", ".join(f"({listed((columns[j] for j in group), MOST_NAMED)})" for group in apart[:MOST_NAMED])
        more = f" and {counted(len(apart) - MOST_NAMED, 'more group')}" if len(apart) > MOST_NAMED else ""
        reporter.warn(
            f"no row has values in more than one of these {grouped(len(apart))} groups of columns: {some}{more}; "
            "the data do not show how columns of different groups vary together, so fit each group by itself"
        )


def warn_mostly_missing(reporter: Reporter, shares: Array, what: str, remedy: str) -> None:
    """Warn about components that depend mostly on missing cells.

    `shares` (k,) are the parts of the components that come from observed cells. `what` ends the words "at most 40.00%
    of its"; `remedy` ends the warning, after the advice to keep only the components before the first of these.
    """
    little = np.flatnonzero(shares < HALF).tolist()
    if little:
        mean, their = ("is", "its") if len(little) == 1 else ("are", "their")
        most = percent(max(float(shares[little].max()), 0.0))
        fewer = f"use -k {little[0]}, or " if little[0] else ""
        reporter.warn(
            f"{listed_components(little)} {mean} unreliable: at most {most} of {their} {what}; {fewer}{remedy}"
        )


def warn_em(reporter: Reporter, fitted: EMFit, problem: Problem, k: int, remedy: str) -> None:
    """Warn about doubtful results of a fit by EM whose first k components are kept; `remedy` ends a warning."""
    if not fitted.converged:
        moved = float(np.max(fitted.error[:k] / fitted.eigenvalues[:k]))
        error = f"an eigenvalue may have a relative error of {moved:.1g}"
        change = f"the last steps changed an eigenvalue by {moved:.1g} of its value"
        reporter.warn(
            f"EM has not converged in {fitted.iterations} steps: {error if fitted.proved else change}"
            + ("; use a smaller -k" if k > 1 else "")
        )
    if fitted.exact and fitted.iterations:
        _warn_exact(reporter, fitted, problem, k)
    warn_mostly_missing(reporter, _information_shares(fitted)[:k], "variance is determined by observed cells", remedy)
    if problem.center:
        _warn_inflated(reporter, fitted, problem)


def _warn_exact(reporter: Reporter, fitted: EMFit, problem: Problem, k: int) -> None:
    """Warn that the components explain every observed cell.

    If the cause is that variances of columns are very different, the warning names this cause instead.
    """
    varying = fitted.variances[fitted.census.varies]
    if not problem.standardize and len(varying) and varying.max() / UNEQUAL > varying.min():
        reporter.warn(
            "column variances differ so much that EM cannot estimate noise in the columns of small variance; "
            "use --standardize"
        )
        return
    remedy = "; use a smaller -k" if k > 1 else ""
    reporter.warn(f"the components explain every observed cell and leave no noise{remedy}")


def _information_shares(fitted: EMFit) -> Array:
    """Return the information about each component in the observed cells, as a share (k,) of that in complete rows.

    The share of a component that is as weak as the noise is 1.
    """
    values = np.maximum(fitted.eigenvalues[: len(fitted.certainty)], np.finfo(float).tiny)
    by_whole = 1 - fitted.noise_variance / values
    weak = by_whole < WEAK_SHARE
    return np.where(weak, 1.0, np.clip(fitted.certainty / np.where(weak, 1.0, by_whole), 0.0, 1.0))


def _warn_inflated(reporter: Reporter, fitted: EMFit, problem: Problem) -> None:
    """Warn about columns whose fitted variance is more than INFLATED times that of their observed cells."""
    seen = fitted.variances / fitted.std**2
    given = (fitted.basis**2) @ (fitted.eigenvalues[: fitted.basis.shape[1]] - fitted.noise_variance)
    much = (given > INFLATED * seen) & (fitted.census.cells >= ENOUGH) & fitted.census.varies
    if much.any():
        names = listed(problem.columns[j] for j in np.flatnonzero(much).tolist())
        reporter.warn(
            f"the fitted variance of these columns is more than {INFLATED:g} times their observed variance: {names}; "
            "use a larger -k"
        )
