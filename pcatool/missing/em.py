"""Probabilistic PCA of rows with missing cells, by maximum likelihood of the observed cells.

The model of a row is x = W z + mu + noise, with k scores z. When to prefer it: cells are missing at random, given the
observed cells. The method neither drops rows nor makes up cells, so that the result stays right when most cells are
missing. Without missing cells the optimum is known: PCA (`closed_form`).

Start: PCA of the rows with 0, their mean, in the missing cells. Zeros shrink the covariance of two columns with
observed shares p_i and p_j by p_i p_j, and a variance by p_i (Lounici 2014, Bernoulli 20(3)); the start divides by
these factors. So few steps remain, and no seed is needed up to WHOLE_SCATTER_COLUMNS columns.

Step: one pass over the rows. The E step computes the posterior of z for each row from its observed cells, rows with the
same pattern of missing cells together. The M step solves normal equations for each row of W with its mean, and folds
the expanded posterior of z back into W (PX-EM). `maximize` estimates the curvature from earlier steps and computes
longer steps; it keeps a step only if the likelihood does not fall.

Passes: one for the columns, one for the start, 20 to 200 to converge. Cost per pass: n d k^2 if each row has its own
pattern, n d k if there are few patterns; k^2 per cell for rows in compressed form. Memory: d k^2 and one block,
whatever n, or the cells; the start takes d^2 up to WHOLE_SCATTER_COLUMNS columns.
SciPy has no equal; `numpy.linalg.eigh(numpy.cov(X.T, bias=True))` when nothing is missing.
Tipping and Bishop 1999, J. R. Stat. Soc. B 61(3); Ilin and Raiko 2010, JMLR 11; Liu, Rubin, Wu 1998, Biometrika 85(4).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import SERIAL, Accumulator, Array, Block, Engine, block_rows
from pcatool.errors import DataError, RefusedError
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.eigen import fix_signs
from pcatool.linalg.moments import Moments, MomentsAccumulator
from pcatool.linalg.sparse import SparseRows
from pcatool.linalg.spectrum import backward_error
from pcatool.missing.census import Census, take_census
from pcatool.missing.em_step import (
    LEAST_NOISE,
    LOG_2_PI,
    Parameters,
    Slope,
    Units,
    ddof_factor,
    rounding_of,
    units_of,
    unpack_symmetric,
    variances_of,
)
from pcatool.missing.em_sums import Blocks, Cells, cells_at_a_time, working_bytes
from pcatool.missing.likelihood import MEMORY, Likelihood, Optimum, Point, affordable, bytes_needed, distance, maximize
from pcatool.progress import doing
from pcatool.solvers.base import Problem, Solution
from pcatool.solvers.covariance import Covariance
from pcatool.solvers.estimate import Estimate
from pcatool.solvers.rows import Rows
from pcatool.wording import counted, grouped

__all__ = ["EMFit", "as_solution", "check_census", "closed_form", "estimate", "fit_em", "most_components"]

# Most columns for a start from the whole d x d scatter, which needs no seed.
WHOLE_SCATTER_COLUMNS = 1024

# Wider tables start from k + EXTRA directions, multiplied POWER_ITERATIONS times by the covariance.
EXTRA, POWER_ITERATIONS = 10, 4

# Each component of the start has at least this share of the noise variance: EM never leaves a column of zeros.
LEAST_SIGNAL = 0.1

# Least total noise of the start, where the variances add up to d: from less noise, the first steps lead far away.
LEAST_LEFT = 1e-9


def start_width(d: int, k: int) -> int:
    """Number of directions in which `start` looks for k components: d up to WHOLE_SCATTER_COLUMNS, else k + EXTRA."""
    return d if d <= WHOLE_SCATTER_COLUMNS else min(k + EXTRA, d)


def start(product: Callable[[Array], Array], census: Census, variances: Array, k: int, seed: int) -> Parameters:
    """Return the parameters from which EM starts: PCA of the rows with 0 in the missing cells, corrected for the zeros.

    `product` maps V (d, m) to Y^T Y V for these rows Y, in the units of EM; `variances` (d,) are the variances of the
    observed cells in these units. `seed` is used only above WHOLE_SCATTER_COLUMNS columns.
    """
    d = len(variances)
    observed = (census.weights / census.weight)[:, None]
    variances = variances[:, None]

    def covariance(V: Array) -> Array:
        return (product(V / observed) / census.weight - variances * V) / observed + variances * V

    width = start_width(d, k)
    V = np.eye(d) if width == d else _leading_space(covariance, d, width, seed)
    with one_blas_thread():
        T = V.T @ covariance(V)
        values, vectors = np.linalg.eigh((T + T.T) / 2)
    values, vectors = values[::-1], (V @ vectors[:, ::-1])[:, :k]
    # The whole scatter gives the noise by its smallest eigenvalues, however much larger the others are. Missing cells
    # may make some of them negative.
    remaining_variance = float(np.abs(values[k:]).sum()) if width == d else d - float(values[:k].sum())
    noise = max(remaining_variance, LEAST_LEFT) / (d - k)
    W = vectors * np.sqrt(np.maximum(values[:k] - noise, LEAST_SIGNAL * noise))
    return Parameters(W, np.zeros(d), noise)


def _leading_space(covariance: Callable[[Array], Array], d: int, width: int, seed: int) -> Array:
    """Return an orthonormal basis (d, width) of the approximate leading eigenspace of a covariance matrix.

    `covariance` multiplies a matrix (d, width) by the covariance, for a power iteration from a random start.
    """
    V = np.random.default_rng(seed).standard_normal((d, width))
    for _ in range(POWER_ITERATIONS):
        V = covariance(np.linalg.qr(V)[0])
    return np.linalg.qr(V)[0]


# The likelihood has converged when three steps gain less than this per observed cell, twice in a row. The gain is
# judged per cell since the log-likelihood itself changes with the units and may be 0. At 1e-10 eigenvalues are within
# 1e-6 of the optimum, 1e-4 where a component is as weak as the noise; a tenth of this value takes a tenth more steps,
# or twice as many.
LEAST_GAIN = 1e-10

# Most EM steps: with cells missing at random, 20 to 200 are enough.
MOST_STEPS = 1000


def estimate(d: int, k: int, cells: SparseRows | None = None) -> Estimate:
    """Return the passes over the rows and the memory of `fit_em` with k components of d columns.

    Without `cells`, the estimate is for any number of rows in blocks. With `cells`, it is for these rows in compressed
    form, whose own memory is included.
    """
    sums = 8 * d * (k + 1) * (k + 4) // 2
    if cells is None:  # each thread has a slab of its own; freed matrices of the first pass, up to eight, leave holes
        working, slab = 8 * 8 * d * d, working_bytes(d, k)
    else:
        # The cells as given and in EM's units; and for each thread a slab with the numbers gathered for it. No thread
        # but one has a slab larger than the second.
        of_slabs = sorted(_slab_bytes(cells, first, last, k) for first, last in cells.cut(cells_at_a_time(d, k)))
        slab, largest = [0, 0, *of_slabs][-2:]
        working = 48 * len(cells.values) + 32 * cells.n + (16 << 20) + largest - slab
    second, of_block = bytes_needed(d, min(k, d - 1))
    need = second + 4 * sums + 16 * (MEMORY + 4) * d * (k + 1) + 32 * d * start_width(d, k) + working
    return Estimate(
        "2 and then as many as EM needs, mostly 20 to 200",
        need,
        max(sums, of_block),
        work=slab,
        copies=2,
        without_blocks=cells is not None,
    )


def _slab_bytes(cells: SparseRows, first: int, last: int, k: int) -> int:
    """Return the bytes of the numbers gathered for the cells in rows first to last (exclusive), with k components."""
    return 24 * int(cells.starts[last] - cells.starts[first]) * (k + 2) + 32 * (last - first) * (k + 1) ** 2


def fit_em(
    rows: Rows | SparseRows,
    problem: Problem,
    k: int,
    *,
    census: Census | None = None,
    most_steps: int = MOST_STEPS,
    gain: float = LEAST_GAIN,
    iterate: bool = False,
    engine: Engine = SERIAL,
) -> EMFit:
    """Fit probabilistic PCA with k components by EM, or by `closed_form` if no cell is missing and not `iterate`.

    `census` is the result of `take_census`, if it is known. EM ends after `most_steps` steps, or when steps gain less
    than `gain` in log-likelihood per observed cell. `engine` works on rows in compressed form; `Rows` have an engine of
    their own. Raise `DataError` for too few rows or cells for k components, for columns without cells and for rows
    without variance; `RefusedError` if the observed cells do not determine k components, and for unsuitable weights.
    """
    _several_passes(rows)
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        doing("counting missing cells")
        census = census or take_census(rows, problem)
        check_number(k, census, problem)
        if census.complete and not iterate:
            return closed_form(_solve_complete(rows, census, problem), census, k, problem)
        try:
            return _fit_iteratively(rows, problem, census, k, most_steps, gain, engine)
        except np.linalg.LinAlgError:
            few = "leave out columns with few values (-x)"
            if isinstance(rows, SparseRows):  # from triples, which have no -x
                few = "remove the lines of items that have few lines"
            remedy = f"use -k {k - 1} or less" if k > 1 else few
            raise RefusedError(f"the observed cells do not determine {counted(k, 'component')}", remedy) from None


def _several_passes(rows: Rows | SparseRows) -> None:
    if isinstance(rows, Rows):
        rows.several_passes()


def check_census(census: Census, problem: Problem) -> None:
    """Raise the errors of `fit_em` that follow from the census alone, before any EM step.

    If the problem asks for a share of the variance or for a rule, check whether one component can be fitted.
    """
    check_number(problem.wish if isinstance(problem.wish, int) else 1, census, problem)
    with np.errstate(all="ignore"):
        units_of(census, problem)


def check_number(k: int, census: Census, problem: Problem) -> None:
    """Raise `DataError` unless k is from 1 to `most_components`.

    With at least as many parameters as observed cells, a model could explain any cells, at infinite likelihood.
    """
    if k < 1 or k > min(census.rows, problem.d):
        raise _too_many(k, census, problem)
    most = most_components(census, problem)
    if most < k:
        raise DataError(
            f"-k {k} with {counted(problem.d, 'column')} needs more than {grouped(_parameter_count(k, problem))} "
            f"observed cells, but the data have {grouped(int(census.cells.sum()))} observed cells",
            f"use -k {most} or less" if most else "give more rows",
        )


def most_components(census: Census, problem: Problem) -> int:
    """Return the largest number of components that can be fitted; 0 if observed cells are too few for one component.

    The number is at most that of the rows and that of the columns. With missing cells, the model must also have fewer
    parameters than there are observed cells.
    """
    bound, cells = min(census.rows, problem.d), int(census.cells.sum())
    if census.complete:
        return bound
    return next((k for k in range(bound, 0, -1) if _parameter_count(k, problem) < cells), 0)


def _parameter_count(k: int, problem: Problem) -> int:
    """Number of free parameters of k components: W up to rotation, the noise and, if centred, the mean."""
    d, k = problem.d, min(k, problem.d - 1)
    return d * k - k * (k - 1) // 2 + 1 + problem.center * d


def _too_many(k: int, census: Census, problem: Problem) -> DataError:
    bound = min(census.rows, problem.d)
    return DataError(
        f"-k {k} is not possible: {counted(census.rows, 'row')} with values and {counted(problem.d, 'column')} "
        f"give 1 to {counted(bound, 'component')}",
        f"use -k {bound} or less" if k > bound else "use -k 1 or more",
    )


def _solve_complete(rows: Rows | SparseRows, census: Census, problem: Problem) -> Solution:
    """Return the PCA of the rows that are not empty, none of which lacks a cell, by the solver `covariance`."""
    if isinstance(rows, SparseRows):
        height = block_rows(rows.d)
        rows = Rows(rows.dense(at, min(at + height, rows.n), np.nan) for at in range(0, rows.n, height))
    moments = rows.reduce(CompleteRowsAccumulator(census.origin))
    assert moments is not None, "some row has cells: `check_number` has counted them"
    return Covariance().solve_moments(moments, problem)


class CompleteRowsAccumulator(Accumulator[Block, Moments | None]):
    """Adds up the moments of the complete rows about `origin` (d,), without the empty rows.

    Each row is complete or empty. The moments of rows that are all empty are None.
    """

    def __init__(self, origin: Array) -> None:
        self.of_complete = MomentsAccumulator(origin)

    @property
    def part_bytes(self) -> int:
        """Bytes of the moments of one block."""
        return self.of_complete.part_bytes

    def of_block(self, block: Block) -> Moments | None:
        """Return the moments of the rows of one block that are not empty."""
        X, w = block
        used = ~np.isnan(X[:, 0])
        if not used.any():
            return None
        if not used.all():
            X, w = X[used], None if w is None else w[used]
        return self.of_complete.of_block((X, w))

    def merge(self, one: Moments | None, other: Moments | None) -> Moments | None:
        """Return the moments of the rows of `one` and `other` together, None without rows; overwrites `one`."""
        return other if one is None else one if other is None else one.merge(other)


def _fit_iteratively(
    rows: Rows | SparseRows, problem: Problem, census: Census, k: int, most_steps: int, gain: float, engine: Engine
) -> EMFit:
    """Fit k components by EM, also for rows without missing cells; the arguments are those of `fit_em`.

    Raise `LinAlgError` if a matrix is singular or the likelihood is not finite.
    """
    units = units_of(census, problem)
    cells = float(census.weights.sum())
    inner = min(k, problem.d - 1)
    if isinstance(rows, Rows):
        table: Blocks | Cells = Blocks(rows, units, estimate(problem.d, k).result)
    else:
        table = Cells.of(rows, units, k, engine)

    count = itertools.count(1)

    def step(at: Parameters) -> Point:
        doing(f"EM step {next(count)}")
        sums = table.sums(at, problem.center)
        if not math.isfinite(sums.log_likelihood):
            raise np.linalg.LinAlgError("the likelihood is not finite")
        slope = Slope.of(sums, at, cells, census.weight)
        covariance, after = (
            unpack_symmetric(sums.covariances / census.weight, inner),
            slope.maximum(sums.latent / census.weight),
        )
        return Point(at, sums.log_likelihood, covariance, slope, after)

    def value(at: Parameters) -> tuple[float, Slope]:
        doing("computing bounds on the errors of the eigenvalues")
        sums = table.sums(at, problem.center)
        return sums.log_likelihood, Slope.of(sums, at, cells, census.weight)

    def to_maximum(at: Parameters) -> Array | None:
        if not affordable(census.rows, problem.d, inner, problem.center):
            return None
        of = Likelihood(value, lambda at: table.second_derivatives(at, problem.center))
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            return distance(of, at)

    first = start(table.product, census, units.variances, inner, problem.seed)
    return in_units_of_fit(maximize(step, first, most_steps, gain * cells), to_maximum, units, census, problem, k)


# --- the result ---


class EMFit(NamedTuple):
    """The fitted model of probabilistic PCA.

    Variances and the log-likelihood are in the units of the fit: the columns centred and scaled as the problem asks.
    """

    mean: Array  # (d,) subtracted from the rows; zeros when not centred
    std: Array  # (d,) by which columns are divided; ones when not standardised
    basis: Array  # (d, k) orthonormal
    eigenvalues: Array  # (d,) of W W^T + sigma^2 I: descending, sigma^2 after the first k
    noise_variance: float  # sigma^2
    log_likelihood: tuple[float, ...]  # of the observed cells, at the start and after each step that was kept
    iterations: int  # EM steps, each a pass over the rows
    converged: bool  # whether EM ended because further steps would gain too little
    certainty: Array  # (k,) 1 - posterior variance of each score, mean over all rows
    exact: bool  # the components explain every cell: the noise is 0 or at its lower limit
    error: Array  # (d,) error of each eigenvalue: bounds if `proved`, else the largest change in the last steps
    distance: Callable[[], Array | None]  # computes bounds (d,) on these errors, or None if there are no bounds
    variances: Array  # (d,) of the observed cells of each column, about their mean
    census: Census  # counts of the rows and observed cells
    proved: bool = False  # whether `error` is a bound

    def bounded(self) -> EMFit:
        """Return a copy with bounds as its `error`, from a few more passes; if there are no bounds, return this fit."""
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
        """Indices of the columns whose observed cells are all equal."""
        return tuple(np.flatnonzero(~self.census.varies).tolist())

    @property
    def total_variance(self) -> float:
        return float(self.eigenvalues.sum())


def closed_form(solution: Solution, census: Census, k: int, problem: Problem) -> EMFit:
    """Return the fit of maximum likelihood to complete rows, from `solution`, their PCA.

    The noise variance is the mean of the eigenvalues that the k components leave out.
    """
    kept, lost = solution.eigenvalues[:k], solution.eigenvalues[k:]
    noise = float(lost.sum()) / (problem.d - k) if k < problem.d else 0.0
    eigenvalues = np.concatenate([kept, np.full(problem.d - k, noise)])
    error = np.append(solution.error[:k], np.full(problem.d - k, float(solution.error.max())))
    return EMFit(
        mean=solution.mean,
        std=solution.std,
        basis=fix_signs(solution.leading(k)),
        eigenvalues=eigenvalues,
        noise_variance=noise,
        log_likelihood=(_log_likelihood(eigenvalues, census, problem),),
        iterations=0,
        converged=True,
        certainty=1 - np.divide(noise, kept, out=np.ones(k), where=kept > 0),
        exact=noise == 0,
        error=error,
        distance=lambda: error,
        variances=solution.variances,
        census=census,
    )


def _log_likelihood(eigenvalues: Array, census: Census, problem: Problem) -> float:
    """Return the largest log-likelihood of complete rows, from the eigenvalues (d,) of the fitted covariance C.

    That is -n/2 (d log 2 pi + log |C| + tr C^-1 S), where C^-1 S has trace d; infinity if the noise is 0.
    """
    if eigenvalues[-1] <= 0:
        return math.inf
    d = len(eigenvalues)
    return -0.5 * census.weight * (d * LOG_2_PI + float(np.log(eigenvalues * ddof_factor(census, problem)).sum()) + d)


def in_units_of_fit(
    optimum: Optimum,
    distance: Callable[[Parameters], Array | None],
    units: Units,
    census: Census,
    problem: Problem,
    k: int,
) -> EMFit:
    """Return the fit with k components at the end of a maximization, converted from the units of EM.

    `distance` returns bounds (d,) on the errors of the eigenvalues at given parameters, in the units of EM, or None.
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
    """Return the fit as the record that solvers return, of the covariance U (Lambda - sigma^2 I) U^T + sigma^2 I.

    U are the directions, Lambda their eigenvalues, and sigma^2 is the variance of the noise.
    """
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
