"""Locally linear embedding as a kernel: lambda_max I - M, M = (I - W)^T (I - W), each row a mix W of its neighbours.

When to prefer it: rows on a smooth sheet that is sampled evenly. Its eigenvalues are nearly equal, so that a share of
the variance says little: give a number of components. Cost: 9 n^3. Memory: 6 n^2.
New rows: mixed from their neighbours, their scores are the same mix of the neighbours' scores.
Roweis and Saul 2000, "Nonlinear dimensionality reduction by locally linear embedding", Science 290; new rows: Saul and
Roweis 2003, "Think globally, fit locally", JMLR 4; as a kernel: Ham et al. 2004.
"""

from __future__ import annotations

import numpy as np

from pcatool.blocks import Runner
from pcatool.kernels.base import Dual, Kernel, slabs
from pcatool.kernels.lanczos import leading
from pcatool.kernels.neighbours import Graph, Nearest, check_count, nearest
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.model import Array

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

    def matrix(self, X: Array, run: Runner) -> Array:
        n, count = len(X), int(self.settings.neighbours or 0)
        check_count(count, n)
        near = nearest(X, X, count, run=run, others=True)
        Graph.of(near)  # connected, or refused
        K = -_alignment(near, _mixes(X, near, run))
        K.flat[:: n + 1] += _largest(-K)
        return K

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
