"""Kernels over labels: Ky of supervised PCA, its centred factor, and its cost.

delta: 1 for rows of the same class, else 0; equal to Y Y^T for indicators Y. linear: y . y', equal to Y Y^T.
rbf: exp(-gamma |y - y'|^2), n x n. Rows with equal labels share a row of the matrix, so the kernel is computed over the
distinct labels. For one or two targets this smooth kernel is a product G^T G of low rank to the last digit, found by a
Cholesky factorisation that stops when the rest is rounding error (Fine and Scheinberg 2001, JMLR 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcatool.arrays import Array, Runner
from pcatool.errors import DataError, RefusedError
from pcatool.kernels.base import row_slices, symmetric
from pcatool.linalg.blas import load_scipy_linalg, one_blas_thread
from pcatool.linalg.spectrum import EPS, upper_median
from pcatool.methods.base import Labels
from pcatool.options import FitOptions
from pcatool.wording import listed, show

__all__ = [
    "DIAGONAL_ROUNDING",
    "MOST_STEPS",
    "LabelKernel",
    "centred_factor",
    "check_numbers",
    "constant_label",
    "distinct",
    "full_factor",
    "low_rank_factor",
    "omitted_norm",
    "product_with",
]

# Most steps of the factorisation. Targets in units of their own spread need about 30 steps for one column and 150 for
# two. A kernel that needs more steps is nearly the identity, and multiplying blocks of it costs less than further
# steps.
MOST_STEPS = 256

# A diagonal below this is rounding error of earlier steps: each leaves about one eps.
DIAGONAL_ROUNDING = 64 * EPS

# Number of rows in the sample that shows whether labels are alike. Hardly any two labels are alike if their mean kernel
# value is below ALIKE_VALUE.
SAMPLE = 500
ALIKE_VALUE = 0.01


class LabelKernel(NamedTuple):
    """A kernel over labels and its parameter."""

    name: str  # delta, linear or rbf
    gamma: float | None = None  # coefficient of rbf

    @classmethod
    def of(cls, options: FitOptions, labels: Labels) -> LabelKernel:
        """Choose the kernel from the options; by default delta for classes and linear for numbers."""
        name = options.label_kernel or ("delta" if labels.classes else "linear")
        if name != "rbf":
            return cls(name)
        return cls(name, 1.0 / labels.width if options.label_gamma is None else options.label_gamma)

    @property
    def is_product(self) -> bool:
        """Whether the kernel is Y Y^T (delta and linear), so that a fit needs only the sums X^T H Y over the rows."""
        return self.name != "rbf"

    def between(self, A: Array, B: Array) -> Array:
        """Return the rbf values (h, u) between labels A (h, t) and B (u, t)."""
        with np.errstate(over="ignore", under="ignore"):
            D = squared_distances(A, B)
            D *= -float(self.gamma or 0)
            return np.asarray(np.exp(D, out=D))

    def rounding_norm(self, values: Array, counts: Array) -> float:
        """Return a bound on the norm of the rounding error of the rbf matrix (n, n) of the labels of all rows.

        `values` (u, t) are the distinct labels, `counts` (u,) the number of rows of each. The error of a kernel value
        is the sum of three: that of its exponent g, where g exp(-g) is below 0.37; that of exp; and that of both
        centred labels times the steepest slope of exp(-gamma r^2), 0.86 sqrt(gamma). Sums along rows bound the norm.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            error = EPS * np.sqrt(np.einsum("ij,ij->i", values, values))
            n, slope = float(counts.sum()), 0.86 * float(np.sqrt(self.gamma or 0))
            each = (0.37 * (values.shape[1] + 5) + 4) * EPS
            return float(n * each + slope * (n * float(error.max()) + float(error @ counts)))

    def better_gamma(self, Y: Array) -> float | None:
        """Return a better gamma, 1 / (median squared distance), if hardly any labels Y (n, t) are alike; else None."""
        some = Y[:: max(len(Y) // SAMPLE, 1)]
        D = squared_distances(some, some)[np.triu_indices(len(some), 1)]
        median = upper_median(D)
        hardly = float(np.exp(-float(self.gamma or 0) * D).mean()) < ALIKE_VALUE
        return 1.0 / median if hardly and 0 < median < np.inf else None


def squared_distances(A: Array, B: Array) -> Array:
    """Return the squared distances (h, u) between the rows of A (h, t) and B (u, t), from differences.

    A kernel has low rank to the last digit only if every digit of the distances is right.
    """
    if A.shape[1] == 1:
        D = A - B[:, 0]
        D *= D
        return D
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(A, B, "sqeuclidean"))


def distinct(Y: Array) -> tuple[Array, NDArray[np.intp]]:
    """Return the distinct rows (u, t) of Y (n, t), minus their mean, and the index (n,) of each row among these."""
    if Y.shape[1] == 1:
        values, codes = np.unique(Y[:, 0], return_inverse=True)
        values = values[:, None]
    else:
        values, codes = np.unique(Y, axis=0, return_inverse=True)
    with np.errstate(over="ignore", invalid="ignore"):
        return values - values.mean(axis=0), codes.reshape(-1)


def low_rank_factor(kernel: LabelKernel, Y: Array) -> Array | None:
    """Return G (r, u) with G^T G equal to the rbf kernel over the labels Y (u, t) up to DIAGONAL_ROUNDING.

    Return None if r would be larger than MOST_STEPS.
    """
    most = min(len(Y), MOST_STEPS)
    G = np.empty((most, len(Y)))
    remaining = np.ones(len(Y))
    for r in range(most):
        pivot = int(remaining.argmax())
        if remaining[pivot] <= DIAGONAL_ROUNDING:
            return G[:r]
        row = kernel.between(Y[pivot : pivot + 1], Y)[0]
        G[r] = (row - G[:r, pivot] @ G[:r]) / np.sqrt(remaining[pivot])
        remaining = np.maximum(remaining - G[r] * G[r], 0.0)
        remaining[pivot] = 0.0
    return G if remaining.max() <= DIAGONAL_ROUNDING else None


def full_factor(kernel: LabelKernel, Y: Array, run: Runner) -> Array:
    """Return G as `low_rank_factor` does, for any r up to u; the kernel (u, u) over the labels is held in memory."""
    K = symmetric(lambda rows, others: kernel.between(Y[rows], Y[others]), len(Y), run)
    with one_blas_thread():
        c, pivots, rank, _ = load_scipy_linalg().lapack.dpstrf(K.T, tol=DIAGONAL_ROUNDING, lower=0, overwrite_a=1)
    G = np.zeros((rank, len(Y)))
    G[:, pivots - 1] = np.triu(c)[:rank]
    return G


def omitted_norm(n: int, rank: int) -> float:
    """Return a bound on the norm of K - G^T G, for an rbf kernel K over n rows and a Cholesky factor G of this rank."""
    return n * (DIAGONAL_ROUNDING + (rank + 2) * EPS)


def centred_factor(kernel: LabelKernel, Y: Array, run: Runner, check: Callable[[int], None]) -> tuple[Array, float]:
    """Return L (n, m) with L L^T = H Ky H for all labels Y (n, t), and a bound on the norm of the difference.

    Ky is the kernel matrix of the labels, and H subtracts column means. The bound excludes the rounding error of L. The
    labels are class numbers, or numbers in t columns. `check` is called with m before L is allocated, and may raise an
    error.
    """
    omitted = 0.0
    if kernel.name == "delta":
        codes = Y[:, 0].astype(np.intp)
        check(int(codes.max()) + 1)
        L = (codes[:, None] == np.arange(codes.max() + 1)).astype(np.float64)
    elif kernel.name == "linear":
        L = Y - Y[0]
    else:
        values, codes = distinct(Y)
        omitted = kernel.rounding_norm(values, np.bincount(codes).astype(np.float64))
        G = low_rank_factor(kernel, values)
        check(len(values) if G is None else len(G))
        if G is None:
            G = full_factor(kernel, values, run)
        L = G[:, codes].T
        omitted += omitted_norm(len(Y), len(G))
    for _ in range(2):  # the second pass removes the rounding error of the first mean
        L = L - L.mean(axis=0)
    return np.asarray(L), omitted


def product_with(kernel: LabelKernel, Y: Array, X: Array, counts: Array, run: Runner) -> tuple[Array, float]:
    """Return X^T K X (d, d) for the rbf kernel K over the distinct labels Y (u, t), and a bound on |Ky|.

    Ky is the kernel matrix of the labels of all rows, of which counts[j] have label j. X is (u, d). K is computed a few
    rows at a time.
    """

    def part(rows: slice) -> tuple[Array, float]:
        K = kernel.between(Y[rows], Y)
        return X[rows].T @ (K @ X), float((K @ counts).max())

    Q, norm = np.zeros((X.shape[1], X.shape[1])), 0.0
    for more, largest in run(part, row_slices(len(Y), len(Y))):
        Q += more
        norm = max(norm, largest)
    return (Q + Q.T) / 2, norm


def constant_label(names: Sequence[str], value: str) -> DataError:
    """Return the error for the labels `names`, which have the same `value` in every row."""
    if len(names) == 1:
        what, remedy = (
            f"label {show(names[0])} is {show(value)} in every row: nothing can depend on it",
            "a label that varies",
        )
    else:
        what = f"labels {listed(names)} are {show(value)} in every row: nothing can depend on them"
        remedy = "labels that vary"
    return DataError(what, f"give {remedy}")


def check_numbers(labels: Labels, origin: Array, varies: NDArray[np.bool_], squares: Array) -> None:
    """Raise `DataError` if labels that are numbers are constant, `RefusedError` if their squares overflow a double.

    `origin` (t,) are the labels of a row, `varies` (t,) is the mask of label columns that are not constant, and
    `squares` (t,) are sums of squares.
    """
    large = ~np.isfinite(squares)
    if large.any():
        name = labels.names[int(np.argmax(large))]
        raise RefusedError(
            f"squares of label {show(name)} overflow a double", "rescale the label to values below 1e150"
        )
    if not varies.any():
        raise constant_label(labels.names, ", ".join(f"{value:g}" for value in origin))
