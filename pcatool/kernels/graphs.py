"""Locally linear embedding as a kernel: lambda_max I - M, M = (I - W)^T (I - W), each row a mix W of its neighbours.

When to prefer it: rows on a smooth sheet that is sampled evenly. Its eigenvalues are nearly equal, so that a share of
the variance says little: give a number of components. Cost: 9 n^3. Memory: 6 n^2.
New rows: mixed from their neighbours, their scores are the same mix of the neighbours' scores.
Roweis and Saul 2000, "Nonlinear dimensionality reduction by locally linear embedding", Science 290; new rows: Saul and
Roweis 2003, "Think globally, fit locally", JMLR 4; as a kernel: Ham et al. 2004.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner
from pcatool.kernels.base import Dual, Kernel, Prepared, Settings, slabs
from pcatool.kernels.distances import EPS
from pcatool.kernels.lanczos import leading
from pcatool.kernels.neighbours import Graph, Nearest, among, nearest
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.linalg.spectrum import backward

__all__ = ["LLE"]

# Added to the diagonal of each row's local inner products, of their trace: with more neighbours than columns the mix is
# not determined (Saul and Roweis).
REGULAR = 1e-3


class LLE(Kernel):
    """lambda_max I - (I - W)^T (I - W)."""

    uses = ("neighbours",)
    invariant = True
    graph = True
    flat = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._made: tuple[Nearest, Array] | None = None  # of the last matrix

    def matrix(self, X: Array, run: Runner) -> Array:
        n, count = len(X), int(self.settings.neighbours or 0)
        found = among(X, count, run)
        near = found.first(count)
        Graph.of(near)  # connected, or refused
        w = _mixes(X, near, run)
        self._made = found, w
        K = -_alignment(near, w)
        K.flat[:: n + 1] += _largest(-K)
        return K

    def noise(self, K: Array, rows: Prepared, run: Runner) -> float:
        """From the errors of the mixes: M moves by 2 |I - W| |dW| + |dW|^2, and lambda_max by as much again."""
        count = int(self.settings.neighbours or 0)
        if self._made is None or not self._made[0].certain(count, rows):
            return np.inf
        (found, w), n = self._made, len(K)
        numbers = found.numbers[:, :count]
        error = _mix_errors(rows, found.first(count), w)
        moved = _norm_bound(numbers, np.repeat(error[:, None], count, axis=1), np.sqrt(count) * error, n)
        sizes = np.abs(w)
        whole = 1.0 + _norm_bound(numbers, sizes, sizes.sum(axis=1), n)
        met = int(np.bincount(numbers.ravel(), minlength=n).max())
        M = (2 * whole + moved) * moved + (met + 4) * EPS * whole**2
        return float(2 * M + 2 * backward(n, whole**2))

    def doubt(self, K: Array, X: Prepared, T: Prepared) -> Array:
        return np.full(len(K), np.inf)  # what is known is known of the whole matrix

    def cross(self, X: Array, T: Array) -> Array:
        """W (h, n): how each row is mixed from the training rows."""
        near = nearest(X, T, int(self.settings.neighbours or 0))
        W = np.zeros((len(X), len(T)))
        np.put_along_axis(W, near.numbers, mix(X, T, near), axis=1)
        known = near.known
        W[known] = 0.0
        W[known, near.numbers[known, 0]] = 1.0  # a training row is itself
        return W

    def scores(self, X: Array, T: Array, dual: Dual) -> Array:
        return self.cross(X, T) @ dual.scores


def mix(X: Array, T: Array, near: Nearest) -> Array:
    """Weights (h, count), adding up to 1, with which the neighbours make up each row best."""
    Y = T[near.numbers] - X[:, None]
    G = Y @ Y.transpose(0, 2, 1)
    count = near.numbers.shape[1]
    trace = np.einsum("ijj->i", G)
    G[:, range(count), range(count)] += REGULAR * np.where(trace > 0, trace, 1.0)[:, None]
    w = np.linalg.solve(G, np.ones((len(X), count, 1)))[..., 0]
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def _mixes(X: Array, near: Nearest, run: Runner) -> Array:
    """`mix` of all rows, as many at a time as their differences have room for."""
    n, count = near.numbers.shape
    parts = run(
        lambda rows: mix(X[rows], X, Nearest(near.numbers[rows], near.distances[rows])),
        slabs(n, count * (X.shape[1] + count)),
    )
    return np.concatenate(list(parts))


def _mix_errors(rows: Prepared, near: Nearest, w: Array) -> Array:
    """(n,) bounds on the error of each row's mix, as a length.

    With G its local inner products, REGULAR of their trace on the diagonal, an error that is a part e of G in every
    direction moves the mix by 2 e / (1 - e) of its length in terms of G, and G is nowhere below REGULAR of the trace:
    2.3 e sqrt(cond G / count) in all.
    """
    count, d = w.shape[1], rows.Y.shape[1]
    trace = np.square(near.distances).sum(axis=1)
    differences = np.sqrt(np.square(rows.error[:, None] + rows.error[near.numbers]).sum(axis=1))
    differences += EPS * np.sqrt(trace)
    condition = 1.0 + 1.0 / REGULAR
    relative = np.where(trace > 0, 2.2 * differences / np.sqrt(REGULAR * np.where(trace > 0, trace, 1.0)), 0.0)
    relative[(trace == 0) & (differences > 0)] = np.inf
    e = relative + 1.1 * condition * ((d + 6) * EPS + backward(count, 1.0))
    rounding = (count + 2) * EPS * np.abs(w).sum(axis=1)
    return np.asarray(np.where(e < 0.1, 2.3 * e * np.sqrt(condition / count), np.inf) + rounding)


def _norm_bound(numbers: NDArray[np.intp], entries: Array, rows: Array, n: int) -> float:
    """Bound on the norm of a sparse matrix: the root of its largest sums along rows, as given, and columns."""
    columns = np.bincount(numbers.ravel(), weights=entries.ravel(), minlength=n)
    return float(np.sqrt(rows.max() * columns.max()))


def _alignment(near: Nearest, w: Array) -> Array:
    """M = (I - W)^T (I - W) (n, n), from the count + 1 entries in each row of I - W."""
    n = len(w)
    columns = np.concatenate([np.arange(n)[:, None], near.numbers], axis=1)
    entries = np.concatenate([np.ones((n, 1)), -w], axis=1)
    places = (columns[:, :, None] * n + columns[:, None, :]).ravel()
    products = (entries[:, :, None] * entries[:, None, :]).ravel()
    M: Array = np.bincount(places, weights=products, minlength=n * n).astype(np.float64, copy=False)
    return M.reshape(n, n)


def _largest(M: Array) -> float:
    """The largest eigenvalue."""
    pairs = leading(lambda V: M @ V, len(M), lambda values: 1, most=len(M) // 2, known=1)
    if pairs is not None:
        return float(pairs.values[0])
    with threads(factorisation_threads(len(M))):
        return float(np.linalg.eigvalsh(M)[-1])
