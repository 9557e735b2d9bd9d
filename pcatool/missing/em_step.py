"""One step of EM for probabilistic PCA: units, posterior of the scores, and new parameters.

The posterior of z (mean, covariance and density) follows from the observed cells of each row. Small k x k matrices are
worked on together, as (k, k, u) with the last index along rows or patterns, entry by entry: for ten components this is
five times as fast as LAPACK on one matrix at a time.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array
from pcatool.errors import DataError, RefusedError, show
from pcatool.linalg.moments import estimated_weight_errors
from pcatool.linalg.sparse import SparseRows
from pcatool.linalg.spectrum import EPS
from pcatool.missing.census import Census, Index
from pcatool.solvers.base import (
    MAX_DIVISOR_ERROR,
    MIN_VARIANCE,
    Problem,
    check_solvable,
    scale_of,
    uncertain_divisor,
)

__all__ = [
    "LEAST_NOISE",
    "LOG_2_PI",
    "EMSums",
    "Parameters",
    "Posterior",
    "Slope",
    "Units",
    "ddof_factor",
    "pack_products",
    "rounding_of",
    "units_of",
    "unpack_symmetric",
    "variances_of",
]


class Units(NamedTuple):
    """Shift and scale that bring cells to the units of EM: about the mean of their column, with mean variance 1."""

    origin: Array  # (d,) subtracted first
    shift: Array  # (d,) subtracted from the difference
    std: Array  # (d,) scale of the fit
    unit: float  # divides all columns, after the scale of the fit
    variances: Array  # (d,) of the columns in these units

    def rows(self, X: Array) -> Array:
        """Convert rows X (n, d) to the units of EM."""
        return ((X - self.origin) - self.shift) / (self.std * self.unit)

    def cells(self, table: SparseRows) -> SparseRows:
        """Convert rows in compressed form to the units of EM."""
        at = table.columns
        return table._replace(values=((table.values - self.origin[at]) - self.shift[at]) / (self.std * self.unit)[at])


def units_of(census: Census, problem: Problem) -> Units:
    """Compute the units of EM from the census.

    Raise `DataError` or `RefusedError` if the problem cannot be solved: too few rows, no variance, overflow, or weights
    that leave no divisor.
    """
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
    """Return the variances of the observed cells about their mean, (d,); 0 for a column with one cell."""
    divisor = _divisor(census.weights, census.weight_squares, problem)
    return np.where(divisor > 0, census.scatter / np.where(divisor > 0, divisor, 1.0), 0.0)


def ddof_factor(census: Census, problem: Problem) -> float:
    """Return (n - ddof) / n: the likelihood divides by n, the variances of the fit by n - ddof."""
    return float(_divisor(np.asarray(census.weight), np.asarray(census.squares), problem)) / census.weight


def rounding_of(census: Census, problem: Problem) -> tuple[float, float]:
    """Return the relative rounding of the rows' divisor, and the largest of the columns (0 if not standardised)."""
    if problem.weights is None or problem.ddof == 0:
        return 0.0, 0.0
    of_rows = _rounding(census.weight, census.rows) / (ddof_factor(census, problem) * census.weight)
    if not problem.standardize:
        return of_rows, 0.0
    at = census.varies
    divisor = _divisor(census.weights, census.weight_squares, problem)[at]
    return of_rows, float((_rounding(census.weights, census.rows)[at] / divisor).max())


def _checked_divisor(census: Census, problem: Problem) -> float:
    """Return n - ddof of the rows, at most 0 if the difference may be rounding error.

    Raise an error if the weights leave nothing but rounding in the divisor of the rows or of a column.
    """
    squares = census.squares
    if problem.weights == "reliability" and problem.ddof == 1 and not MIN_VARIANCE <= squares < math.inf:
        raise RefusedError(
            f"squares of the weights {'under' if squares < 1 else 'over'}flow a double",
            "multiply all weights by the same number, so that the largest is near 1, or use --ddof 0",
        )
    found = ddof_factor(census, problem) * census.weight
    if problem.weights is None:
        return found
    off, _ = estimated_weight_errors(census.rows, census.weight, math.inf)
    if 0 < found < off / MAX_DIVISOR_ERROR:
        raise uncertain_divisor(problem, census.weight, found, off / found)
    if found <= _rounding(census.weight, census.rows):
        return min(found, 0.0)
    of_columns = _divisor(census.weights, census.weight_squares, problem)
    none = np.flatnonzero(census.varies & (of_columns <= _rounding(census.weights, census.rows)))
    if len(none):
        j = int(none[0])
        raise DataError(
            f"--ddof {problem.ddof} leaves a divisor of {of_columns[j]:g} for column {show(problem.columns[j])}, "
            f"whose cells have a total weight of {census.weights[j]:g}",
            "use --ddof 0, or leave the column out with -x",
        )
    return found


def _rounding(weight: Any, rows: int) -> Any:
    """Return a bound on the rounding of a sum of weights, or of the sum of their squares divided by this sum."""
    return 2 * rows * EPS * weight


def _divisor(weight: Array, squares: Array, problem: Problem) -> Array:
    """Return n - ddof, like `Problem.divisor`, from sums of weights and squared weights, per column or of the rows."""
    if problem.weights == "reliability" and problem.ddof == 1:
        return np.asarray(weight - squares / weight)
    return np.asarray(weight - problem.ddof)


class Posterior(NamedTuple):
    """Posterior of z for u patterns of observed cells."""

    root: Array  # (k, k, u) lower triangles R with R^T R = (W_o^T W_o + sigma^2 I)^-1
    covariance: Array  # (k (k + 1) / 2, u) upper triangles of Cov z
    log_det: Array  # (u,) log |C_o|

    @classmethod
    def of(cls, sums: Array, cells: NDArray[Any], k: int, noise: float) -> Posterior:
        """Compute the posterior of u patterns.

        `sums` (u, k (k + 1) / 2) are sums of the pairs of W over the observed cells of each pattern; `cells` (u,) count
        these cells. R is the inverse of a Cholesky factor: in rows with fewer cells than components, this leaves the
        scores twice as many digits as the inverse matrix itself would.
        """
        L = _cholesky(unpack_symmetric(sums.T, k) + noise * np.eye(k)[:, :, None])
        log_det = 2 * np.log(np.einsum("iiu->iu", L)).sum(axis=0) + (cells - k) * math.log(noise)
        R = _inverse(L)
        C = np.empty_like(R)
        for i in range(k):
            C[i, i:] = noise * np.einsum("lu,lju->ju", R[i:, i], R[i:, i:])
        return cls(R, C[np.triu_indices(k)], log_det)

    def scores(self, B: Array, group: slice | Index = slice(None)) -> Array:
        """Return E[z] (k, h) for rows with B = W_o^T (x - mu) (k, h).

        `group` (h,) is the pattern of each row.
        """
        R = self.root[:, :, group]
        return np.asarray(np.einsum("jih,jh->ih", R, np.einsum("jih,ih->jh", R, B)))


def _cholesky(S: Array) -> Array:
    """Return lower triangles L (k, k, u) with L L^T = S, in place of S.

    Raise `LinAlgError` unless S is positive definite.
    """
    for j in range(len(S)):
        if not np.all(S[j, j] > 0):
            raise np.linalg.LinAlgError("not positive definite")
        S[j:, j] /= np.sqrt(S[j, j])
        S[j + 1 :, j + 1 :] -= S[j + 1 :, None, j] * S[None, j + 1 :, j]
    return S


def _inverse(L: Array) -> Array:
    """Invert lower triangles (k, k, u)."""
    R = np.zeros_like(L)
    for i in range(len(L)):
        R[i, i] = 1.0 / L[i, i]
        R[i, :i] = -np.einsum("ju,jcu->cu", L[i, :i], R[:i, :i]) * R[i, i]
    return R


def pack_products(Z: Array) -> Array:
    """Return the products z_i z_j with i <= j of each column of Z (m, h), (m (m + 1) / 2, h)."""
    i, j = np.triu_indices(len(Z))
    return np.asarray(Z[i] * Z[j])


def unpack_symmetric(upper: Array, m: int) -> Array:
    """Return symmetric matrices (m, m, ...) from their upper triangles (m (m + 1) / 2, ...)."""
    i, j = np.triu_indices(m)
    S = np.empty((m, m, *upper.shape[1:]))
    S[i, j] = S[j, i] = upper
    return S


# Least noise, as a share of the mean variance. Cells that W explains exactly would drive the noise to 0. The posterior
# of a row with fewer cells than components has the inverse of this share as its condition number: six digits are left.
LEAST_NOISE = 1e-13

LOG_2_PI = math.log(2 * math.pi)
LARGEST_LOG = 700.0  # the exponential of a larger number overflows


class Parameters(NamedTuple):
    """Parameters of probabilistic PCA, in the units of EM."""

    W: Array  # (d, k)
    mu: Array  # (d,)
    noise: float  # sigma^2

    @property
    def eigenvalues(self) -> Array:
        """Eigenvalues of W W^T + sigma^2 I, (d,) descending."""
        s = np.linalg.svd(self.W, compute_uv=False)
        return np.concatenate([s * s, np.zeros(len(self.W) - len(s))]) + self.noise

    @property
    def vector(self) -> Array:
        """All parameters in one vector, (d k + d + 1,): W, mu, log(noise).

        The logarithm keeps the noise above 0.
        """
        return np.concatenate([self.W.ravel(), self.mu, [math.log(self.noise)]])

    def moved(self, by: Array) -> Parameters:
        """Return the parameters moved by a vector (d k + d + 1,), the noise kept at LEAST_NOISE or more."""
        d, k = self.W.shape
        vector = self.vector + by
        noise = max(math.exp(min(float(vector[-1]), LARGEST_LOG)), LEAST_NOISE)
        return Parameters(vector[: d * k].reshape(d, k), vector[d * k : -1], noise)


class EMSums(NamedTuple):
    """Sums over rows that one step needs. Made by `em_sums`.

    m is k, or k + 1 with the mean; m (m + 1) / 2 pairs are in the order of an upper triangle.
    """

    log_likelihood: float
    squares: Array  # (d, m (m + 1) / 2) for each column, sum of E[z z^T] over the rows that observe the column
    products: Array  # (d, m) sum of x E[z]
    residual: float  # sum of squares of x - W E[z] - mu
    covariances: Array  # (k (k + 1) / 2,) sum of Cov z
    latent: Array  # (m (m + 1) / 2,) sum of E[z z^T] over all rows

    def merge(self, other: EMSums) -> EMSums:
        """Return the sums of these rows and of those of `other`."""
        return EMSums(*map(operator.add, self, other))


class Slope(NamedTuple):
    """Gradient and expected curvature at the parameters of the sums.

    Both are stored as the normal equations of each row of W with its mean.
    """

    at: Parameters
    A: Array  # (d, m, m) matrices of the normal equations
    rest: Array  # (d, m) residual of the equations at these parameters
    squares: float  # expected sum of squares of x - W z - mu
    cells: float  # number of observed cells, or the sum of their weights

    @classmethod
    def of(cls, sums: EMSums, at: Parameters, cells: float, weight: float) -> Slope:
        """Build the normal equations from the sums taken at the parameters `at`; `weight` is that of all rows."""
        d, k = at.W.shape
        m = sums.products.shape[1]
        A = np.ascontiguousarray(np.moveaxis(unpack_symmetric(sums.squares.T, m), -1, 0))
        old = np.hstack([at.W, np.zeros((d, m - k))])  # the sums are about mu
        rest = sums.products - np.einsum("dij,dj->di", A, old)
        spread = at.noise * (
            weight * k - float(np.trace(unpack_symmetric(sums.covariances, k)))
        )  # sum of tr(W_o^T W_o Cov z)
        return cls(at, A, rest, sums.residual + spread, cells)

    @property
    def gradient(self) -> Array:
        """Gradient of the log-likelihood, in the order of `Parameters.vector` (Fisher's identity)."""
        return self._vector(self.rest / self.at.noise, (self.squares / self.at.noise - self.cells) / 2)

    def scaled(self, gradient: Array) -> Array:
        """Divide a gradient by the curvature that EM assumes for the log-likelihood."""
        d, k = self.at.W.shape
        rest = np.column_stack([gradient[: d * k].reshape(d, k), gradient[d * k : -1]])[:, : self.rest.shape[1]]
        return self._vector(self.at.noise * self._solved(rest), 2 * float(gradient[-1]) / self.cells)

    def maximum(self, latent: Array) -> Parameters:
        """Return the parameters that fit the expected sums best: the M step.

        `latent` is the mean of E[z z^T].
        """
        k = self.at.W.shape[1]
        move = self._solved(self.rest)
        # The expected squares at the old parameters minus the gain of the move: no large sums cancel.
        squares = self.squares - float(np.einsum("ij,ij->", move, self.rest))
        mu = self.at.mu + move[:, k] if move.shape[1] > k else self.at.mu
        best = Parameters(self.at.W + move[:, :k], mu, max(squares / self.cells, LEAST_NOISE))
        return _folded(best, unpack_symmetric(latent, move.shape[1]), k)

    def _solved(self, rest: Array) -> Array:
        return np.asarray(np.linalg.solve(self.A, rest[:, :, None])[:, :, 0])

    def _vector(self, rows: Array, noise: float) -> Array:
        d, k = self.at.W.shape
        mu = rows[:, k] if rows.shape[1] > k else np.zeros(d)
        return np.concatenate([rows[:, :k].ravel(), mu, [noise]])


def _folded(at: Parameters, latent: Array, k: int) -> Parameters:
    """Return the same model with mean 0 and covariance I of z, after the M step had let both be free.

    The symmetric root rotates W as little as possible, so that the curvature learned from earlier moves stays valid.
    """
    mean = latent[:k, k] if len(latent) > k else np.zeros(k)
    values, vectors = np.linalg.eigh(latent[:k, :k] - np.outer(mean, mean))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return Parameters(at.W @ root, at.mu + at.W @ mean, at.noise)
