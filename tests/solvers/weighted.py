"""Weights and cells of every kind, and what a model of them should be, to as many digits as it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pcatool.linalg.certificate import ACCURATE
from pcatool.model.model import Model
from solvers.oracle import Real

__all__ = ["CELLS", "WEIGHTS", "false_claims", "framed", "spectrum"]

Array = NDArray[np.float64]
Random = np.random.Generator


def some(rng: Random, n: int) -> Array:
    return rng.uniform(0.01, 3, n)


def few_heavy(rng: Random, n: int, others: float) -> Array:
    w = np.full(n, others)
    w[rng.choice(n, min(n, 2), replace=False)] = 1
    return w


def first_light(rng: Random, n: int) -> Array:
    w = np.ones(n)
    w[0] = 10.0 ** -rng.uniform(0, 40)
    return w


def near_one(rng: Random, n: int) -> Array:
    w = some(rng, n)
    return w / w.sum() * (1 + 10.0 ** -rng.uniform(0, 16))


def heavy(rng: Random, n: int) -> Array:
    w = np.ones(n)
    w[rng.integers(n)] = 10.0 ** rng.uniform(2, 30)
    return w


WEIGHTS: dict[str, Callable[[Random, int], Array]] = {
    "counts": lambda rng, n: rng.integers(1, 6, n).astype(float),
    "any": some,
    "shares": lambda rng, n: (w := some(rng, n)) / w.sum(),
    "of mean 1": lambda rng, n: (w := some(rng, n)) / w.mean(),
    "about 1 together": near_one,
    "tiny": lambda rng, n: some(rng, n) * 10.0 ** -rng.uniform(10, 305),
    "huge": lambda rng, n: some(rng, n) * 10.0 ** rng.uniform(10, 305),
    "1e-40 beside 1": lambda rng, n: np.where(rng.random(n) < 0.5, 1e-40, 1.0),
    "some of them 0": lambda rng, n: some(rng, n) * (rng.random(n) > 0.4),
    "one that outweighs": heavy,
    "two that outweigh": lambda rng, n: few_heavy(rng, n, 10.0 ** -rng.uniform(5, 35)),
    "the first is light": first_light,
    "of all sizes": lambda rng, n: 10.0 ** rng.uniform(-30, 0, n),
    "from end to end": lambda rng, n: 10.0 ** rng.uniform(-320, 308, n),
}


def close(rng: Random, n: int, d: int) -> Array:
    """Columns of nearly equal variance, without correlation but for rounding."""
    Q = np.linalg.qr(rng.normal(size=(max(n, d), min(n, d))))[0]
    Q = Q if n > d else Q.T
    return Q[:n] * (1 + 10.0 ** -rng.uniform(6, 16) * rng.normal(size=Q.shape[1])) + rng.integers(2) * 100.0


def falling(rng: Random, n: int, d: int) -> Array:
    U, s, Vt = np.linalg.svd(rng.normal(size=(n, d)), full_matrices=False)
    return (U * 10.0 ** -np.sort(rng.uniform(0, 12, len(s)))) @ Vt


def one_constant(rng: Random, n: int, d: int) -> Array:
    X = rng.normal(size=(n, d))
    X[:, 0] = 0.1
    return X


CELLS: dict[str, Callable[[Random, int, int], Array]] = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "far from 0": lambda rng, n, d: rng.normal(size=(n, d)) + 10.0 ** rng.uniform(0, 12),
    "of all scales": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-8, 8, d),
    "close eigenvalues": close,
    "falling eigenvalues": falling,
    "small": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** -rng.uniform(100, 305),
    "large": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.uniform(100, 305),
    "a constant column": one_constant,
    "from end to end": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-300, 300, d),
}


def framed(X: Array, w: Array | None = None) -> pd.DataFrame:
    """With weights in a column w."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return frame if w is None else frame.assign(w=w)


def spectrum(X: Array, w: Array, settings: dict[str, Any]) -> list[Real]:
    """Eigenvalues, descending, of rows X (n, d) with weights w (n,)."""
    X, w = X[w > 0], w[w > 0]
    rows, columns = range(len(X)), range(X.shape[1])
    with mpmath.workdps(_digits(X, w)):
        A = [[mpmath.mpf(value) for value in row] for row in X.tolist()]
        W = [mpmath.mpf(value) for value in w.tolist()]
        weight = mpmath.fsum(W)
        divisor = weight
        if settings["ddof"] and settings.get("weights_kind") == "reliability":
            divisor -= mpmath.fsum(v * v for v in W) / weight
        elif settings["ddof"]:
            divisor -= 1
        mean = [mpmath.fsum(W[i] * A[i][j] for i in rows) / weight for j in columns]
        C = [[A[i][j] - mean[j] for j in columns] for i in rows]
        scale = [mpmath.mpf(1)] * len(columns)
        if settings["standardize"]:
            squares = [mpmath.fsum(W[i] * C[i][j] ** 2 for i in rows) / divisor for j in columns]
            scale = [mpmath.sqrt(s) if np.ptp(X[:, j]) > 0 else 1 for j, s in enumerate(squares)]
        Y = C if settings["center"] else A
        S = mpmath.matrix(len(columns), len(columns))
        for a in columns:
            for b in range(a + 1):
                product = mpmath.fsum(W[i] * Y[i][a] * Y[i][b] for i in rows)
                S[a, b] = S[b, a] = product / divisor / scale[a] / scale[b]
        return sorted(mpmath.eigsy(S, eigvals_only=True), reverse=True)


def _digits(X: Array, w: Array) -> int:
    """Enough for sums of these weights and cells, of their differences, and for eigenvalues as far apart."""
    return int(80 + 2 * (_span(w) + _span(X) + _span(np.diff(np.sort(X, axis=0), axis=0))))


def _span(values: Array) -> float:
    sizes = np.abs(values[values != 0])
    return 1 + float(np.log10(sizes.max()) - np.log10(sizes.min())) if sizes.size else 1.0


def false_claims(model: Model, true: list[Real]) -> list[str]:
    """Eigenvalues that are further off than their bound says, or vouched for and off; a bound near one says nothing."""
    certificate, found = model.meta["certificate"], []
    claims = zip(model.eigenvalues.tolist(), certificate["relative_error"], certificate["vouched"], true, strict=False)
    for j, (value, bound, sure, exact) in enumerate(claims, 1):
        off = float(abs(mpmath.mpf(value) - exact) / exact) if exact > 0 else np.inf
        if (sure and off > ACCURATE) or (bound is not None and bound < 0.1 and off > bound):
            found.append(f"PC{j}: off by {off:.1e}, bound {bound:.1e}, vouched {sure}")
    return found
