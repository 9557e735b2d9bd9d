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
from pcatool.errors import DataError, RefusedError
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
from pcatool.wording import show

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
    """Shift and scale that convert cells to the units of EM.

    In these units columns are centred and scaled as the problem asks, then divided by one number, so that their
    variances (mean squares if not centred) have mean 1.
    """

    origin: Array  # (d,) subtracted first
    shift: Array  # (d,) subtracted from the difference
    std: Array  # (d,) scale of the fit
    unit: float  # divides all columns, after the scale of the fit
    variances: Array  # (d,) variances of the columns in these units; mean squares if not centred

    def rows(self, X: Array) -> Array:
        """Convert rows X (n, d) to the units of EM."""
        return ((X - self.origin) - self.shift) / (self.std * self.unit)

    def cells(self, table: SparseRows) -> SparseRows:
        """Convert rows in compressed form to the units of EM."""
        at = table.columns
        return table._replace(values=((table.values - self.origin[at]) - self.shift[at]) / (self.std * self.unit)[at])


def units_of(census: Census, problem: Problem) -> Units:
    """Compute the units of EM from the census.

    Raise `DataError` or `RefusedError` if the problem cannot be solved: too few rows, no variance, overflow, or a sum
    of weights that is not above ddof.
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
    """Return the variance of the observed cells of each column about their mean, (d,), with the ddof of the problem.

    The variance is 0 where n - ddof of the column is not above 0, as for a column with one cell and ddof 1.
    """
    divisor = _divisor(census.weights, census.weight_squares, problem)
    return np.where(divisor > 0, census.scatter / np.where(divisor > 0, divisor, 1.0), 0.0)


def ddof_factor(census: Census, problem: Problem) -> float:
    """Return (n - ddof) / n, for n rows or weights: the likelihood divides by n, variances of the fit by n - ddof."""
    return float(_divisor(np.asarray(census.weight), np.asarray(census.squares), problem)) / census.weight


def rounding_of(census: Census, problem: Problem) -> tuple[float, float]:
    """Return two bounds on the relative rounding error of n - ddof: for all rows, and the largest for a single column.

    Both are 0 without weights or with ddof 0. The second is 0 if the columns are not standardised.
    """
    if problem.weights is None or problem.ddof == 0:
        return 0.0, 0.0
    of_rows = _rounding(census.weight, census.rows) / (ddof_factor(census, problem) * census.weight)
    if not problem.standardize:
        return of_rows, 0.0
    at = census.varies
    divisor = _divisor(census.weights, census.weight_squares, problem)[at]
    return of_rows, float((_rounding(census.weights, census.rows)[at] / divisor).max())


def _checked_divisor(census: Census, problem: Problem) -> float:
    """Return n - ddof, where n is the number of rows or the sum of their weights; 0 or less if n is too small for ddof.

    With weights, raise `RefusedError` if their squares overflow or underflow a double, or if n - ddof is above 0 but
    has too few digits; raise `DataError` if n - ddof of a column, over its observed cells, is only rounding error.
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
    """Return a bound on the rounding error of `weight`, a sum over `rows` weights; also of sum w^2 / sum w."""
    return 2 * rows * EPS * weight


def _divisor(weight: Array, squares: Array, problem: Problem) -> Array:
    """Return n - ddof, like `Problem.divisor`, from sums of weights and their squares, per column or of all rows."""
    if problem.weights == "reliability" and problem.ddof == 1:
        return np.asarray(weight - squares / weight)
    return np.asarray(weight - problem.ddof)


class Posterior(NamedTuple):
    """Posterior distribution of the scores z, for u patterns of observed cells.

    W_o are the rows of W of the observed columns of a pattern, and C_o = W_o W_o^T + sigma^2 I.
    """

    root: Array  # (k, k, u) lower triangles R with R^T R = (W_o^T W_o + sigma^2 I)^-1
    covariance: Array  # (k (k + 1) / 2, u) upper triangles of the covariance of z, Cov z
    log_det: Array  # (u,) log |C_o|

    @classmethod
    def of(cls, sums: Array, cells: NDArray[Any], k: int, noise: float) -> Posterior:
        """Compute the posterior of u patterns.

        `sums` (u, k (k + 1) / 2) are the upper triangles of W_o^T W_o, and `cells` (u,) the numbers of observed cells.
        Raise `LinAlgError` if a matrix is singular. R is the inverse of a Cholesky factor: in rows with fewer cells
        than components, scores get twice as many right digits as from the inverse matrix.
        """
        L = _cholesky(unpack_symmetric(sums.T, k) + noise * np.eye(k)[:, :, None])
        log_det = 2 * np.log(np.einsum("iiu->iu", L)).sum(axis=0) + (cells - k) * math.log(noise)
        R = _inverse(L)
        C = np.empty_like(R)
        for i in range(k):
            C[i, i:] = noise * np.einsum("lu,lju->ju", R[i:, i], R[i:, i:])
        return cls(R, C[np.triu_indices(k)], log_det)

    def scores(self, B: Array, group: slice | Index = slice(None)) -> Array:
        """Return the posterior means E[z] of h rows, (k, h), from B = W_o^T (x - mu) (k, h).

        `group` (h,) is the pattern number of each row; without `group`, row i has pattern i.
        """
        R = self.root[:, :, group]
        return np.asarray(np.einsum("jih,jh->ih", R, np.einsum("jih,ih->jh", R, B)))


def _cholesky(S: Array) -> Array:
    """Return Cholesky factors L (k, k, u) of symmetric matrices S (k, k, u); overwrites S.

    Only the lower triangles of the result are valid. Raise `LinAlgError` unless each S is positive definite.
    """
    for j in range(len(S)):
        if not np.all(S[j, j] > 0):
            raise np.linalg.LinAlgError("not positive definite")
        S[j:, j] /= np.sqrt(S[j, j])
        S[j + 1 :, j + 1 :] -= S[j + 1 :, None, j] * S[None, j + 1 :, j]
    return S


def _inverse(L: Array) -> Array:
    """Return the inverses (k, k, u) of lower triangular matrices; the upper triangles of L are not read."""
    R = np.zeros_like(L)
    for i in range(len(L)):
        R[i, i] = 1.0 / L[i, i]
        R[i, :i] = -np.einsum("ju,jcu->cu", L[i, :i], R[:i, :i]) * R[i, i]
    return R


def pack_products(Z: Array) -> Array:
    """Return the products z_i z_j with i <= j of the entries of each column of Z (m, h), (m (m + 1) / 2, h).

    The products are in the order of an upper triangle, row by row.
    """
    i, j = np.triu_indices(len(Z))
    return np.asarray(Z[i] * Z[j])


def unpack_symmetric(upper: Array, m: int) -> Array:
    """Return symmetric matrices (m, m, ...) from their upper triangles (m (m + 1) / 2, ...), stored row by row."""
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
    """Parameters of probabilistic PCA, x = W z + mu + noise, in the units of EM."""

    W: Array  # (d, k)
    mu: Array  # (d,)
    noise: float  # variance of the noise in each cell, sigma^2

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
        """Return the parameters whose `vector` is larger by `by` (d k + d + 1,), with at least LEAST_NOISE as noise."""
        d, k = self.W.shape
        vector = self.vector + by
        noise = max(math.exp(min(float(vector[-1]), LARGEST_LOG)), LEAST_NOISE)
        return Parameters(vector[: d * k].reshape(d, k), vector[d * k : -1], noise)


class EMSums(NamedTuple):
    """Weighted sums over rows from which an EM step computes new parameters. Made by the module `em_sums`.

    If the mean is a parameter, z has a 1 as its last entry: m is k + 1, else k. Upper triangles are stored row by row.
    """

    log_likelihood: float
    squares: Array  # (d, m (m + 1) / 2) for each column, sum of E[z z^T] over the rows that observe the column
    products: Array  # (d, m) for each column, sum of (x - mu) E[z] over these rows
    residual: float  # sum of squares of x - W E[z] - mu over the observed cells
    covariances: Array  # (k (k + 1) / 2,) sum of Cov z
    latent: Array  # (m (m + 1) / 2,) sum of E[z z^T] over all rows

    def merge(self, other: EMSums) -> EMSums:
        """Return the sums over the rows of `self` and `other` together."""
        return EMSums(*map(operator.add, self, other))


class Slope(NamedTuple):
    """Gradient of the log-likelihood at the parameters `at`, and the curvature of the expected log-likelihood.

    Both follow from normal equations, one system for each column of the table: for its row of W and, if the mean is a
    parameter, its entry of mu.
    """

    at: Parameters
    A: Array  # (d, m, m) matrices of the normal equations; m is k, or k + 1 with the mean
    rest: Array  # (d, m) residual of the normal equations at `at`
    squares: float  # expected sum of squares of x - W z - mu
    cells: float  # number of observed cells, or the sum of their weights

    @classmethod
    def of(cls, sums: EMSums, at: Parameters, cells: float, weight: float) -> Slope:
        """Build the normal equations from the sums at the parameters `at`.

        `cells` is the sum of the weights of all observed cells, `weight` that of all rows.
        """
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
        """Gradient of the log-likelihood, (d k + d + 1,), in the order of `Parameters.vector` (Fisher's identity)."""
        return self._vector(self.rest / self.at.noise, (self.squares / self.at.noise - self.cells) / 2)

    def scaled(self, gradient: Array) -> Array:
        """Return `gradient` (d k + d + 1,) divided by the curvature of the expected log-likelihood: a Newton step."""
        d, k = self.at.W.shape
        rest = np.column_stack([gradient[: d * k].reshape(d, k), gradient[d * k : -1]])[:, : self.rest.shape[1]]
        return self._vector(self.at.noise * self._solved(rest), 2 * float(gradient[-1]) / self.cells)

    def maximum(self, latent: Array) -> Parameters:
        """Return the parameters that maximize the expected log-likelihood: the M step, with PX-EM.

        `latent` (m (m + 1) / 2,) is the upper triangle of the mean of E[z z^T] over the rows.
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
    """Return parameters of the same model for scores z with mean 0 and covariance I (the reduction of PX-EM).

    `latent` (m, m), the mean of E[z z^T], gives the mean and covariance that z has under the parameters `at`. The
    symmetric root rotates W as little as possible, so that the curvature learned from earlier moves stays valid.
    """
    mean = latent[:k, k] if len(latent) > k else np.zeros(k)
    values, vectors = np.linalg.eigh(latent[:k, :k] - np.outer(mean, mean))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return Parameters(at.W @ root, at.mu + at.W @ mean, at.noise)
