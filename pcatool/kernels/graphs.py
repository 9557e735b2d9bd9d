"""Kernels on the graph of nearest neighbours: Isomap, locally linear embedding, Laplacian eigenmap.

Isomap as a kernel: -D^2 / 2 of the distances D along the graph of neighbours.
When to prefer it: rows on a curved sheet without holes. It is no inner product: some eigenvalues may be negative.
Cost: n^2 (d + log n). Memory: 2 n^2. New rows: D(x, j) is the shortest way by one of the nearest rows of x.
Tenenbaum, de Silva, Langford 2000, "A global geometric framework for nonlinear dimensionality reduction", Science 290;
as a kernel: Ham et al. 2004; new rows: Bengio et al. 2004, "Out-of-sample extensions", NeurIPS 16.

Locally linear embedding as a kernel: lambda_max I - M, M = (I - W)^T (I - W), each row a mix W of its neighbours.
When to prefer it: rows on a smooth sheet that is sampled evenly. Its eigenvalues are nearly equal, so that a share of
the variance says little: give a number of components. Cost: 9 n^3. Memory: 6 n^2.
New rows: mixed from their neighbours, their scores are the same mix of the neighbours' scores.
Roweis and Saul 2000, "Nonlinear dimensionality reduction by locally linear embedding", Science 290; new rows: Saul and
Roweis 2003, "Think globally, fit locally", JMLR 4; as a kernel: Ham et al. 2004.

Laplacian eigenmap as a kernel: the pseudo-inverse of the Laplacian L = D - A of the graph of neighbours.
A is 1 between neighbours. The kernel's eigenvalues are 1 / mu, mu those of L, and its distances are the times that a
random walk takes from row to row and back. Cost: 2 n^3 + the eigenvectors. Memory: 6 n^2.
When to prefer it: rows in clusters that hang together by few others.
New rows, from the equation L f = mu f read at x: f(x) = sum_j A(x, j) f_j / (sum_j A(x, j) - mu), j over the nearest
rows of x. That means something while mu is well below their number, where f is smooth.
Belkin and Niyogi 2003, "Laplacian eigenmaps", Neural Computation 15(6); as a kernel: Ham et al. 2004; new rows: Bengio
et al. 2004, "Out-of-sample extensions", NeurIPS 16.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner, in_turn
from pcatool.errors import DataError, RefusedError
from pcatool.kernels.base import DualVectors, Kernel, KernelSettings, Prepared, slabs
from pcatool.kernels.functions import EPS, ROUNDINGS, exact_pairs, squared_distances, squares
from pcatool.kernels.lanczos import leading
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.linalg.spectrum import backward

__all__ = ["LLE", "Isomap", "LaplacianEigenmap", "nearest"]

Numbers = NDArray[np.intp]


class Nearest(NamedTuple):
    """The nearest rows, closest first, of equals the first."""

    numbers: Numbers  # (h, count) among the training rows
    distances: Array  # (h, count)

    @property
    def known(self) -> NDArray[np.bool_]:
        """(h,) which rows are training rows themselves."""
        return np.asarray(self.distances[:, 0] == 0)

    def first(self, count: int) -> Nearest:
        """The `count` nearest of these."""
        return Nearest(self.numbers[:, :count], self.distances[:, :count])

    def certain(self, count: int, rows: Prepared) -> bool:
        """Can rounding not have chosen other rows than the `count` nearest of these `rows` among themselves?

        The last of the nearest must be nearer than the next one by more than what both distances may be off by.
        """
        if self.numbers.shape[1] <= count:
            return True  # all others
        last, after = self.distances[:, count - 1], self.distances[:, count]
        error = rows.error + float(rows.error.max())
        return bool(np.all(after - last > 2 * (error + length_rounding(rows.Y.shape[1]) * after)))


class Graph(NamedTuple):
    """Edges between neighbours, each in both directions, sorted."""

    n: int
    tails: Numbers
    heads: Numbers
    lengths: Array

    @classmethod
    def of(cls, near: Nearest) -> Graph:
        """An edge where one row is among the nearest of the other; refused where the graph falls apart."""
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
        """As a sparse matrix of lengths; a length of 0 is an edge, too."""
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.tails, np.arange(self.n + 1))
        heads, starts = self.heads.astype(np.int32), starts.astype(np.int32)  # older scipy takes no others
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
    """Bound on the error of a length |x - y| of d differences, as a part of it."""
    return (d / 2 + 3) * EPS


def among(X: Array, count: int, run: Runner) -> Nearest:
    """The `count` nearest others of each row, and one more where there is one, which tells how sure that is."""
    check_count(count, len(X))
    return nearest(X, X, min(count + 1, len(X) - 1), run=run, others=True)


def check_count(count: int, n: int) -> None:
    """Every row needs that many others."""
    if count >= n:
        raise DataError(
            f"--neighbours {count} needs more than {count} rows, there are {n}",
            f"give --neighbours {n - 1} or less" if n > 1 else "give more rows",
        )


def nearest(X: Array, T: Array, count: int, *, run: Runner = in_turn, others: bool = False) -> Nearest:
    """The `count` nearest of the rows T (n, d) for each row of X (h, d); `others`: X is T, and no row is its own."""

    longest = float(squares(T).max())

    def of_slab(rows: slice) -> Nearest:
        Y = X[rows]
        D = squared_distances(Y, T)
        own = (np.arange(len(Y)), np.arange(rows.start, rows.stop)) if others else ((), ())
        D[own] = np.inf
        # All that may be among the nearest but for rounding are measured exactly.
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
    """Columns of the `count` smallest values of each row, in order; of equals the first."""
    chosen = np.sort(np.argpartition(D, count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(D, chosen, axis=1)
    tied = np.count_nonzero(values.max(axis=1, keepdims=True) >= D, axis=1) > count
    chosen[tied] = np.sort(np.argsort(D[tied], axis=1, kind="stable")[:, :count], axis=1)
    order = np.argsort(np.take_along_axis(D, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


class Isomap(Kernel):
    """-D^2 / 2, D along the graph."""

    uses = ("neighbours",)
    invariant = True
    definite = False
    graph = True

    def __init__(self, settings: KernelSettings) -> None:
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


# Added to the diagonal of each row's local inner products, of their trace: with more neighbours than columns the mix is
# not determined (Saul and Roweis).
REGULAR = 1e-3


class LLE(Kernel):
    """lambda_max I - (I - W)^T (I - W)."""

    uses = ("neighbours",)
    invariant = True
    graph = True
    flat = True

    def __init__(self, settings: KernelSettings) -> None:
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

    def scores(self, X: Array, T: Array, dual: DualVectors) -> Array:
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


# Up to this part of the number of neighbours mu is small: f(x) is at most twice the mean of its neighbours.
SMOOTH = 0.5


class LaplacianEigenmap(Kernel):
    """Pseudo-inverse of the graph's Laplacian."""

    uses = ("neighbours",)
    invariant = True
    graph = True

    def __init__(self, settings: KernelSettings) -> None:
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

    def scores(self, X: Array, T: Array, dual: DualVectors) -> Array:
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
