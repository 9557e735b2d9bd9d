"""Eigenvalues of kernels in extended precision, from the exact cells: the definitions written out, none of our code."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = list[list[Any]]

DIGITS = 50


def prepared(X: Array, asked: dict[str, Any], *, shift: bool) -> Rows:
    """Rows in the units of the fit: centred one by one, then as columns, and divided, as asked."""
    n, d = X.shape
    rows = [[mp.mpf(float(cell)) for cell in row] for row in X]
    if asked.get("center_rows"):
        rows = [[cell - sum(row) / d for cell in row] for row in rows]
    means = [sum(row[j] for row in rows) / n for j in range(d)]
    std = [mp.mpf(1)] * d
    if asked.get("standardize"):
        squares = [sum((row[j] - means[j]) ** 2 for row in rows) for j in range(d)]
        std = [mp.sqrt(s / (n - asked.get("ddof", 0))) if s else mp.mpf(1) for s in squares]
    return [[(cell - means[j] * shift) / std[j] for j, cell in enumerate(row)] for row in rows]


def dot(a: list[Any], b: list[Any]) -> Any:
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


def square(a: list[Any], b: list[Any]) -> Any:
    return mp.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def value(a: list[Any], b: list[Any], asked: dict[str, Any]) -> Any:
    """k(a, b)."""
    name, gamma = asked["kernel"], mp.mpf(asked.get("gamma", 1.0 / len(a)))
    coef0 = mp.mpf(asked.get("coef0", 1.0))
    if name == "rbf":
        return mp.exp(-gamma * square(a, b))
    if name == "laplacian":
        return mp.exp(-gamma * mp.fsum(abs(x - y) for x, y in zip(a, b, strict=True)))
    if name == "mds":
        return -square(a, b) / 2
    if name == "polynomial":
        degree = asked.get("degree", 3.0)
        return (gamma * dot(a, b) + coef0) ** (int(degree) if degree == int(degree) else mp.mpf(degree))
    if name == "sigmoid":
        return mp.tanh(gamma * dot(a, b) + coef0)
    if name == "cosine":
        lengths = dot(a, a) * dot(b, b)
        return dot(a, b) / mp.sqrt(lengths) if lengths else mp.mpf(0)
    return dot(a, b)


def pairs(rows: Rows, others: Rows, asked: dict[str, Any]) -> Any:
    return mp.matrix([[value(a, b, asked) for b in others] for a in rows])


def neighbours(rows: Rows, count: int) -> list[list[int]]:
    """The nearest others of each row, of equals the first."""
    n = len(rows)
    return [
        sorted((j for j in range(n) if j != i), key=lambda j: (square(rows[i], rows[j]), j))[:count] for i in range(n)
    ]


def along_graph(rows: Rows, near: list[list[int]]) -> Any:
    """-D^2 / 2 by Floyd and Warshall."""
    n = len(rows)
    D = [[mp.inf] * n for _ in range(n)]
    for i in range(n):
        D[i][i] = mp.mpf(0)
        for j in near[i]:
            D[i][j] = D[j][i] = mp.sqrt(square(rows[i], rows[j]))
    for m in range(n):
        for i in range(n):
            for j in range(n):
                D[i][j] = min(D[i][j], D[i][m] + D[m][j])
    return mp.matrix([[-(D[i][j] ** 2) / 2 for j in range(n)] for i in range(n)])


def laplacian_inverse(rows: Rows, near: list[list[int]]) -> Any:
    n = len(rows)
    edges = {(i, j) for i in range(n) for j in near[i]}
    L, J = mp.matrix(n, n), mp.ones(n, n) / n
    for i, j in edges | {(j, i) for i, j in edges}:
        L[i, j] -= 1
        L[i, i] += 1
    return mp.inverse(L + J) - J


def alignment(rows: Rows, near: list[list[int]]) -> Any:
    """lambda_max I - (I - W)^T (I - W)."""
    n, count = len(rows), len(near[0])
    A = mp.eye(n)
    for i, row in enumerate(rows):
        Y = [[x - y for x, y in zip(rows[j], row, strict=True)] for j in near[i]]
        G = mp.matrix([[dot(a, b) for b in Y] for a in Y])
        trace = sum(G[a, a] for a in range(count))
        for a in range(count):
            G[a, a] += mp.mpf(1e-3) * (trace or 1)
        w = mp.lu_solve(G, mp.matrix([1] * count))
        for a, j in enumerate(near[i]):
            A[i, j] -= w[a] / sum(w)
    M = A.T * A
    return max(mp.eigsy(M, eigvals_only=True)) * mp.eye(n) - M


GRAPHS = {"isomap": along_graph, "laplacian-eigenmap": laplacian_inverse, "lle": alignment}


def centred(K: Any) -> Any:
    n = K.rows
    means = [mp.fsum(K[i, j] for j in range(n)) / n for i in range(n)]
    mean = mp.fsum(means) / n
    return mp.matrix([[K[i, j] - means[i] - means[j] + mean for j in range(n)] for i in range(n)])


def eigenvalues(K: Any) -> list[Any]:
    """Descending."""
    return sorted(mp.eigsy(K, eigvals_only=True), reverse=True)


def shifts(asked: dict[str, Any]) -> bool:
    """Does it matter to the result that the mean is subtracted, or is it to be so?"""
    return bool(asked.get("center", True) and (asked.get("standardize") or asked["kernel"] == "linear"))


def of_fit(X: Array, asked: dict[str, Any]) -> list[Any]:
    """The eigenvalues of a kernel PCA of the rows X."""
    with mp.workdps(DIGITS):
        if asked["kernel"] == "precomputed":
            K = mp.matrix(X.tolist())
            K = (K + K.T) / 2
        else:
            rows = prepared(X, asked, shift=shifts(asked))
            made = GRAPHS.get(asked["kernel"])
            K = made(rows, neighbours(rows, asked["neighbours"])) if made else pairs(rows, rows, asked)
        K = centred(K) if asked.get("center", True) else K
        return [v / (len(X) - asked.get("ddof", 0)) for v in eigenvalues(K)]


def of_landmarks(X: Array, chosen: list[int], asked: dict[str, Any]) -> list[Any]:
    """The eigenvalues of the covariance of K(x, L) U S^-1/2, over eigenvalues S above the rounding of the largest."""
    n, m = len(X), len(chosen)
    with mp.workdps(DIGITS):
        rows = prepared(X, asked, shift=shifts(asked))
        marks = [rows[i] for i in chosen]
        S, U = mp.eigsy(pairs(marks, marks, asked))
        kept = [i for i in range(m) if S[i] > m * mp.mpf(2) ** -52 * max(S)]
        F = mp.matrix([[U[i, j] / mp.sqrt(S[j]) for j in kept] for i in range(m)])
        phi = pairs(rows, marks, asked) * F
        if asked.get("center", True):
            for j in range(phi.cols):
                mean = mp.fsum(phi[i, j] for i in range(n)) / n
                for i in range(n):
                    phi[i, j] -= mean
        return eigenvalues(phi.T * phi / (n - asked.get("ddof", 0)))


def of_supervised(X: Array, Y: Array, asked: dict[str, Any], *, label: str, gamma: float) -> list[Any]:
    """The eigenvalues of Kx H Ky H above 0, by a factor of H Ky H; without `kernel` Kx is the linear one."""
    n = len(X)
    with mp.workdps(DIGITS):
        rows = prepared(X, asked, shift=False)
        labels = [[mp.mpf(float(cell)) for cell in row] for row in Y]
        kernel = {"kernel": "rbf", "gamma": gamma} if label == "rbf" else {"kernel": "linear"}
        if label == "delta":
            Ky = mp.matrix([[mp.mpf(int(a == b)) for b in labels] for a in labels])
        else:
            Ky = pairs(labels, labels, kernel)
        S, U = mp.eigsy(centred(Ky))
        kept = [i for i in range(n) if S[i] > mp.mpf(10) ** (10 - DIGITS)]
        L = mp.matrix([[U[i, j] * mp.sqrt(S[j]) for j in kept] for i in range(n)])
        product = L.T * pairs(rows, rows, {"kernel": "linear", **asked}) * L
        return eigenvalues((product + product.T) / 2)
