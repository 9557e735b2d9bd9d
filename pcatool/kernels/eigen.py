"""Eigenvalues and eigenvectors of a kernel matrix, by Lanczos or LAPACK, whichever is cheaper for the request."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array, Runner
from pcatool.kernels.base import Kernel, row_slices
from pcatool.kernels.functions import EPS
from pcatool.linalg.blas import one_blas_thread
from pcatool.linalg.certificate import ACCURATE
from pcatool.linalg.lanczos import count_for_share, leading_pairs
from pcatool.linalg.spectrum import Wish, backward_error, clip_eigenvalues
from pcatool.progress import doing
from pcatool.wording import grouped

__all__ = [
    "LANCZOS",
    "LAPACK",
    "KernelSpectrum",
    "center",
    "centring_error",
    "check_finite",
    "choose_solver",
    "expected_space",
    "positive_total",
    "product",
    "solve",
]

LANCZOS, LAPACK = "lanczos", "lapack"

# Up to this many rows LAPACK is chosen: it takes a tenth of a second.
LAPACK_MAX_ROWS = 1024

# Lanczos is faster up to n / ROWS_PER_COMPONENT components: for 5,000 rows Lanczos took 3 s for 250 components and 7.5
# s for 400, LAPACK 9 s.
ROWS_PER_COMPONENT = 16

# The largest Lanczos space has n // SPACE_DIVISOR vectors for a number of components, and n // SPACE_DIVISOR_FOR_SHARE
# for a share of the variance, which may need nearly all vectors: then LAPACK is faster.
SPACE_DIVISOR, SPACE_DIVISOR_FOR_SHARE = 2, 4

# Roundings, in units of eps, of one kernel value and of its centring.
ROUNDINGS_PER_VALUE = 4

# The largest value of a kernel matrix must be at least this. Below it, smaller values and products lose more by
# underflow than by the rounding of the largest value.
UNDERFLOW_LIMIT = np.finfo(np.float64).tiny / EPS


class KernelSpectrum(NamedTuple):
    """Eigenvalues and orthonormal eigenvectors of a kernel matrix; the result of `solve`."""

    values: Array  # (m,) eigenvalues, descending, 0 past the rank; all n from LAPACK, the leading ones from Lanczos
    vectors: Array  # (n, m) orthonormal eigenvectors
    error: Array  # (m,) bounds on the absolute error of each eigenvalue
    total: float  # sum of all positive eigenvalues
    rank: int  # number of values above rounding error
    solver: str  # LANCZOS or LAPACK
    reason: str  # why this solver was chosen, as text
    negative: int  # number of eigenvalues below 0 by more than rounding
    lowest: float  # smallest eigenvalue; 0 from Lanczos, which does not compute it


def choose_solver(n: int, wish: Wish, *, definite: bool, flat_spectrum: bool) -> tuple[str, str]:
    """Return the name of the solver, LANCZOS or LAPACK, for n rows, and the reason for the choice as text.

    `wish` is the requested number of components, share of the variance, or rule. `definite` says that the kernel has no
    negative eigenvalues, `flat_spectrum` that its leading eigenvalues are nearly equal.
    """
    if n <= LAPACK_MAX_ROWS:
        return LAPACK, f"computing all {grouped(n)} eigenvalues is fast"
    if not definite:
        return LAPACK, "the kernel matrix may have negative eigenvalues, so all eigenvalues are computed"
    if isinstance(wish, str):
        return LAPACK, "the rule for the number of components needs every eigenvalue"
    if flat_spectrum:
        return LAPACK, "the leading eigenvalues are nearly equal, so Lanczos would be slow"
    if isinstance(wish, int) and wish > n // ROWS_PER_COMPONENT:
        return LAPACK, f"Lanczos would be slow for {grouped(wish)} components of {grouped(n)} rows"
    return LANCZOS, f"few components of {grouped(n)} rows"


def expected_space(n: int, wish: Wish, most_rank: int | None) -> int | None:
    """Return how many Lanczos vectors to expect for n rows, for memory estimates; None if too many may be needed.

    `wish` is the requested number of components or share of the variance. A share takes at most as many components as
    the rank of the matrix, which is at most `most_rank` (None if unknown). Measured runs took up to 150 vectors for few
    components, and up to 20 k for k; the result is three times as many, to be safe.
    """
    if not isinstance(wish, int) and (most_rank is None or 2 * most_rank > most_vectors(n, wish)):
        return None
    k = wish if isinstance(wish, int) else most_rank or 0
    return min(n // SPACE_DIVISOR, 500 + 60 * k)


def most_vectors(n: int, wish: Wish) -> int:
    """Return the largest number of Lanczos vectors for n rows; if more are needed, LAPACK is used instead."""
    return n // (SPACE_DIVISOR if isinstance(wish, int) else SPACE_DIVISOR_FOR_SHARE)


def check_finite(K: Array, kernel: Kernel) -> float:
    """Return the largest absolute value of the matrix K (n, n) of a kernel.

    Raise RefusedError if values overflow or underflow.
    """
    with np.errstate(all="ignore"):
        largest_by_slice = [np.maximum(K[rows].max(), -K[rows].min()) for rows in row_slices(len(K), len(K))]
        largest = float(np.max(largest_by_slice))  # np.max passes NaN on; Python's max may drop it
    if not np.isfinite(largest):
        raise kernel.overflow()
    if 0 < largest < UNDERFLOW_LIMIT:
        raise kernel.underflow()
    return largest


def center(K: Array, run: Runner) -> Array:
    """Centre K (n, n) in place, to H K H with H = I - 1 1^T / n; return the row means (n,) of the uncentred K."""
    n = len(K)
    means = np.concatenate(list(run(lambda rows: K[rows].mean(axis=1), row_slices(n, n))))
    about = means - means.mean() / 2

    def subtract(rows: slice) -> None:
        K[rows] -= about
        K[rows] -= about[rows, None]

    for _ in run(subtract, row_slices(n, n)):
        pass
    return means


def centring_error(n: int, largest: float) -> tuple[float, float]:
    """Return bounds on the norms of the two errors that `center` adds to K (n, n): of entries, and of means.

    `largest` is the largest |K|. Each entry is rounded twice, at sizes of at most 2.5 and 4 times `largest`. The means
    have an error of 20 eps times `largest`. That error is constant along rows and columns, so it couples an eigenvector
    only to the vector of ones; `mean_error_effect` bounds the effect on eigenvalues.
    """
    entries = 3.25 * EPS * n * largest
    return entries, 20 * EPS * n * largest + entries


def mean_error_effect(values: Array, error: Array | float, mean_error: float) -> Array:
    """Return bounds (m,) on the change of eigenvalues `values` (m,) of a centred kernel matrix by errors of its means.

    `mean_error`, e, bounds the norm of the error that the subtracted means leave in the matrix. This error couples each
    eigenvector to the vector of ones, whose eigenvalue should be 0 and is at most 2 e. The bound is e^2 / gap, with the
    gap between the two eigenvalues (Li and Li 2005), or 2 e if the gap is at most e. `error` bounds all other errors of
    `values`; these narrow the gap, but are not part of the result.
    """
    gap = values - error - 2 * mean_error
    return np.where(gap > mean_error, mean_error * (mean_error / np.where(gap > 0, gap, 1.0)), 2 * mean_error)


def product(K: Array, run: Runner) -> Callable[[Array], Array]:
    """Return the function V (n, b) -> K V (n, b), computed by blocks of rows whose sizes depend on n alone."""

    def apply(V: Array) -> Array:
        V = np.ascontiguousarray(V)
        return np.concatenate(list(run(lambda rows: K[rows] @ V, row_slices(len(K), len(K)))))

    return apply


def solve(
    K: Array,
    wish: Wish,
    largest: float,
    matrix_error: float,
    run: Runner,
    *,
    centred: bool,
    definite: bool,
    flat_spectrum: bool,
    before_lapack: Callable[[], None] = lambda: None,
) -> KernelSpectrum:
    """Return the eigenvalues and eigenvectors of a kernel matrix K (n, n), which `center` has centred if `centred`.

    `wish` sets how many: a number of components, a share of the variance, or a rule, which needs all. `largest` is the
    largest |K| before centring. `definite` and `flat_spectrum` are as in `choose_solver`.
    `matrix_error` bounds the norm of the rounding error of K before centring. The rank uses typical rounding errors
    instead, so that the rank does not depend on how tight the proved bound of a kernel is. `before_lapack` is called
    if Lanczos fails and LAPACK follows; it may raise an error if LAPACK would need too much memory.
    """
    doing("solving")
    n = len(K)
    trace = float(np.trace(K))
    # The norm of an error matrix whose entries all have the size of a few roundings.
    typical_error = ROUNDINGS_PER_VALUE * EPS * n * largest
    entry_error, mean_error = centring_error(n, largest) if centred else (0.0, 0.0)
    matrix_error += entry_error
    solver, reason = choose_solver(n, wish, definite=definite, flat_spectrum=flat_spectrum)
    if solver == LANCZOS:
        spectrum = _by_lanczos(K, wish, trace, typical_error, (matrix_error, mean_error), run, reason)
        if spectrum is not None:
            return spectrum
        before_lapack()
        doing("solving")
        reason = f"Lanczos did not converge within {grouped(most_vectors(n, wish))} vectors"
    with one_blas_thread():
        values, vectors = np.linalg.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank_bound = typical_error + backward_error(n, max(values[0], -values[-1]))
    solution_error = matrix_error + backward_error(n, max(values[0], -values[-1]))
    error = solution_error + mean_error_effect(values, solution_error, mean_error)
    negative = 0 if definite else int(np.count_nonzero(values < -rank_bound))
    rank = int(np.count_nonzero(values > rank_bound))
    total = positive_total(values[:rank], trace, negative)
    return KernelSpectrum(
        clip_eigenvalues(values, rank), vectors, error, total, rank, LAPACK, reason, negative, float(values[-1])
    )


def positive_total(positive: Array, trace: float, negative: int) -> float:
    """Return the sum of all positive eigenvalues of a matrix: its trace, unless negative eigenvalues distort the trace.

    In that case the sum is that of `positive` (rank,), the eigenvalues above rounding error. `negative` counts
    eigenvalues below 0 by more than rounding. If kernel values hardly differ, eigenvalues that rounding made negative
    distort the trace, too.
    """
    total = float(positive.sum())
    return total if negative or total > trace + ACCURATE * abs(trace) else trace


def _by_lanczos(
    K: Array, wish: Wish, trace: float, typical_error: float, errors: tuple[float, float], run: Runner, reason: str
) -> KernelSpectrum | None:
    """Return the leading eigenvalues and eigenvectors by Lanczos; None if the allowed number of vectors is too small.

    `trace` is that of K. Eigenvalues above `typical_error` count towards the rank. `errors` are the norms of the errors
    of entries and of means, as from `centring_error`. `reason`, for this solver, goes into the result.
    """
    n = len(K)
    apply = product(K, run)
    count = wish if isinstance(wish, int) else None
    pairs = leading_pairs(
        apply,
        n,
        lambda values: count_for_share(values, trace, float(wish)) if count is None else min(count, len(values)),
        max_space=most_vectors(n, wish),
        fixed_count=count,
    )
    if pairs is None:
        return None
    # The residuals of Lanczos do not include the rounding of the products with K.
    rank_bound = typical_error + backward_error(n, pairs.values[0])
    rank = int(np.count_nonzero(pairs.values > rank_bound))
    values = clip_eigenvalues(pairs.values, rank)
    error = pairs.residual + errors[0] + backward_error(n, pairs.values[0])
    error = error + mean_error_effect(pairs.values, error, errors[1])
    total = positive_total(values[:rank], trace, 0)
    return KernelSpectrum(values, pairs.vectors, error, total, rank, LANCZOS, reason, 0, 0.0)
