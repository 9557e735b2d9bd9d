"""Probabilistic PCA of rows with holes: x = W z + mu + noise, by maximum likelihood of the observed cells.

When to prefer it: cells are missing, at random given what is seen. It neither drops rows nor makes up cells, so it
stays right when most cells are missing. Without any hole the optimum is known: PCA (`closed_form`).
Each pass is one step of EM: the posterior of z for each row from its observed cells, rows of one pattern together, then
each row of W with its mean from normal equations of its own. The expanded posterior of z is folded back into W (PX-EM),
and every two steps are extrapolated (SQUAREM), which is kept only if the likelihood does not fall.
Passes: one for the columns, one for the start, 20 to 200 to converge. Cost a pass: n d k^2 for as many patterns as
rows, n d k for few. Memory: d k^2 and one block, whatever n; the start takes d^2 up to WHOLE columns.
SciPy has none; `numpy.linalg.eigh(numpy.cov(X.T, bias=True))` when nothing is missing.
Tipping and Bishop 1999, J. R. Stat. Soc. B 61(3); Ilin and Raiko 2010, JMLR 11; Liu, Rubin, Wu 1998, Biometrika 85(4);
Varadhan and Roland 2008, Scand. J. Stat. 35(2).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.errors import DataError, RefusedError, listed
from pcatool.holes.projection import Mask, hole_keys, same_holes
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.linalg.moments import Moments, gather
from pcatool.linalg.signs import fix_signs
from pcatool.linalg.spectral import backward
from pcatool.model import Array, VarianceTable
from pcatool.solvers.base import Estimate, Problem, Solution, check_solvable, scale_of
from pcatool.solvers.covariance import Covariance, scatter_bytes
from pcatool.solvers.rows import Rows, nothing_to_fit

__all__ = ["Census", "Fitted", "as_solution", "closed_form", "estimate", "fit_em", "fit_share", "take_census"]

# The likelihood has converged when two steps and a leap gain less than this per observed cell, twice in a row. It is
# judged per cell since the log-likelihood itself changes with the units and may be 0. At 1e-10 eigenvalues are within
# 1e-5 of the optimum, 1e-3 where a component is as weak as the noise; a tenth of it takes a twentieth more steps.
GAIN = 1e-10

# EM steps at most: with holes at random 20 to 200 are enough.
MOST_STEPS = 1000

# The noise is kept above this part of the mean variance. Cells that W explains exactly would drive it to 0; and the
# posterior of a row with fewer cells than components has the inverse as its condition: six digits are left.
LEAST_NOISE = 1e-10

# The factor by which the longest leap grows when it went well, and shrinks when it did not.
LEAP = 4.0
TINY = float(np.finfo(np.float64).tiny)
LARGEST_LOG = 700.0  # of what a double holds

LOG_2_PI = math.log(2 * math.pi)

# Numbers worked on at a time: half a megabyte stays in the cache, and threads do not wait for memory.
SLAB = 1 << 16

# Of wide rows so many at a time nevertheless: their sums are larger than they are.
FEWEST_ROWS = 64

# Patterns of holes are told apart up to this many, so that memory does not grow with the rows.
MOST_PATTERNS = 1 << 16

# Columns up to which the start is had from the whole scatter, without a seed.
WHOLE = 1024

# Of wider rows it comes from a few more directions than asked for, multiplied this often.
EXTRA, POWERS = 10, 4

# A share of the variance is looked for from this many components on.
FEW = 4

# A component of the start has at least this part of the noise: EM never leaves a column of zeros.
LEAST_SIGNAL = 0.1


class Census(NamedTuple):
    """What there is of each column, about an origin of its own, and of the rows."""

    rows: int  # with a cell at least
    empty: int  # rows without
    weight: float  # of the rows: their number, or the sum of their weights
    squares: float  # sum of squared weights
    cells: NDArray[np.int64]  # (d,) that are there
    weights: Array  # (d,) of these
    weight_squares: Array  # (d,)
    origin: Array  # (d,) a cell of the column
    shift: Array  # (d,) mean about the origin
    scatter: Array  # (d,) sum of w (x - mean)^2
    varies: Mask  # (d,) two cells differ
    keys: NDArray[np.uint64]  # of the patterns, not more than MOST_PATTERNS

    @property
    def complete(self) -> bool:
        """Has every row that is not empty all its cells?"""
        return bool(np.all(self.cells == self.rows))

    @property
    def missing(self) -> NDArray[np.int64]:
        """Cells missing in each column, (d,), those of empty rows too."""
        return self.rows + self.empty - self.cells

    @property
    def mean(self) -> Array:
        return self.origin + self.shift

    def merge(self, other: Census) -> Census:
        """Of these rows followed by the others (Chan, Golub, LeVeque 1983)."""
        both = (self.cells > 0) & (other.cells > 0)
        origin = np.where(self.cells > 0, self.origin, other.origin)
        weights = self.weights + other.weights
        share = other.weights / np.where(weights > 0, weights, 1.0)
        apart = np.where(both, (other.origin - self.origin) + (other.shift - self.shift), 0.0)
        return Census(
            self.rows + other.rows,
            self.empty + other.empty,
            self.weight + other.weight,
            self.squares + other.squares,
            self.cells + other.cells,
            weights,
            self.weight_squares + other.weight_squares,
            origin,
            np.where(self.cells > 0, self.shift + apart * share, other.shift),
            self.scatter + other.scatter + apart * apart * self.weights * share,
            self.varies | other.varies | (both & (self.origin != other.origin)),
            np.union1d(self.keys, other.keys)[:MOST_PATTERNS],
        )


class Units(NamedTuple):
    """How cells come to the units EM works in: about their column's mean, of mean variance 1."""

    origin: Array  # (d,)
    shift: Array  # (d,)
    std: Array  # (d,) what the fit divides by
    unit: float  # and then this: sums neither overflow nor underflow, and steps do not depend on the scale
    variances: Array  # (d,) of the columns in these units

    def rows(self, X: Array) -> Array:
        return ((X - self.origin) - self.shift) / (self.std * self.unit)


class Parameters(NamedTuple):
    W: Array  # (d, k)
    mu: Array  # (d,)
    noise: float  # sigma^2


class Sums(NamedTuple):
    """What a step needs of all rows. m is k and one more for the mean; pairs of m stand as in the upper triangle."""

    log_likelihood: float
    squares: Array  # (d, m (m + 1) / 2) of each column the sum of E[z z^T] over the rows that have it
    products: Array  # (d, m) sum of x E[z]
    residual: float  # sum of squares of x - W E[z] - mu
    doubt: Array  # (k (k + 1) / 2,) sum of Cov z
    latent: Array  # (m (m + 1) / 2,) sum of E[z z^T] over all rows

    def merge(self, other: Sums) -> Sums:
        """Of these rows and the others."""
        return Sums(*map(operator.add, self, other))


class Point(NamedTuple):
    """Parameters, their log-likelihood, and where EM goes from there."""

    at: Parameters
    log_likelihood: float
    doubt: Array  # (k, k) mean of Cov z
    next: Parameters


class Fitted(NamedTuple):
    """The model; variances and the log-likelihood are in the units of the fit."""

    mean: Array  # (d,)
    std: Array  # (d,)
    basis: Array  # (d, k) orthonormal
    eigenvalues: Array  # (d,) of W W^T + sigma^2 I: descending, sigma^2 past the components
    noise_variance: float  # sigma^2
    log_likelihood: tuple[float, ...]  # of the observed cells, as it rose
    iterations: int  # EM steps, each of them a pass
    converged: bool
    certainty: Array  # (k,) share of each component's variance that the cells tell, the mean of all rows
    exact: bool  # the components explain every cell: the noise is 0, or where it is kept from falling to 0
    error: Array  # (d,) of the eigenvalues: the most that one of them moved by last
    variances: Array  # (d,) of the observed cells, about their mean
    census: Census

    @property
    def rows(self) -> int:
        return self.census.rows

    @property
    def empty_rows(self) -> int:
        return self.census.empty

    @property
    def missing(self) -> NDArray[np.int64]:
        """Cells missing in each column, (d,), those of empty rows too."""
        return self.census.missing

    @property
    def patterns(self) -> int:
        """Different patterns of holes, none at all among them; counted to MOST_PATTERNS."""
        return len(self.census.keys)

    @property
    def constant(self) -> tuple[int, ...]:
        """Columns whose observed cells are all equal."""
        return tuple(np.flatnonzero(~self.census.varies).tolist())

    @property
    def total_variance(self) -> float:
        return float(self.eigenvalues.sum())


def estimate(d: int, k: int) -> Estimate:
    """What a fit will need, whatever the number of rows."""
    width = d if d <= WHOLE else k + EXTRA
    sums = 8 * d * (k + 1) * (k + 4) // 2
    working = 8 * 16 * max(SLAB, FEWEST_ROWS * max(d, k * k)) + 24 * MOST_PATTERNS
    return Estimate("2 and as many as it takes, mostly 20 to 200", 4 * sums + 32 * d * width + working, sums)


def fit_em(
    rows: Rows, problem: Problem, k: int, *, most_steps: int = MOST_STEPS, gain: float = GAIN, iterate: bool = False
) -> Fitted:
    """Fit k components; without holes in the closed form, unless told to `iterate`."""
    rows.several_passes()
    with threads(1), np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        census = take_census(rows, problem)
        if k < 1 or k > min(census.rows, problem.d):
            raise _too_many(k, census, problem)
        if census.complete and not iterate:
            return closed_form(_solved(rows, census, problem), census, k, problem)
        _check_cells(k, census, problem)
        try:
            return _iterated(rows, problem, census, k, most_steps, gain)
        except np.linalg.LinAlgError:
            raise RefusedError(
                f"the cells that are there do not determine {k} components", "use a smaller -k"
            ) from None


def fit_share(
    rows: Rows, problem: Problem, share: float, *, most_steps: int = MOST_STEPS, gain: float = GAIN
) -> Fitted:
    """Fit twice as many components until they hold the share of the variance; the fewest that do are kept."""
    rows.several_passes()
    most = max(_most_components(take_census(rows, problem), problem), 1)
    k = min(FEW, most)
    while True:
        fitted = fit_em(rows, problem, k, most_steps=most_steps, gain=gain)
        enough = VarianceTable.of(fitted.eigenvalues, fitted.total_variance).smallest_k(share) or most
        if enough <= k or k == most:
            kept = min(enough, k)
            return fitted._replace(basis=fitted.basis[:, :kept], certainty=fitted.certainty[:kept])
        k = min(2 * k, most)


def _check_cells(k: int, census: Census, problem: Problem) -> None:
    """Refuse a model of more numbers than there are cells: it would explain anything, at infinite likelihood."""
    most = _most_components(census, problem)
    if most < k:
        raise DataError(
            f"-k {k} of {problem.d} columns means {_numbers(k, problem)} numbers to find, "
            f"from {int(census.cells.sum())} cells that are not missing",
            f"use -k {most} or less" if most else "give more rows",
        )


def _most_components(census: Census, problem: Problem) -> int:
    """As many as the rows, the columns and, with holes, the cells can have."""
    bound, cells = min(census.rows, problem.d), int(census.cells.sum())
    if census.complete:
        return bound
    return next((k for k in range(bound, 0, -1) if _numbers(k, problem) < cells), 0)


def _numbers(k: int, problem: Problem) -> int:
    """W but for its rotation, the noise, and the mean."""
    d, k = problem.d, min(k, problem.d - 1)
    return d * k - k * (k - 1) // 2 + 1 + problem.center * d


def _too_many(k: int, census: Census, problem: Problem) -> DataError:
    bound = min(census.rows, problem.d)
    return DataError(
        f"-k {k}: {census.rows} rows with values and {problem.d} columns give 1 to {bound} components",
        f"use -k {bound} or less" if k > bound else "use -k 1 or more",
    )


# --- what there is ---


def take_census(rows: Rows, problem: Problem) -> Census:
    """One pass over the columns; refuses one that holds nothing, and what no model can be fitted to."""
    parts = rows.map(_census_of, size=64 * problem.d)
    first = next(parts, None)
    if first is None:
        raise nothing_to_fit()
    census = reduce(Census.merge, parts, first)
    without = [problem.columns[j] for j in np.flatnonzero(~(census.weights > 0))]
    if len(without) == problem.d:
        raise DataError("every cell is missing", "give rows with values")
    if without:
        noun = "column" if len(without) == 1 else "columns"
        raise DataError(f"no value in {noun} {listed(without)}", f"leave the {noun} out with -x")
    return census


def _census_of(X: Array, w: Array | None) -> Census:
    observed = ~np.isnan(X)
    w = np.ones(len(X)) if w is None else w
    used = observed.any(axis=1)
    cells = observed.sum(axis=0)
    weights = w @ observed
    origin = np.where(cells > 0, X[observed.argmax(axis=0), np.arange(X.shape[1])], 0.0)
    Y = np.where(observed, X - origin, 0.0)
    varies = np.asarray(Y.any(axis=0))
    shift = (w @ Y) / np.where(weights > 0, weights, 1.0)
    Y = np.where(observed, Y - shift, 0.0)
    rest = w @ Y  # what rounding left
    return Census(
        int(used.sum()),
        int(len(X) - used.sum()),
        float(w @ used),
        float((w * w) @ used),
        cells,
        weights,
        (w * w) @ observed,
        origin,
        shift + rest / np.where(weights > 0, weights, 1.0),
        np.einsum("i,ij,ij->j", w, Y, Y) - rest * rest / np.where(weights > 0, weights, 1.0),
        varies,
        np.unique(hole_keys(observed))[:MOST_PATTERNS],
    )


def _divisor(weight: Array, squares: Array, problem: Problem) -> Array:
    """n - ddof as Problem.divisor has it, of every column or of the rows."""
    if problem.weights == "reliability" and problem.ddof == 1:
        return np.asarray(weight - squares / weight)
    return np.asarray(weight - problem.ddof)


def _variances(census: Census, problem: Problem) -> Array:
    """Of the observed cells about their mean, (d,); 0 for a column with one cell."""
    divisor = _divisor(census.weights, census.weight_squares, problem)
    return np.where(divisor > 0, census.scatter / np.where(divisor > 0, divisor, 1.0), 0.0)


# --- nothing is missing ---


def _solved(rows: Rows, census: Census, problem: Problem) -> Solution:
    """PCA of the rows that are not empty."""

    def of_block(X: Array, w: Array | None) -> Moments | None:
        used = ~np.isnan(X[:, 0])
        if not used.any():
            return None
        if not used.all():
            X, w = X[used], None if w is None else w[used]
        return Moments.of_block(X, census.origin, w)

    parts = rows.map(of_block, size=scatter_bytes(problem.d))
    return Covariance().finish(gather(part for part in parts if part is not None), problem)


def closed_form(solution: Solution, census: Census, k: int, problem: Problem) -> Fitted:
    """The optimum where nothing is missing: PCA, with the mean of the discarded eigenvalues as noise."""
    kept, lost = solution.eigenvalues[:k], solution.eigenvalues[k:]
    noise = float(lost.sum()) / (problem.d - k) if k < problem.d else 0.0
    model = np.concatenate([kept, np.full(problem.d - k, noise)])
    return Fitted(
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
        error=np.append(solution.error[:k], np.full(problem.d - k, float(solution.error.max()))),
        variances=solution.variances,
        census=census,
    )


def _log_likelihood(model: Array, census: Census, problem: Problem) -> float:
    """-n/2 (d log 2 pi + log |C| + tr C^-1 S), where C^-1 S has trace d."""
    if model[-1] <= 0:
        return math.inf
    d, fewer = len(model), _fewer(census, problem)
    return -0.5 * census.weight * (d * LOG_2_PI + float(np.log(model * fewer).sum()) + d)


def _fewer(census: Census, problem: Problem) -> float:
    """(n - ddof) / n: likelihood divides by n."""
    return float(_divisor(np.asarray(census.weight), np.asarray(census.squares), problem)) / census.weight


# --- by steps ---


def _iterated(rows: Rows, problem: Problem, census: Census, k: int, most_steps: int, gain: float) -> Fitted:
    units = _units(census, problem)
    cells = float(census.weights.sum())
    size = estimate(problem.d, k).result

    def step(at: Parameters) -> Point:
        parts = rows.map(lambda X, w: _expected(units.rows(X), w, at, problem.center), size=size)
        sums = reduce(Sums.merge, parts)
        if not math.isfinite(sums.log_likelihood):
            raise np.linalg.LinAlgError("the likelihood is not finite")
        after = _maximised(sums, at, cells, census.weight, problem.center)
        return Point(at, sums.log_likelihood, _square(sums.doubt / census.weight, at.W.shape[1]), after)

    start = _start(rows, problem, census, units, min(k, problem.d - 1))
    path, steps, converged = _climb(step, start, most_steps, gain * cells)
    return _in_units_of_fit(path, steps, converged, units, census, problem, k)


def _units(census: Census, problem: Problem) -> Units:
    variances = _variances(census, problem)
    std = scale_of(variances, ~census.varies, problem)
    about = variances if problem.center else variances + census.mean**2
    total = float((about / std**2).sum())
    check_solvable(problem, census.rows, _fewer(census, problem), ~census.varies, variances, total)
    unit = math.sqrt(total / problem.d)
    none = np.zeros(problem.d)
    origin, shift = (census.origin, census.shift) if problem.center else (none, none)
    return Units(origin, shift, std, unit, about / (std * unit) ** 2)


def _start(rows: Rows, problem: Problem, census: Census, units: Units, k: int) -> Parameters:
    """PCA of the rows with 0, their mean, in the holes, after what these did to the covariances is taken back out.

    Where shares p_i and p_j of two columns are there, their covariance is p_i p_j of what it was, a variance p_i
    (Lounici 2014, Bernoulli 20(3)). So few steps remain, and no seed is needed up to WHOLE columns.
    """
    d = problem.d
    there = (census.weights / census.weight)[:, None]
    variances = units.variances[:, None]

    def covariance(V: Array) -> Array:
        parts = rows.map(lambda X, w: _filled_product(units.rows(X), w, V / there), size=V.nbytes)
        return (sum(parts, np.zeros_like(V)) / census.weight - variances * V) / there + variances * V

    V = np.eye(d) if d <= WHOLE else _leading_space(covariance, d, min(k + EXTRA, d), problem.seed)
    with threads(factorisation_threads(V.shape[1])):
        T = V.T @ covariance(V)
        values, vectors = np.linalg.eigh((T + T.T) / 2)
    values, vectors = np.maximum(values[::-1][:k], 0.0), (V @ vectors[:, ::-1])[:, :k]
    noise = max(d - float(values.sum()), LEAST_SIGNAL) / (d - k)
    return Parameters(vectors * np.sqrt(np.maximum(values - noise, LEAST_SIGNAL * noise)), np.zeros(d), noise)


def _leading_space(covariance: Callable[[Array], Array], d: int, width: int, seed: int) -> Array:
    V = np.random.default_rng(seed).standard_normal((d, width))
    for _ in range(POWERS):
        V = covariance(np.linalg.qr(V)[0])
    return np.linalg.qr(V)[0]


def _filled_product(Y: Array, w: Array | None, V: Array) -> Array:
    """Y^T Y V for rows Y with 0 in the holes."""
    Y = np.where(np.isnan(Y), 0.0, Y)
    YV = Y @ V
    return np.asarray(Y.T @ (YV if w is None else w[:, None] * YV))


def _expected(Y: Array, w: Array | None, at: Parameters, center: bool) -> Sums:
    """Sums over the rows Y (h, d), in EM's units."""
    w = np.ones(len(Y)) if w is None else w
    height = max(SLAB // max(at.W.shape[1] ** 2, Y.shape[1]), FEWEST_ROWS)
    slabs = range(0, len(Y), height)
    return reduce(Sums.merge, (_of_slab(Y[i : i + height], w[i : i + height], at, center) for i in slabs))


def _of_slab(Y: Array, w: Array, at: Parameters, center: bool) -> Sums:
    W, mu, noise = at
    observed = ~np.isnan(Y)
    w = np.where(observed.any(axis=1), w, 0.0)
    first, group = same_holes(observed)
    patterns = observed[first].astype(np.float64)
    root, log_det = _posterior(patterns, W, noise)

    X = np.where(observed, Y - mu, 0.0)
    Z = _scores(X @ W, root[group])
    rest = np.where(observed, X - Z @ W.T, 0.0)
    residual = np.einsum("ij,ij->i", rest, rest)
    distance = residual / noise + np.einsum("ij,ij->i", Z, Z)  # x^T C^-1 x as a sum of squares, so nothing cancels
    each = observed.sum(axis=1) * LOG_2_PI + log_det[group] + distance

    Z1 = np.hstack([Z, np.ones((len(Z), 1))]) if center else Z
    weights = np.bincount(group, w)
    covariance = noise * _upper(root.transpose(0, 2, 1) @ root)
    moments = _moments(Z1, w, group)
    moments[:, np.triu_indices(Z1.shape[1])[1] < W.shape[1]] += weights[:, None] * covariance
    return Sums(
        -0.5 * float(w @ each),
        patterns.T @ moments,
        X.T @ (w[:, None] * Z1),
        float(w @ residual),
        weights @ covariance,
        moments.sum(axis=0),
    )


def _posterior(patterns: Array, W: Array, noise: float) -> tuple[Array, Array]:
    """Of u patterns R with R^T R = (W_o^T W_o + sigma^2 I)^-1, the covariance of z over sigma^2, and log |C_o|.

    R is the inverse of a Cholesky factor: where cells are fewer than components, twice as many digits are left to the
    scores as by the inverse itself.
    """
    k = W.shape[1]
    i, j = np.triu_indices(k)
    L = np.linalg.cholesky(_square(patterns @ (W[:, i] * W[:, j]), k) + noise * np.eye(k))
    log_det = 2 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
    R = np.asarray(np.linalg.inv(L), dtype=np.float64)
    return R, log_det + (patterns.sum(axis=1) - k) * math.log(noise)


def _scores(B: Array, roots: Array) -> Array:
    """R^T R b for each row b and its R."""
    return np.asarray(np.einsum("hji,hj->hi", roots, np.einsum("hij,hj->hi", roots, B)))


def _moments(Z: Array, w: Array, group: NDArray[np.intp]) -> Array:
    """Sums of w z z^T over the rows of each pattern, their upper triangles, (u, m (m + 1) / 2)."""
    i, j = np.triu_indices(Z.shape[1])
    together = np.argsort(group, kind="stable")
    begins = np.flatnonzero(np.diff(group[together], prepend=-1))
    Z, w = Z[together], w[together]
    return np.asarray(np.add.reduceat(w[:, None] * Z[:, i] * Z[:, j], begins, axis=0))


def _upper(S: Array) -> Array:
    """The upper triangles (..., m (m + 1) / 2) of matrices (..., m, m)."""
    i, j = np.triu_indices(S.shape[-1])
    return S[..., i, j]


def _square(upper: Array, m: int) -> Array:
    """Symmetric matrices (..., m, m) from their upper triangles (..., m (m + 1) / 2)."""
    i, j = np.triu_indices(m)
    S = np.empty((*upper.shape[:-1], m, m))
    S[..., i, j] = S[..., j, i] = upper
    return S


def _maximised(sums: Sums, at: Parameters, cells: float, weight: float, center: bool) -> Parameters:
    """The parameters that fit the expected sums best."""
    d, k = at.W.shape
    m = k + center
    A = _square(sums.squares, m)
    old = np.hstack([at.W, np.zeros((d, 1))]) if center else at.W  # the sums are about mu
    slope = sums.products - np.einsum("dij,dj->di", A, old)
    move = np.linalg.solve(A, slope[:, :, None])[:, :, 0]
    # The expected squares at the old parameters, less what the move takes off: no large sums cancel.
    spread = at.noise * (weight * k - float(np.trace(_square(sums.doubt, k))))  # sum of tr(W_o^T W_o Cov z)
    squares = sums.residual + spread - float(np.einsum("ij,ij->", move, slope))
    W, mu = at.W + move[:, :k], at.mu + move[:, k] if center else at.mu
    return _folded(Parameters(W, mu, max(squares / cells, LEAST_NOISE)), _square(sums.latent / weight, m), k)


def _folded(at: Parameters, latent: Array, k: int) -> Parameters:
    """The same model with mean 0 and covariance I of z again, after these had been let free.

    The symmetric root turns W as little as can be, so that steps can be extrapolated.
    """
    mean = latent[:k, k] if len(latent) > k else np.zeros(k)
    values, vectors = np.linalg.eigh(latent[:k, :k] - np.outer(mean, mean))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return Parameters(at.W @ root, at.mu + at.W @ mean, at.noise)


def _climb(
    step: Callable[[Parameters], Point], start: Parameters, most_steps: int, gain: float
) -> tuple[list[Point], int, bool]:
    """EM by twos and a leap: the points reached, none less likely than the last, the steps taken, and whether it ended.

    It ends where steps gain too little, or where one falls, which on paper none does: what is left to gain is rounding.
    """
    path = [step(start)]
    steps, longest, idle = 1, LEAP, 0
    while steps < most_steps:
        last = path[-1]
        middle = step(last.next)
        if middle.log_likelihood < last.log_likelihood:
            return path, steps + 1, True
        leap, length = _leap(last.at, last.next, middle.next, longest)
        reached = _if_possible(step, leap)
        steps += 2
        path.append(middle)
        if reached is None or reached.log_likelihood < middle.log_likelihood:
            reached, longest = step(middle.next), max(length / LEAP, LEAP)
            steps += 1
            if reached.log_likelihood < middle.log_likelihood:
                return path, steps, True
        elif length == longest:
            longest *= LEAP
        path.append(reached)
        idle = 0 if reached.log_likelihood - last.log_likelihood > gain else idle + 1
        if idle == 2:  # once may be a leap that went wrong
            return path, steps, True
    return path, steps, False


def _if_possible(step: Callable[[Parameters], Point], leap: Parameters) -> Point | None:
    """A leap may end where matrices are singular to rounding."""
    try:
        return step(leap)
    except np.linalg.LinAlgError:
        return None


def _leap(start: Parameters, once: Parameters, twice: Parameters, longest: float) -> tuple[Parameters, float]:
    """Where two steps seem to lead, and how far out: SQUAREM with its third step length, 1 for no leap.

    The noise goes by its logarithm, which keeps it above 0.
    """
    a, b, c = _vector(start), _vector(once), _vector(twice)
    step, bend = b - a, (c - b) - (b - a)
    length = float(np.linalg.norm(step)) / max(float(np.linalg.norm(bend)), TINY)
    length = min(max(length, 1.0), longest)
    if length == 1.0:
        return twice, length
    leap = a + 2 * length * step + length * length * bend
    d, k = start.W.shape
    noise = max(math.exp(min(float(leap[-1]), LARGEST_LOG)), LEAST_NOISE)
    return Parameters(leap[: d * k].reshape(d, k), leap[d * k : -1], noise), length


def _vector(at: Parameters) -> Array:
    return np.concatenate([at.W.ravel(), at.mu, [math.log(at.noise)]])


# --- what comes out ---


def _in_units_of_fit(
    path: list[Point], steps: int, converged: bool, units: Units, census: Census, problem: Problem, k: int
) -> Fitted:
    at, before = path[-1].at, path[max(len(path) - 3, 0)].at
    turn = np.linalg.svd(at.W, full_matrices=False)[2]
    told = 1 - np.diagonal(turn @ path[-1].doubt @ turn.T)
    # With as many components as columns, the last of them is what noise says of the direction that W leaves out.
    axes = np.linalg.svd(at.W, full_matrices=k > at.W.shape[1])[0]
    values = _eigenvalues(at)
    # One of them may happen to stand still for a moment; all of them do so at the end only.
    moved = float(np.abs(values - _eigenvalues(before)).max()) + backward(problem.d, values[0])
    scale = units.unit**2 / _fewer(census, problem)
    shift = float(census.weights.sum()) * math.log(units.unit)
    return Fitted(
        mean=units.origin + (units.shift + units.std * units.unit * at.mu),
        std=units.std,
        basis=fix_signs(axes[:, :k]),
        eigenvalues=values * scale,
        noise_variance=at.noise * scale,
        log_likelihood=tuple(point.log_likelihood - shift for point in path),
        iterations=steps,
        converged=converged,
        certainty=np.append(told, np.zeros(k - len(told))),
        exact=at.noise < 2 * LEAST_NOISE,
        error=np.full(problem.d, moved * scale),
        variances=_variances(census, problem),
        census=census,
    )


def _eigenvalues(at: Parameters) -> Array:
    """Of W W^T + sigma^2 I, (d,) descending."""
    s = np.linalg.svd(at.W, compute_uv=False)
    return np.concatenate([s * s, np.zeros(len(at.W) - len(s))]) + at.noise


def as_solution(fitted: Fitted, problem: Problem) -> Solution:
    """The fitted covariance, U (Lambda - sigma^2 I) U^T + sigma^2 I, as a solver gives that of the rows."""
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
        rank=int(np.count_nonzero(fitted.eigenvalues > LEAST_NOISE * fitted.eigenvalues[0])),
        route="em",
        constant=fitted.constant,
        variances=fitted.variances,
        apply=lambda V: U @ (signal[:, None] * (U.T @ V)) + noise * V,
        counted=problem.counted(census.rows, census.weight),
    )
