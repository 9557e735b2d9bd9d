"""Kernels over labels: Ky of supervised PCA, centred, and what it costs.

delta: 1 for rows of the same class, else 0, which is Y Y^T of zeros and ones. linear: y . y', which is Y Y^T itself.
rbf: exp(-gamma |y - y'|^2), n x n. Rows with equal labels share a row of it, so it is taken over the distinct labels;
and for one target or two, smooth as this kernel is, it is a product G^T G of low rank to the last digit, found by a
Cholesky factorisation that stops when nothing is left (Fine and Scheinberg 2001, JMLR 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner
from pcatool.errors import DataError, RefusedError, listed, show
from pcatool.kernels.base import slabs, symmetric
from pcatool.linalg.blas import factorisation_threads, threads
from pcatool.linalg.spectrum import EPS, middle
from pcatool.methods.base import Labels
from pcatool.options import FitOptions

__all__ = [
    "MOST_STEPS",
    "NOTHING",
    "LabelKernel",
    "centred_factor",
    "check_numbers",
    "constant_label",
    "distinct",
    "factor_doubt",
    "low_rank",
    "product_with",
    "whole",
]

# Steps of the factorisation before it is given up. Targets in units of their own spread need about 30 for one column
# and 150 for two; what needs more is nearly the identity, and blocks of it cost less than further steps.
MOST_STEPS = 256

# A diagonal below this is rounding of the steps before: each leaves about one of eps.
NOTHING = 64 * EPS

# Rows looked at to see whether labels are alike at all, and how alike on average is hardly.
SAMPLE = 500
ALIKE = 0.01


class LabelKernel(NamedTuple):
    """Which kernel, with its number."""

    name: str  # delta, linear or rbf
    gamma: float | None = None  # of rbf

    @classmethod
    def of(cls, options: FitOptions, labels: Labels) -> LabelKernel:
        name = options.label_kernel or ("delta" if labels.classes else "linear")
        if name != "rbf":
            return cls(name)
        return cls(name, 1.0 / labels.width if options.label_gamma is None else options.label_gamma)

    @property
    def streams(self) -> bool:
        """Is it Y Y^T, so that X^T H Y is all that is needed of the rows?"""
        return self.name != "rbf"

    def between(self, A: Array, B: Array) -> Array:
        """rbf of labels A (h, t) and B (u, t)."""
        with np.errstate(over="ignore", under="ignore"):
            D = squared_distances(A, B)
            D *= -float(self.gamma or 0)
            return np.asarray(np.exp(D, out=D))

    def doubt(self, values: Array, counts: Array) -> float:
        """Bound on the norm of what rounding did to rbf over all rows: u labels (u, t), of `counts` rows (u,) each.

        A value is off by the roundings of its exponent g, where g exp(-g) is below 0.37, those of exp, and those of
        both labels about their mean times the steepest slope of exp(-gamma r^2), 0.86 sqrt(gamma). Sums along rows
        bound the norm.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            error = EPS * np.sqrt(np.einsum("ij,ij->i", values, values))
            n, slope = float(counts.sum()), 0.86 * float(np.sqrt(self.gamma or 0))
            each = (0.37 * (values.shape[1] + 5) + 4) * EPS
            return float(n * each + slope * (n * float(error.max()) + float(error @ counts)))

    def wider(self, Y: Array) -> float | None:
        """Where rbf finds hardly any two of the labels Y (n, t) alike: a gamma that would, from the median distance."""
        some = Y[:: max(len(Y) // SAMPLE, 1)]
        D = squared_distances(some, some)[np.triu_indices(len(some), 1)]
        median = middle(D)
        hardly = float(np.exp(-float(self.gamma or 0) * D).mean()) < ALIKE
        return 1.0 / median if hardly and 0 < median < np.inf else None


def squared_distances(A: Array, B: Array) -> Array:
    """(h, u), from the differences: a low rank shows only with every digit."""
    if A.shape[1] == 1:
        D = A - B[:, 0]
        D *= D
        return D
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(A, B, "sqeuclidean"))


def distinct(Y: Array) -> tuple[Array, NDArray[np.intp]]:
    """The distinct rows of Y (n, t), about the mean, and which of them each row is."""
    if Y.shape[1] == 1:
        values, codes = np.unique(Y[:, 0], return_inverse=True)
        values = values[:, None]
    else:
        values, codes = np.unique(Y, axis=0, return_inverse=True)
    with np.errstate(over="ignore", invalid="ignore"):
        return values - values.mean(axis=0), codes.reshape(-1)


def low_rank(kernel: LabelKernel, Y: Array) -> Array | None:
    """G (r, u) of few rows with G^T G the kernel over the labels Y (u, t) but for NOTHING; None when there is none."""
    most = min(len(Y), MOST_STEPS)
    G = np.empty((most, len(Y)))
    left = np.ones(len(Y))
    for r in range(most):
        pivot = int(left.argmax())
        if left[pivot] <= NOTHING:
            return G[:r]
        row = kernel.between(Y[pivot : pivot + 1], Y)[0]
        G[r] = (row - G[:r, pivot] @ G[:r]) / np.sqrt(left[pivot])
        left = np.maximum(left - G[r] * G[r], 0.0)
        left[pivot] = 0.0
    return G if left.max() <= NOTHING else None


def whole(kernel: LabelKernel, Y: Array, run: Runner) -> Array:
    """The same of as many rows as it takes, up to u x u numbers."""
    from scipy.linalg import lapack

    K = symmetric(lambda rows, others: kernel.between(Y[rows], Y[others]), len(Y), run)
    with threads(factorisation_threads(len(Y))):
        c, pivots, rank, _ = lapack.dpstrf(K.T, tol=NOTHING, lower=0, overwrite_a=1)
    G = np.zeros((rank, len(Y)))
    G[:, pivots - 1] = np.triu(c)[:rank]
    return G


def factor_doubt(n: int, rank: int) -> float:
    """Bound on the norm of what a Cholesky factor of so many rows leaves out of an rbf kernel over n rows."""
    return n * (NOTHING + (rank + 2) * EPS)


def centred_factor(kernel: LabelKernel, Y: Array, run: Runner, check: Callable[[int], None]) -> tuple[Array, float]:
    """L (n, m) with L L^T = H Ky H, for all labels Y (n, t) at once: classes by their numbers, or targets.

    Beside it a bound on the norm of what L L^T lacks, but for the rounding of L itself.
    `check` is asked before so many columns are made.
    """
    lacks = 0.0
    if kernel.name == "delta":
        codes = Y[:, 0].astype(np.intp)
        check(int(codes.max()) + 1)
        L = (codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64)
    elif kernel.name == "linear":
        L = Y - Y[0]
    else:
        values, codes = distinct(Y)
        lacks = kernel.doubt(values, np.bincount(codes).astype(np.float64))
        G = low_rank(kernel, values)
        check(len(values) if G is None else len(G))
        if G is None:
            G = whole(kernel, values, run)
        L = G[:, codes].T
        lacks += factor_doubt(len(Y), len(G))
    for _ in range(2):  # the second time takes out the rounding of the first mean
        L = L - L.mean(axis=0)
    return np.asarray(L), lacks


def product_with(kernel: LabelKernel, Y: Array, X: Array, counts: Array, run: Runner) -> tuple[Array, float]:
    """X^T K X (d, d) for the kernel K over the labels Y (u, t), a few rows of K at a time, and a bound on its norm.

    Label j stands for counts_j rows.
    """

    def part(rows: slice) -> tuple[Array, float]:
        K = kernel.between(Y[rows], Y)
        return X[rows].T @ (K @ X), float((K @ counts).max())

    Q, norm = np.zeros((X.shape[1], X.shape[1])), 0.0
    for more, largest in run(part, slabs(len(Y), len(Y))):
        Q += more
        norm = max(norm, largest)
    return (Q + Q.T) / 2, norm


def constant_label(names: Sequence[str], value: str) -> DataError:
    if len(names) == 1:
        what, remedy = (
            f"label {show(names[0])} is {show(value)} in every row: nothing can depend on it",
            "one that varies",
        )
    else:
        what = f"labels {listed(names)} are {show(value)} in every row: nothing can depend on them"
        remedy = "some that vary"
    return DataError(what, f"give {remedy}")


def check_numbers(labels: Labels, origin: Array, varies: NDArray[np.bool_], squares: Array) -> None:
    """Refuse targets of one value only, and those whose squares a double cannot hold."""
    large = ~np.isfinite(squares)
    if large.any():
        name = labels.names[int(np.argmax(large))]
        raise RefusedError(f"squares of label {show(name)} overflow a double", "rescale it to stay below 1e150")
    if not varies.any():
        raise constant_label(labels.names, ", ".join(f"{value:g}" for value in origin))
