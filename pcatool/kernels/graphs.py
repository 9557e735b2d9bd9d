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
Belkin and Niyogi 2003, "Laplacian eigenmaps", Neural Computation 15(6); as a kernel: Ham et al. 2004; new rows: Bengio
et al. 2004, "Out-of-sample extensions", NeurIPS 16.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, run_serially
from pcatool.errors import DataError, RefusedError
from pcatool.kernels.base import DualVectors, Kernel, KernelSettings, Prepared, slabs
from pcatool.kernels.functions import EPS, ROUNDINGS, exact_pairs, squared_distances, squares
from pcatool.kernels.lanczos import leading
from pcatool.linalg.blas import thread_count, threads
from pcatool.linalg.spectrum import backward

__all__ = ["LLE", "Isomap", "LaplacianEigenmap", "nearest"]

Numbers = NDArray[np.intp]


class Nearest(NamedTuple):
    """The nearest training rows of each row, closest first; ties in the order of the training rows."""

    numbers: Numbers  # (h, count) indices of training rows
    distances: Array  # (h, count)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Mask of rows that equal a training row, (h,)."""
        return np.asarray(self.distances[:, 0] == 0)

    def first(self, count: int) -> Nearest:
        """Return only the `count` nearest of each row."""
        return Nearest(self.numbers[:, :count], self.distances[:, :count])

    def certain(self, count: int, rows: Prepared) -> bool:
        """Whether rounding cannot have changed the choice of the `count` nearest neighbours among `rows`.

        This holds if the last chosen neighbour is closer than the next one by more than the errors of both distances.
        """
        if self.numbers.shape[1] <= count:
            return True  # all other rows are neighbours
        last, after = self.distances[:, count - 1], self.distances[:, count]
        error = rows.error + float(rows.error.max())
        return bool(np.all(after - last > 2 * (error + length_rounding(rows.Y.shape[1]) * after)))


class Graph(NamedTuple):
    """The neighbour graph of n rows; every edge is stored in both directions, sorted by tail and head."""

    n: int
    tails: Numbers  # (edges,) first row of each edge
    heads: Numbers  # (edges,) second row of each edge
    lengths: Array  # (edges,) distance between the rows

    @classmethod
    def of(cls, near: Nearest) -> Graph:
        """Build the graph, with an edge if one row is among the nearest of the other.

        Raise RefusedError if distances overflow, and DataError if the graph is not connected.
        """
        if not np.isfinite(near.distances).all():
            raise RefusedError("distances between rows overflow a double", "rescale the columns, as --standardize does")
        n, count = near.numbers.shape
        tails, heads = np.repeat(np.arange(n), count), near.numbers.ravel()
        both = np.concatenate([tails * n + heads, heads * n + tails])
        edges, first = np.unique(both, return_index=True)
        lengths = np.tile(near.distances.ravel(), 2)[first]
        graph = cls(n, edges // n, edges % n, lengths)
        graph._check_connected(count)
        return graph

    def sparse(self) -> Any:
        """Return a SciPy csr_array (n, n) of the lengths; an edge of length 0 is stored explicitly."""
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.tails, np.arange(self.n + 1))
        heads, starts = self.heads.astype(np.int32), starts.astype(np.int32)  # older scipy accepts int32 only
        return csr_array((self.lengths, heads, starts), shape=(self.n, self.n))

    def _check_connected(self, count: int) -> None:
        from scipy.sparse.csgraph import connected_components

        parts = int(connected_components(self.sparse(), directed=False, return_labels=False))
        if parts > 1:
            raise DataError(
                f"with --neighbours {count} the rows fall into {parts} parts that no neighbours join",
                "give a larger number with --neighbours, or fit each part by itself",
            )


def length_rounding(d: int) -> float:
    """Return a bound on the relative error of a length |x - y| computed from d differences."""
    return (d / 2 + 3) * EPS


def among(X: Array, count: int, run: Runner) -> Nearest:
    """Return the `count` nearest other rows of each row of X (n, d), and one more if there is one.

    The additional neighbour is used by `Nearest.certain`. Raise DataError if there are too few rows.
    """
    check_count(count, len(X))
    return nearest(X, X, min(count + 1, len(X) - 1), run=run, others=True)


def check_count(count: int, n: int) -> None:
    """Raise DataError unless every one of n rows has `count` other rows."""
    if count >= n:
        raise DataError(
            f"--neighbours {count} needs more than {count} rows, there are {n}",
            f"give --neighbours {n - 1} or less" if n > 1 else "give more rows",
        )


def nearest(X: Array, T: Array, count: int, *, run: Runner = run_serially, others: bool = False) -> Nearest:
    """Return the `count` nearest of the rows T (n, d) for each row of X (h, d).

    `others` says that X is T, and excludes each row from its own neighbours.
    """

    longest = float(squares(T).max())

    def of_slab(rows: slice) -> Nearest:
        Y = X[rows]
        D = squared_distances(Y, T)
        own = (np.arange(len(Y)), np.arange(rows.start, rows.stop)) if others else ((), ())
        D[own] = np.inf
        # Distances of all rows that may be among the nearest, given the rounding, are computed exactly.
        rounding = ROUNDINGS * EPS * (squares(Y) + longest)
        bound = np.partition(D, count - 1, axis=1)[:, count - 1] + 2 * rounding
        i, j = np.nonzero(bound[:, None] >= D)
        D[i, j] = exact_pairs(Y, T, i, j)
        D[own] = np.inf
        numbers = _smallest(D, count)
        return Nearest(numbers, np.sqrt(np.take_along_axis(D, numbers, axis=1)))

    found = list(run(of_slab, slabs(len(X), len(T))))
    return Nearest(np.concatenate([part.numbers for part in found]), np.concatenate([part.distances for part in found]))


def _smallest(D: Array, count: int) -> Numbers:
    """Return the columns of the `count` smallest values of each row, ascending; ties in column order."""
    chosen = np.sort(np.argpartition(D, count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(D, chosen, axis=1)
    tied = np.count_nonzero(values.max(axis=1, keepdims=True) >= D, axis=1) > count
    chosen[tied] = np.sort(np.argsort(D[tied], axis=1, kind="stable")[:, :count], axis=1)
    order = np.argsort(np.take_along_axis(D, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


class Isomap(Kernel):
    """The Isomap kernel -D^2 / 2, with D the shortest paths along the neighbour graph."""

    uses = ("neighbours",)
    invariant = True
    definite = False
    graph = True

    def __init__(self, settings: KernelSettings) -> None:
        super().__init__(settings)
        self._lock = Lock()
        self._known: tuple[Array, Array] | None = None  # training rows, and the distances between them
        self._near: Nearest | None = None  # neighbours of the last matrix, with one more than requested

    def matrix(self, X: Array, run: Runner) -> Array:
        """Return the kernel matrix (n, n); raise DataError if the neighbour graph is not connected."""
        self._near = among(X, int(self.settings.neighbours or 0), run)
        D = self._along_graph(X, run, self._near)  # not cached: a fit needs the distances once
        return np.asarray(-0.5 * D * D)

    def doubt(self, K: Array, X: Prepared, T: Prepared) -> Array:
        """Return bounds (h,) as in `Kernel.doubt`; infinite if the neighbours are not certain.

        A path of m edges has a relative error of m roundings, plus the error of each row on the path, once each.
        """
        count, near = int(self.settings.neighbours or 0), self._near
        if near is None or not near.certain(count, T):
            return np.full(len(K), np.inf)
        n, squares = len(T.Y), -2.0 * K.sum(axis=1)  # sums of squared distances
        shortest, longest = float(near.distances[:, 0].min()), float(np.sqrt(-2.0 * K.min(axis=1)).max())
        edges = min(n - 1, longest / shortest + 1) if shortest > 0 else n - 1
        part = length_rounding(T.Y.shape[1]) + edges * EPS
        moved = 2 * min(float(T.error.sum()), (edges + 1) * float(T.error.max()))
        # Bounds the sum of |(D + e)^2 - D^2| / 2 with e = part D + moved, and the rounding of the square.
        return np.asarray((part + part**2 + EPS) * squares + moved * np.sqrt(n * squares) + n * moved**2)

    def cross(self, X: Array, T: Array) -> Array:
        """Return -D^2 / 2 (h, n), with D the shortest path from a new row through one of its nearest training rows."""
        D = self._distances(T)
        near = nearest(X, T, int(self.settings.neighbours or 0))
        shortest = np.full((len(X), len(T)), np.inf)
        for numbers, distances in zip(near.numbers.T, near.distances.T, strict=True):
            np.minimum(shortest, distances[:, None] + D[numbers], out=shortest)
        return np.asarray(-0.5 * shortest * shortest)

    def _distances(self, T: Array) -> Array:
        """Return the graph distances (n, n) between the rows T, cached because new rows come in many blocks."""
        with self._lock:
            if self._known is None or self._known[0] is not T:
                self._known = (
                    T,
                    self._along_graph(T, run_serially, among(T, int(self.settings.neighbours or 0), run_serially)),
                )
            return self._known[1]

    def _along_graph(self, T: Array, run: Runner, near: Nearest) -> Array:
        """Return the lengths of the shortest paths (n, n) between the rows T along the neighbour graph."""
        from scipy.sparse.csgraph import dijkstra

        graph = Graph.of(near.first(int(self.settings.neighbours or 0))).sparse()
        parts = run(lambda rows: dijkstra(graph, indices=np.arange(rows.start, rows.stop)), slabs(len(T), len(T)))
        D = np.concatenate(list(parts))
        return np.asarray(np.minimum(D, D.T))  # rounding makes both directions differ


# Regularisation of the weights: this fraction of the trace is added to the diagonal of the local inner products.
# Without it the weights are not unique when there are more neighbours than columns (Saul and Roweis).
REGULAR = 1e-3


class LLE(Kernel):
    """The kernel of locally linear embedding, lambda_max I - (I - W)^T (I - W)."""

    uses = ("neighbours",)
    invariant = True
    graph = True
    flat = True

    def __init__(self, settings: KernelSettings) -> None:
        super().__init__(settings)
        self._made: tuple[Nearest, Array] | None = None  # neighbours and weights of the last matrix

    def matrix(self, X: Array, run: Runner) -> Array:
        """Return the kernel matrix (n, n); raise DataError if the neighbour graph is not connected."""
        n, count = len(X), int(self.settings.neighbours or 0)
        found = among(X, count, run)
        near = found.first(count)
        Graph.of(near)  # called for its check: raises if the graph is not connected
        w = _mixes(X, near, run)
        self._made = found, w
        K = -_alignment(near, w)
        K.flat[:: n + 1] += _largest(-K)
        return K

    def noise(self, K: Array, rows: Prepared, run: Runner) -> float:
        """Return a bound on the error norm of K, from the errors dW of the weights; infinite if none is known.

        M changes by at most 2 |I - W| |dW| + |dW|^2, and lambda_max by the same amount.
        """
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
        return np.full(len(K), np.inf)  # a bound exists for the whole matrix only: see `noise`

    def cross(self, X: Array, T: Array) -> Array:
        """Return the weights W (h, n) that combine the training rows T (n, d) to each row of X (h, d)."""
        near = nearest(X, T, int(self.settings.neighbours or 0))
        W = np.zeros((len(X), len(T)))
        np.put_along_axis(W, near.numbers, mix(X, T, near), axis=1)
        known = near.known
        W[known] = 0.0
        W[known, near.numbers[known, 0]] = 1.0  # a training row has weight 1 on itself
        return W

    def scores(self, X: Array, T: Array, dual: DualVectors) -> Array:
        """Return the scores (h, k) of new rows: the scores of the neighbours, combined with the weights of the row."""
        return self.cross(X, T) @ dual.scores


def mix(X: Array, T: Array, near: Nearest) -> Array:
    """Return the weights (h, count), with sum 1, whose combination of the neighbours is closest to each row of X."""
    Y = T[near.numbers] - X[:, None]
    G = Y @ Y.transpose(0, 2, 1)
    count = near.numbers.shape[1]
    trace = np.einsum("ijj->i", G)
    G[:, range(count), range(count)] += REGULAR * np.where(trace > 0, trace, 1.0)[:, None]
    w = np.linalg.solve(G, np.ones((len(X), count, 1)))[..., 0]
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def _mixes(X: Array, near: Nearest, run: Runner) -> Array:
    """Return `mix` for all rows X (n, d), in slabs that bound the memory for the differences."""
    n, count = near.numbers.shape
    parts = run(
        lambda rows: mix(X[rows], X, Nearest(near.numbers[rows], near.distances[rows])),
        slabs(n, count * (X.shape[1] + count)),
    )
    return np.concatenate(list(parts))


def _mix_errors(rows: Prepared, near: Nearest, w: Array) -> Array:
    """Return bounds (n,) on the error of the weights of each row, as a length.

    Let G be the local inner products of a row, with REGULAR times the trace on the diagonal. A relative error e of G in
    every direction changes the weights by 2 e / (1 - e) of their length in the norm of G. The smallest eigenvalue of G
    is at least REGULAR times the trace, so the error is at most 2.3 e sqrt(cond G / count).
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
    """Return a bound on the norm of a sparse matrix (n, n): sqrt(largest row sum * largest column sum).

    The row sums are given as `rows`; the column sums are computed from `entries` and their columns `numbers`.
    """
    columns = np.bincount(numbers.ravel(), weights=entries.ravel(), minlength=n)
    return float(np.sqrt(rows.max() * columns.max()))


def _alignment(near: Nearest, w: Array) -> Array:
    """Return M = (I - W)^T (I - W) (n, n), from the count + 1 entries in each row of I - W."""
    n = len(w)
    columns = np.concatenate([np.arange(n)[:, None], near.numbers], axis=1)
    entries = np.concatenate([np.ones((n, 1)), -w], axis=1)
    places = (columns[:, :, None] * n + columns[:, None, :]).ravel()
    products = (entries[:, :, None] * entries[:, None, :]).ravel()
    M: Array = np.bincount(places, weights=products, minlength=n * n).astype(np.float64, copy=False)
    return M.reshape(n, n)


def _largest(M: Array) -> float:
    """Return the largest eigenvalue of a symmetric M (n, n)."""
    pairs = leading(lambda V: M @ V, len(M), lambda values: 1, most=len(M) // 2, known=1)
    if pairs is not None:
        return float(pairs.values[0])
    with threads(thread_count(len(M))):
        return float(np.linalg.eigvalsh(M)[-1])


# mu counts as small up to this fraction of the number of neighbours: f(x) is then at most twice the neighbours' mean.
SMOOTH = 0.5


class LaplacianEigenmap(Kernel):
    """The kernel of Laplacian eigenmaps: the pseudo-inverse of the Laplacian of the neighbour graph."""

    uses = ("neighbours",)
    invariant = True
    graph = True

    def __init__(self, settings: KernelSettings) -> None:
        super().__init__(settings)
        self._made: tuple[Nearest, Graph] | None = None  # neighbours and graph of the last matrix

    def matrix(self, X: Array, run: Runner) -> Array:
        """Return the kernel matrix (n, n); raise DataError if the neighbour graph is not connected."""
        n, count = len(X), int(self.settings.neighbours or 0)
        near = among(X, count, run)
        graph = Graph.of(near.first(count))
        self._made = near, graph
        # The null space of L of a connected graph is the vector of ones; with 1/n added everywhere L is invertible.
        L = np.full((n, n), 1.0 / n)
        L[graph.tails, graph.heads] -= 1.0
        L.flat[:: n + 1] += np.bincount(graph.tails, minlength=n)
        with threads(thread_count(n)):
            K = np.linalg.inv(L)
        return (K + K.T) / 2 - 1.0 / n

    def noise(self, K: Array, rows: Prepared, run: Runner) -> float:
        """Return a bound on the error norm of K, from the residual R = K L - (I - 1 1^T / n); infinite if unknown.

        K = L^+ + R L^+ + (row means of K) 1^T. L is exact if the graph is.
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
        # Each entry of K L is a sum of degree + 2 products; their sizes are bounded by |K| times |L|.
        R = float(left) + (most + 5) * EPS * 2 * most * float(whole) + 2 * EPS * np.sqrt(n)
        means = float(sums) / np.sqrt(n) + EPS * n * largest / np.sqrt(n)
        if R >= 0.5:
            return np.inf
        inverse = (min(largest, float(whole)) + means) / (1 - R)
        return float(R * inverse + means)

    def doubt(self, K: Array, X: Prepared, T: Prepared) -> Array:
        return np.full(len(K), np.inf)  # a bound exists for the whole matrix only: see `noise`

    def cross(self, X: Array, T: Array) -> Array:
        """Return the adjacency A (h, n): 1 for the nearest training rows of each row of X, else 0."""
        A = np.zeros((len(X), len(T)))
        np.put_along_axis(A, nearest(X, T, int(self.settings.neighbours or 0)).numbers, 1.0, axis=1)
        return A

    def scores(self, X: Array, T: Array, dual: DualVectors) -> Array:
        """Return the scores (h, k) of new rows, from the equation L f = mu f; see the module docstring."""
        count = int(self.settings.neighbours or 0)
        near = nearest(X, T, count)
        Z = dual.scores
        mu = np.where(dual.values > 0, 1.0 / np.where(dual.values > 0, dual.values, 1.0), 0.0)
        found = Z[near.numbers].sum(axis=1) / (count - mu)
        return np.where(near.known[:, None], Z[near.numbers[:, 0]], found)

    def remark(self, values: Array) -> str:
        """Return a warning about components that vary between neighbours; empty if there are none."""
        rough = np.flatnonzero(values * SMOOTH * float(self.settings.neighbours or 0) < 1.0)
        if not len(rough):
            return ""
        first = int(rough[0]) + 1
        fewer = f" (-k {first - 1})" if first > 1 else "; give fewer --neighbours"
        return (
            f"laplacian-eigenmap: PC{first} and those after it change from neighbour to neighbour; "
            f"new rows have no sound scores there{fewer}"
        )
