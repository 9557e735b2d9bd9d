"""One step of EM: from sums over all rows, which `dense` and `cells` take, to the parameters that fit them best."""

from __future__ import annotations

import math
import operator
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array
from pcatool.missing.posterior import square

__all__ = ["LEAST_NOISE", "LOG_2_PI", "Parameters", "Slope", "Sums"]

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
