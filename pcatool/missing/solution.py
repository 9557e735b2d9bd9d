"""Result of a fit to rows with missing cells, and its conversion to the solution of a solver."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.linalg.eigen import fix_signs
from pcatool.linalg.spectrum import backward_error
from pcatool.missing.census import Census
from pcatool.missing.em_step import LEAST_NOISE, LOG_2_PI, Parameters, Units, ddof_factor, rounding_of, variances_of
from pcatool.missing.likelihood import Optimum
from pcatool.solvers.base import Problem, Solution

__all__ = ["EMFit", "as_solution", "closed_form", "in_units_of_fit"]


class EMFit(NamedTuple):
    """The fitted model of probabilistic PCA.

    Variances and the log-likelihood are in the units of the fit: the columns centred and scaled as the problem asks.
    """

    mean: Array  # (d,)
    std: Array  # (d,)
    basis: Array  # (d, k) orthonormal
    eigenvalues: Array  # (d,) of W W^T + sigma^2 I: descending, sigma^2 after the first k
    noise_variance: float  # sigma^2
    log_likelihood: tuple[float, ...]  # of the observed cells, at each point of the climb
    iterations: int  # EM steps; each is a pass
    converged: bool
    certainty: Array  # (k,) 1 - posterior variance of each score, mean of all rows
    exact: bool  # the components explain every cell: the noise is 0 or at its lower limit
    error: Array  # (d,) of the eigenvalues: the largest change in the last steps; a bound if `proved`
    distance: Callable[[], Array | None]  # returns bounds (d,) on the distance of the eigenvalues from the maximum
    variances: Array  # (d,) of the observed cells of each column, about their mean
    census: Census
    proved: bool = False  # whether `error` is a bound

    def bounded(self) -> EMFit:
        """Return the fit with `error` replaced by a bound, if there is one. This takes a few more passes."""
        error = self.distance()
        return self if error is None else self._replace(error=error, proved=True)

    @property
    def rows(self) -> int:
        """Number of rows with at least one observed cell."""
        return self.census.rows

    @property
    def missing(self) -> NDArray[np.int64]:
        """Number of missing cells per column, (d,), including the cells of empty rows."""
        return self.census.missing

    @property
    def constant(self) -> tuple[int, ...]:
        """Columns whose observed cells are all equal."""
        return tuple(np.flatnonzero(~self.census.varies).tolist())

    @property
    def total_variance(self) -> float:
        return float(self.eigenvalues.sum())


def closed_form(solution: Solution, census: Census, k: int, problem: Problem) -> EMFit:
    """Return the maximum of the likelihood for complete rows: PCA, with the mean discarded eigenvalue as noise."""
    kept, lost = solution.eigenvalues[:k], solution.eigenvalues[k:]
    noise = float(lost.sum()) / (problem.d - k) if k < problem.d else 0.0
    model = np.concatenate([kept, np.full(problem.d - k, noise)])
    error = np.append(solution.error[:k], np.full(problem.d - k, float(solution.error.max())))
    return EMFit(
        mean=solution.mean,
        std=solution.std,
        basis=fix_signs(solution.leading(k)),
        eigenvalues=model,
        noise_variance=noise,
        log_likelihood=(_log_likelihood(model, census, problem),),
        iterations=0,
        converged=True,
        certainty=1 - np.divide(noise, kept, out=np.ones(k), where=kept > 0),
        exact=noise == 0,
        error=error,
        distance=lambda: error,
        variances=solution.variances,
        census=census,
    )


def _log_likelihood(model: Array, census: Census, problem: Problem) -> float:
    """Return -n/2 (d log 2 pi + log |C| + tr C^-1 S), where C^-1 S has trace d; infinity if the noise is 0."""
    if model[-1] <= 0:
        return math.inf
    d = len(model)
    return -0.5 * census.weight * (d * LOG_2_PI + float(np.log(model * ddof_factor(census, problem)).sum()) + d)


def in_units_of_fit(
    optimum: Optimum,
    distance: Callable[[Parameters], Array | None],
    units: Units,
    census: Census,
    problem: Problem,
    k: int,
) -> EMFit:
    """Convert the end of a maximization from the units of EM to those of the fit.

    `distance` bounds how far the eigenvalues are from the maximum, in the units of EM.
    """
    at = optimum.end.at
    rotation = np.linalg.svd(at.W, full_matrices=False)[2]
    certainty = 1 - np.diagonal(rotation @ optimum.end.score_covariance @ rotation.T)
    # With k = d, W has d - 1 columns: the last axis is the direction that W leaves to the noise.
    axes = np.linalg.svd(at.W, full_matrices=k > at.W.shape[1])[0]
    values = at.eigenvalues
    # A single eigenvalue may stop moving for a few steps; all of them stop only at the end.
    moved = float(np.abs(values - optimum.earlier.eigenvalues).max()) + backward_error(problem.d, values[0])
    scale = units.unit**2 / ddof_factor(census, problem)

    def in_units() -> Array | None:
        found = distance(at)
        if found is None:
            return None
        of_rows, of_columns = rounding_of(census, problem)
        return np.asarray((found + of_rows * values + of_columns * values[0]) * scale)

    shift = float(census.weights.sum()) * math.log(units.unit)
    return EMFit(
        mean=units.origin + (units.shift + units.std * units.unit * at.mu),
        std=units.std,
        basis=fix_signs(axes[:, :k]),
        eigenvalues=values * scale,
        noise_variance=at.noise * scale,
        log_likelihood=tuple(value - shift for value in optimum.log_likelihood),
        iterations=optimum.steps,
        converged=optimum.converged,
        certainty=np.append(certainty, np.zeros(k - len(certainty))),
        exact=at.noise < 2 * LEAST_NOISE,
        error=np.full(problem.d, moved * scale),
        distance=in_units,
        variances=variances_of(census, problem),
        census=census,
    )


def as_solution(fitted: EMFit, problem: Problem) -> Solution:
    """Return the fitted covariance, U (Lambda - sigma^2 I) U^T + sigma^2 I, as the solution of a solver."""
    U, noise = fitted.basis, fitted.noise_variance
    signal = fitted.eigenvalues[: U.shape[1]] - noise
    census = fitted.census
    return Solution(
        n=census.rows,
        mean=fitted.mean,
        std=fitted.std,
        eigenvalues=fitted.eigenvalues,
        error=fitted.error,
        leading=lambda count: U[:, :count],
        total_variance=fitted.total_variance,
        rank=U.shape[1] if fitted.exact else problem.d,  # the noise has full rank
        route="em",
        constant=fitted.constant,
        variances=fitted.variances,
        apply=lambda V: U @ (signal[:, None] * (U.T @ V)) + noise * V,
        observations=problem.observations(census.rows, census.weight),
    )
