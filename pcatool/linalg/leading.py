"""The leading eigenpairs of a wide scatter matrix: block Lanczos, and a proof that no larger eigenvalue is missed.

All d eigenvectors of d columns take 9 d^3 operations, most of them slow; ten take some products with the matrix. Three
steps:
1. Block Lanczos finds k eigenvalues t and orthonormal vectors V, each with its residual.
2. Cholesky's factorisation of M = shift I - (S - V diag(t) V^T), with the shift below the last of the t. If it
   succeeds, no eigenvalue of S - V diag(t) V^T lies above the shift by more than rounding, so at most k eigenvalues of
   S do (Weyl): none was missed. Rounding moves the eigenvalues of M by less than its trace times (d + 3) eps / 2
   (Rump 2006, BIT 46, "Verification of positive definiteness"; Demmel 1989).
3. If Lanczos needs too many vectors, if the eigenvalues k and k + 1 are too close, or if the factorisation fails,
   LAPACK computes k + 1 eigenvectors. If it finds fewer, and for a share of the variance, all are computed.

Every product and factorisation is cut into tasks whose sizes depend on d alone, each on one BLAS thread, so the bits do
not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pcatool.arrays import Array, Runner, slabs
from pcatool.linalg.blas import load_scipy_linalg, one_blas_thread
from pcatool.linalg.eigen import (
    SCIPY_BYTES,
    couplings,
    inner_products,
    scatter_spectrum_bytes,
    spectrum_of_gram,
    spectrum_of_scatter,
)
from pcatool.linalg.lanczos import EigenPairs, count_for_share, leading_pairs
from pcatool.linalg.spectrum import (
    EPS,
    Spectrum,
    backward_error,
    clip_eigenvalues,
    count_positive,
    eigenvalue_shifts,
    leading_columns,
    most_leading,
    orthonormal,
)
from pcatool.progress import doing
from pcatool.resources import release_free_memory

__all__ = ["leading_bytes", "leading_spectrum", "leading_spectrum_of_gram"]

# Share by which the eigenvalues found exceed a requested share of the trace: the total variance, which decides on the
# number of components, may be computed in another order.
ROUNDED_SHARE = 1e-13

# The largest Lanczos space has d // SPACE_DIVISOR vectors.
SPACE_DIVISOR = 3

# Least relative gap between the eigenvalues k and k + 1 for the proof: the shift lies in the middle of this gap, and
# the rounding of the factorisation of d columns moves it by up to d^2 eps / 2.
LEAST_GAP = 1e-6


def leading_bytes(d: int, k: int | None) -> int:
    """Return the bytes of `leading_spectrum` for k components of d columns, in addition to S.

    `k` is None for a share of the variance, which may need all eigenvectors. For k components, the result is the larger
    of two: the matrix M of the proof, or the matrix that LAPACK overwrites, with the eigenvectors and their copies; and
    the Lanczos space, which grows by half, with the newest blocks.
    """
    if k is None:
        return scatter_spectrum_bytes(d)
    return SCIPY_BYTES + 8 * d * max(d + 6 * (k + 1), 3 * (d // SPACE_DIVISOR) // 2 + 6 * (k + 16))


def leading_spectrum(
    S: Array, rounding: Array, wish: int | float, scale_rounding: Array | float, run: Runner
) -> Spectrum:
    """Return the leading eigenpairs of a symmetric positive semidefinite S (d, d), as many as `wish` needs.

    `wish` is a number of components or a share of the trace; `run` runs the tasks. Entry S_ij has an error of at most
    (r_i + r_j) * sqrt(S_ii S_jj), where r (d,) is `rounding` plus `scale_rounding`, the error of the scales by which
    the columns were divided. For k components, the spectrum has k eigenvalues if Lanczos finds these, else k + 1 or all
    from LAPACK.
    """
    known = _leading_eigenpairs(S, wish, run)
    if known is None:
        return spectrum_of_scatter(S, rounding, wish, scale_rounding)
    # All other eigenvectors count as one direction whose eigenvalue is the bound `known.top`. The bound on how rounding
    # couples an eigenvector to them follows from Cauchy and Schwarz.
    rounding = rounding + scale_rounding
    root = np.sqrt(np.maximum(np.diagonal(S), 0.0) * known.unit)
    p, q = couplings(known.vectors, root, rounding)
    raised = np.maximum(known.values, known.top)  # a value below the bound may be any of those below it
    p, q = np.append(p, np.linalg.norm(rounding * root)), np.append(q, np.linalg.norm(root))
    shifts = eigenvalue_shifts(np.append(raised, known.top), p, q)[: len(raised)]
    return known.spectrum(S, shifts + (raised - known.values), leading_columns(known.vectors))


def leading_spectrum_of_gram(
    F: Array, rounding: Array, rows: int, wish: int | float, scale_rounding: Array | float, run: Runner
) -> Spectrum:
    """Return the leading eigenpairs of F^T F from those of F F^T (r, r), for F (r, d) with r < d.

    `wish` is a number of components or a share of the trace, `run` runs the tasks. `rounding`, `rows` and
    `scale_rounding` are as for `eigen.spectrum_of_factor`. If Lanczos fails for a share, all r eigenpairs are computed.
    """
    K = inner_products(F, None)
    known = _leading_eigenpairs(K, min(wish, len(K)) if isinstance(wish, int) else wish, run)
    if known is None:
        del K
        return spectrum_of_gram(F, rounding, rows, wish, scale_rounding)

    def leading(k: int) -> Array:
        with one_blas_thread():
            return orthonormal(F.T @ known.vectors[:, :k])

    squares = np.einsum("ij,ij->j", F, F)
    error = 2 * float((rounding + scale_rounding) @ squares) * known.unit
    return known.spectrum(K, np.full(len(known.values), error), leading)


class Known(NamedTuple):
    """The leading eigenpairs of S times the number `unit`, largest first, and a bound on all other eigenvalues."""

    unit: float
    values: Array  # (m,)
    vectors: Array  # (d, m)
    error: Array  # (m,) bounds on the error of the values as eigenvalues of S times the unit
    top: float  # bound on all further eigenvalues
    route: str  # as in `Spectrum`

    def spectrum(self, S: Array, rounding_error: Array, leading: Callable[[int], Array]) -> Spectrum:
        """Return the spectrum of S, with eigenvalues of S itself, no longer times the unit.

        `rounding_error` (m,) bounds the effect of the rounding of S on the eigenvalues, times the unit; `leading` maps
        k to the first k eigenvectors.
        """
        m, error = len(self.values), self.error + rounding_error
        rank = count_positive(self.values - error, m)
        values = clip_eigenvalues(self.values, rank) / self.unit
        return Spectrum(values, leading, rank, self.route, error / self.unit, _squared_shares(S))


def _squared_shares(S: Array) -> float:
    """Return the sum of the squares of all eigenvalues of S (d, d), each divided by their sum: |S|_F^2 / trace(S)^2."""
    total = float(np.trace(S))
    parts = (S[rows] / total for rows in slabs(len(S)))  # divided first, so that squares neither overflow nor underflow
    return float(sum(np.einsum("ij,ij->", part, part) for part in parts))


def _leading_eigenpairs(S: Array, wish: int | float, run: Runner) -> Known | None:
    """Return the leading eigenpairs of S that `wish` needs, by Lanczos or LAPACK; None if all must be computed.

    `wish` is a number of components or a share of the trace.
    """
    doing("solving")
    d = len(S)
    with one_blas_thread():
        unit = 2.0 ** -math.frexp(float(np.trace(S)))[1]  # a power of two: products with it are exact

        def apply(V: Array) -> Array:
            V = np.ascontiguousarray(V)
            return np.concatenate(list(run(lambda rows: S[rows] @ V, slabs(d)))) * unit

        pairs = _by_lanczos(apply, d, float(np.trace(S)) * unit, wish)
        known = None if pairs is None else _proved(S, unit, pairs, apply, run)
        release_free_memory()
    del pairs
    if known is None and isinstance(wish, int) and wish < d:
        return _by_lapack(S, unit, wish + 1)
    return known


def _by_lanczos(apply: Callable[[Array], Array], d: int, total: float, wish: int | float) -> EigenPairs | None:
    """Return the leading eigenpairs of a matrix (d, d) by Lanczos; None if Lanczos would need too many vectors.

    `apply` multiplies by the matrix; `total` is its trace. `wish` is a number of components or a share of the trace.
    """

    def count_needed(values: Array) -> int | None:
        if isinstance(wish, int):
            return wish if wish <= len(values) else None
        return count_for_share(values, total, wish * (1 + ROUNDED_SHARE))

    count = wish if isinstance(wish, int) else None
    if count is not None and count > most_leading(d):
        return None
    return leading_pairs(apply, d, count_needed, max_space=d // SPACE_DIVISOR, fixed_count=count)


def _proved(S: Array, unit: float, pairs: EigenPairs, apply: Callable[[Array], Array], run: Runner) -> Known | None:
    """Return the `pairs` as `Known`, if it is proved that they are the leading ones of S times `unit`, else None.

    `apply` multiplies by S times `unit`, and `run` runs the tasks of the proof. k eigenvalues lie, in order, within the
    norm of the residual of the k values (Kahan 1967; Parlett 1980, 11.5). These eigenvalues are the leading ones if all
    others are below the last value by more than this norm.
    """
    t, V = pairs.values, pairs.vectors
    residual = float(np.linalg.norm(apply(V) - V * t)) + 2 * backward_error(len(S), t[0])
    top = _proved_bound(S, unit, pairs, run)
    if top is None or not top < t[-1] - residual:
        return None
    return Known(unit, t, V, np.full(len(t), residual), top, "lanczos")


def _proved_bound(S: Array, unit: float, pairs: EigenPairs, run: Runner) -> float | None:
    """Return a proved bound on all eigenvalues of S times `unit` but the k of `pairs`; None if there is no proof."""
    t, V, d = pairs.values, pairs.vectors, len(S)
    if not t[-1] > 0 or pairs.next_value > (1 - LEAST_GAP) * t[-1]:
        return None
    shift = (t[-1] + max(pairs.next_value, 0.0)) / 2
    M = np.empty_like(S, order="C")
    weighted = np.ascontiguousarray((V * t).T)

    def fill(rows: slice) -> float:
        np.matmul(V[rows], weighted, out=M[rows])
        M[rows] -= S[rows] * unit
        M[np.arange(rows.start, rows.stop), np.arange(rows.start, rows.stop)] += shift
        return float(np.einsum("ij,ij->", M[rows], M[rows]))

    norm = math.sqrt(sum(run(fill, slabs(d))))
    trace = float(np.trace(M))
    if not is_positive_definite(M, run):
        return None
    n = (d + 3) * EPS / 2
    return float(shift + n / (1 - 2 * n) * trace + (len(t) + 4) * EPS * t.sum() + EPS * norm)


def is_positive_definite(M: Array, run: Runner) -> bool:
    """Return whether Cholesky's factorisation of the symmetric M (d, d) runs to its end; M is overwritten.

    Panels of SLAB_ROWS columns are factorised one after the other; `run` subtracts their products from the rest.
    """
    linalg, d = load_scipy_linalg(), len(M)
    for panel in slabs(d):
        factor, info = linalg.lapack.dpotrf(M[panel, panel], lower=1, clean=0)
        if info != 0:
            return False
        below = [slice(max(rows.start, panel.stop), rows.stop) for rows in slabs(d) if rows.stop > panel.stop]

        def divide(rows: slice, panel: slice = panel, factor: Array = factor) -> None:
            M[rows, panel] = linalg.solve_triangular(factor, M[rows, panel].T, lower=True, check_finite=False).T

        def subtract(rows: slice, panel: slice = panel) -> None:
            left = slice(panel.stop, rows.stop)
            M[rows, left] -= M[rows, panel] @ M[left, panel].T

        for work in (divide, subtract):
            for _ in run(work, reversed(below)):  # the longest first
                pass
    return True


def _by_lapack(S: Array, unit: float, k: int) -> Known | None:
    """Return the k leading eigenpairs of S times `unit` by LAPACK; None if its bisection finds fewer.

    The bisection loses some eigenvalues where many are equal to the last digit, as for columns of 0 and 1, one for each
    class.
    """
    doing("solving")
    linalg, d = load_scipy_linalg(), len(S)
    last = [d - k, d - 1]
    with one_blas_thread():
        values, V = linalg.eigh((S * unit).T, subset_by_index=last, driver="evr", overwrite_a=True, check_finite=False)
    release_free_memory()
    if len(values) < k:
        return None
    values, V = values[::-1], V[:, ::-1]
    own = 2 * backward_error(d, values[0])
    return Known(unit, values, V, np.full(k, own), float(values[-1]) + own, "evr")
