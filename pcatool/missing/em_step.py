"""One step of EM for probabilistic PCA: units, posterior of the scores, and new parameters.

The posterior of z from the observed cells of each row: mean, covariance and density.
Many small matrices are worked on together, (k, k, u) with the last index along the rows, entry by entry: of ten
components that is five times as fast as LAPACK one by one.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, RefusedError, show
from pcatool.linalg.moments import usual_errors
from pcatool.linalg.sparse import SparseRows
from pcatool.linalg.spectrum import EPS
from pcatool.missing.census import Census, Index
from pcatool.solvers.base import KNOWN, SMALLEST, Problem, blurred_divisor, check_solvable, scale_of

__all__ = [
    "LEAST_NOISE",
    "LOG_2_PI",
    "Parameters",
    "Posterior",
    "Slope",
    "Sums",
    "Units",
    "fewer",
    "pairs",
    "rounding_of",
    "square",
    "units_of",
    "variances_of",
]


class Units(NamedTuple):
    """How cells come to these units: about their column's mean, of mean variance 1."""

    origin: Array  # (d,)
    shift: Array  # (d,)
    std: Array  # (d,) what the fit divides by
    unit: float  # and then this
    variances: Array  # (d,) of the columns in these units

    def rows(self, X: Array) -> Array:
        return ((X - self.origin) - self.shift) / (self.std * self.unit)

    def cells(self, table: SparseRows) -> SparseRows:
        at = table.columns
        return table._replace(values=((table.values - self.origin[at]) - self.shift[at]) / (self.std * self.unit)[at])


def units_of(census: Census, problem: Problem) -> Units:
    variances = variances_of(census, problem)
    std = scale_of(variances, ~census.varies, problem)
    about = variances if problem.center else variances + census.mean**2
    total = float((about / std**2).sum())
    check_solvable(problem, census.rows, _checked_divisor(census, problem), ~census.varies, variances, total)
    unit = math.sqrt(total / problem.d)
    none = np.zeros(problem.d)
    origin, shift = (census.origin, census.shift) if problem.center else (none, none)
    return Units(origin, shift, std, unit, about / (std * unit) ** 2)


def variances_of(census: Census, problem: Problem) -> Array:
    """Of the observed cells about their mean, (d,); 0 for a column with one cell."""
    divisor = _divisor(census.weights, census.weight_squares, problem)
    return np.where(divisor > 0, census.scatter / np.where(divisor > 0, divisor, 1.0), 0.0)


def fewer(census: Census, problem: Problem) -> float:
    """(n - ddof) / n: likelihood divides by n."""
    return float(_divisor(np.asarray(census.weight), np.asarray(census.squares), problem)) / census.weight


def rounding_of(census: Census, problem: Problem) -> tuple[float, float]:
    """Relative rounding of the divisor of the rows, and the largest of those of the columns if standardised."""
    if problem.weights is None or problem.ddof == 0:
        return 0.0, 0.0
    of_rows = _rounding(census.weight, census.rows) / (fewer(census, problem) * census.weight)
    if not problem.standardize:
        return of_rows, 0.0
    at = census.varies
    divisor = _divisor(census.weights, census.weight_squares, problem)[at]
    return of_rows, float((_rounding(census.weights, census.rows)[at] / divisor).max())


def _checked_divisor(census: Census, problem: Problem) -> float:
    """n - ddof of the rows, at most 0 if it may be rounding; refuses weights that leave only rounding."""
    squares = census.squares
    if problem.weights == "reliability" and problem.ddof == 1 and not SMALLEST <= squares < math.inf:
        raise RefusedError(
            f"squares of the weights {'under' if squares < 1 else 'over'}flow a double",
            "multiply all weights by the same number, so that the largest is near 1, or use --ddof 0",
        )
    found = fewer(census, problem) * census.weight
    if problem.weights is None:
        return found
    off, _ = usual_errors(census.rows, census.weight, math.inf)
    if 0 < found < off / KNOWN:
        raise blurred_divisor(problem, census.weight, found, off / found)
    if found <= _rounding(census.weight, census.rows):
        return min(found, 0.0)
    of_columns = _divisor(census.weights, census.weight_squares, problem)
    none = np.flatnonzero(census.varies & (of_columns <= _rounding(census.weights, census.rows)))
    if len(none):
        j = int(none[0])
        raise DataError(
            f"--ddof {problem.ddof} leaves a divisor of {of_columns[j]:g} for column {show(problem.columns[j])}, "
            f"whose cells have weights of {census.weights[j]:g} together",
            "use --ddof 0, or leave the column out with -x",
        )
    return found


def _rounding(weight: Any, rows: int) -> Any:
    """Bound on the rounding of a sum of weights, or of the sum of their squares divided by it."""
    return 2 * rows * EPS * weight


def _divisor(weight: Array, squares: Array, problem: Problem) -> Array:
    """n - ddof as Problem.divisor has it, of every column or of the rows."""
    if problem.weights == "reliability" and problem.ddof == 1:
        return np.asarray(weight - squares / weight)
    return np.asarray(weight - problem.ddof)


class Posterior(NamedTuple):
    """Of z, for u patterns of observed cells."""

    root: Array  # (k, k, u) lower triangles R with R^T R = (W_o^T W_o + sigma^2 I)^-1
    covariance: Array  # (k (k + 1) / 2, u)
    log_det: Array  # (u,) log |C_o|

    @classmethod
    def of(cls, sums: Array, cells: NDArray[Any], k: int, noise: float) -> Posterior:
        """From the sums over observed cells of the pairs of W, (u, k (k + 1) / 2), and how many these are, (u,).

        R is the inverse of a Cholesky factor: where cells are fewer than components, twice as many digits are left to
        the scores as by the inverse itself.
        """
        L = _cholesky(square(sums.T, k) + noise * np.eye(k)[:, :, None])
        log_det = 2 * np.log(np.einsum("iiu->iu", L)).sum(axis=0) + (cells - k) * math.log(noise)
        R = _inverse(L)
        C = np.empty_like(R)
        for i in range(k):
            C[i, i:] = noise * np.einsum("lu,lju->ju", R[i:, i], R[i:, i:])
        return cls(R, C[np.triu_indices(k)], log_det)

    def scores(self, B: Array, group: slice | Index = slice(None)) -> Array:
        """E[z] (k, h) of rows with B = W_o^T (x - mu) (k, h); `group` tells the pattern of each."""
        R = self.root[:, :, group]
        return np.asarray(np.einsum("jih,jh->ih", R, np.einsum("jih,ih->jh", R, B)))


def _cholesky(S: Array) -> Array:
    """L with L L^T = S, in the lower triangles; S is used up."""
    for j in range(len(S)):
        if not np.all(S[j, j] > 0):
            raise np.linalg.LinAlgError("not positive definite")
        S[j:, j] /= np.sqrt(S[j, j])
        S[j + 1 :, j + 1 :] -= S[j + 1 :, None, j] * S[None, j + 1 :, j]
    return S


def _inverse(L: Array) -> Array:
    """Of lower triangles."""
    R = np.zeros_like(L)
    for i in range(len(L)):
        R[i, i] = 1.0 / L[i, i]
        R[i, :i] = -np.einsum("ju,jcu->cu", L[i, :i], R[:i, :i]) * R[i, i]
    return R


def pairs(Z: Array) -> Array:
    """The products z_i z_j with i <= j of each column of Z (m, h), (m (m + 1) / 2, h)."""
    i, j = np.triu_indices(len(Z))
    return np.asarray(Z[i] * Z[j])


def square(upper: Array, m: int) -> Array:
    """Symmetric matrices (m, m, ...) from their upper triangles (m (m + 1) / 2, ...)."""
    i, j = np.triu_indices(m)
    S = np.empty((m, m, *upper.shape[1:]))
    S[i, j] = S[j, i] = upper
    return S


# The noise is kept above this part of the mean variance. Cells that W explains exactly would drive it to 0; and the
# posterior of a row with fewer cells than components has the inverse as its condition: six digits are left.
LEAST_NOISE = 1e-13

LOG_2_PI = math.log(2 * math.pi)
LARGEST_LOG = 700.0  # of what a double holds


class Parameters(NamedTuple):
    W: Array  # (d, k)
    mu: Array  # (d,)
    noise: float  # sigma^2

    @property
    def eigenvalues(self) -> Array:
        """Of W W^T + sigma^2 I, (d,) descending."""
        s = np.linalg.svd(self.W, compute_uv=False)
        return np.concatenate([s * s, np.zeros(len(self.W) - len(s))]) + self.noise

    @property
    def vector(self) -> Array:
        """(d k + d + 1,). The noise goes by its logarithm, which keeps it above 0."""
        return np.concatenate([self.W.ravel(), self.mu, [math.log(self.noise)]])

    def moved(self, by: Array) -> Parameters:
        d, k = self.W.shape
        vector = self.vector + by
        noise = max(math.exp(min(float(vector[-1]), LARGEST_LOG)), LEAST_NOISE)
        return Parameters(vector[: d * k].reshape(d, k), vector[d * k : -1], noise)


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


class Slope(NamedTuple):
    """What the sums tell of the parameters they were taken at: the normal equations of each row of W with its mean."""

    at: Parameters
    A: Array  # (d, m, m)
    rest: Array  # (d, m) what the equations leave at these parameters
    squares: float  # expected, of x - W z - mu
    cells: float

    @classmethod
    def of(cls, sums: Sums, at: Parameters, cells: float, weight: float) -> Slope:
        d, k = at.W.shape
        m = sums.products.shape[1]
        A = np.ascontiguousarray(np.moveaxis(square(sums.squares.T, m), -1, 0))
        old = np.hstack([at.W, np.zeros((d, m - k))])  # the sums are about mu
        rest = sums.products - np.einsum("dij,dj->di", A, old)
        spread = at.noise * (weight * k - float(np.trace(square(sums.doubt, k))))  # sum of tr(W_o^T W_o Cov z)
        return cls(at, A, rest, sums.residual + spread, cells)

    @property
    def gradient(self) -> Array:
        """Of the log-likelihood, as `Parameters.vector` has them (Fisher's identity)."""
        return self._vector(self.rest / self.at.noise, (self.squares / self.at.noise - self.cells) / 2)

    def scaled(self, gradient: Array) -> Array:
        """A gradient over the curvature that EM takes the log-likelihood to have."""
        d, k = self.at.W.shape
        rest = np.column_stack([gradient[: d * k].reshape(d, k), gradient[d * k : -1]])[:, : self.rest.shape[1]]
        return self._vector(self.at.noise * self._solved(rest), 2 * float(gradient[-1]) / self.cells)

    def maximum(self, latent: Array) -> Parameters:
        """The parameters that fit the expected sums best; `latent` is the mean of E[z z^T]."""
        k = self.at.W.shape[1]
        move = self._solved(self.rest)
        # The expected squares at the old parameters, less what the move takes off: no large sums cancel.
        squares = self.squares - float(np.einsum("ij,ij->", move, self.rest))
        mu = self.at.mu + move[:, k] if move.shape[1] > k else self.at.mu
        best = Parameters(self.at.W + move[:, :k], mu, max(squares / self.cells, LEAST_NOISE))
        return _folded(best, square(latent, move.shape[1]), k)

    def _solved(self, rest: Array) -> Array:
        return np.asarray(np.linalg.solve(self.A, rest[:, :, None])[:, :, 0])

    def _vector(self, rows: Array, noise: float) -> Array:
        d, k = self.at.W.shape
        mu = rows[:, k] if rows.shape[1] > k else np.zeros(d)
        return np.concatenate([rows[:, :k].ravel(), mu, [noise]])


def _folded(at: Parameters, latent: Array, k: int) -> Parameters:
    """The same model with mean 0 and covariance I of z again, after these had been let free.

    The symmetric root turns W as little as can be, so that what earlier moves told of the curvature stays true.
    """
    mean = latent[:k, k] if len(latent) > k else np.zeros(k)
    values, vectors = np.linalg.eigh(latent[:k, :k] - np.outer(mean, mean))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return Parameters(at.W @ root, at.mu + at.W @ mean, at.noise)
