"""Supervised PCA in kernel form: directions among the features of a kernel, from Kx H Ky H Kx Theta = Kx Theta Lambda.

When to prefer it: the label depends on the columns, but not on weighted sums of them. Needs all rows in memory.
With H Ky H = L L^T, where L (n, m) is as narrow as the labels allow, the solution is Theta = L A Lambda^(-1/2); A and
Lambda are the eigenvectors and eigenvalues of the small matrix L^T Kx L. So Kx is multiplied, a few rows at a time, and
never decomposed. Theta^T Kx Theta = I. Scores are k(x, rows) Theta, not centred.
Cost: n^2 (d + m) + m^3. Memory: n (d + m). SciPy: `scipy.linalg.eigh(Kx @ H @ Ky @ H @ Kx, Kx)`, which needs Kx of
full rank; where Kx is singular, Theta may differ by a function that is 0 everywhere.
Accuracy: the error of an eigenvalue is at most the errors of both kernels' values, each times the norm of the other
kernel, and a few eps n max |Kx| times the norm of H Ky H.
Reference: Barshan et al. 2011, Pattern Recognition 44(7); Ghojogh and Crowley 2019, arXiv:1906.03148.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array, Runner
from pcatool.errors import DataError, UsageError
from pcatool.kernels.base import Kernel, Preparation, Prepared, load, resolve, row_slices
from pcatool.kernels.eigen import positive_total
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.eigen import fix_signs
from pcatool.linalg.spectrum import EPS, backward_error
from pcatool.methods.dependence import (
    FACTOR_COPIES,
    HOLDS_NO_ROWS,
    SupervisedTask,
    center_features,
    check_targets,
    check_total,
    hold_rows,
    no_dependence_error,
    refuse_above,
)
from pcatool.methods.label_kernels import DIAGONAL_ROUNDING, centred_factor
from pcatool.options import FitOptions
from pcatool.progress import doing
from pcatool.solvers.base import too_few_rows
from pcatool.solvers.estimate import total_bytes
from pcatool.wording import counted, grouped

__all__ = ["KernelSolution", "in_features"]

# Rounding errors, in eps, of one kernel value and of the sums with it.
ROUNDINGS = 8


class KernelSolution(NamedTuple):
    """Solution of supervised kernel PCA: eigenvalues and dual vectors; made by `in_features`.

    Kx is the kernel matrix of the rows, Ky that of the labels, H subtracts column means, and L L^T = H Ky H. The scores
    of a row x are k(x, rows) theta.
    """

    kernel: Kernel
    rows: Array  # (n, d) in original units; (0, d) if the table is the kernel matrix
    prepared: Preparation
    eigenvalues: Array  # (n,) descending, 0 past the rank
    error: Array  # (n,) bounds on the absolute error of each eigenvalue
    rank: int  # number of eigenvalues above rounding error
    possible: int  # largest possible number of eigenvalues above 0
    total: float  # sum of the eigenvalues above 0
    trace: float  # tr(Kx H Ky H)
    product: Array  # L^T Kx L (m, m)
    A: Array  # (m, rank) eigenvectors of the product
    theta: Array  # (n, rank) dual vectors: a weight for each row of the fit
    negative: int  # number of eigenvalues below 0 by more than rounding error
    classes: int | None  # number of classes; None for labels that are numbers


def in_features(task: SupervisedTask, options: FitOptions) -> KernelSolution:
    """Return the solution of supervised kernel PCA, with all rows in memory.

    Raise `UsageError` for a kernel on the neighbour graph or one that must be centred, `DataError` if no direction
    depends on the labels, and `RefusedError` if memory is short or numbers overflow.
    """
    kernel = load(resolve(options, task.problem.d))
    if kernel.graph or kernel.definite_if_centred:
        raise UsageError(
            f"--kernel {kernel.settings.name} does not go with --method supervised", "use --kernel rbf or linear"
        )
    X, Y = hold_rows(task)
    n, limit, width = len(X), task.resources.limit, task.problem.d + task.labels.width
    _check_k(task.problem.wish, n)
    prepared, shift = _preparation(task, kernel, X)
    check_targets(task, Y)
    L, omitted = centred_factor(
        task.kernel,
        Y,
        task.resources.engine.map,
        lambda m: refuse_above(
            limit,
            total_bytes(width, 8 * n * (width + FACTOR_COPIES * m)),
            f"the label kernel matrix of {counted(n, 'row')}, with rank {grouped(m)},",
            HOLDS_NO_ROWS,
        ),
    )
    doing("comparing rows")
    shifted = prepared._replace(mean=shift)
    T = shifted.apply(X)
    rows = Prepared(T, shifted.rounding(X, T, n, mean_matters=not (kernel.invariant or kernel.shift_cancels)))
    product, largest, norm, error_norm = _product(kernel, rows, L, task.resources.engine.map)
    check_total(float(np.abs(np.diagonal(product)).sum()), product)
    doing("solving")
    with one_blas_thread():
        values, A = np.linalg.eigh(product)
    values, A = values[::-1], A[:, ::-1]
    # The norm of L^T L is at most that of its entries. What L leaves out is multiplied by a kernel of norm n max |Kx|.
    doubt = ROUNDINGS * EPS * float(np.linalg.norm(L.T @ L)) + (
        0.0 if task.kernel.is_product else DIAGONAL_ROUNDING * n
    )
    bound = n * largest * doubt + backward_error(len(values), float(np.abs(values).max()))
    possible = min(n - 1, L.shape[1] - task.labels.classes)
    rank = min(possible, int(np.count_nonzero(values > bound)))
    if rank == 0:
        raise no_dependence_error(task.labels)
    definite = kernel.is_definite(centred=False)
    negative = 0 if definite else int(np.count_nonzero(values < -bound))
    trace = float(np.trace(product))
    error = _error(kernel, L, values[:rank], norm, error_norm, omitted) + backward_error(
        len(values), float(np.abs(values).max())
    )
    kept, zeros = values[:rank], np.zeros(n - rank)
    return KernelSolution(
        kernel=kernel,
        rows=X if kernel.of_rows else X[:0],
        prepared=prepared,
        eigenvalues=np.concatenate([kept, zeros]),
        error=np.concatenate([error, zeros]),
        rank=rank,
        possible=possible,
        total=positive_total(kept, trace, negative),
        trace=trace,
        product=product,
        A=A[:, :rank],
        theta=fix_signs(L @ (A[:, :rank] / np.sqrt(kept))),
        negative=negative,
        classes=L.shape[1] if task.labels.classes else None,
    )


def _error(kernel: Kernel, L: Array, values: Array, norm: float, error_norm: float, omitted: float) -> Array:
    """Return bounds (m,) on the errors of the eigenvalues of L^T Kx L, without the error of the eigenvalue solver.

    `norm` bounds the norm of Kx, `error_norm` that of the error of Kx, `omitted` that of H Ky H - L L^T; the letters
    are those of `KernelSolution`. Sums over n rows (two products, and the means subtracted from L) are accurate to
    n / 2 eps of the sizes of their terms.
    """
    n, size = len(L), float(np.einsum("ij,ij->", L, L))
    arithmetic = EPS * (3 * n + 2 * np.sqrt(n) + 16) * norm * size
    # H Ky H - L L^T acts like further columns of L, of length sqrt(omitted). If Kx is indefinite, the products of these
    # columns with L count, too, divided by the gap.
    weight = 1.0 if kernel.is_definite(centred=False) else np.maximum(4 * norm * size / values, 1.0)
    return np.asarray(error_norm * size + arithmetic + omitted * norm * weight + np.zeros(len(values)))


def _check_k(wish: int | float | str, n: int) -> None:
    if isinstance(wish, int) and wish > n:
        raise DataError(
            f"-k {wish} is not possible: "
            f"a kernel matrix of {counted(n, 'row')} gives at most {counted(n, 'component')}",
            f"use -k {n} or less, or -k all",
        )


def _preparation(task: SupervisedTask, kernel: Kernel, X: Array) -> tuple[Preparation, Array]:
    """Return the centring and scaling of rows before the kernel, and the mean (d,) to subtract while solving.

    Subtracting the mean saves digits. For some kernels this changes the kernel values, but not the values centred by H.
    Then the preparation has no mean, because scores of new rows are not centred.
    """
    d = task.problem.d
    if not kernel.of_rows:
        if len(X) < 2:
            raise too_few_rows()
        return Preparation(False, np.zeros(d), np.ones(d), np.zeros(d), ()), np.zeros(d)
    columns = center_features(task, X.copy())[0]
    mean = columns.centre.mean
    constant = tuple(np.flatnonzero(~columns.centre.varies).tolist())
    prepared = Preparation(
        task.center_rows, mean if kernel.invariant else np.zeros(d), columns.sigma, columns.variances, constant
    )
    return prepared, mean if kernel.invariant or kernel.shift_cancels else prepared.mean


def _product(kernel: Kernel, known: Prepared, L: Array, run: Runner) -> tuple[Array, float, float, float]:
    """Return L^T Kx L (m, m), the largest |Kx|, and bounds on the norms of Kx and of the error of Kx.

    Kx is the kernel matrix of the rows `known`. Raise `RefusedError` if kernel values overflow.
    """
    T = known.Y
    n = len(T)
    K = None if kernel.of_rows else kernel.matrix(T, run)

    def part(rows: slice) -> tuple[Array, tuple[float, float, float]]:
        B = kernel.cross(T[rows], T) if K is None else K[rows]
        sizes, doubt = np.abs(B), float(np.max(kernel.row_error_bounds(B, known.take(rows), known)))
        found = float(sizes.max()), float(sizes.sum(axis=1).max()), doubt if doubt >= 0 else np.inf
        return L[rows].T @ (B @ L), found

    product, largest, norm, error_norm = np.zeros((L.shape[1], L.shape[1])), 0.0, 0.0, 0.0
    for more, found in run(part, row_slices(n, n)):
        product += more
        largest, norm, error_norm = (max(pair) for pair in zip((largest, norm, error_norm), found, strict=True))
    if not (np.isfinite(largest) and np.isfinite(product).all()):
        raise kernel.overflow()
    return (product + product.T) / 2, largest, norm, error_norm
