"""Isomap as a kernel: -D^2 / 2 of the distances D along the graph of neighbours.

When to prefer it: rows on a curved sheet without holes. It is no inner product: some eigenvalues may be negative.
Cost: n^2 (d + log n). Memory: 2 n^2. New rows: D(x, j) is the shortest way by one of the nearest rows of x.
Tenenbaum, de Silva, Langford 2000, "A global geometric framework for nonlinear dimensionality reduction", Science 290;
as a kernel: Ham et al. 2004; new rows: Bengio et al. 2004, "Out-of-sample extensions", NeurIPS 16.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from pcatool.arrays import Array, Runner, in_turn
from pcatool.kernels.base import Kernel, Prepared, Settings, slabs
from pcatool.kernels.distances import EPS
from pcatool.kernels.neighbours import Graph, Nearest, among, length_rounding, nearest

__all__ = ["Isomap"]


class Isomap(Kernel):
    """-D^2 / 2, D along the graph."""

    uses = ("neighbours",)
    invariant = True
    definite = False
    graph = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._lock = Lock()
        self._known: tuple[Array, Array] | None = None  # training rows, and the distances among them
        self._near: Nearest | None = None  # of the last matrix, with one neighbour more

    def matrix(self, X: Array, run: Runner) -> Array:
        self._near = among(X, int(self.settings.neighbours or 0), run)
        D = self._along_graph(X, run, self._near)  # not kept: a fit asks for it once
        return np.asarray(-0.5 * D * D)

    def doubt(self, K: Array, X: Prepared, T: Prepared) -> Array:
        """A way of m edges is off by m roundings of itself, and by the errors of the rows that it meets, once each."""
        count, near = int(self.settings.neighbours or 0), self._near
        if near is None or not near.certain(count, T):
            return np.full(len(K), np.inf)
        n, squares = len(T.Y), -2.0 * K.sum(axis=1)  # of the distances
        shortest, longest = float(near.distances[:, 0].min()), float(np.sqrt(-2.0 * K.min(axis=1)).max())
        edges = min(n - 1, longest / shortest + 1) if shortest > 0 else n - 1
        part = length_rounding(T.Y.shape[1]) + edges * EPS
        moved = 2 * min(float(T.error.sum()), (edges + 1) * float(T.error.max()))
        # |(D + e)^2 - D^2| / 2 with e = part D + moved, and the rounding of the square.
        return np.asarray((part + part**2 + EPS) * squares + moved * np.sqrt(n * squares) + n * moved**2)

    def cross(self, X: Array, T: Array) -> Array:
        D = self._distances(T)
        near = nearest(X, T, int(self.settings.neighbours or 0))
        shortest = np.full((len(X), len(T)), np.inf)
        for numbers, distances in zip(near.numbers.T, near.distances.T, strict=True):
            np.minimum(shortest, distances[:, None] + D[numbers], out=shortest)
        return np.asarray(-0.5 * shortest * shortest)

    def _distances(self, T: Array) -> Array:
        """Along the graph of the rows T, kept for the next call: new rows come in many blocks."""
        with self._lock:
            if self._known is None or self._known[0] is not T:
                self._known = T, self._along_graph(T, in_turn, among(T, int(self.settings.neighbours or 0), in_turn))
            return self._known[1]

    def _along_graph(self, T: Array, run: Runner, near: Nearest) -> Array:
        from scipy.sparse.csgraph import dijkstra

        graph = Graph.of(near.first(int(self.settings.neighbours or 0))).sparse()
        parts = run(lambda rows: dijkstra(graph, indices=np.arange(rows.start, rows.stop)), slabs(len(T), len(T)))
        D = np.concatenate(list(parts))
        return np.asarray(np.minimum(D, D.T))  # there and back differ by roundings
