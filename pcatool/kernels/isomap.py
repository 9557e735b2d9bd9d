"""Isomap as a kernel: -D^2 / 2 of the distances D along the graph of neighbours.

When to prefer it: rows on a curved sheet without holes. It is no inner product: some eigenvalues may be negative.
Cost: n^2 (d + log n). Memory: 2 n^2. New rows: D(x, j) is the shortest way by one of the nearest rows of x.
Tenenbaum, de Silva, Langford 2000, "A global geometric framework for nonlinear dimensionality reduction", Science 290;
as a kernel: Ham et al. 2004; new rows: Bengio et al. 2004, "Out-of-sample extensions", NeurIPS 16.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from pcatool.blocks import Runner, in_turn
from pcatool.kernels.base import Kernel, Settings, slabs
from pcatool.kernels.neighbours import Graph, check_count, nearest
from pcatool.model import Array

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

    def matrix(self, X: Array, run: Runner) -> Array:
        D = self._along_graph(X, run)  # not kept: a fit asks for it once
        return np.asarray(-0.5 * D * D)

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
                self._known = T, self._along_graph(T, in_turn)
            return self._known[1]

    def _along_graph(self, T: Array, run: Runner) -> Array:
        from scipy.sparse.csgraph import dijkstra

        count = int(self.settings.neighbours or 0)
        check_count(count, len(T))
        graph = Graph.of(nearest(T, T, count, run=run, others=True)).sparse()
        parts = run(lambda rows: dijkstra(graph, indices=np.arange(rows.start, rows.stop)), slabs(len(T), len(T)))
        D = np.concatenate(list(parts))
        return np.asarray(np.minimum(D, D.T))  # there and back differ by roundings
