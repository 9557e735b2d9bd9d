"""Data, fits and formulas that the tests of kernel PCA share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import recut
from pcatool.kernels.base import Kernel, load, resolve
from pcatool.kernels.model import KernelModel
from pcatool.methods.base import UNLIMITED, Fit, FitResources
from pcatool.methods.kernel import KernelPCA
from pcatool.options import FitOptions
from pcatool.progress import Reporter

Array = NDArray[np.float64]

POINTWISE = ("rbf", "linear", "polynomial", "sigmoid", "laplacian", "cosine")
GRAPHS = ("isomap", "lle", "laplacian-eigenmap")
SAME = 1e-8  # what two ways to one number may differ by, relative to the largest


def cloud(n: int = 120, d: int = 5, seed: int = 0) -> Array:
    """Rows about a far point, with columns of different spread; read-only, as a caller's may be."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ np.diag(np.linspace(1.5, 0.2, d)) + rng.standard_normal(d)
    X.setflags(write=False)
    return X


def roll(n: int = 250, seed: int = 0) -> Array:
    """A rolled sheet."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(1.5 * np.pi, 3.5 * np.pi, n)
    return np.column_stack([t * np.cos(t), 10 * rng.random(n), t * np.sin(t)])


def names(d: int) -> tuple[str, ...]:
    return tuple(f"c{j}" for j in range(1, d + 1))


def whole_fit(
    X: Array,
    *,
    reporter: Reporter | None = None,
    resources: FitResources = UNLIMITED,
    cuts: Iterable[int] = (),
    **asked: Any,
) -> Fit:
    """A fit of the rows X, which come in the given cuts."""
    options = FitOptions(**{"method": "kernel", **asked})
    pieces = np.split(X, list(cuts))
    return KernelPCA(options, reporter or Reporter()).fit(
        recut(pieces, X.shape[1]), names(X.shape[1]), resources=resources
    )


def fit(X: Array, **asked: Any) -> KernelModel:
    model = whole_fit(X, **asked).model
    assert isinstance(model, KernelModel)
    return model


def kernel_of(name: str, d: int, **asked: Any) -> Kernel:
    return load(resolve(FitOptions(method="kernel", kernel=name, **asked), d))


def turned(Z: Array, like: Array) -> Array:
    """Z with the signs of its columns turned to those of another."""
    return Z * np.where((Z * like).sum(axis=0) < 0, -1.0, 1.0)


def far(Z: Array, other: Array) -> float:
    """The largest difference but for signs, relative to the largest value."""
    return float(np.abs(turned(Z, other) - other).max() / np.abs(other).max())


def centred(K: Array) -> Array:
    """H K H as it is written."""
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def leading(K: Array, k: int) -> tuple[Array, Array]:
    values, V = np.linalg.eigh(K)
    return values[::-1][:k], V[:, ::-1][:, :k]
