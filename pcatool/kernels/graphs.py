"""Kernels on the graph of nearest neighbours: Isomap, locally linear embedding, Laplacian eigenmap.

Isomap as a kernel: -D^2 / 2 of the distances D along the graph of neighbours.
When to prefer it: rows on a curved sheet without holes. The kernel is not positive semidefinite: some eigenvalues may
be negative. Cost: n^2 (d + log n). Memory: 2 n^2. New rows: D(x, j) is the shortest path through one of the nearest
training rows of x.
Tenenbaum, de Silva, Langford 2000, "A global geometric framework for nonlinear dimensionality reduction", Science 290;
as a kernel: Ham et al. 2004; new rows: Bengio et al. 2004, "Out-of-sample extensions", NeurIPS 16.

Locally linear embedding as a kernel: lambda_max I - M, M = (I - W)^T (I - W), where the weights W combine the
neighbours of each row to approximate the row.
When to prefer it: rows on a smooth sheet that is sampled evenly. The eigenvalues are nearly equal, so a share of the
variance says little: give a number of components. Cost: 9 n^3. Memory: 6 n^2.
New rows: the weights that combine the neighbours to the row also combine the neighbours' scores to its scores.
Roweis and Saul 2000, "Nonlinear dimensionality reduction by locally linear embedding", Science 290; new rows: Saul and
Roweis 2003, "Think globally, fit locally", JMLR 4; as a kernel: Ham et al. 2004.

Laplacian eigenmap as a kernel: the pseudo-inverse of the Laplacian L = D - A of the graph of neighbours.
A is 1 between neighbours, and D holds the degrees. The eigenvalues of the kernel are 1 / mu, with mu those of L. Its
squared distances are proportional to the time of a random walk from one row to another and back. Cost: 2 n^3 + the
eigenvectors. Memory: 6 n^2.
When to prefer it: rows in clusters that are connected by few other rows.
New rows, from the equation L f = mu f at x: f(x) = sum_j A(x, j) f_j / (sum_j A(x, j) - mu), with j over the nearest
training rows of x. This is meaningful while mu is well below their number, where f is smooth.
Belkin and Niyogi 2003, "Laplacian eigenmaps", Neural Computation 15(6); Ham et al. 2004, Bengio et al. 2004 as above.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, run_serially
from pcatool.kernels.base import DualVectors, Kernel, KernelSettings, Prepared, row_slices
from pcatool.kernels.functions import EPS
from pcatool.kernels.neighbours import (
    Graph,
    Neighbours,
    length_rounding,
    neighbours_in,
    neighbours_within,
)
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.lanczos import leading_pairs
from pcatool.linalg.spectrum import backward_error

__all__ = ["LLE", "Isomap", "LaplacianEigenmap"]

Indices = NDArray[np.intp]


class Isomap(Kernel):
    """The Isomap kernel -D^2 / 2, with D the lengths of the shortest paths along the neighbour graph."""

    uses = ("neighbours",)
    invariant = True
    definite = False
    graph = True

    def __init__(self, settings: KernelSettings) -> None:
        super().__init__(settings)
        self._lock = Lock()
        self._cached_distances: tuple[Array, Array] | None = None  # training rows, and the distances between them
        self._last_neighbours: Neighbours | None = None  # neighbours of the last matrix, with one more than requested

    def matrix(self, X: Array, run: Runner) -> Array:
        """Return the kernel matrix -D^2 / 2 (n, n), not centred, for the lengths D of the shortest paths.

        Raise DataError if the neighbour graph is not connected, or if there are too few rows for the neighbours.
        """
        self._last_neighbours = neighbours_within(X, int(self.settings.neighbours or 0), run)
        D = self._along_graph(X, run, self._last_neighbours)  # not cached: a fit needs the distances once
        return np.asarray(-0.5 * D * D)

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        """Return bounds (h,) on the sum of the absolute errors in each row of K (h, n).

        The bounds are infinite if rounding may have changed the neighbours. A path of m edges has a relative error of m
        roundings, plus the errors of the rows on the path.
        """
        count, neighbours = int(self.settings.neighbours or 0), self._last_neighbours
        if neighbours is None or not neighbours.is_certain(count, T):
            return np.full(len(K), np.inf)
        n, squares = len(T.Y), -2.0 * K.sum(axis=1)  # sums of squared distances
        shortest, longest = float(neighbours.distances[:, 0].min()), float(np.sqrt(-2.0 * K.min(axis=1)).max())
        edges = min(n - 1, longest / shortest + 1) if shortest > 0 else n - 1
        relative = length_rounding(T.Y.shape[1]) + edges * EPS
        from_rows = 2 * min(float(T.error.sum()), (edges + 1) * float(T.error.max()))
        # Bounds the sum of |(D + e)^2 - D^2| / 2 with e = relative D + from_rows, and the rounding of the square.
        return np.asarray(
            (relative + relative**2 + EPS) * squares + from_rows * np.sqrt(n * squares) + n * from_rows**2
        )

    def cross(self, X: Array, T: Array) -> Array:
        """Return -D^2 / 2 (h, n), with D the lengths of the shortest paths from new rows X (h, d) to the rows T (n, d).

        A path leads from a new row to one of its nearest training rows, then along the graph.
        """
        D = self._distances(T)
        neighbours = neighbours_in(X, T, int(self.settings.neighbours or 0))
        shortest = np.full((len(X), len(T)), np.inf)
        for indices, distances in zip(neighbours.indices.T, neighbours.distances.T, strict=True):
            np.minimum(shortest, distances[:, None] + D[indices], out=shortest)
        return np.asarray(-0.5 * shortest * shortest)

    def _distances(self, T: Array) -> Array:
        """Return the graph distances (n, n) between the rows T, cached because new rows come in many blocks."""
        with self._lock:
            if self._cached_distances is None or self._cached_distances[0] is not T:
                self._cached_distances = (
                    T,
                    self._along_graph(
                        T, run_serially, neighbours_within(T, int(self.settings.neighbours or 0), run_serially)
                    ),
                )
            return self._cached_distances[1]

    def _along_graph(self, T: Array, run: Runner, neighbours: Neighbours) -> Array:
        """Return the lengths of the shortest paths (n, n) between the rows T along the neighbour graph."""
        from scipy.sparse.csgraph import dijkstra

        graph = Graph.of(neighbours.closest(int(self.settings.neighbours or 0))).sparse()
        parts = run(lambda rows: dijkstra(graph, indices=np.arange(rows.start, rows.stop)), row_slices(len(T), len(T)))
        D = np.concatenate(list(parts))
        return np.asarray(np.minimum(D, D.T))  # rounding makes both directions differ


# Regularisation of the weights: this fraction of the trace is added to the diagonal of the local inner products.
# Without it the weights are not unique when there are more neighbours than columns (Saul and Roweis).
REGULARISATION = 1e-3


class LLE(Kernel):
    """The kernel of locally linear embedding, lambda_max I - (I - W)^T (I - W)."""

    uses = ("neighbours",)
    invariant = True
    graph = True
    flat_spectrum = True

    def __init__(self, settings: KernelSettings) -> None:
        super().__init__(settings)
        self._last_weights: tuple[Neighbours, Array] | None = None  # neighbours and weights of the last matrix

    def matrix(self, X: Array, run: Runner) -> Array:
        """Return the kernel matrix c I - M, M = (I - W)^T (I - W), mixing weights W and c the largest eigenvalue of M.

        Raise DataError if the neighbour graph is not connected, or if there are too few rows for the neighbours.
        """
        n, count = len(X), int(self.settings.neighbours or 0)
        with_next = neighbours_within(X, count, run)
        neighbours = with_next.closest(count)
        Graph.of(neighbours)  # called for its check: raises if the graph is not connected
        w = _all_mixing_weights(X, neighbours, run)
        self._last_weights = with_next, w
        K = -_alignment(neighbours, w)
        K.flat[:: n + 1] += _largest_eigenvalue(-K)
        return K

    def rounding_norm(self, K: Array, rows: Prepared, run: Runner) -> float:
        """Return a bound on the norm of the rounding error of K (n, n), infinite if none is known.

        Errors dW of the weights W change M = (I - W)^T (I - W), and lambda_max, by at most 2 |I - W| |dW| + |dW|^2.
        """
        count = int(self.settings.neighbours or 0)
        if self._last_weights is None or not self._last_weights[0].is_certain(count, rows):
            return np.inf
        (neighbours, w), n = self._last_weights, len(K)
        indices = neighbours.indices[:, :count]
        error = _mixing_weight_errors(rows, neighbours.closest(count), w)
        change = _norm_bound(indices, np.repeat(error[:, None], count, axis=1), np.sqrt(count) * error, n)
        sizes = np.abs(w)
        norm_bound = 1.0 + _norm_bound(indices, sizes, sizes.sum(axis=1), n)
        most_neighboured = int(np.bincount(indices.ravel(), minlength=n).max())
        M = (2 * norm_bound + change) * change + (most_neighboured + 4) * EPS * norm_bound**2
        return float(2 * M + 2 * backward_error(n, norm_bound**2))

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        return np.full(len(K), np.inf)  # a bound exists for the whole matrix only: see `rounding_norm`

    def cross(self, X: Array, T: Array) -> Array:
        """Return the weights W (h, n) that combine the nearest training rows T (n, d) to approximate each row of X."""
        neighbours = neighbours_in(X, T, int(self.settings.neighbours or 0))
        W = np.zeros((len(X), len(T)))
        np.put_along_axis(W, neighbours.indices, mixing_weights(X, T, neighbours), axis=1)
        known = neighbours.equal_training_row
        W[known] = 0.0
        W[known, neighbours.indices[known, 0]] = 1.0  # a training row has weight 1 on itself
        return W

    def scores(self, X: Array, T: Array, dual: DualVectors) -> Array:
        """Return the scores (h, k) of new rows: the scores of the neighbours, combined with the weights of the row."""
        return self.cross(X, T) @ dual.scores


def mixing_weights(X: Array, T: Array, neighbours: Neighbours) -> Array:
    """Return the weights (h, count), with sum 1, that combine the neighbours of each row of X (h, d) to approximate it.

    `neighbours` are rows of T (n, d).
    """
    Y = T[neighbours.indices] - X[:, None]
    G = Y @ Y.transpose(0, 2, 1)
    count = neighbours.indices.shape[1]
    trace = np.einsum("ijj->i", G)
    G[:, range(count), range(count)] += REGULARISATION * np.where(trace > 0, trace, 1.0)[:, None]
    w = np.linalg.solve(G, np.ones((len(X), count, 1)))[..., 0]
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def _all_mixing_weights(X: Array, neighbours: Neighbours, run: Runner) -> Array:
    """Return `mixing_weights` (n, count) of all rows X (n, d), computed in slices of rows to bound the memory."""
    n, count = neighbours.indices.shape
    parts = run(
        lambda rows: mixing_weights(X[rows], X, Neighbours(neighbours.indices[rows], neighbours.distances[rows])),
        row_slices(n, count * (X.shape[1] + count)),
    )
    return np.concatenate(list(parts))


def _mixing_weight_errors(rows: Prepared, neighbours: Neighbours, w: Array) -> Array:
    """Return bounds (n,) on the length of the error of the weights w (n, count) of each row.

    Let G be the local inner products of a row, with REGULARISATION times the trace on the diagonal. A relative error e
    of G in every direction changes the weights by 2 e / (1 - e) of their length in the norm of G. The smallest
    eigenvalue of G is at least REGULARISATION times the trace, so the error is at most 2.3 e sqrt(cond G / count).
    """
    count, d = w.shape[1], rows.Y.shape[1]
    trace = np.square(neighbours.distances).sum(axis=1)
    differences = np.sqrt(np.square(rows.error[:, None] + rows.error[neighbours.indices]).sum(axis=1))
    differences += EPS * np.sqrt(trace)
    condition = 1.0 + 1.0 / REGULARISATION
    relative = np.where(trace > 0, 2.2 * differences / np.sqrt(REGULARISATION * np.where(trace > 0, trace, 1.0)), 0.0)
    relative[(trace == 0) & (differences > 0)] = np.inf
    e = relative + 1.1 * condition * ((d + 6) * EPS + backward_error(count, 1.0))
    rounding = (count + 2) * EPS * np.abs(w).sum(axis=1)
    return np.asarray(np.where(e < 0.1, 2.3 * e * np.sqrt(condition / count), np.inf) + rounding)


def _norm_bound(indices: NDArray[np.intp], entries: Array, row_sums: Array, n: int) -> float:
    """Return a bound on the norm of a sparse matrix (n, n): sqrt(largest row sum * largest column sum).

    `entries` (n, count) are the absolute values in each row, `indices` (n, count) their columns; `row_sums` is (n,).
    """
    columns = np.bincount(indices.ravel(), weights=entries.ravel(), minlength=n)
    return float(np.sqrt(row_sums.max() * columns.max()))


def _alignment(neighbours: Neighbours, w: Array) -> Array:
    """Return M = (I - W)^T (I - W) (n, n); each row of W (n, n) has the weights `w` (n, count) of its neighbours."""
    n = len(w)
    columns = np.concatenate([np.arange(n)[:, None], neighbours.indices], axis=1)
    entries = np.concatenate([np.ones((n, 1)), -w], axis=1)
    places = (columns[:, :, None] * n + columns[:, None, :]).ravel()
    products = (entries[:, :, None] * entries[:, None, :]).ravel()
    M: Array = np.bincount(places, weights=products, minlength=n * n).astype(np.float64, copy=False)
    return M.reshape(n, n)


def _largest_eigenvalue(M: Array) -> float:
    """Return the largest eigenvalue of a symmetric M (n, n)."""
    pairs = leading_pairs(lambda V: M @ V, len(M), lambda values: 1, max_space=len(M) // 2, fixed_count=1)
    if pairs is not None:
        return float(pairs.values[0])
    with one_blas_thread():
        return float(np.linalg.eigvalsh(M)[-1])


# mu counts as small up to this fraction of the number of neighbours: f(x) is then at most twice the neighbours' mean.
SMOOTH_SHARE = 0.5


class LaplacianEigenmap(Kernel):
    """The kernel of Laplacian eigenmaps: the pseudo-inverse of the Laplacian of the neighbour graph."""

    uses = ("neighbours",)
    invariant = True
    graph = True

    def __init__(self, settings: KernelSettings) -> None:
        super().__init__(settings)
        self._last_graph: tuple[Neighbours, Graph] | None = None  # neighbours and graph of the last matrix

    def matrix(self, X: Array, run: Runner) -> Array:
        """Return the kernel matrix (n, n): the pseudo-inverse of the Laplacian of the neighbour graph.

        Raise DataError if the graph is not connected, or if there are too few rows for the neighbours.
        """
        n, count = len(X), int(self.settings.neighbours or 0)
        neighbours = neighbours_within(X, count, run)
        graph = Graph.of(neighbours.closest(count))
        self._last_graph = neighbours, graph
        # The null space of L of a connected graph is the vector of ones; with 1/n added everywhere L is invertible.
        L = np.full((n, n), 1.0 / n)
        L[graph.tails, graph.heads] -= 1.0
        L.flat[:: n + 1] += np.bincount(graph.tails, minlength=n)
        with one_blas_thread():
            K = np.linalg.inv(L)
        return (K + K.T) / 2 - 1.0 / n

    def rounding_norm(self, K: Array, rows: Prepared, run: Runner) -> float:
        """Return a bound on the norm of the rounding error of K (n, n), infinite if none is known.

        With the Laplacian L, which is exact if the neighbours are right, and R = K L - (I - 1 1^T / n), the computed
        matrix is K = L^+ + R L^+ + (row means of K) 1^T.
        """
        if self._last_graph is None or not self._last_graph[0].is_certain(int(self.settings.neighbours or 0), rows):
            return np.inf
        from scipy.sparse import csr_array

        graph, n = self._last_graph[1], len(K)
        degrees = np.bincount(graph.tails, minlength=n).astype(np.float64)
        steps = graph.sparse()
        A = csr_array((np.ones(len(graph.tails)), steps.indices, steps.indptr), shape=(n, n))

        def norms_of_rows(rows_of_slice: slice) -> tuple[float, float, float, float]:
            B = K[rows_of_slice]
            R = B * degrees - (A @ B.T).T + 1.0 / n
            R[np.arange(len(B)), np.arange(rows_of_slice.start, rows_of_slice.stop)] -= 1.0
            size = np.abs(B).sum(axis=1)
            return float((R * R).sum()), float((B * B).sum()), float(size.max()), float((B.sum(axis=1) ** 2).sum())

        norms = np.array(list(run(norms_of_rows, row_slices(n, n))))
        residual_norm, norm, row_sum_norm = (
            np.sqrt(norms[:, 0].sum()),
            np.sqrt(norms[:, 1].sum()),
            np.sqrt(norms[:, 3].sum()),
        )
        largest, max_degree = float(norms[:, 2].max()), float(degrees.max())
        # Each entry of K L is a sum of degree + 2 products; their sizes are bounded by |K| times |L|.
        R = float(residual_norm) + (max_degree + 5) * EPS * 2 * max_degree * float(norm) + 2 * EPS * np.sqrt(n)
        means = float(row_sum_norm) / np.sqrt(n) + EPS * n * largest / np.sqrt(n)
        if R >= 0.5:
            return np.inf
        inverse = (min(largest, float(norm)) + means) / (1 - R)
        return float(R * inverse + means)

    def row_error_bounds(self, K: Array, X: Prepared, T: Prepared) -> Array:
        return np.full(len(K), np.inf)  # a bound exists for the whole matrix only: see `rounding_norm`

    def cross(self, X: Array, T: Array) -> Array:
        """Return A (h, n), with 1 for the nearest training rows in T (n, d) of each row of X (h, d), else 0."""
        A = np.zeros((len(X), len(T)))
        np.put_along_axis(A, neighbours_in(X, T, int(self.settings.neighbours or 0)).indices, 1.0, axis=1)
        return A

    def scores(self, X: Array, T: Array, dual: DualVectors) -> Array:
        """Return the scores (h, k) of the rows X (h, d): the sum of the neighbours' scores, over their number minus mu.

        mu are the inverse eigenvalues. A row that equals a training row gets the scores of that row.
        """
        count = int(self.settings.neighbours or 0)
        neighbours = neighbours_in(X, T, count)
        Z = dual.scores
        mu = np.where(dual.values > 0, 1.0 / np.where(dual.values > 0, dual.values, 1.0), 0.0)
        smoothed = Z[neighbours.indices].sum(axis=1) / (count - mu)
        return np.where(neighbours.equal_training_row[:, None], Z[neighbours.indices[:, 0]], smoothed)

    def remark(self, values: Array) -> str:
        """Return a warning about components whose scores differ much between neighbouring rows, or an empty text."""
        rough = np.flatnonzero(values * SMOOTH_SHARE * float(self.settings.neighbours or 0) < 1.0)
        if not len(rough):
            return ""
        first = int(rough[0]) + 1
        several = first < len(values)
        what, where = (
            (f"on PC{first} and later components", "these components") if several else (f"on PC{first}", f"PC{first}")
        )
        remedy = f"use -k {first - 1}" if first > 1 else "give a smaller number with --neighbours"
        return (
            f"kernel laplacian-eigenmap: scores of new rows {what} are unreliable, because neighbouring rows of the "
            f"fit have very different scores on {where}; {remedy}"
        )
