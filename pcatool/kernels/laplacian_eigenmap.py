"""Laplacian eigenmap as a kernel: the pseudo-inverse of the Laplacian L = D - A of the graph of neighbours.

A is 1 between neighbours. The kernel's eigenvalues are 1 / mu, mu those of L, and its distances are the times that a
random walk takes from row to row and back. Cost: 2 n^3 + the eigenvectors. Memory: 6 n^2.
When to prefer it: rows in clusters that hang together by few others.
New rows, from the equation L f = mu f read at x: f(x) = sum_j A(x, j) f_j / (sum_j A(x, j) - mu), j over the nearest
rows of x. That means something while mu is well below their number, where f is smooth.
Belkin and Niyogi 2003, "Laplacian eigenmaps", Neural Computation 15(6); as a kernel: Ham et al. 2004; new rows: Bengio
et al. 2004, "Out-of-sample extensions", NeurIPS 16.
"""

from __future__ import annotations

import numpy as np

from pcatool.arrays import Array, Runner
from pcatool.kernels.base import Dual, Kernel, Prepared, Settings, slabs
from pcatool.kernels.distances import EPS
from pcatool.kernels.neighbours import Graph, Nearest, among, nearest
from pcatool.linalg.blas import factorisation_threads, threads

__all__ = ["LaplacianEigenmap"]

# Up to this part of the number of neighbours mu is small: f(x) is at most twice the mean of its neighbours.
SMOOTH = 0.5


class LaplacianEigenmap(Kernel):
    """Pseudo-inverse of the graph's Laplacian."""

    uses = ("neighbours",)
    invariant = True
    graph = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._made: tuple[Nearest, Graph] | None = None  # of the last matrix

    def matrix(self, X: Array, run: Runner) -> Array:
        n, count = len(X), int(self.settings.neighbours or 0)
        near = among(X, count, run)
        graph = Graph.of(near.first(count))
        self._made = near, graph
        # L has no other null vector than 1 in a connected graph; with 1/n added everywhere it has an inverse.
        L = np.full((n, n), 1.0 / n)
        L[graph.tails, graph.heads] -= 1.0
        L.flat[:: n + 1] += np.bincount(graph.tails, minlength=n)
        with threads(factorisation_threads(n)):
            K = np.linalg.inv(L)
        return (K + K.T) / 2 - 1.0 / n

    def noise(self, K: Array, rows: Prepared, run: Runner) -> float:
        """From what K L leaves of I - 1 1^T / n: with that R, K is L^+ + R L^+ + (the means of its rows) 1^T.

        L is exact once the graph is.
        """
        if self._made is None or not self._made[0].certain(int(self.settings.neighbours or 0), rows):
            return np.inf
        from scipy.sparse import csr_array

        graph, n = self._made[1], len(K)
        degrees = np.bincount(graph.tails, minlength=n).astype(np.float64)
        steps = graph.sparse()
        A = csr_array((np.ones(len(graph.tails)), steps.indices, steps.indptr), shape=(n, n))

        def part(some: slice) -> tuple[float, float, float, float]:
            B = K[some]
            R = B * degrees - (A @ B.T).T + 1.0 / n
            R[np.arange(len(B)), np.arange(some.start, some.stop)] -= 1.0
            size = np.abs(B).sum(axis=1)
            return float((R * R).sum()), float((B * B).sum()), float(size.max()), float((B.sum(axis=1) ** 2).sum())

        parts = np.array(list(run(part, slabs(n, n))))
        left, whole, sums = np.sqrt(parts[:, 0].sum()), np.sqrt(parts[:, 1].sum()), np.sqrt(parts[:, 3].sum())
        largest, most = float(parts[:, 2].max()), float(degrees.max())
        # Each entry of K L is a sum of degree + 2 products, whose sizes are those of |K| times |L|.
        R = float(left) + (most + 5) * EPS * 2 * most * float(whole) + 2 * EPS * np.sqrt(n)
        means = float(sums) / np.sqrt(n) + EPS * n * largest / np.sqrt(n)
        if R >= 0.5:
            return np.inf
        inverse = (min(largest, float(whole)) + means) / (1 - R)
        return float(R * inverse + means)

    def doubt(self, K: Array, X: Prepared, T: Prepared) -> Array:
        return np.full(len(K), np.inf)  # what is known is known of the whole matrix

    def cross(self, X: Array, T: Array) -> Array:
        """A (h, n): 1 for the nearest of the training rows."""
        A = np.zeros((len(X), len(T)))
        np.put_along_axis(A, nearest(X, T, int(self.settings.neighbours or 0)).numbers, 1.0, axis=1)
        return A

    def scores(self, X: Array, T: Array, dual: Dual) -> Array:
        count = int(self.settings.neighbours or 0)
        near = nearest(X, T, count)
        Z = dual.scores
        mu = np.where(dual.values > 0, 1.0 / np.where(dual.values > 0, dual.values, 1.0), 0.0)
        found = Z[near.numbers].sum(axis=1) / (count - mu)
        return np.where(near.known[:, None], Z[near.numbers[:, 0]], found)

    def remark(self, values: Array) -> str:
        rough = np.flatnonzero(values * SMOOTH * float(self.settings.neighbours or 0) < 1.0)
        if not len(rough):
            return ""
        first = int(rough[0]) + 1
        fewer = f" (-k {first - 1})" if first > 1 else "; give fewer --neighbours"
        return (
            f"laplacian-eigenmap: PC{first} and those after it change from neighbour to neighbour; "
            f"new rows have no sound scores there{fewer}"
        )
