"""Labelled rows, fits of them, and what the formulas of the lectures give when they are written out in full."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import recut
from pcatool.methods.base import Fit, FitResources, Labels
from pcatool.methods.supervised import SupervisedPCA
from pcatool.model.model import Model
from pcatool.options import FitOptions
from pcatool.progress import Reporter

Array = NDArray[np.float64]


class Fitted(NamedTuple):
    model: Model
    fit: Fit
    reporter: Reporter


def classes_of(y: NDArray[np.intp]) -> NDArray[np.intp]:
    """Numbers of the classes in the order in which they first appear."""
    _, first, which = np.unique(y, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[which]


def labels_of(Y: Array, *, classes: bool = False) -> Labels:
    names = ("y",) if Y.shape[1] == 1 else tuple(f"y{j + 1}" for j in range(Y.shape[1]))
    return Labels(names, classes, Y.shape[1], lambda: [f"class {j}" for j in range(int(Y.max()) + 1)])


def columns_of(X: Array) -> tuple[str, ...]:
    return tuple(f"x{j + 1}" for j in range(X.shape[1]))


def fit(X: Array, y: Any, *, classes: bool = False, resources: dict[str, Any] | None = None, **options: Any) -> Fitted:
    """A fit of rows X (n, d) and labels y, (n,) or (n, t)."""
    Y = np.asarray(y, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    labels, reporter = labels_of(Y, classes=classes), Reporter()
    method = SupervisedPCA(FitOptions(method="supervised", label=labels.names, **options), reporter)
    table = np.hstack([X, Y])
    found = method.fit(
        recut([table], table.shape[1]), columns_of(X), resources=FitResources(labels=labels, **(resources or {}))
    )
    return Fitted(found.model, found, reporter)


def centring(n: int) -> Any:
    """H, in long doubles."""
    return np.eye(n, dtype=np.longdouble) - np.longdouble(1) / n


def delta(y: Any) -> Any:
    return (np.asarray(y)[:, None] == np.asarray(y)).astype(np.longdouble)


def linear(y: Any) -> Any:
    Y = np.asarray(y, dtype=np.longdouble).reshape(len(y), -1)
    return Y @ Y.T


def rbf(y: Any, gamma: float) -> Any:
    Y = np.asarray(y, dtype=np.longdouble).reshape(len(y), -1)
    return np.exp(-gamma * np.sum((Y[:, None] - Y[None]) ** 2, axis=-1))


def dense(X: Array, Ky: Any, std: Array | float = 1.0) -> Array:
    """X^T H Ky H X, every matrix formed; in long doubles, since at an offset the plain product has lost its digits."""
    H = centring(len(X))
    Xs = X.astype(np.longdouble) / std
    return np.asarray(Xs.T @ H @ Ky @ H @ Xs, dtype=np.float64)


def spectrum(Q: Array) -> tuple[Array, Array]:
    """Eigenvalues, descending, and eigenvectors."""
    values, U = np.linalg.eigh(Q)
    return values[::-1], U[:, ::-1]


def angle(U: Array, V: Array) -> float:
    """The sine of the largest angle between two subspaces of the same dimension."""
    return float(np.linalg.norm(U - V @ (V.T @ U), 2))


class Case(NamedTuple):
    """Rows with classes and targets that some of their columns have to do with."""

    X: Array
    y: NDArray[np.intp]
    targets: Array  # (n, 3)


def case(n: int, d: int, *, classes: int = 4, offset: float = 0.0, seed: int = 0) -> Case:
    rng = np.random.default_rng([seed, n, d])
    y = classes_of(rng.integers(0, classes, n))
    Z = rng.normal(size=(n, d)) + 2 * rng.normal(size=(classes, d))[y]
    targets = np.tanh(Z @ rng.normal(size=(d, 3)) / np.sqrt(d)) * [1.0, 2.0, 3.0] + 0.3 * rng.normal(size=(n, 3))
    return Case(Z * rng.uniform(0.5, 2.0, d) + offset, y, targets)
